"""Whether two texts that are nearly the same say opposite things.

It is a guess by words, made to be offered to somebody who decides: one slot with another number,
one side that denies, or another name where a choice is named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

Kind = Literal["number", "negation", "name"]

# The first sentences of a memory say what it claims; the rest gives reasons.
_READ_WORDS = 60
# Of the words of the shorter text so many must be in the other, in the same order.
_COMMON = 0.6
_SLOT_WORDS = 3

_WORD = re.compile(r"[\w'’]+(?:[.:/_-]\w+)*")
_NEGATIONS = frozenset(
    "not no never without cannot don't doesn't isn't aren't won't can't shouldn't mustn't didn't "
    "wasn't neither nor".split()
)
# Words that come and go with a negation, and change nothing by themselves.
_AUXILIARIES = frozenset(
    "do does did is are was were be will would should must can to a an the".split()
)
_ARTICLES = frozenset("a an the our only now always".split())
# After these a choice is named: another word there is another choice.
_CHOOSES = frozenset(
    "use uses used using is are was were be to with by via prefer prefers chose chosen picked "
    "choose run runs called named keep keeps store stores stay stays".split()
)
# A number after these is a name, not a value.
_COUNTED = frozenset(
    "number no note issue ticket pr bug task item step part phase test adr chapter section "
    "milestone sprint".split()
)
# These name a choice only at the end of a statement; earlier they say what it is about.
_PLACES = frozenset("in on at from".split())


class _Change(NamedTuple):
    """Where the texts differ: their words there, and the words of the first before it."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[str, ...]
    is_tail: bool


def says_otherwise(new: str, old: str) -> Kind | None:
    """In what ``new`` contradicts ``old``; None where they agree or are about different things."""
    ours, theirs = _words(new), _words(old)
    # At most so many words can be in common in the same order; counting them is soon done.
    if sum((Counter(ours) & Counter(theirs)).values()) < _COMMON * min(len(ours), len(theirs)):
        return None
    matcher = SequenceMatcher(None, theirs, ours, autojunk=False)
    common = sum(block.size for block in matcher.get_matching_blocks())
    if common < _COMMON * min(len(ours), len(theirs)) or common < 2:
        return None
    changes = [
        _Change(
            tuple(theirs[i:j]),
            tuple(ours[k:m]),
            tuple(theirs[:i]),
            is_tail=j == len(theirs) or m == len(ours),
        )
        for kind, i, j, k, m in matcher.get_opcodes()
        if kind != "equal"
    ]
    return _judge(changes, min(len(ours), len(theirs)))


def _words(text: str) -> list[str]:
    return [word.replace("’", "'") for word in _WORD.findall(text.casefold())[:_READ_WORDS]]


def _judge(changes: Sequence[_Change], length: int) -> Kind | None:
    # What one of them adds at its end is a reason; anywhere else it is another statement.
    told = [
        change for change in changes if not (change.is_tail and not (change.old and change.new))
    ]
    slots = [change for change in told if _weight(change.old) or _weight(change.new)]
    if len(slots) != 1:
        denied = any(_denies(change) for change in told)
        return "negation" if denied and not slots else None
    slot = slots[0]
    if _denies(slot):
        return "negation" if max(len(slot.old), len(slot.new)) <= _SLOT_WORDS else None
    if not slot.old or not slot.new or any(_denies(change) for change in told):
        return None
    return _slot_kind(slot, length)


def _slot_kind(slot: _Change, length: int) -> Kind | None:
    old, new = slot.old[:_SLOT_WORDS], slot.new[:_SLOT_WORDS]
    if not slot.is_tail and (old != slot.old or new != slot.new):
        return None
    before = [word for word in slot.before if word not in _ARTICLES]
    if not before:
        return None
    if _has_digit(old[0]) and _has_digit(new[0]):
        return None if before[-1] in _COUNTED else "number"
    names_choice = before[-1] in _CHOOSES
    names_place = before[-1] in _PLACES and len(slot.before) >= length / 2
    return "name" if names_choice or names_place else None


def _weight(words: Sequence[str]) -> int:
    """How many of ``words`` say something."""
    return sum(word not in _AUXILIARIES for word in words)


def _denies(change: _Change) -> bool:
    """Whether one side denies and the other does not."""
    return _NEGATIONS.isdisjoint(change.old) != _NEGATIONS.isdisjoint(change.new)


def _has_digit(word: str) -> bool:
    return any(map(str.isdigit, word))
