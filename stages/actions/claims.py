"""What a memory claims: what it speaks against, what it asks for, and the rest.

It is read by clauses: "never `alembic upgrade head`" speaks against, "use scripts/migrate.sh" asks.
"""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import chain

from msgspec import Struct

from ...config.patterns import regex

READ_CHARS = 2_000
"""Of a longer memory only the beginning is read."""

_TERM = regex(r"--?[A-Za-z][\w-]*|[A-Za-z_@$](?:[.$/:@-]{0,3}\w)+|\d(?:\.?\w)+")
_TERM_PARTS = regex(r"[./:@\s]|(?<![\w-])-{1,2}")
AGAINST = regex(
    r"\b(?:never|no|not|\w+n't|dont|cannot|avoid|without|forbidden|banned?|bare|plain|raw"
    r"|instead of|rather than|refuse[sd]?|reject(?:ed|s)?|dropped|turned down|hands off|stop using"
    r"|nobody"
    r"|breaks?|broke|kill(?:s|ed)?|fail(?:s|ed)?|wrong|lost|loses|wipes?|hangs?|blocks?"
    r"|destroy(?:s|ed)?|crash(?:es|ed)?)\b",
    re.IGNORECASE,
)
_ASKS = regex(
    r"\b(?:use|always|only|must|via|through|call|run|instead|prefer|keep|put|add|set|pass|wrap"
    r"|should|needs?)\b",
    re.IGNORECASE,
)
_CLAUSE = regex(
    r"(?<=[.;!?])\s+|\n|,\s+|\s[-–—]+\s|→|=>|:\s|\bbut\b|\binstead\b(?! of)|\buse\b|[()]"
)
_ASKED_FOR = regex(r"\b(?:use|via|through|only|always)\s+([^.;,]{2,60})", re.IGNORECASE)


NOT = (
    r"(?:never|niemals|nie|nunca|jamais|(?:do|does|must|should|can|may|is|are)\s?n[o'’]t|can['’]t"
    r"|dont|cannot|avoid|stop|nobody|no one)"
)
"""How a rule begins that denies."""

_CUE = regex(r"[a-zß-ÿ]+(?:['’]t)?|[不别禁使は]")
NEGATIONS = frozenset(
    "never not no cannot dont don't don’t mustn't mustn’t shouldn't shouldn’t can't can’t avoid"
    " stop nobody hands niemals nie nunca jamais".split()
)
FOREIGN = frozenset(
    "nicht pas não niet statt anstatt lieu lugar vez niemals nie nunca jamais 不 别 禁 使"
    " は".split()
)


def cues_in(text: str) -> frozenset[str]:
    """The words of ``text``, folded, and the characters that deny in Chinese and Japanese.

    What a memory speaks against is looked for by long patterns, and only where a word tells so.
    """
    return frozenset(_CUE.findall(text.casefold()))


class Claims(Struct, frozen=True):
    """The terms of a memory: what it speaks against, what it asks for, and the rest.

    ``before`` are those that stand before what is denied, in the same clause.
    """

    against: frozenset[str]
    before: frozenset[str]
    asked: frozenset[str]
    neutral: frozenset[str]

    @property
    def terms(self) -> frozenset[str]:
        return self.against | self.before | self.asked | self.neutral


def terms(text: str) -> set[str]:
    """Words, identifiers, paths and flags of ``text``, folded, each also by its parts."""
    folded = text.casefold()
    found = {term for match in _TERM.findall(folded) if len(term := match.strip(".:/")) > 1}
    joined = [term for term in found if not term.isalnum()]
    parts = _TERM_PARTS.split(" ".join(joined)) if joined else ()
    return found.union([part for part in parts if len(part) > 2])


def speaks_against(text: str) -> bool:
    """Whether the memory ``text`` may speak against anything."""
    return AGAINST.search(text[:READ_CHARS]) is not None


@lru_cache(maxsize=256)
def claims_of(text: str) -> Claims:
    """What the memory ``text`` claims; the same few are found again and again. About 2 MB."""
    against: set[str] = set()
    before: set[str] = set()
    asked = set(chain.from_iterable(map(terms, _ASKED_FOR.findall(text[:READ_CHARS]))))
    neutral: set[str] = set()
    for clause in filter(None, _CLAUSE.split(text[:READ_CHARS])):
        if denied := AGAINST.search(clause):
            against |= terms(clause[denied.start() :])
            before |= terms(clause[: denied.start()])
        elif _ASKS.search(clause):
            asked |= terms(clause)
        else:
            neutral |= terms(clause)
    return Claims(
        against=frozenset(against),
        before=frozenset(before - against - asked),
        asked=frozenset(asked - against),
        neutral=frozenset(neutral - against - asked - before),
    )
