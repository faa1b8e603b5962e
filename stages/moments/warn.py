"""Warn before a tool is used: the decision that the action breaks, the failure that it repeats.

Almost every action gets nothing. What is shown informs the agent; it keeps nothing from happening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from msgspec import Struct
from msgspec.structs import replace

from ...bus.anchors import CodeState
from ...bus.events import ActionProposed, Event, MemoriesShown
from ...bus.signals import degraded, emit, proposed
from ...bus.values import Hit, Memory, Query
from ...config.settings import ActionSettings
from ..actions.commands import Command, commands_run
from ..actions.failures import CERTAIN, Repetition, read_record, repetition
from ..actions.reading import ActionText, read_parts
from ..injection.usefulness import Learned
from ..ports import Recall, Sessions, Warnings
from ..rules.claims import terms
from ..rules.deed import Deed, action_keys
from ..rules.match import LIMIT, SURE, Matcher
from ..rules.stated import rule_words
from ..statements.outdated import outdates
from .reminder import (
    NOTHING_KNOWN,
    KnownAtAct,
    RatedHit,
    ReminderContext,
    abstain,
    build_reminder,
    check_code,
    context_of,
)

HEADING = "Before you do this, earlier notes that seem to speak of just that:"

AGAIN = 0.8
"""From this relevance on a memory warns of an action although the context holds it already."""

MAX_SEARCHED = 5
"""Of a patch of many files so many are searched for."""


class Searcher(Struct, frozen=True):
    """What finds the memories that speak of an action."""

    recall: Recall
    warnings: Warnings
    now: datetime

    async def find(self, actions: Sequence[ActionText], event: ActionProposed) -> list[RatedHit]:
        """The memories found, with how likely each warns. Raises ``ConnectionError``.

        ``actions`` are what ``event`` proposes, a changed file each. The rules that they break by
        name are looked up for all of them, and memories are searched for the first few.

        A record of a failure that the command repeats, and a rule that the action breaks by name,
        are found by what both name; a record of what the command already does otherwise is left
        out.
        """
        deeds = [Deed(action) for action in actions]
        commands = commands_run(event.action.command)
        keys = dict.fromkeys(key for deed in deeds for key in action_keys(deed, commands))
        known = await self.warnings.warning(tuple(keys), event.place.readable) if keys else ()
        rated = [_by_name(memory, deeds) for memory in known]
        for action, deed in zip(actions[:MAX_SEARCHED], deeds, strict=False):
            rated += await self._search(action, deed, event)
        return [one for hit in rated if (one := _by_record(hit, commands)) is not None]

    async def _search(
        self, action: ActionText, deed: Deed, event: ActionProposed
    ) -> list[RatedHit]:
        query = Query(text=action.query, scopes=event.place.readable, limit=LIMIT)
        hits = (await self.recall.recall(query)).hits
        found = [hit for hit in hits if deed.concerns(hit.memory)]
        # The newer word comes with the older.
        newer: dict[str | None, list[Memory]] = {}
        for hit in found:
            newer.setdefault(hit.memory.contradicts, []).append(hit.memory)
        known = [
            hit
            for hit in found
            if (others := newer.get(hit.memory.id)) is None
            or (
                deed.breaks(hit.memory.content)
                and not any(lifts(other, hit.memory, self.now) for other in others)
            )
        ]
        matcher = Matcher(action, known, deed)
        return [_rated(hit, matcher.relevance(at)) for at, hit in enumerate(known)]


def lifts(newer: Memory, older: Memory, now: datetime) -> bool:
    """Whether ``newer``, which contradicts ``older``, takes the rules back that it states by name.

    What speaks of another clause of it, makes an exception, or is planned for after ``now``, does
    not.
    """
    rules = rule_words(older.content)
    if rules and rules.isdisjoint(terms(newer.content)):
        return False
    return outdates(newer.content, older.content, said=newer.updated_at, now=now)


def _rated(hit: Hit, likely: float) -> RatedHit:
    return RatedHit(replace(hit, relevance=likely), f"warns of the action, {likely:.2f}")


def _by_name(memory: Memory, deeds: Sequence[Deed]) -> RatedHit:
    """``memory``, as certain as it is where one of ``deeds`` breaks a rule of it by name."""
    if any(deed.concerns(memory) and deed.breaks(memory.content) for deed in deeds):
        return RatedHit(Hit.unsearched(memory, SURE), "states a rule that the action breaks")
    return RatedHit(Hit.unsearched(memory), "")


def _by_record(one: RatedHit, commands: Sequence[Command]) -> RatedHit | None:
    """``one``, as certain as it is where it is the record of a failure; None to leave it out."""
    record = read_record(one.hit.memory)
    if record is None:
        return one
    if repetition(record, commands) is not Repetition.REPEATS:
        return None
    return RatedHit(replace(one.hit, relevance=CERTAIN), "repeats a command that failed")


async def warn(
    event: ActionProposed,
    *,
    recall: Recall,
    warnings: Warnings,
    sessions: Sessions,
    settings: ActionSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
    known: KnownAtAct = NOTHING_KNOWN,
) -> tuple[Event, ...]:
    """The answer to an action that is about to be done: at most ``max_results`` memories.

    A memory warns once in a context, unless it changed; one that the context holds for another
    reason warns where that is sure. Emits ``proposed``.
    """
    read = (read_parts(one, tops=event.place.tops) for one in event.action.by_file())
    actions = [one for one in chain.from_iterable(read) if one.query and not one.looks_only]
    if not actions or not settings.max_results:
        answer: tuple[Event, ...] = (abstain(event, "warn", "no_subject"),)
    else:
        try:
            rated = await Searcher(recall, warnings, now).find(actions, event)
        except ConnectionError:
            emit(degraded, "warn", reason="search.unavailable")
            answer = (abstain(event, "warn", "search_unavailable"),)
        else:
            states = await check_code(known.code, rated, event, settings.min_relevance)
            answer = _answer(event, rated, sessions, settings, now, clean, states, known.learned)
    emit(proposed, "warn", tool=event.action.tool, outcome="warned" if answer[1:] else "silent")
    return answer


def _answer(
    event: ActionProposed,
    rated: Sequence[RatedHit],
    sessions: Sessions,
    settings: ActionSettings,
    now: datetime,
    clean: Callable[[str], str],
    code: Mapping[str, CodeState],
    learned: Learned,
) -> tuple[Event, ...]:
    context = context_of(event)
    keys = {one.hit.memory.id: one.hit.memory.seen_key for one in rated}
    unsure = {keys[one.hit.memory.id][1] for one in rated if one.hit.relevance < AGAIN}
    held = {key for key in sessions.shown(context) if key[1] in unsure}
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
        shown=sessions.warned(context) | held,
        code=code,
        learned=learned,
    )
    for shown in answer:
        if isinstance(shown, MemoriesShown):
            warned = frozenset(keys[one.memory_id] for one in shown.shown)
            sessions.warn(context, warned, by=event.trace)
    return answer
