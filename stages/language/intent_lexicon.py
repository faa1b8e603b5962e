"""The search signals: which phrase speaks for which kind of search, and how strongly.

They stand in ``intent_lexicon.toml``, which tells what its fields mean.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from msgspec import Struct

from ...bus.values import IntentType
from .words import BadLexicon, load_lexicon

FILE = Path(__file__).with_name("intent_lexicon.toml")
WHY = frozenset(("why", "why is", "why are", "why does", "why do", "why did", "why was"))
_NAMED_ERROR_CHARS = 8


class Phrase(NamedTuple):
    """A signal: its ``words``, what it speaks for, how much, and whether it must begin a clause."""

    words: tuple[str, ...]
    intent: IntentType
    weight: int
    opens: bool


class _Signals(Struct, frozen=True, forbid_unknown_fields=True):
    """The phrases of one kind of search, by how strongly they speak for it."""

    strong: tuple[str, ...]
    clear: tuple[str, ...] = ()
    weak: tuple[str, ...] = ()


def read_phrases(file: Path) -> dict[tuple[str, ...], Phrase]:
    """The phrases in ``file`` by their words. Raises ``BadLexicon`` if one stands there twice."""
    phrases: dict[tuple[str, ...], Phrase] = {}
    for one in _listed(load_lexicon(file, dict[IntentType, _Signals])):
        if not one.words or one.words in phrases:
            raise BadLexicon(file, f"{' '.join(one.words)!r} is empty or stands in it twice")
        phrases[one.words] = one
    return phrases


def _listed(table: dict[IntentType, _Signals]) -> Iterator[Phrase]:
    for intent, signals in table.items():
        for weight, listed in ((3, signals.strong), (2, signals.clear), (1, signals.weak)):
            for phrase in listed:
                words = tuple(phrase.removeprefix("^").split())
                yield Phrase(words, intent, weight, phrase.startswith("^"))


PHRASES = read_phrases(FILE)
_LENGTHS: dict[str, list[int]] = {}
for _words in sorted(PHRASES, key=len, reverse=True):
    if len(_words) not in _LENGTHS.setdefault(_words[0], []):
        _LENGTHS[_words[0]].append(len(_words))


def phrase_at(words: Sequence[str], at: int) -> Phrase | None:
    """The longest phrase that begins with the word at ``at``; a named exception is one as well."""
    for length in _LENGTHS.get(words[at], ()):
        phrase = PHRASES.get(tuple(words[at : at + length]))
        if phrase is not None:
            return phrase
    return _named_error(words[at])


def _named_error(word: str) -> Phrase | None:
    if len(word) < _NAMED_ERROR_CHARS or not word.isalpha():
        return None
    if not word.endswith(("error", "exception")):
        return None
    return Phrase((word,), IntentType.TROUBLESHOOT, 2, opens=False)
