"""Entity mismatch: a memory speaks of another thing than the one that is asked about.

"Who leads team Falcon?" has most of its words in "Grace Obi leads team Heron", and no answer there.
A question that asks something of one thing says which: a name, an identifier, or a word beside the
kind of thing ("the emissions pipeline"). A memory that has the same head with another of those, and
nowhere the one that was asked for, is about a sibling. What it may be called otherwise, by a stem,
an abbreviation or a kind, counts as said. English alone; pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from functools import cached_property, lru_cache
from typing import NamedTuple

from ...bus.prompts import Parsed
from ...config.patterns import regex
from ..language.time_expressions import MONTHS, WEEKDAYS
from ..language.topics import ASKING_WORDS
from ..language.words import KINDS, STOP_WORDS, WORD, fold, word_list
from ..statements.canonical import canonical, is_technology
from ..text.code import CODE_NAME

_MOST_WORDS, _MOST_CHARS = 14, 160
_BARE_WORDS = 6
_READ_CHARS = 2000
_MOST_LETTERS = 60
"""Of a longer word nobody calls a thing."""


_ASKS = regex(
    r"^\W*(?:(?:and|so|ok|hey|hi|btw|but|again|remind me)\W+)*"
    r"(?:who|whom|whose|what|what's|whats|which|where|where's|when|is it ok|may i|can (?:i|we)"
    r"|do we|is there|how (?:often|long|much|many|expensive|big|large|fast|old|high|far)"
    r"|how (?:do|does|is|are|can|should))\b",
    re.IGNORECASE,
)
# What is asked for more than one thing, or is told of another with reason.
_ASKS_MORE = regex(r"\b(?:why|about|know|like|as|than)\b", re.IGNORECASE)
_TOKEN = regex(rf"`([^`\n]+)`|{WORD}")
_CLAUSE_ENDS = regex(r"[,;:()!?\n\u2013\u2014]|\.\s|\s-\s")
_SENTENCE_ENDS = regex(r"[.!?:]\s|\n")
_CAMEL = regex(r"(?:[A-Z][a-z]+)+(?:[A-Z][a-z]*)+")
_NUMBER = regex(r"v?\d[\d.,:/-]*\w{0,3}")
_ACRONYM = regex(r"[A-Z]{2,4}")
_DIGITS = regex(r"\d+|xx+")
_PARTS = regex(r"[_./\\:@-]+|(?<=[a-z])(?=[A-Z])")
_SEGMENTS = regex(r"[_./]+")
_LANGUAGES = frozenset(("Go", "C", "R"))
_ALL = frozenset(("all", "every", "each", "any", "both", "whatever"))
_PREPOSITIONS = frozenset("of for in on at by with under from to".split())
_OF_IT = frozenset(("before", "after", "of", "for"))
_LOOSE = frozenset(("in", "with", "by", "under", "from"))
_DETERMINERS = word_list("determiners") | frozenset(("our", "your", "their", "its"))
_DEFINITE = frozenset(("the", "our"))
_AUXILIARIES = word_list("auxiliaries")
_SAYS_NOT_WHICH = word_list("says_not_which") | ASKING_WORDS
_NAMED_THINGS = frozenset(map(canonical, word_list("named_things")))
_DULL = STOP_WORDS.union(MONTHS, WEEKDAYS)
_NO_NAMES = _DULL | word_list("acronyms")
_SHORT_STEM, _LONG_STEM = 4, 5
_INITIALS = range(2, 6)
_LIKE = 0.8
_MOST_BEFORE = 4


class _Word(NamedTuple):
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


class _Thing(NamedTuple):
    """Which one of a kind is meant: the ``word`` that tells so, of a canonical ``head``.

    ``joined``: it stands "before" the head, right "after" it, behind a preposition, or is an
    identifier that shares a "part"; ``definite``: right before it, behind an article.
    """

    head: str
    word: _Word
    joined: str
    definite: bool = False

    def is_sibling_of(self, other: _Thing) -> bool:
        """Whether ``other`` has the same head, and is as plainly another one."""
        if self.head != other.head or _row(self.word) == _row(other.word):
            return False  # one of a row, of which a memory names the first or the last
        if _ACRONYM.fullmatch(other.word.written):
            return False  # which tells the kind, and not which one: "SPM packages"
        if any(_may_be_typed_for(self.word.folded, one) for one in other.word.spellings):
            return False
        forms = {self.word.form, other.word.form}
        if self.word.is_named and len(forms) == 1:
            alike = self.joined == other.joined and self.joined not in _LOOSE
            return alike or {self.joined, other.joined} <= _OF_IT
        if "number" in forms or self.head not in _NAMED_THINGS:
            return False
        return self.joined == other.joined == "after" or (self.definite and other.definite)


def _row(word: _Word) -> str:
    return _DIGITS.sub("", word.folded)


class _Text:
    """What a text says, word by word."""

    def __init__(self, text: str) -> None:
        self.folded = fold(text)
        self.words = _read(text)

    @cached_property
    def things(self) -> list[_Thing]:
        return list(_things(self.words))

    @cached_property
    def of_all(self) -> frozenset[str]:
        """The heads of which it speaks as a whole: "every team"."""
        words = self.words
        near = (
            word
            for at, word in enumerate(words)
            if not _ALL.isdisjoint(before.folded for before in words[max(0, at - 2) : at])
        )
        return frozenset(_head(word) for word in near)

    @cached_property
    def _parts(self) -> list[str]:
        return [part for word in self.words for part in word.parts]

    @cached_property
    def _said(self) -> frozenset[str]:
        return frozenset(self._parts).union(word.folded for word in self.words)

    @cached_property
    def _canonical(self) -> frozenset[str]:
        return frozenset(map(canonical, self._said))

    @cached_property
    def _joined(self) -> str:
        return "".join(self._parts)

    @cached_property
    def _initials(self) -> str:
        return "".join(part[0] for part in self._parts)

    def names(self, word: _Word) -> bool:
        """Whether it has ``word``, or what may stand for it."""
        folded, parts = word.folded, word.parts
        if folded in self._said or folded in self.folded:
            return True
        if len(parts) > 1 and word.is_named:
            return self._said.issuperset(parts)
        if canonical(folded) in self._canonical or any(
            _are_alike(folded, one) for one in self._said
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


def entity_mismatch(parsed: Parsed, text: str) -> str:
    """Why a memory with this ``text`` is about another thing than each question of a prompt.

    "" where it is not, or nothing tells.
    """
    if parsed.pasted or parsed.retrospect is not None:
        return ""
    found = ""
    for question in parsed.parts or (parsed.question,):
        asked = _asked(question)
        found = _mismatch(asked, text[:_READ_CHARS]) if asked else ""
        if not found:
            return ""
    return found


@lru_cache(maxsize=8)
def _asked(question: str) -> _Text | None:
    """A short ``question`` that asks for something of a thing; None for any other prompt."""
    count = len(question.split())
    if len(question) > _MOST_CHARS or count > _MOST_WORDS or _ASKS_MORE.search(question):
        return None
    is_bare = count <= _BARE_WORDS and question.rstrip().endswith("?")
    return _Text(question) if is_bare or _ASKS.match(question) else None


@lru_cache(maxsize=128)
def _text(text: str) -> _Text:
    return _Text(text)


def _mismatch(asked: _Text, text: str) -> str:
    folded = fold(text)
    unsaid = [thing for thing in asked.things if thing.word.folded not in folded]
    if not unsaid:
        return ""
    told = _text(text)
    for thing in unsaid:
        siblings = (one for one in told.things if thing.is_sibling_of(one))
        others = [one.word for one in siblings if not asked.names(one.word)]
        heads = {one.head for one in asked.things if one.word == thing.word}
        if others and told.of_all.isdisjoint(heads) and not told.names(thing.word):
            return f"it speaks of {others[0].written}, and not of {thing.word.written}"
    return ""


# --- words and things -----------------------------------------------------------------------------


def _read(text: str) -> list[_Word]:
    words: list[_Word] = []
    end = 0
    text = text.replace("\u2019", "'")
    for match in _TOKEN.finditer(text):
        gap, end = text[end : match.start()], match.end()
        is_first = not words or _SENTENCE_ENDS.search(gap) is not None
        written = (match[1] or match[0]).removesuffix("'s")
        form = "identifier" if match[1] else _form(written, is_first=is_first)
        opens = is_first or _CLAUSE_ENDS.search(gap) is not None
        words.append(_Word(written, fold(written), form, opens))
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


def _head(word: _Word) -> str:
    return canonical(word.folded.rpartition("-")[2])


def _are_alike(one: str, other: str) -> bool:
    """Whether two folded words begin alike, as words of one stem do."""
    shorter, longer = sorted((one, other), key=len)
    if len(shorter) < _SHORT_STEM:
        return False
    return longer.startswith(shorter) or longer[:_LONG_STEM] == shorter[:_LONG_STEM]


def _may_be_typed_for(typed: str, word: str) -> bool:
    """Whether ``typed`` may be ``word`` with a slip."""
    if max(len(typed), len(word)) > _MOST_LETTERS:
        return False
    return SequenceMatcher(None, typed, word, autojunk=False).ratio() >= _LIKE


def _phrases(words: Sequence[_Word]) -> Iterator[range]:
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


def _things(words: Sequence[_Word]) -> Iterator[_Thing]:
    """What the phrases of a text tell apart."""
    told = (*_in_phrases(words), *_identified(words))
    return (one for one in told if one.word.is_named or one.word.folded not in _SAYS_NOT_WHICH)


def _in_phrases(words: Sequence[_Word]) -> Iterator[_Thing]:
    phrases = {phrase.start: phrase for phrase in _phrases(words)}
    for start, phrase in phrases.items():
        before = words[start - 1].folded if start and not words[start].opens else ""
        for at in phrase[1:]:
            head, one = words[at], words[at - 1]
            if head.form == "number" or before in _AUXILIARIES:
                continue
            for which in words[max(start, at - _MOST_BEFORE) : at]:
                definite = which is one and before in _DEFINITE
                yield _Thing(_head(head), which, "before", definite)
        for at in phrase[:-1]:
            which = words[at + 1]
            if words[at].form == "word" and (which.form != "word" or "-" in which.folded):
                yield _Thing(_head(words[at]), which, "after")
        behind = phrases.get(_behind_preposition(words, phrase.stop))
        for at in behind or ():
            joined = words[phrase.stop].folded
            yield _Thing(_head(words[phrase.stop - 1]), words[at], joined)


def _behind_preposition(words: Sequence[_Word], at: int) -> int:
    """Where the phrase begins that a preposition at ``at`` leads to; -1 for none."""
    if at >= len(words) or words[at].folded not in _PREPOSITIONS or words[at].opens:
        return -1
    at += 1
    while at < len(words) and words[at].folded in _DETERMINERS and not words[at].opens:
        at += 1
    return at if at < len(words) and not words[at].opens else -1


def _identified(words: Sequence[_Word]) -> Iterator[_Thing]:
    """The identifiers of two parts or more, under the last and, but for a file's, the first."""
    for word in words:
        parts = _SEGMENTS.split(word.folded.strip("_./"))
        if word.form == "identifier" and len(parts) > 1 and ":" not in word.folded:
            yield _Thing(f"_{parts[-1]}", word, "part")
            if "." not in word.folded:
                yield _Thing(f"{parts[0]}_", word, "part")
