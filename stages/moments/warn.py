"""Warn before a tool is used: the decision that the action breaks, the failure that it repeats.

Almost every action gets nothing. What is shown informs the agent; it keeps nothing from happening.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import chain

from ...bus.anchors import CodeState
from ...bus.events import ActionProposed, Event, MemoriesShown
from ...bus.signals import degraded, emit, proposed
from ...bus.values import Hit, Memory
from ...config.settings import ActionSettings
from ..actions.commands import Command, commands_run
from ..actions.failures import CERTAIN, Repetition, read_record, repetition
from ..actions.reading import ActionText, read_parts
from ..breaches.deed import SURE, Deed, action_keys
from ..breaches.stated import rule_words
from ..injection.usefulness import Learned
from ..ports import Sessions, Warnings
from ..rules.claims import terms
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

PATIENCE_S = 0.02
"""So long an action waits while code is read; a search of the project is for the next time."""


def lifts(newer: Memory, older: Memory, now: datetime) -> bool:
    """Whether ``newer``, which contradicts ``older``, takes the rules back that it states by name.

    What speaks of another clause of it, makes an exception, or is planned for after ``now``, does
    not.
    """
    rules = rule_words(older.content)
    if rules and rules.isdisjoint(terms(newer.content)):
        return False
    return outdates(newer.content, older.content, said=newer.updated_at, now=now)


async def _find(
    actions: Sequence[ActionText], event: ActionProposed, warnings: Warnings
) -> list[RatedHit]:
    """The memories that warn of ``actions``, a changed file each. Raises ``ConnectionError``.

    They are records of a failure that the command repeats, and those with a rule that an action
    breaks by name.
    """
    deeds = [Deed(action) for action in actions]
    commands = commands_run(event.action.command)
    keys = dict.fromkeys(key for deed in deeds for key in action_keys(deed, commands))
    known = await warnings.warning(tuple(keys), event.place.readable) if keys else ()
    rated = (_rated(memory, deeds, commands) for memory in known)
    return [one for one in rated if one is not None]


def _rated(memory: Memory, deeds: Sequence[Deed], commands: Sequence[Command]) -> RatedHit | None:
    """``memory``, as certain as it is; None where it warns of nothing that is done."""
    if (record := read_record(memory)) is not None:
        if repetition(record, commands) is not Repetition.REPEATS:
            return None
        return RatedHit(Hit.unsearched(memory, CERTAIN), "repeats a command that failed")
    here = [deed for deed in deeds if deed.concerns(memory)]
    if any(deed.meets(memory.triggers) for deed in here):
        return RatedHit(Hit.unsearched(memory, SURE), "is to be shown before such an action")
    if any(deed.breaks(memory.content) for deed in here):
        return RatedHit(Hit.unsearched(memory, SURE), "states a rule that the action breaks")
    return None


async def warn(
    event: ActionProposed,
    *,
    warnings: Warnings,
    sessions: Sessions,
    settings: ActionSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
    known: KnownAtAct = NOTHING_KNOWN,
) -> tuple[Event, ...]:
    """The answer to an action that is about to be done: at most ``max_results`` memories.

    A memory warns once in a context, unless it changed, also where the context holds it for another
    reason. Emits ``proposed``.
    """
    read = (read_parts(one, tops=event.place.tops) for one in event.action.by_file())
    actions = [one for one in chain.from_iterable(read) if not one.looks_only]
    if not actions or not settings.max_results:
        answer: tuple[Event, ...] = (abstain(event, "warn", "no_subject"),)
    else:
        try:
            rated = await _find(actions, event, warnings)
        except ConnectionError:
            emit(degraded, "warn", reason="search.unavailable")
            answer = (abstain(event, "warn", "search_unavailable"),)
        else:
            floor = settings.min_relevance
            states = await check_code(known.code, rated, event, floor, patience_s=PATIENCE_S)
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
        shown=sessions.warned(context),
        code=code,
        learned=learned,
    )
    for shown in answer:
        if isinstance(shown, MemoriesShown):
            warned = frozenset(keys[one.memory_id] for one in shown.shown)
            sessions.warn(context, warned, by=event.trace)
    return answer
