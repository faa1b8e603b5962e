"""Warn before a tool is used: the decision that the action breaks, the failure that it repeats.

Almost every action gets nothing. What is shown informs the agent; it keeps nothing from happening.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import ActionProposed, Event
from ...bus.signals import degraded, emit, proposed
from ...bus.values import Hit, Query
from ...config.settings import ActionSettings
from ..actions.match import Matcher, relevance
from ..actions.reading import ActionText, excerpt, read_action
from ..ports import ActionReader, Recall, Sessions
from .reminder import RatedHit, ReminderContext, abstain, build_reminder, context_of

HEADING = "Before you do this, earlier notes that seem to speak of just that:"

AGAIN = 0.8
"""From this relevance on a memory warns of an action although the context holds it already."""

_FOUND = 8
# So many of those that words find likeliest are read by the cross-encoder, none below that.
_READ = 3
_WORTH_READING = 0.03


class Searcher(Struct, frozen=True):
    """What finds the memories that speak of an action."""

    recall: Recall
    reader: ActionReader

    async def find(self, action: ActionText, event: ActionProposed) -> list[RatedHit]:
        """The memories found, with how likely each warns. Raises ``ConnectionError``."""
        query = Query(text=action.query, scopes=event.place.readable, limit=_FOUND)
        hits = (await self.recall.recall(query)).hits
        matcher = Matcher(action, hits)
        features = [matcher.features(at) for at in range(len(hits))]
        first_stage = [relevance(one, None) for one in features]
        scores = await self._read(action, hits, first_stage)
        return [
            _rated(hit, relevance(features[at], scores[at]) if at in scores else first_stage[at])
            for at, hit in enumerate(hits)
        ]

    async def _read(
        self, action: ActionText, hits: Sequence[Hit], first_stage: Sequence[float]
    ) -> dict[int, float]:
        """What the cross-encoder makes of the likeliest; empty while there is none."""
        best = sorted(range(len(hits)), key=lambda at: -first_stage[at])[:_READ]
        chosen = [at for at in best if first_stage[at] >= _WORTH_READING]
        pairs = [(excerpt(action, hits[at].memory.content), hits[at].memory) for at in chosen]
        scores = await self.reader.read(pairs) if pairs else ()
        return dict(zip(chosen, scores, strict=False))


def _rated(hit: Hit, likely: float) -> RatedHit:
    return RatedHit(replace(hit, relevance=likely), f"warns of the action, {likely:.2f}")


async def warn(
    event: ActionProposed,
    *,
    searcher: Searcher,
    sessions: Sessions,
    settings: ActionSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
) -> tuple[Event, ...]:
    """The answer to an action that is about to be done: at most ``max_results`` memories.

    A memory warns once in a context, unless it changed; one that the context holds for another
    reason warns where that is sure. Emits ``proposed``.
    """
    answer = (abstain(event, "warn", "no_subject"),)
    action = read_action(event.action, root=event.place.root)
    if action.query and not action.looks_only and settings.max_results:
        try:
            rated = await searcher.find(action, event)
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
    for shown in answer[1:]:
        sessions.warn(context, frozenset(keys[one.memory_id] for one in shown.shown))
    return answer
