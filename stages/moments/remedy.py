"""Bring up what is known about a failure: the blocker it was before, the gotcha, how it ended."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec import Struct

from ...bus.events import Event, ToolFailed
from ...bus.signals import degraded, emit
from ...bus.values import Query
from ...config.settings import FailureSettings
from ..actions.error_lines import salient_lines, salient_terms
from ..injection.usefulness import MOST_LOWERED
from ..ports import Recall, Sessions
from ..text.unicode import one_line
from .reminder import (
    NOTHING_KNOWN,
    KnownAtAct,
    RatedHit,
    ReminderContext,
    abstain,
    build_reminder,
    check_code,
    shares_term,
)

NAMESPACES = ("blockers", "gotchas", "learnings")
HEADING = "Earlier notes that may be about this failure:"

_FOUND = 8
_FEW_WORDS = 4
_COMMAND_CHARS = 60


class FailureQuery(Struct, frozen=True):
    """What to search for, and the words of which a memory must have one."""

    text: str
    terms: tuple[str, ...]


async def remedy(
    event: ToolFailed,
    *,
    recall: Recall,
    sessions: Sessions,
    settings: FailureSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
    known: KnownAtAct = NOTHING_KNOWN,
) -> tuple[Event, ...]:
    """The answer to a tool that failed: at most ``max_results`` memories about such a failure.

    Nothing where the output says no more than that it failed. None twice in one context.
    """
    question = failure_query(event)
    if question is None or not settings.max_results:
        return (abstain(event, "remedy", "no_subject"),)
    query = Query(
        text=question.text,
        scopes=event.place.readable,
        limit=_FOUND,
        namespaces=NAMESPACES,
        min_relevance=0.0 if event.detailed else max(0.0, settings.min_similarity - MOST_LOWERED),
    )
    try:
        hits = (await recall.recall(query)).hits
    except ConnectionError:
        emit(degraded, "remedy", reason="search.unavailable")
        return (abstain(event, "remedy", "search_unavailable"),)
    rated = [
        RatedHit(hit, f"matches the error, relevance {hit.relevance:.2f}")
        for hit in hits
        if shares_term(hit.memory, question.terms)
    ]
    return build_reminder(
        ReminderContext(
            event=event,
            stage="remedy",
            hook=event.hook,
            heading=HEADING,
            floor=settings.min_similarity,
            most=settings.max_results,
        ),
        rated,
        sessions=sessions,
        now=now,
        clean=clean,
        code=await check_code(known.code, rated, event, settings.min_similarity),
        learned=known.learned,
    )


def failure_query(event: ToolFailed) -> FailureQuery | None:
    """What to search for; None where the failure says nothing that could be known."""
    lines = salient_lines(event.error)
    if lines and sum(len(line.split()) for line in lines) < _FEW_WORDS:
        lines = (*lines, one_line(event.action.text[:_COMMAND_CHARS]))
    terms = salient_terms(lines)
    return FailureQuery("\n".join(lines), terms) if terms else None
