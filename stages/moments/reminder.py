"""Builds the reminder of a tool's hook: a few memories in their envelope, under a heading.

A pure helper of ``warn``, ``remind`` and ``remedy``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ...bus.anchors import CodeState
from ...bus.events import (
    ActionProposed,
    Event,
    MemoriesShown,
    ResponseReady,
    ToolFailed,
    ToolUsed,
)
from ...bus.signals import abstained, emit, injected
from ...bus.values import AUTO_CAPTURED, Hit, Shown
from ..injection.candidate import UNCHECKED, Candidate
from ..injection.instructions import Known
from ..injection.pack import Budget
from ..injection.select import Choice, choose
from ..injection.usefulness import MOST_LOWERED, NOTHING_LEARNED, Learned
from ..ports import Code, Sessions
from ..text.envelope import NOTHING, hook_answer
from ..text.unicode import well_formed

MAX_TOKENS = 500
MAX_UNITS = 2000
"""Limits of one reminder, which comes unasked and often."""


NO_CODE: Mapping[str, CodeState] = {}
"""Nothing is known of any code."""

ToolEvent = ActionProposed | ToolUsed | ToolFailed


class ReminderContext(Struct, frozen=True, kw_only=True):
    """What a tool does, which stage answers which hook, and the line above the notes.

    At most ``most`` memories are shown, none below the relevance ``floor``.
    """

    event: ToolEvent
    stage: str
    hook: str
    heading: str
    floor: float
    most: int


class KnownAtAct(NamedTuple):
    """What is known of memories beside what they say: of their code, and of their use."""

    code: Code = UNCHECKED
    learned: Learned = NOTHING_LEARNED


NOTHING_KNOWN = KnownAtAct()


class RatedHit(Struct, frozen=True):
    """A memory with its relevance for what the tool did, and where that comes from, in words."""

    hit: Hit
    why: str


def context_of(event: ToolEvent) -> str:
    """Whose context it is: see ``context_name``."""
    return context_name(event.session, event.agent)


def context_name(session: str, agent: str) -> str:
    """Whose context it is: a sub-agent has one of its own, and has not seen the session's."""
    return f"{session}/{agent}" if session and agent else session


def build_reminder(
    occasion: ReminderContext,
    rated: Iterable[RatedHit],
    *,
    sessions: Sessions,
    now: datetime,
    clean: Callable[[str], str],
    shown: frozenset[tuple[str, int]] | None = None,
    code: Mapping[str, CodeState] = NO_CODE,
    learned: Learned = NOTHING_LEARNED,
) -> tuple[Event, ...]:
    """The answer to the hook, and what it shows; ``{}`` alone where nothing is relevant enough.

    What is shown counts as shown in this context; ``shown`` is what is not to be shown again, if
    that is not all of it, ``code`` what became of the code that the memories name, and ``learned``
    what use says of them. Emits ``injected`` or ``abstained``.
    """
    event = occasion.event
    best = [one for one in _best_first(rated) if not _captured_in_session(one.hit, event.session)]
    context = context_of(event)
    choice = choose(
        [
            Candidate(
                hit=one.hit,
                weight=1.0,
                kind=None,
                clean=clean,
                code=code.get(one.hit.memory.id),
            )
            for one in best
        ],
        floor=occasion.floor,
        beside=occasion.floor,
        shown=sessions.shown(context) if shown is None else shown,
        ceiling=occasion.most,
        budget=Budget(MAX_TOKENS, MAX_UNITS),
        now=now,
        known=Known(learned),
    )
    if not choice.chosen:
        return (abstain(event, occasion.stage, _reason(choice), choice.why),)
    sessions.show(context, frozenset(c.memory.seen_key for c in choice.chosen), by=event.trace)
    emit(injected, occasion.stage, count=len(choice.chosen), tokens=choice.tokens)
    return _answers(occasion, choice, {one.hit.memory.id: one.why for one in best})


def _answers(
    occasion: ReminderContext, choice: Choice, why: Mapping[str, str]
) -> tuple[Event, ...]:
    event = occasion.event
    shown = tuple(
        Shown(memory_id=c.memory.id, score=c.score, why=why[c.memory.id]) for c in choice.chosen
    )
    body = hook_answer(occasion.hook, well_formed(f"{occasion.heading}\n{choice.text}"))
    if event.detailed:
        memories = choice.why | {one.memory_id: one.why for one in shown}
        body["metadata"] = {"abstained": None, "memories": memories}
    return (
        ResponseReady(trace=event.trace, body=msgspec.json.encode(body)),
        MemoriesShown(
            trace=event.trace,
            session=event.session,
            hook=occasion.hook,
            shown=shown,
            scopes=event.place.readable,
        ),
    )


async def check_code(
    code: Code,
    rated: Iterable[RatedHit],
    event: ToolEvent,
    floor: float,
    *,
    patience_s: float = 1.0,
) -> Mapping[str, CodeState]:
    """What became of the code that those of ``rated`` name that may be shown at all.

    It is searched for no longer than ``patience_s``, and what is not known by then is None.
    """
    least = floor - MOST_LOWERED
    memories = (one.hit.memory for one in rated if one.hit.relevance >= least)
    return await code.check(memories, event.place, patience_s=patience_s)


def abstain(
    event: ToolEvent,
    stage: str,
    reason: str,
    looked_at: Mapping[str, str] | None = None,
) -> ResponseReady:
    """The answer that brings nothing, for a ``reason`` that is a constant."""
    emit(abstained, stage, reason=reason)
    body: dict[str, Any] = {}
    if event.detailed:
        body["metadata"] = {"abstained": reason, "memories": looked_at or {}}
    return ResponseReady(trace=event.trace, body=msgspec.json.encode(body) if body else NOTHING)


def _best_first(rated: Iterable[RatedHit]) -> list[RatedHit]:
    """Each memory once, as it was rated highest; the most relevant first, and then the newest."""
    best: dict[str, RatedHit] = {}
    newest = sorted(rated, key=lambda one: one.hit.memory.id, reverse=True)
    for one in sorted(newest, key=lambda one: -one.hit.relevance):
        best.setdefault(one.hit.memory.id, one)
    return list(best.values())


def _captured_in_session(hit: Hit, session: str) -> bool:
    """Whether it was captured automatically from this very session."""
    memory = hit.memory
    return bool(session) and memory.provenance.session == session and AUTO_CAPTURED in memory.tags


def _reason(choice: Choice) -> str:
    if choice.over_budget:
        return "no_room"
    return "already_shown" if choice.already_shown else "nothing_relevant"
