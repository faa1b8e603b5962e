"""Decides what may become a memory by itself, of all that was said.

A memory is earned by what the user states as a rule, a choice or a preference, and by the lines
that the agent labels for keeping (``stages/capture/records.py``). A sentence is judged by its
grammar first, since that holds for projects that nobody has seen: it must have a form in which
people state rules, and none in which they ask, propose, report or give an order for once. The
linear model must then not think it idle talk. Precision comes before recall: a session's passages
are kept in any case.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from ...bus.values import EARNED_PERCENT, Noted
from ..text.summary import headline
from .features import every_feature, load
from .statement_classifier import find_noteworthy, said_by
from .statement_forms import (
    ASKS_BACK,
    FEWEST_WORDS,
    FRAGMENT,
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
    return tuple(noted for noted in find_all(text, role=role) if noted.earned)


def find_all(text: str, *, role: str) -> tuple[Noted, ...]:
    """What is earned, and beside it what ``find`` finds: points for a summary, and no memories."""
    found = find_noteworthy(text, role=role)
    earned = [noted for noted in found if noted.earned]
    if role != "assistant":
        stated = _stated(said_by(text, role))
        records = tuple(earned)
        earned += [noted for noted in stated if not _overlaps(noted, records)]
    points = (
        replace(noted, confidence_percent=min(noted.confidence_percent, _FOUND_MOST_PERCENT))
        for noted in found
        if not _overlaps(noted, earned)
    )
    return tuple(sorted((*earned, *points), key=lambda noted: noted.start))


def _overlaps(noted: Noted, others: Iterable[Noted]) -> bool:
    return any(noted.start < other.end and other.start < noted.end for other in others)


def _stated(own: str) -> list[Noted]:
    """The rules, choices and preferences that the user states in ``own``."""
    parts = statements(own, role="user")
    if any(TAKES_BACK.search(_plain(part.text)) for part in parts):
        return []
    model = load()
    found: list[Noted] = []
    supposed: set[int] = set()
    lists_rules = all(part.is_item for part in parts)
    for at, (part, seen) in enumerate(zip(parts, every_feature(parts, role="user"), strict=True)):
        if SUPPOSES.search(_plain(part.text)):
            supposed.add(part.paragraph)
        kind = _kind_of(part, model.worth(seen))
        if not kind or part.paragraph in supposed or _is_questioned(parts, at):
            continue
        if lists_rules or not part.is_item or LEADS_TO_RULES.search(part.lead):
            found.append(_noted(part, kind))
    return found


def _is_questioned(parts: Sequence[Statement], at: int) -> bool:
    """Whether the speaker asks in the next sentences whether it should be so."""
    return any(ASKS_BACK.search(_plain(one.text)) for one in parts[at + 1 : at + 3])


def _plain(said: str) -> str:
    """``said`` without what it quotes, with plain apostrophes."""
    return QUOTED.sub(" x ", said.translate(_APOSTROPHE))


def _kind_of(part: Statement, worth: float) -> str:
    """Which kind of statement ``part`` is; "" where it earns nothing."""
    said = _plain(part.text)
    is_short = len(said.split()) < FEWEST_WORDS and not MINE.search(said)
    if is_short or FRAGMENT.search(said):
        return ""
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
