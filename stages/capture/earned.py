"""Decides what may become a memory by itself, of all that was said.

A memory is earned by what the user states as a rule, a choice or a preference, and by the lines
that the agent labels for keeping (``stages/capture/records.py``). A sentence is judged by its
grammar first, since that holds for projects that nobody has seen: it must have a form in which
people state rules, and none in which they ask, propose, report or give an order for once. The
linear model must then not think it idle talk. Precision comes before recall: a session's passages
are kept in any case.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from msgspec.structs import replace

from ...bus.values import EARNED_PERCENT, Noted
from ..text.summary import headline
from .features import every_feature
from .linear_model import load
from .statement_classifier import find, said_by
from .statement_forms import (
    ASKS_BACK,
    HINT,
    LEADS_TO_RULES,
    MINE,
    OUTRIGHT,
    QUOTED,
    SAYS,
    SUPPOSES,
    TAKES_BACK,
    VETOES,
)
from .statements import Statement, statements

_FOUND_MOST_PERCENT = EARNED_PERCENT - 1
_LEAST_WORTH = 0.8
_LEAST_WORTH_OUTRIGHT = 0.2
_LEAST_WORTH_OF_HINT = 0.99
_MOST_CHARS = 400

_APOSTROPHE = str.maketrans("’‘", "''")
_NAMESPACES = {"decision": "decisions", "pattern": "patterns", "preference": "preferences"}


def find_earned(text: str, *, role: str) -> tuple[Noted, ...]:
    """What ``text`` says that may become a memory by itself, in order, none overlapping another."""
    own = said_by(text, role)
    records = [noted for noted in find(text, role=role) if noted.earned]
    if role == "assistant":
        return tuple(records)
    stated = [noted for noted in _stated(own) if not _overlaps(noted, records)]
    return tuple(sorted((*records, *stated), key=lambda noted: noted.start))


def find_all(text: str, *, role: str) -> tuple[Noted, ...]:
    """What is earned, and beside it what ``find`` finds: points for a summary, and no memories."""
    earned = find_earned(text, role=role)
    points = (
        replace(noted, confidence_percent=min(noted.confidence_percent, _FOUND_MOST_PERCENT))
        for noted in find(text, role=role)
        if not _overlaps(noted, earned)
    )
    return tuple(sorted((*earned, *points), key=lambda noted: noted.start))


def _overlaps(noted: Noted, others: tuple[Noted, ...] | list[Noted]) -> bool:
    return any(noted.start < other.end and other.start < noted.end for other in others)


def _stated(own: str) -> list[Noted]:
    """The rules, choices and preferences that the user states in ``own``."""
    parts = statements(own, role="user")
    if any(TAKES_BACK.search(_plain(part.text)) for part in parts):
        return []
    model = load()
    found: list[Noted] = []
    for at, (part, seen) in enumerate(zip(parts, every_feature(parts, role="user"), strict=True)):
        around = _Around(parts, at)
        if around.questions_it or around.only_supposes or around.lists_it:
            continue
        kind = _kind_of(part, model.worth(seen))
        if kind:
            found.append(_noted(part, kind))
    return found


class _Around(NamedTuple):
    """What stands around a statement."""

    parts: Sequence[Statement]
    at: int

    @property
    def questions_it(self) -> bool:
        """Whether the speaker asks in the next sentences whether it should be so."""
        return any(ASKS_BACK.search(_plain(one.text)) for one in self.parts[self.at + 1 :][:2])

    @property
    def only_supposes(self) -> bool:
        """Whether it or a sentence before it in its paragraph begins a supposition."""
        here = self.parts[self.at].paragraph
        before = (one for one in self.parts[: self.at + 1] if one.paragraph == here)
        return any(SUPPOSES.search(_plain(one.text)) for one in before)

    @property
    def lists_it(self) -> bool:
        """Whether it is an item of a list that is not said to be one of rules or choices."""
        part = self.parts[self.at]
        if not part.is_item:
            return False
        prose = [one for one in self.parts if not one.is_item]
        return bool(prose) and LEADS_TO_RULES.search(part.lead) is None


def _plain(said: str) -> str:
    """``said`` without what it quotes, with plain apostrophes."""
    return QUOTED.sub(" x ", said.translate(_APOSTROPHE))


def _kind_of(part: Statement, worth: float) -> str:
    """Which kind of statement ``part`` is; "" where it earns nothing."""
    said = _plain(part.text)
    if len(said) > _MOST_CHARS or any(veto.search(said) for veto in VETOES):
        return ""
    kinds = [kind for kind, form in SAYS.items() if form.search(said)]
    usual = _LEAST_WORTH_OUTRIGHT if OUTRIGHT.search(said) else _LEAST_WORTH
    least = usual if kinds else _LEAST_WORTH_OF_HINT
    if not (kinds or HINT.search(said)) or worth < least:
        return ""
    return _surest(kinds, said)


def _surest(kinds: list[str], said: str) -> str:
    if "preference" in kinds or (MINE.search(said) and "decision" not in kinds):
        return "preference"
    if "pattern" in kinds:
        return "pattern"
    return kinds[0] if kinds else "decision"


def _noted(part: Statement, kind: str) -> Noted:
    return Noted(
        kind=kind,
        namespace=_NAMESPACES[kind],
        text=part.text,
        summary=headline(part.text),
        confidence_percent=EARNED_PERCENT,
        start=part.start,
        end=part.end,
        earned=True,
    )
