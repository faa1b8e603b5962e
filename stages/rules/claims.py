"""What a memory claims: what it speaks against, what it asks for, and the rest.

It is read by clauses: "never `alembic upgrade head`" speaks against, "use scripts/migrate.sh" asks.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from pathlib import Path

from msgspec import Struct

from ..text.lexicons import load_wordings

READ_CHARS = 2_000
"""Of a longer memory only the beginning is read."""

RULE_FORMS = load_wordings(*sorted(Path(__file__).with_name("wordings").glob("*.toml")))
"""How people word rules, by kind."""

_FORMS, _WORDS = RULE_FORMS["claims"]
AGAINST = _FORMS["against"]
NEGATIONS = _WORDS["negations"]


def cues_in(text: str) -> frozenset[str]:
    """The words of ``text``, folded, and the characters that deny in Chinese and Japanese.

    What a memory speaks against is looked for by long patterns, and only where a word tells so.
    """
    return frozenset(_FORMS["cue"].findall(text.casefold()))


class Claims(Struct, frozen=True):
    """The terms of a memory: what it speaks against, what it asks for, and the rest.

    ``before`` are those that stand before what is denied, in the same clause.
    """

    against: frozenset[str]
    before: frozenset[str]
    asked: frozenset[str]
    neutral: frozenset[str]


def terms(text: str) -> set[str]:
    """Words, identifiers, paths and flags of ``text``, folded, each also by its parts."""
    folded = text.casefold()
    found = {term for one in _FORMS["term"].findall(folded) if len(term := one.strip(".:/")) > 1}
    joined = [term for term in found if not term.isalnum()]
    parts = _FORMS["term_parts"].split(" ".join(joined)) if joined else ()
    return found.union([part for part in parts if len(part) > 2])


def speaks_against(text: str) -> bool:
    """Whether the memory ``text`` may speak against anything."""
    return AGAINST.search(text[:READ_CHARS]) is not None


@lru_cache(maxsize=256)
def claims_of(text: str) -> Claims:
    """What the memory ``text`` claims; the same few are found again and again. About 2 MB."""
    against: set[str] = set()
    before: set[str] = set()
    asked = set(chain.from_iterable(map(terms, _FORMS["asked_for"].findall(text[:READ_CHARS]))))
    neutral: set[str] = set()
    for clause in filter(None, _FORMS["clause"].split(text[:READ_CHARS])):
        if denied := AGAINST.search(clause):
            against |= terms(clause[denied.start() :])
            before |= terms(clause[: denied.start()])
        elif _FORMS["asks"].search(clause):
            asked |= terms(clause)
        else:
            neutral |= terms(clause)
    return Claims(
        against=frozenset(against),
        before=frozenset(before - against - asked),
        asked=frozenset(asked - against),
        neutral=frozenset(neutral - against - asked - before),
    )
