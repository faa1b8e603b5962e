"""Which of two things a sentence says comes first: "A before B", "first A, then B"."""

from __future__ import annotations

from collections.abc import Sequence

from .canonical import canonical

NOTHING: frozenset[str] = frozenset()

_STEP_WORDS = frozenset(
    "the a an is are was were be been has have had to of in on at and then first before after it "
    "its we you your our do not , ; . go goes out run runs place takes take comes come must "
    "should when".split()
)
_ORDER = {"before": 1, "then": 1, "after": -1, "once": -1}
_TRAILING = frozenset("afterwards follows follow last later next".split())


def steps_of(words: Sequence[str]) -> tuple[frozenset[str], frozenset[str]]:
    """What comes first, and what comes then, as canonical words; empty where no order is told."""
    found = next((at for at, word in enumerate(words) if word in _ORDER), None)
    parts = _around(words, found) if found is not None else _in_turn(words)
    if parts is None:
        return NOTHING, NOTHING
    first, then = (
        frozenset(canonical(word) for word in part if word not in _STEP_WORDS) for part in parts
    )
    return first - then, then - first


def _around(words: Sequence[str], found: int) -> tuple[Sequence[str], Sequence[str]] | None:
    """What comes before and after the word of order at ``found``, in time."""
    left, right = words[:found], words[found + 1 :]
    if _STEP_WORDS.issuperset(left):  # "Before a deploy, …"
        cut = next((at for at, word in enumerate(right) if word in ",;"), None)
        if cut is None:
            return None
        left, right = right[cut:], right[:cut]
    return (left, right) if _ORDER[words[found]] > 0 else (right, left)


def _in_turn(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]] | None:
    """The two parts of "first …, …" or "…, … afterwards"."""
    cuts = [at for at, word in enumerate(words) if word in (",", ";", "and")]
    if not cuts or ("first" not in words and _TRAILING.isdisjoint(words)):
        return None
    return words[: cuts[-1]], words[cuts[-1] + 1 :]
