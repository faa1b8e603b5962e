"""Which things a text tells apart: its words, and the phrases in which one tells which of a kind.

"The emissions pipeline", "team Heron", "the SLA of mart_invoices": each has a head, and a word that
says which one is meant. English alone; pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from ...config.patterns import regex
from ..language.time_expressions import MONTHS, WEEKDAYS
from ..language.topics import ASKING_WORDS
from ..language.words import KINDS, STOP_WORDS, WORD, fold, word_list
from ..statements.canonical import canonical, is_technology
from ..text.code import CODE_NAME

_MOST_LETTERS = 60
"""Of a longer word nobody calls a thing."""

_TOKEN = regex(rf"`([^`\n]+)`|{WORD}")
_CLAUSE_ENDS = regex(r"[,;:()!?\n\u2013\u2014]|\.\s|\s-\s")
_SENTENCE_ENDS = regex(r"[.!?:]\s|\n")
_CAMEL = regex(r"(?:[A-Z][a-z]+)+(?:[A-Z][a-z]*)+")
_NUMBER = regex(r"v?\d[\d.,:/-]*\w{0,3}")
_ACRONYM = regex(r"[A-Z]{2,4}")
_DIGITS = regex(r"\d+|xx+")
# A host is numbered so; a version of something known is not meant.
_NUMBERED = regex(r"(?P<row>[a-z]{2,20})(?:-\d\d|-?0\d)")
_PARTS = regex(r"[_./\\:@-]+|(?<=[a-z])(?=[A-Z])")
_SEGMENTS = regex(r"[_./]+")
_LANGUAGES = frozenset(("Go", "C", "R"))
ALL = frozenset(("all", "every", "each", "any", "both", "whatever"))
_PREPOSITIONS = frozenset("of for in on at by with under from to".split())
_OF_IT = frozenset(("before", "after", "of", "for"))
_AT_PLACE = frozenset(("before", "in", "at"))
_LOOSE = frozenset(("in", "with", "by", "under", "from"))
_DETERMINERS = word_list("determiners") | frozenset(("our", "your", "their", "its"))
_DEFINITE = frozenset(("the", "our"))
AUXILIARIES = word_list("auxiliaries")
_IS = frozenset(("is", "are", "was", "were"))
_QUESTION_WORDS = word_list("question_words")
SAYS_NOT_WHICH = word_list("says_not_which") | ASKING_WORDS
_NAMED_THINGS = frozenset(map(canonical, word_list("named_things")))
_MACHINES = frozenset(map(canonical, word_list("machines")))
_DULL = STOP_WORDS.union(MONTHS, WEEKDAYS)
_NO_NAMES = _DULL | word_list("acronyms")
_SHORT_STEM, _LONG_STEM = 4, 5
_INITIALS = range(2, 6)
_LIKE = 0.8
_MOST_BEFORE = 4


class Word(NamedTuple):
    """A word as written and folded; ``opens`` a clause.

    ``form`` is what it looks like: a "name", an "identifier", a "number", or a "word".
    """

    written: str
    folded: str
    form: str
    opens: bool

    @property
    def is_named(self) -> bool:
        return self.form in ("name", "identifier")

    @property
    def says(self) -> bool:
        """Whether it may be part of what a thing is called."""
        if self.is_named:
            return True
        return len(self.folded) > 1 and self.folded not in _DULL

    @property
    def parts(self) -> list[str]:
        return [fold(part) for part in _PARTS.split(self.written) if part]

    @property
    def spellings(self) -> list[str]:
        """Itself, and its parts, which may be used for it."""
        return [self.folded, *self.parts]


class Thing(NamedTuple):
    """Which one of a kind is meant: the ``word`` that tells so, of a canonical ``head``.

    ``joined``: it stands "before" the head, right "after" it, behind a preposition, or is an
    identifier that shares a "part", or all but its "number"; ``definite``: right
    before it, behind an article or where a clause begins ("cleaning fee is 1100").
    """

    head: str
    word: Word
    joined: str
    definite: bool = False

    @property
    def is_named(self) -> bool:
        return self.word.is_named or self.joined in ("part", "number")

    @property
    def tells_the_kind(self) -> bool:
        """Whether its word does not tell which one: "SPM packages"."""
        return self.joined == "before" and _ACRONYM.fullmatch(self.word.written) is not None

    def is_sibling_of(self, other: Thing) -> bool:
        """Whether ``other`` has the same head, and is as plainly another one."""
        if self.head != other.head or other.tells_the_kind:
            return False
        if row_of(self.word) == row_of(other.word):
            is_after = self.joined == "after" and self.head in _MACHINES
            return self.joined == other.joined and (is_after or self.joined == "number")
        if any(_may_stand_for(self.word.folded, one) for one in other.word.spellings):
            return False
        if self.word.is_named and self.word.form == other.word.form:
            return self._is_named_as(other)
        if "number" in (self.word.form, other.word.form) or self.head not in _NAMED_THINGS:
            return False
        return self.joined == other.joined == "after" or (self.definite and other.definite)

    def _is_named_as(self, other: Thing) -> bool:
        """Whether both names are joined to the head alike: "the Oslo site", "the site in Oslo"."""
        joints = {self.joined, other.joined}
        if joints <= _OF_IT or (len(joints) == 1 and self.joined not in _LOOSE):
            return True
        return self.word.form == "name" and self.head in _NAMED_THINGS and joints <= _AT_PLACE


def row_of(word: Word) -> str:
    """What it is called without its number."""
    return _DIGITS.sub("", word.folded)


class Text:
    """What a text says, word by word."""

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        self.words = _read(text)

    @cached_property
    def things(self) -> list[Thing]:
        return list(_things(self.words))

    @cached_property
    def rows(self) -> frozenset[str]:
        """Of what is numbered, that of which it names more than one: "mx" for mx1 and mx4."""
        numbered = {word.folded: row_of(word) for word in self.words if _DIGITS.search(word.folded)}
        return frozenset(row for row, count in Counter(numbered.values()).items() if count > 1)

    @cached_property
    def of_all(self) -> frozenset[str]:
        """The heads of which it speaks as a whole: "every team"."""
        words = self.words
        near = (
            word
            for at, word in enumerate(words)
            if not ALL.isdisjoint(before.folded for before in words[max(0, at - 2) : at])
        )
        return frozenset(head_of(word) for word in near)

    @cached_property
    def _parts(self) -> list[str]:
        return [part for word in self.words for part in word.parts]

    @cached_property
    def said(self) -> frozenset[str]:
        return frozenset(self._parts).union(word.folded for word in self.words)

    @cached_property
    def _canonical(self) -> frozenset[str]:
        return frozenset(map(canonical, self.said))

    @cached_property
    def _joined(self) -> str:
        return "".join(self._parts)

    @cached_property
    def _initials(self) -> str:
        return "".join(part[0] for part in self._parts)

    def names(self, word: Word) -> bool:
        """Whether it has ``word``, or what may stand for it."""
        folded, parts = word.folded, word.parts
        if folded in self.said or folded in self.folded:
            return True
        if len(parts) > 1 and word.is_named:
            return self.said.issuperset(parts)
        if canonical(folded) in self._canonical or any(
            _are_alike(folded, one) for one in self.said
        ):
            return True
        if len(folded) >= _SHORT_STEM and folded in self._joined:
            return True
        if folded.isalpha() and len(folded) in _INITIALS and folded in self._initials:
            return True
        return self._has_kind(folded)

    def _has_kind(self, folded: str) -> bool:
        """Whether it has a name of the kind ``folded``, or the kind that ``folded`` is one of."""
        if any(name in self.folded for name in KINDS.get(folded, ())):
            return True
        return any(folded in names and kind in self.folded for kind, names in KINDS.items())


def _read(text: str) -> list[Word]:
    words: list[Word] = []
    end = 0
    text = text.replace("\u2019", "'")
    for match in _TOKEN.finditer(text):
        gap, end = text[end : match.start()], match.end()
        is_first = not words or _SENTENCE_ENDS.search(gap) is not None
        written = (match[1] or match[0]).removesuffix("'s")
        is_capital = is_first and written == match[0]  # as of any first word, but "Heron's"
        form = "identifier" if match[1] else _form(written, is_first=is_capital)
        opens = is_first or _CLAUSE_ENDS.search(gap) is not None
        words.append(Word(written, fold(written), form, opens))
    return words


def _form(written: str, *, is_first: bool) -> str:
    folded = fold(written)
    if _NUMBER.fullmatch(folded):
        return "number"
    if len(written) > _MOST_LETTERS:
        return "word"
    if is_technology(folded) or _CAMEL.fullmatch(written):
        return "name"
    if CODE_NAME.search(written):
        return "identifier"
    capital = written[0].isupper() and not (is_first and written[1:].islower())
    if written in _LANGUAGES:
        return "word" if is_first else "name"
    ordinary = len(written) == 1 or folded in _NO_NAMES
    return "name" if capital and not ordinary else "word"


def head_of(word: Word) -> str:
    """What kind of thing ``word`` is, canonical: its last part."""
    return canonical(word.folded.rpartition("-")[2])


def _are_alike(one: str, other: str) -> bool:
    """Whether two folded words begin alike, as words of one stem do."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _SHORT_STEM:
        return False
    return longer.startswith(shorter) or longer[:_LONG_STEM] == shorter[:_LONG_STEM]


def _may_stand_for(typed: str, word: str) -> bool:
    """Whether ``typed`` may be ``word`` with a slip, or what ``word`` is short for."""
    if max(len(typed), len(word)) > _MOST_LETTERS:
        return False
    short = word.rstrip("0123456789")
    if 1 < len(short) < _SHORT_STEM and typed[0] == short[0]:
        letters = iter(typed)
        if all(letter in letters for letter in short):  # "PS5" for a playstation
            return True
    return SequenceMatcher(None, typed, word, autojunk=False).ratio() >= _LIKE


def phrases(words: Sequence[Word]) -> Iterator[range]:
    """Where words that call something stand together."""
    start = 0
    for at, word in enumerate(words):
        if not word.says:
            if start < at:
                yield range(start, at)
            start = at + 1
        elif word.opens and start < at:
            yield range(start, at)
            start = at
    if start < len(words):
        yield range(start, len(words))


def _things(words: Sequence[Word]) -> Iterator[Thing]:
    """What the phrases of a text tell apart."""
    told = (*_in_phrases(words), *_identified(words))
    return (one for one in told if one.word.is_named or one.word.folded not in SAYS_NOT_WHICH)


def _in_phrases(words: Sequence[Word]) -> Iterator[Thing]:
    starting = {phrase.start: phrase for phrase in phrases(words)}
    for start, phrase in starting.items():
        before = words[start - 1].folded if start and not words[start].opens else ""
        asks = before in _IS and start > 1 and words[start - 2].folded in _QUESTION_WORDS
        for at in phrase[1:]:
            head, one = words[at], words[at - 1]
            if head.form == "number" or (before in AUXILIARIES and not asks):
                continue
            for which in words[max(start, at - _MOST_BEFORE) : at]:
                alone = which.opens and at == phrase[-1] and not head.folded.endswith("s")
                definite = which is one and (before in _DEFINITE or alone)
                yield Thing(head_of(head), which, "before", definite)
        for at in phrase[:-1]:
            which = words[at + 1]
            if words[at].form == "word" and (which.form != "word" or "-" in which.folded):
                yield Thing(head_of(words[at]), which, "after")
        behind = starting.get(_behind_preposition(words, phrase.stop))
        for at in behind or ():
            joined = words[phrase.stop].folded
            yield Thing(head_of(words[phrase.stop - 1]), words[at], joined)


def _behind_preposition(words: Sequence[Word], at: int) -> int:
    """Where the phrase begins that a preposition at ``at`` leads to; -1 for none."""
    if at >= len(words) or words[at].folded not in _PREPOSITIONS or words[at].opens:
        return -1
    at += 1
    while at < len(words) and words[at].folded in _DETERMINERS and not words[at].opens:
        at += 1
    return at if at < len(words) and not words[at].opens else -1


def _identified(words: Sequence[Word]) -> Iterator[Thing]:
    """The identifiers of two parts or more, under the last and, but for a file's, the first."""
    for word in words:
        parts = _SEGMENTS.split(word.folded.strip("_./"))
        if word.form == "identifier" and len(parts) > 1 and ":" not in word.folded:
            yield Thing(f"_{parts[-1]}", word, "part")
            if "." not in word.folded:
                yield Thing(f"{parts[0]}_", word, "part")
        elif (row := _NUMBERED.fullmatch(word.written)) and not is_technology(row["row"]):
            yield Thing(f"{row['row']}-", word, "number")
        elif "-" in word.folded and head_of(word) in _NAMED_THINGS:
            yield Thing(head_of(word), word, "part", definite=True)
