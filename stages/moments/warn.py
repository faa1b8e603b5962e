"""Warn before a tool is used: the decision that the action breaks, the failure that it repeats.

Almost every action gets nothing. What is shown informs the agent; it keeps nothing from happening.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec.structs import replace

from ...bus.events import ActionProposed, Event, MemoriesShown
from ...bus.signals import degraded, emit, proposed
from ...bus.values import Hit, Query
from ...config.settings import ActionSettings
from ..actions.match import LIMIT, Matcher
from ..actions.reading import ActionText, read_action
from ..ports import Recall, Sessions
from .reminder import RatedHit, ReminderContext, abstain, build_reminder, context_of

HEADING = "Before you do this, earlier notes that seem to speak of just that:"

AGAIN = 0.8
"""From this relevance on a memory warns of an action although the context holds it already."""


async def find(action: ActionText, event: ActionProposed, recall: Recall) -> list[RatedHit]:
    """The memories found, with how likely each warns of the action. Raises ``ConnectionError``."""
    query = Query(text=action.query, scopes=event.place.readable, limit=LIMIT)
    hits = (await recall.recall(query)).hits
    matcher = Matcher(action, hits)
    return [_rated(hit, matcher.relevance(at)) for at, hit in enumerate(hits)]


def _rated(hit: Hit, likely: float) -> RatedHit:
    return RatedHit(replace(hit, relevance=likely), f"warns of the action, {likely:.2f}")


async def warn(
    event: ActionProposed,
    *,
    recall: Recall,
    sessions: Sessions,
    settings: ActionSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
) -> tuple[Event, ...]:
    """The answer to an action that is about to be done: at most ``max_results`` memories.

    A memory warns once in a context, unless it changed; one that the context holds for another
    reason warns where that is sure. Emits ``proposed``.
    """
    action = read_action(event.action, root=event.place.root)
    if not action.query or action.looks_only or not settings.max_results:
        answer: tuple[Event, ...] = (abstain(event, "warn", "no_subject"),)
    else:
        try:
            rated = await find(action, event, recall)
        except ConnectionError:
            emit(degraded, "warn", reason="search.unavailable")
            answer = (abstain(event, "warn", "search_unavailable"),)
        else:
            answer = _answer(event, rated, sessions, settings, now, clean)
    emit(proposed, "warn", tool=event.action.tool, outcome="warned" if answer[1:] else "silent")
    return answer


def _answer(
    event: ActionProposed,
    rated: Sequence[RatedHit],
    sessions: Sessions,
    settings: ActionSettings,
    now: datetime,
    clean: Callable[[str], str],
) -> tuple[Event, ...]:
    context = context_of(event)
    keys = {one.hit.memory.id: (one.hit.memory.id, one.hit.memory.version) for one in rated}
    unsure = {keys[one.hit.memory.id] for one in rated if one.hit.relevance < AGAIN}
    answer = build_reminder(
        ReminderContext(
            event=event,
            stage="warn",
            hook="PreToolUse",
            heading=HEADING,
            floor=settings.min_relevance,
            most=settings.max_results,
        ),
        rated,
        sessions=sessions,
        now=now,
        clean=clean,
        shown=sessions.warned(context) | (sessions.shown(context) & unsure),
    )
    for shown in answer:
        if isinstance(shown, MemoriesShown):
            sessions.warn(context, frozenset(keys[one.memory_id] for one in shown.shown))
    return answer
