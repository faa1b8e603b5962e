"""Compares two statements by their words: the same, contradicting each other, or neither.

The one comparison of captures, injection, conflicts and session reviews. It is a heuristic in two
steps: the words in order, which may differ in one place only, and the words as a set, for a
statement that was rephrased ("Password hashing uses bcrypt", "We use argon2id for password
hashing").
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from enum import StrEnum
from functools import cached_property, partial
from typing import NamedTuple

from .words import NEGATIONS, STOP_WORDS, TECHNOLOGIES, spelled_words, technology


class Relation(StrEnum):
    """How one statement relates to another."""

    SAME = "same"
    """It adds nothing to the other."""
    NEGATED = "negation"
    """One denies what the other says."""
    OTHER_NUMBER = "number"
    OTHER_NAME = "name"
    """Where a choice is named, each names another."""
    DIFFERENT = "different"
    """Both may hold."""


# The first sentences of a memory say what it claims; the rest gives reasons.
_CLAIM_WORDS = 60
_READ_CHARS = 2000
# The share of all words that two texts which say the same have in common: of the one that adds
# nothing, or of both together.
_SAME_CONTAINED = 0.9
_SAME_JACCARD = 0.75
# Of the words of the shorter claim so many must be in the other, in the same order.
_COMMON = 0.6
_SLOT_WORDS = 3
# As sets, so many words with a meaning of their own must be shared, and this share of the longer.
_FEWEST_SHARED = 2
_SHARED = 0.6

_is_number = re.compile(r"v?\d[\d.,:]*\w{0,3}").fullmatch
_stem = partial(re.compile(r"(?<=\w{3})(?:ing|ed|es|s|e)$").sub, "")
_DENIALS = NEGATIONS | {"avoid"}
# Words that come and go with a negation, who speaks, and how often: no claim by themselves.
_EMPTY = frozenset(
    "do does did done is are was were be been will would should must can could has have had to a "
    "an the our my we i you always only now any anymore ever longer here please".split()
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
    "milestone sprint error code".split()
)
# These name a choice only at the end of a statement; earlier they say what it is about.
_PLACES = frozenset("in on at from".split())
_REJECTS = frozenset(("instead", "rather"))
_NO_SUBJECT = STOP_WORDS | _EMPTY | _DENIALS | {"prefer", "prefers", "preferred", "project"}


class _Change(NamedTuple):
    """Where two claims differ: their words there, and the words of the first before it."""

    old: tuple[str, ...]
    new: tuple[str, ...]
    before: tuple[str, ...]
    is_tail: bool


class Claim:
    """A statement, read once so that it may be compared with many."""

    def __init__(self, text: str) -> None:
        said = spelled_words(text[:_READ_CHARS])
        self.words = frozenset(said)
        """All its words, contractions spelled out."""
        self.opening = tuple(said[:_CLAIM_WORDS])
        """Its first 60 words."""
        self.claimed = frozenset(self.opening)
        """The same, each once."""

    @cached_property
    def denials(self) -> frozenset[str]:
        return self.words & _DENIALS

    @property
    def is_denial(self) -> bool:
        return not self.denials.isdisjoint(self.claimed)

    @cached_property
    def names(self) -> frozenset[str]:
        """The technologies that it claims something about, each by one name."""
        return frozenset(map(technology, self.claimed & TECHNOLOGIES))

    @cached_property
    def numbers(self) -> frozenset[str]:
        """The values in it; a number that counts ("issue 12") is a name."""
        if not any(map(_is_number, self.claimed)):
            return frozenset()
        pairs = zip(("", *self.opening), self.opening, strict=False)
        return frozenset(w for before, w in pairs if _is_number(w) and before not in _COUNTED)

    @cached_property
    def rejected(self) -> frozenset[str]:
        """What it says was not chosen: the words after "instead of" and "rather than"."""
        if _REJECTS.isdisjoint(self.claimed):
            return frozenset()
        following = zip(self.opening, self.opening[2:], strict=False)
        return frozenset(word for marker, word in following if marker in _REJECTS)

    @cached_property
    def subject(self) -> frozenset[str]:
        """The stems of what it is about: no names, values, negations or empty words."""
        said = self.claimed - _NO_SUBJECT - TECHNOLOGIES - self.numbers
        return frozenset(map(_stem, said))

    def contradiction(self, other: Claim) -> Relation | None:
        """How the two contradict each other, if they do."""
        in_order = _may_agree_in_order(self, other) and _in_order(self.opening, other.opening)
        if in_order:
            return in_order
        return _rephrased(self, other)


def compare(text: Claim | str, other: Claim | str) -> Relation:
    """How ``text`` relates to ``other``.

    Only ``SAME`` has a direction: a shorter text adds nothing to the longer one that holds it.
    """
    one = Claim(text) if isinstance(text, str) else text
    two = Claim(other) if isinstance(other, str) else other
    if found := one.contradiction(two):
        return found
    return Relation.SAME if _adds_nothing(one, two) else Relation.DIFFERENT


def contradicts(text: Claim | str, other: Claim | str) -> bool:
    """Whether ``text`` and ``other`` cannot both hold."""
    one = Claim(text) if isinstance(text, str) else text
    two = Claim(other) if isinstance(other, str) else other
    return one.contradiction(two) is not None


def _adds_nothing(weaker: Claim, better: Claim) -> bool:
    """By their words; a negation of one alone, or a number that the weaker adds, is something."""
    common = len(weaker.words & better.words)
    if common < _SAME_JACCARD * len(weaker.words):
        return False
    if weaker.denials ^ better.denials or any(
        map(str.isdigit, "".join(weaker.words - better.words))
    ):
        return False
    joint = len(weaker.words | better.words)
    return common >= _SAME_CONTAINED * len(weaker.words) or common >= _SAME_JACCARD * joint


# --- words in order -------------------------------------------------------------------------------


def _may_agree_in_order(one: Claim, two: Claim) -> bool:
    """Whether enough words may be in common: an upper bound, soon computed."""
    least = max(2, _COMMON * min(len(one.opening), len(two.opening)))
    return len(one.claimed & two.claimed) + len(one.opening) - len(one.claimed) >= least


def _in_order(ours: Sequence[str], theirs: Sequence[str]) -> Relation | None:
    least = max(2, _COMMON * min(len(ours), len(theirs)))
    # At most so many words can be in common in the same order; counting them is soon done.
    if sum((Counter(ours) & Counter(theirs)).values()) < least:
        return None
    matcher = SequenceMatcher(None, theirs, ours, autojunk=False)
    if sum(block.size for block in matcher.get_matching_blocks()) < least:
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


def _judge(changes: Sequence[_Change], length: int) -> Relation | None:
    # What one of them adds at its end is a reason; anywhere else it is another statement.
    claimed = [
        change for change in changes if not (change.is_tail and not (change.old and change.new))
    ]
    slots = [change for change in claimed if not _EMPTY.issuperset(change.old + change.new)]
    if len(slots) != 1:
        denied = any(map(_denies, claimed))
        return Relation.NEGATED if denied and not slots else None
    slot = slots[0]
    if _denies(slot):
        fits = max(len(slot.old), len(slot.new)) <= _SLOT_WORDS
        return Relation.NEGATED if fits else None
    if not slot.old or not slot.new or any(map(_denies, claimed)):
        return None
    return _in_slot(slot, length)


def _in_slot(slot: _Change, length: int) -> Relation | None:
    old, new = slot.old[:_SLOT_WORDS], slot.new[:_SLOT_WORDS]
    if not slot.is_tail and (old != slot.old or new != slot.new):
        return None
    before = [word for word in slot.before if word not in _ARTICLES]
    if not before:
        return None
    if _is_number(old[0]) and _is_number(new[0]):
        return None if before[-1] in _COUNTED else Relation.OTHER_NUMBER
    names_choice = before[-1] in _CHOOSES
    names_place = before[-1] in _PLACES and len(slot.before) >= length / 2
    return Relation.OTHER_NAME if names_choice or names_place else None


def _denies(change: _Change) -> bool:
    """Whether one side denies and the other does not."""
    return _DENIALS.isdisjoint(change.old) != _DENIALS.isdisjoint(change.new)


# --- words as a set -------------------------------------------------------------------------------


def _rephrased(one: Claim, two: Claim) -> Relation | None:
    """In what two statements about exactly the same differ, in whatever order they say it."""
    shorter, longer = sorted((one.subject, two.subject), key=len)
    if not shorter <= longer or len(shorter) < max(_FEWEST_SHARED, _SHARED * len(longer)):
        return None
    if _swapped(one, two):
        return Relation.OTHER_NAME
    if one.names != two.names:
        apart = one.names and two.names and one.names.isdisjoint(two.names)
        return Relation.OTHER_NAME if apart else None
    if one.numbers != two.numbers:
        apart = one.numbers and two.numbers and one.numbers.isdisjoint(two.numbers)
        return Relation.OTHER_NUMBER if apart else None
    return Relation.NEGATED if one.is_denial != two.is_denial else None


def _swapped(one: Claim, two: Claim) -> bool:
    """Whether each rejects what the other chose: "A instead of B", "B rather than A"."""
    apart = one.rejected and two.rejected and one.rejected.isdisjoint(two.rejected)
    return bool(apart) and one.rejected <= two.words and two.rejected <= one.words
