"""Greet a session that starts: what is in the way, what is unfinished, what was decided lately."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import Protocol

import anyio
import msgspec

from ..bus.events import ResponseReady, SessionStarted
from ..bus.signals import abstained, degraded, injected, tell
from ..bus.values import Memory, Scope
from .envelope import Note, note_of, preview
from .pack import Budget, Offer, pack
from .ports import Recall
from .respond import NOTHING, answer

NAMESPACES = ("blockers", "tasks", "decisions")
"""In the order in which they take turns."""

MAX_TOKENS = 600
MAX_UNITS = 3000

_NOTE_CHARS = 200
_FETCHED_PER_MEMORY = 4
_CLOSED_TAGS = frozenset(
    {"resolved", "closed", "done", "fixed", "solved", "success", "failure", "finished", "completed"}
)
_CLOSED_STATUS = re.compile(
    r"^\W*(?:status\W+)?(?:resolved|closed|done|fixed|solved|completed|finished)\b"
    r"|\bstatus\W{1,6}(?:resolved|closed|done|fixed|solved|completed|finished)\b",
    re.IGNORECASE,
)


class GreetSettings(Protocol):
    """What ``greet`` reads of the settings."""

    @property
    def enabled(self) -> bool: ...
    @property
    def max_memories(self) -> int: ...


async def greet(
    event: SessionStarted,
    *,
    recall: Recall,
    settings: GreetSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
) -> ResponseReady:
    """The answer to a session's start; ``{}`` where there is nothing to bring up.

    Open blockers, unfinished tasks and recent decisions take turns until ``max_memories``.
    """
    text = ""
    if settings.enabled and settings.max_memories:
        try:
            found = await _latest(recall, event.place.readable, settings.max_memories, now)
        except ConnectionError:
            tell(degraded, "greet", reason="search.unavailable")
        else:
            text = _envelope(found, settings.max_memories, now, clean)
    body = answer("SessionStart", text)
    return ResponseReady(trace=event.trace, body=msgspec.json.encode(body) if body else NOTHING)


def is_open(memory: Memory, now: datetime) -> bool:
    """Tell whether a blocker or task is still to be dealt with, and a decision still in force."""
    if memory.superseded_by or (memory.valid_to is not None and memory.valid_to <= now):
        return False
    if memory.namespace == "decisions":
        return True
    tagged = not _CLOSED_TAGS.isdisjoint(map(str.casefold, memory.tags))
    return not tagged and _CLOSED_STATUS.search(memory.content) is None


async def _latest(
    recall: Recall, scopes: tuple[Scope, ...], count: int, now: datetime
) -> list[Memory]:
    found: dict[str, list[Memory]] = {}
    failures: list[ConnectionError] = []

    async def fetch(namespace: str) -> None:
        try:
            latest = await recall.latest(
                scopes, limit=count * _FETCHED_PER_MEMORY, namespaces=(namespace,)
            )
        except ConnectionError as unavailable:
            failures.append(unavailable)
        else:
            found[namespace] = [memory for memory in latest if is_open(memory, now)]

    async with anyio.create_task_group() as group:
        for namespace in NAMESPACES:
            group.start_soon(fetch, namespace)
    if failures:
        raise failures[0]
    return _take_turns([found[namespace] for namespace in NAMESPACES])[:count]


def _take_turns(queues: Iterable[Sequence[Memory]]) -> list[Memory]:
    return [memory for turn in zip_longest(*queues) for memory in turn if memory is not None]


def _envelope(
    memories: Sequence[Memory], count: int, now: datetime, clean: Callable[[str], str]
) -> str:
    if not memories:
        tell(abstained, "greet", reason="nothing_relevant")
        return ""
    packed = pack(
        [Offer(notes=(_note(memory, clean),), value=1.0) for memory in memories],
        ceiling=count,
        budget=Budget(MAX_TOKENS, MAX_UNITS),
        now=now,
    )
    tell(injected, "greet", count=len(packed.ids), tokens=packed.tokens)
    return packed.text


def _note(memory: Memory, clean: Callable[[str], str]) -> Note:
    return note_of(memory, preview(clean(memory.content), _NOTE_CHARS))
