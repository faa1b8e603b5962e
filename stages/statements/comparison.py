"""Compares two statements by their words: the same, contradicting each other, or neither.

The one comparison of captures, search, injection, conflicts, sessions and reviews. A text is read
as its first sentences. Whether one of the newer contradicts one of the older is a probability, by
what is measured of the two (``contradiction.py``); nothing is searched for or loaded, so that some
dozens of pairs take a few milliseconds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from enum import StrEnum
from functools import cached_property, lru_cache
from itertools import chain, compress, product
from operator import mul

from ...config.languages import ENGLISH, language_of
from ...config.linear_model import LinearModel
from ...config.patterns import regex
from ..language.time_expressions import CALENDAR, plain
from ..language.words import NEGATIONS, spelled_words
from .beside import both_hold, leaves_in_force
from .canonical import ADDS_NO_SUBJECT, canonical
from .changes import TELLS_CHANGE, TELLS_NEW, says_lasting
from .contradiction import SUBJECT, Pair, load_contradiction
from .frame import (
    has_other_version,
    is_narrowed,
    is_of_it,
    is_redated,
    is_revalued,
    is_updated,
)
from .remainder import keeps_a_fact, says_more
from .statement import Statement, sentences_of
from .use import gives_up_what_is_used, is_over, moves_on

_MARGIN = 1e-6
# Features that are 0 unless what stands at the same place in ``Bound.most`` holds.
_CONDITIONAL = (
    ("names", "names neat", "values close", "values only", "values clear"),
    ("default", "default differs"),
    ("denial", "denial neat", "denied act", "poles neat", "permission", "permission neat",
     "opposed clear", "opposed qualified"),
    ("change known", "known held", "replaced", "replaced wholly", "replaced neat",
     "replaced alone"),
    ("new", "new neat"),
    ("universal narrowed", "universal newer", "excepts", "excepts close"),
)  # fmt: skip
_SAME = "nothing apart"


class Bound:
    """An upper bound of the log-odds that ``model`` gives a pair. Immutable.

    It needs a third of what is measured of a pair. Where it is too low for a contradiction, the
    rest need not be measured: of near duplicates, nine pairs in ten.
    """

    def __init__(self, model: LinearModel) -> None:
        weights = {name: row[0] for name, row in model.weights.items()}
        known = {_SAME, *SUBJECT, *chain.from_iterable(_CONDITIONAL)}
        self._always = model.bias[0] + _most(weights, weights.keys() - known)
        self._subject = [weights[name] for name in SUBJECT]
        self._conditional = [_most(weights, names) for names in _CONDITIONAL]
        self._same = weights[_SAME]
        self._scale, self._shift = model.slope / model.divisor, model.shift

    def most(self, pair: Pair) -> float:
        """At least the log-odds of ``pair``."""
        newer, older = pair.newer, pair.older
        opposed = newer.denies != older.denies or pair.poles or pair.permission
        wide = older.universal or newer.universal or newer.excepts
        holds = (pair.value_count, pair.default, opposed, newer.replaced, newer.is_new, wide)
        total: float = self._always + sum(map(mul, self._subject, pair.subject))
        total += sum(compress(self._conditional, holds))
        total += 0.0 if pair.any_apart else self._same
        return self._scale * total + self._shift + _MARGIN


def _most(weights: dict[str, float], names: Iterable[str]) -> float:
    return sum(max(0.0, weights[name]) for name in names)


class Relation(StrEnum):
    """How one statement relates to another."""

    SAME = "same"
    """It adds nothing to the other."""
    NEGATED = "negation"
    """One denies what the other says."""
    OTHER_NUMBER = "number"
    OTHER_NAME = "name"
    """Each states something else of the same."""
    DIFFERENT = "different"
    """Both may hold."""


MOST_NEWER = 4
MOST_OLDER = 3
"""So many sentences of a text are compared: the first say what it claims, the others why."""

FLOOR = 0.7
"""From this probability on one contradicts the other."""

SURE = 0.8
"""The same where the newer one says that something is no more, and does not name it."""

_READ_CHARS = 2000
# The share of all words that two texts which say the same have in common: of the one that adds
# nothing, or of both together.
_SAME_CONTAINED = 0.9
_SAME_JACCARD = 0.75
# A word with a capital that does not begin a sentence.
_NAME = regex(r"(?<=[^.!?:\s] )[A-Z\u00c0-\u00de]\w+")
# Of the longer of two sentences this share must be in the other one: less, and they speak of
# different things.
_SHARED = 0.25

_DENIALS = NEGATIONS | {"avoid"}
_MODEL = load_contradiction()
_BOUND = Bound(_MODEL)
_LEAST_LOG_ODDS = math.log(FLOOR / (1 - FLOOR))


class Sentence:
    """A sentence that is read only where its words give reason to.

    ``subject`` is what it may be about, soon computed; a sentence that may be about the same has
    at least ``least`` of its words, or uses what the other one says is ``gone``.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        words = spelled_words(text)
        self.subject = frozenset(map(canonical, words)) - ADDS_NO_SUBJECT
        self._may_be_new = not TELLS_NEW.isdisjoint(words)
        self._tells_change = not TELLS_CHANGE.isdisjoint(words) or "\u2192" in text
        self.least = max(1, _SHARED * len(self.subject))

    @cached_property
    def read(self) -> Statement:
        return _read(self._text)

    @cached_property
    def is_new(self) -> bool:
        """Whether it has a word of change; so much less may be shared then."""
        return self._may_be_new and self.read.is_new

    def may_be_of(self, known: frozenset[str]) -> bool:
        """Whether it may be about the same as a text with the words ``known``."""
        least = int(self.least) if self.is_new else self.least
        return len(self.subject & known) >= least or not self.gone.isdisjoint(known)

    @cached_property
    def gone(self) -> frozenset[str]:
        """The words that name what it says is no more; such a thing may be all that is shared."""
        return frozenset().union(*self.read.replaced) if self._tells_change else frozenset()


@lru_cache(maxsize=2048)
def _read(sentence: str) -> Statement:
    """The sentence, read once: the same memories are compared at every prompt. About 8 MB."""
    return Statement(sentence)


class Claim:
    """A statement, read once so that it may be compared with many; see ``claim_of``."""

    def __init__(self, text: str) -> None:
        self._text = text[:_READ_CHARS]

    @cached_property
    def words(self) -> frozenset[str]:
        """All its words, contractions spelled out."""
        return frozenset(spelled_words(self._text))

    @cached_property
    def values(self) -> frozenset[str]:
        """Its words that are names, numbers, times, or the first of a sentence that says much."""
        if language_of(self._text) == ENGLISH:
            return frozenset(chain.from_iterable(one.read.values for one in self.sentences))
        dates = (word for word in self.words if plain(word) in CALENDAR)
        return frozenset(chain(dates, map(str.casefold, _NAME.findall(self._text))))

    def adds_value(self, other: Claim) -> bool:
        """Whether it has a value that ``other`` has not, however that is written."""
        added = self.values - other.words
        return bool(added) and not other.canonical_words.issuperset(map(canonical, added))

    @cached_property
    def canonical_words(self) -> frozenset[str]:
        return frozenset(map(canonical, self.words))

    @cached_property
    def denials(self) -> frozenset[str]:
        return self.words & _DENIALS

    @cached_property
    def denied(self) -> frozenset[str]:
        """The words that a denial governs, in its first sentences; most claims have no denial."""
        read = (one.read for one in self.sentences) if self.denials else ()
        return frozenset().union(*(one.denied for one in read))

    @cached_property
    def sentences(self) -> tuple[Sentence, ...]:
        """Its first sentences."""
        return tuple(map(Sentence, sentences_of(self._text, MOST_NEWER)))

    @cached_property
    def subject(self) -> frozenset[str]:
        """What its sentences may be about."""
        return frozenset().union(*(sentence.subject for sentence in self.sentences))

    def contradiction(self, older: Claim) -> Relation | None:
        """How this, the newer one, contradicts ``older``, if it does."""
        found = self.bearing(older)
        return None if found is Relation.DIFFERENT else found

    def bearing(self, older: Claim) -> Relation | None:
        """The same; ``DIFFERENT`` where the two may speak of the same, None where they do not."""
        return _bearing(self._text, older._text)

    def holds_beside(self, older: Claim) -> bool:
        """Whether the first sentence of this plainly holds beside that of ``older``."""
        pairs = zip(self.sentences[:1], older.sentences[:1], strict=False)
        return any(both_hold(ours.read, theirs.read) for ours, theirs in pairs)

    def pairs(self, older: Claim) -> Iterator[tuple[Statement, Statement]]:
        """The sentences of both that may speak of the same."""
        for ours, theirs in self._near(older):
            if may_contradict(ours.read, theirs.read):
                yield ours.read, theirs.read

    def _near(self, older: Claim) -> list[tuple[Sentence, Sentence]]:
        """The sentences with words enough in common, as far as can be told without reading."""
        known = older.subject
        if self.subject.isdisjoint(known) or self._text == older._text:
            return []
        some = [a for a in self.sentences if a.may_be_of(known)]
        return [pair for pair in product(some, older.sentences[:MOST_OLDER]) if _is_near(*pair)]


def _is_near(newer: Sentence, older: Sentence) -> bool:
    if len(newer.subject & older.subject) >= max(newer.least, older.least):
        return True
    if newer.is_new and newer.subject & older.subject and is_of_it(newer.read, older.read):
        return True
    return bool(newer.gone & older.subject) and gives_up_what_is_used(newer.read, older.read)


@lru_cache(maxsize=256)
def claim_of(text: str) -> Claim:
    """The claim of ``text``: the same memories are compared again and again. About 2 MB."""
    return Claim(text)


@lru_cache(maxsize=2048)
def _bearing(newer: str, older: str) -> Relation | None:
    """``Claim.bearing``, computed once for two texts; they are at most 8 MB."""
    found = None
    for ours, theirs in claim_of(newer).pairs(claim_of(older)):
        if is_probable(ours, theirs):
            return _kind(ours, theirs)
        found = Relation.DIFFERENT
    return found


def may_contradict(newer: Statement, older: Statement) -> bool:
    """Whether the two may speak of the same: soon computed, and false for most pairs."""
    shared = newer.heavy & older.heavy
    if len(shared) >= _SHARED * max(1, len(newer.heavy), len(older.heavy)):
        return True
    if newer.is_new and is_of_it(newer, older):
        return True
    if shared.isdisjoint(newer.names):
        return False
    return any(phrase <= shared and phrase & newer.names for phrase in newer.replaced)


def probability(newer: Statement, older: Statement) -> float:
    """How likely ``newer`` contradicts ``older``, 0–1.

    Where it gives up by name what the older one relies on, or is the same with another value that
    holds now, the words around that matter little.
    """
    pair = Pair(newer, older)
    if _plainly_agree(pair) or both_hold(newer, older):
        return 0.0
    likely = _MODEL.probability(pair.features)
    return max(likely, FLOOR) if _plainly_contradict(pair) else likely


def is_probable(newer: Statement, older: Statement) -> bool:
    """Whether that is ``FLOOR`` or more: sooner computed."""
    pair = Pair(newer, older)
    if _plainly_agree(pair):
        return False
    if not _plainly_contradict(pair):
        if _BOUND.most(pair) < _LEAST_LOG_ODDS:
            return False
        if _MODEL.probability(pair.features) < FLOOR:
            return False
    return not both_hold(newer, older)


def _plainly_agree(pair: Pair) -> bool:
    """Whether the two plainly agree."""
    repeats = pair.only_repeats and not is_redated(pair.newer, pair.older)
    return repeats or pair.tells_something_else or pair.restates


def _plainly_contradict(pair: Pair) -> bool:
    """Whether the newer one plainly says that the older one does not hold any more."""
    plain = pair.gives_up or pair.turns_over or pair.brings_back
    told = (is_updated, is_revalued, is_redated, is_narrowed, has_other_version, moves_on)
    return plain or any(test(pair.newer, pair.older) for test in told)


def _kind(newer: Statement, older: Statement) -> Relation:
    """In what they differ."""
    for kind in newer.numbers.keys() & older.numbers.keys():
        if newer.numbers[kind].isdisjoint(older.numbers[kind]):
            return Relation.OTHER_NUMBER
    return Relation.NEGATED if newer.denies != older.denies else Relation.OTHER_NAME


def compare(text: str, other: str) -> Relation:
    """How ``text`` relates to ``other``, which is the older one.

    A shorter text adds nothing to the longer one that holds it.
    """
    one, two = claim_of(text), claim_of(other)
    if found := one.contradiction(two):
        return found
    return Relation.SAME if _adds_nothing(one, two) else Relation.DIFFERENT


def says_same(text: str, other: str) -> bool:
    """Whether ``compare`` finds that ``text`` adds nothing to ``other``: sooner computed."""
    one, two = claim_of(text), claim_of(other)
    return _adds_nothing(one, two) and one.contradiction(two) is None


def contradicts(newer: str, older: str) -> bool:
    """Whether ``older`` does not hold any more where ``newer`` does."""
    return claim_of(newer).contradiction(claim_of(older)) is not None


def holds_beside(newer: str, older: str) -> bool:
    """Whether ``newer`` plainly speaks of another thing than ``older``, or only adds to it."""
    return claim_of(newer).holds_beside(claim_of(older))


def settles(newer: str, older: str) -> bool:
    """Whether ``newer`` says in so many words that what ``older`` states is no more.

    "We moved from A to B", "A is gone", "no longer": where it is sure enough to act upon it. Not
    where something of ``older`` would be lost.
    """
    if says_more(older, newer) or keeps_a_fact(newer, older):
        return False
    return changes(newer, older)


def changes(newer: str, older: str) -> bool:
    """The same of ``older`` or a part of it."""
    pairs = claim_of(newer).pairs(claim_of(older))
    return any(_is_told(ours, theirs) for ours, theirs in pairs)


def _is_told(newer: Statement, older: Statement) -> bool:
    named = any(phrase & older.stated for phrase in newer.replaced)
    if named and not is_over(newer, older):
        return False
    if (not named and not says_lasting(newer.line)) or leaves_in_force(newer, older):
        return False
    return probability(newer, older) >= (FLOOR if named else SURE)


def _adds_nothing(weaker: Claim, better: Claim) -> bool:
    """By their words.

    A negation of one alone is something, and so is a number, date or name that the weaker adds.
    """
    common = len(weaker.words & better.words)
    if common < _SAME_JACCARD * len(weaker.words):
        return False
    added = weaker.words - better.words
    if weaker.denials ^ better.denials or any(map(str.isdigit, "".join(added))):
        return False
    if weaker.adds_value(better):
        return False
    if weaker.denied != better.denied:  # "pnpm, never npm" is not "npm, never pnpm"
        return False
    joint = len(weaker.words | better.words)
    return common >= _SAME_CONTAINED * len(weaker.words) or common >= _SAME_JACCARD * joint
