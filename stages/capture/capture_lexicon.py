"""The phrases that speak for or against a statement being worth keeping, by their cues.

They stand in ``capture_lexicon.toml``, which tells how they are written.
"""

from __future__ import annotations

from pathlib import Path

from ..language.words import load_lexicon

FILE = Path(__file__).with_name("capture_lexicon.toml")


def read_cues(file: Path) -> dict[str, tuple[str, ...]]:
    """Each phrase of ``file`` with the cues that it gives. Raises ``BadLexicon``."""
    cues: dict[str, dict[str, None]] = {}
    for cue, phrases in load_lexicon(file, dict[str, tuple[str, ...]]).items():
        for phrase in phrases:
            cues.setdefault(phrase, {})[cue] = None
    return {phrase: tuple(named) for phrase, named in cues.items()}


CUES_OF = read_cues(FILE)


def _words(phrase: str) -> list[str]:
    return phrase.removeprefix("^ ").split(" ")


SHORT_PHRASES = frozenset(phrase for phrase in CUES_OF if len(_words(phrase)) <= 2)
"""The phrases of one or two words, with and without ``^``."""
LONG_FROM = frozenset(_words(phrase)[0] for phrase in CUES_OF if phrase not in SHORT_PHRASES)
"""The words that longer phrases begin with."""
