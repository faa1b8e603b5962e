"""Greet a session that starts: open blockers, unfinished tasks and recent decisions.

Only what was kept on purpose, or earned it, comes up, and no sentence that an older automatic
capture took out of its context. Beside that what the project is made of, what the memory is about,
and how to say what is worth keeping. After a compaction
first of all what the session was shown and has captured, since a summary may have lost it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Set
from datetime import datetime
from functools import cached_property, partial
from itertools import chain, islice, zip_longest
from typing import NamedTuple, TypeVar

import anyio
import msgspec

from ...bus.anchors import CodeState
from ...bus.events import Event, MemoriesShown, ResponseReady, SessionStarted
from ...bus.prompts import ProjectFacts
from ...bus.signals import abstained, degraded, emit, injected
from ...bus.values import AUTO_CAPTURED, EARNED_PERCENT, Memory, Scope, Shown, copies
from ...bus.values import NAMESPACES as ALL_NAMESPACES
from ...config.settings import SessionStartSettings
from ..injection.candidate import UNCHECKED, gone_reason, remark
from ..injection.instructions import NOTHING_INSTRUCTED, Instructed
from ..injection.pack import Budget, Offer, Packed, pack
from ..injection.usefulness import NOTHING_LEARNED, Learned
from ..ports import Catalogue, Code, Recall, Sessions
from ..statements.open_work import OUTCOME, is_finished_later, is_open
from ..statements.outdated import contradicted
from ..text.envelope import (
    NOTHING,
    Note,
    extend,
    hook_answer,
    note_of,
    preview,
    quote_facts,
    quote_topics,
)
from ..text.unicode import one_line, well_formed
from .guidance import guidance

NAMESPACES = ("blockers", "tasks", "decisions")
"""In the order in which they take turns."""

MAX_TOKENS = 600
MAX_UNITS = 3000
"""Of the memories; half as much again after a compaction, which may bring twice as many."""

MAX_TOPICS = 8

_BUDGET = Budget(MAX_TOKENS, MAX_UNITS)
_WIDER_BUDGET = Budget(MAX_TOKENS * 3 // 2, MAX_UNITS * 3 // 2)
_NOTE_CHARS = 200
_FETCHED_PER_MEMORY = 12
# So many of the newest are compared with what may be shown.
_COMPARED = 20
_FACTS_CHARS = 400
_WHY = {
    "blockers": "an open blocker",
    "tasks": "an unfinished task",
    "decisions": "a recent decision",
}
_LOST = "the session had it before its context was compacted"

T = TypeVar("T")


class Background(NamedTuple):
    """What is known beside the memories; ``last_session`` has harmless lines for the envelope.

    ``code`` tells what became of the code that memories name, ``learned`` what use says of them,
    ``instructed`` what the agent's own files tell it in any case.
    """

    facts: ProjectFacts = ProjectFacts()
    last_session: str = ""
    code: Code = UNCHECKED
    learned: Learned = NOTHING_LEARNED
    instructed: Instructed = NOTHING_INSTRUCTED


_NOTHING_KNOWN = Background()


async def greet(
    event: SessionStarted,
    *,
    recall: Recall,
    catalogue: Catalogue,
    sessions: Sessions,
    settings: SessionStartSettings,
    now: datetime,
    clean: Callable[[str], str] = str,
    about: Background = _NOTHING_KNOWN,
) -> tuple[Event, ...]:
    """The answer to a session's start, and what it shows; ``{}`` where there is nothing to say.

    Open blockers, unfinished tasks and recent decisions take turns until ``max_memories``. What is
    given in full counts as shown. A session that goes on with the context of its last greeting
    gets only what it has not seen.
    """
    if not settings.enabled:
        return (ResponseReady(trace=event.trace, body=NOTHING),)
    looking = _Looking(event, recall, catalogue, settings.max_memories, now, about.learned)
    async with anyio.create_task_group() as group:
        for look in (looking.latest, looking.lost, looking.topics):
            group.start_soon(look, sessions)
    if looking.is_down:
        emit(degraded, "greet", reason="search.unavailable")
    states = await about.code.check((*looking.found_lost, *looking.found_latest), event.place)
    packed, why = _pack(looking, sessions, clean, states, about.instructed)
    first = not sessions.is_greeted(event.session)
    parts = [packed.text]
    if first:
        beside = [*about.last_session.splitlines(), *_facts(about.facts, clean)]
        beside += quote_topics(map(clean, looking.found_topics[:MAX_TOPICS]))
        parts = [extend(packed.text, beside)]
        parts += [guidance(settings.guidance_detail)] if settings.include_guidance else []
    sessions.greet(event.session, by=event.trace)
    body = hook_answer("SessionStart", well_formed("\n".join(part for part in parts if part)))
    ready = ResponseReady(trace=event.trace, body=msgspec.json.encode(body) if body else NOTHING)
    return (ready, _shown(event, packed, why)) if packed.ids else (ready,)


def is_deliberate(memory: Memory) -> bool:
    """Whether somebody kept it, or it earned it; records of tasks count.

    What older rules captured from prose is less certain than what is earned today, unless it was
    kept because it outdates another memory.
    """
    if AUTO_CAPTURED not in memory.tags or memory.contradicts or memory.supersedes:
        return True
    if memory.namespace == "tasks" and OUTCOME.search(memory.content):
        return True
    return memory.confidence_percent >= EARNED_PERCENT


class _Looking:
    """Collects the results of several look-ups; one that fails does not fail the others."""

    def __init__(
        self,
        event: SessionStarted,
        recall: Recall,
        catalogue: Catalogue,
        count: int,
        now: datetime,
        learned: Learned,
    ) -> None:
        self.event = event
        self.count = count
        self.now = now
        self.is_down = False
        self.found_lost: tuple[Memory, ...] = ()
        self.found_topics: tuple[str, ...] = ()
        self._newest: tuple[Memory, ...] = ()
        self._recall = recall
        self._catalogue = catalogue
        self._learned = learned
        self._by_namespace: dict[str, tuple[Memory, ...]] = {}

    @cached_property
    def found_latest(self) -> list[Memory]:
        queues = [self._by_namespace.get(namespace, ()) for namespace in NAMESPACES]
        in_turn = filter(None, chain.from_iterable(zip_longest(*queues)))
        found = list(islice(in_turn, 2 * self.count))
        # What is no blocker, task or decision may contradict one as well.
        compared = {memory.id: memory for memory in (*found, *self._newest)}
        asked = {memory.id for memory in found}
        outdated = contradicted(compared.values(), asked=asked, now=self.now)
        return [memory for memory in found if memory.id not in outdated]

    async def latest(self, sessions: Sessions) -> None:
        seen = {digest for _, digest in sessions.shown(self.event.session)}
        async with anyio.create_task_group() as group:
            for namespace in NAMESPACES if self.count else ():
                group.start_soon(self._latest, namespace, seen)
            if self.count:
                group.start_soon(self._all)

    async def lost(self, sessions: Sessions) -> None:
        ids = sessions.lost(self.event.session) if self.event.source == "compact" else ()
        if some := ids[: self.count * _FETCHED_PER_MEMORY]:
            found = self._catalogue.fetch(some, self._scopes)
            self.found_lost = tuple(filter(self._is_open, await self._try(found, ())))

    async def topics(self, sessions: Sessions) -> None:
        if self.count and not sessions.is_greeted(self.event.session):
            limit = MAX_TOPICS + len(ALL_NAMESPACES)
            found = self._catalogue.subjects(self._scopes, limit=limit)
            names = await self._try(found, ())
            self.found_topics = tuple(name for name in names if name not in ALL_NAMESPACES)

    async def _latest(self, namespace: str, seen: Set[int]) -> None:
        limit = self.count * _FETCHED_PER_MEMORY
        found = self._recall.latest(self._scopes, limit=limit, namespaces=(namespace,))
        newest = await self._try(found, ())
        self._by_namespace[namespace] = tuple(
            memory
            for memory in newest
            if self._is_open(memory)
            and memory.seen_key[1] not in seen
            and not is_finished_later(memory, newest)
        )

    async def _all(self) -> None:
        """The newest of every namespace."""
        found = self._recall.latest(self._scopes, limit=_COMPARED)
        newest = await self._try(found, ())
        self._newest = tuple(memory for memory in newest if is_open(memory, self.now))

    async def _try(self, found: Awaitable[T], instead: T) -> T:
        try:
            return await found
        except ConnectionError:
            self.is_down = True
            return instead

    def _is_open(self, memory: Memory) -> bool:
        wanted = not self._learned.is_buried(memory.id)
        return wanted and is_deliberate(memory) and is_open(memory, self.now)

    @property
    def _scopes(self) -> tuple[Scope, ...]:
        return self.event.place.readable


def _pack(
    looking: _Looking,
    sessions: Sessions,
    clean: Callable[[str], str],
    code: Mapping[str, CodeState],
    instructed: Instructed,
) -> tuple[Packed, dict[str, str]]:
    """What is shown, and why each; what was lost comes before the rest."""
    copied = copies((*looking.found_lost, *looking.found_latest))

    def is_news(memory: Memory) -> bool:
        gone = gone_reason(code.get(memory.id))
        known = memory.id in copied or instructed.refusal(memory.content) is not None
        return gone is None and not known

    lost = {memory.id: memory for memory in filter(is_news, looking.found_lost)}
    lost = dict(islice(lost.items(), looking.count))
    latest = filter(is_news, (m for m in looking.found_latest if m.id not in lost))
    memories = [*lost.values(), *islice(latest, looking.count)]
    packed = pack(
        [
            Offer(memory.id, 1.0, partial(_notes, memory, clean, code, instructed))
            for memory in memories
        ],
        ceiling=len(memories),
        budget=_WIDER_BUDGET if lost else _BUDGET,
        now=looking.now,
    )
    whole = frozenset(m.seen_key for m in memories if m.id in packed.ids and _is_whole(m))
    sessions.show(looking.event.session, whole, by=looking.event.trace)
    if packed.ids:
        emit(injected, "greet", count=len(packed.ids), tokens=packed.tokens)
    elif not looking.is_down:
        emit(abstained, "greet", reason="nothing_relevant")
    why = {m.id: _LOST if m.id in lost else _WHY[m.namespace] for m in memories}
    return packed, why


def _notes(
    memory: Memory,
    clean: Callable[[str], str],
    code: Mapping[str, CodeState],
    instructed: Instructed,
) -> tuple[Note]:
    return (
        note_of(
            memory,
            preview(clean(memory.content), _NOTE_CHARS),
            since=clean(remark(code.get(memory.id))),
            denied_by=instructed.otherwise(memory.content).file,
        ),
    )


def _is_whole(memory: Memory) -> bool:
    """Whether its note holds the whole text; otherwise a later prompt may still inject it."""
    return len(one_line(memory.content)) <= _NOTE_CHARS


def _facts(facts: ProjectFacts, clean: Callable[[str], str]) -> tuple[str, ...]:
    """Stack, commands and quirks, for the envelope; () where nothing is known."""
    commands = (("test", facts.test_command), ("build", facts.build_command),
                ("lint", facts.lint_command))  # fmt: skip
    known = [", ".join(facts.stack), *(f"{name}: {said}" for name, said in commands if said)]
    known += facts.quirks
    said = "; ".join(part for part in known if part)
    return quote_facts([preview(clean(said), _FACTS_CHARS)] if said else ())


def _shown(event: SessionStarted, packed: Packed, why: dict[str, str]) -> MemoriesShown:
    return MemoriesShown(
        trace=event.trace,
        session=event.session,
        hook="SessionStart",
        shown=tuple(Shown(memory_id=id_, score=1.0, why=why[id_]) for id_ in packed.ids),
        scopes=event.place.readable,
    )
