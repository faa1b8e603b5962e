"""The memories before they are loaded.

One stands for them from the daemon's first moment on: who needs them waits for them, as long as
there is time. What comes out of them is redacted anew, each text once.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
from msgspec.structs import replace

from ...bus.events import Event, PromptEnriched
from ...bus.prompts import Span
from ...bus.signals import degraded, emit, fell_back
from ...bus.values import Memory, Query, Recalled, Scope, Usefulness
from ...stages.ports import RecallUnavailable
from ...stages.redaction.values import KnownSecrets

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive

E = TypeVar("E", bound=Event)
T = TypeVar("T")
Published = Event | tuple[Event, ...] | None
# What the stages after a search still need, in seconds; waiting for the archive leaves it to them.
RESERVE_S = 0.03
MAX_TEXTS = 50_000
LESSER_SEARCHES = ("reranker.cut", "index.loading", "index.failed", "index.off")
"""Why a search went without the whole index, or did not rerank all of its candidates."""


class NotStored(ConnectionError):
    """The store takes nothing now; the transcript is to be read again later."""


def _left_s() -> float:
    """How long may still be waited, so that the stages after have what they need."""
    left_s = anyio.current_effective_deadline() - anyio.current_time()
    return max(0.0, left_s - RESERVE_S)


def _tell_degraded(by: str) -> None:
    """Count a search that was lesser for one of ``LESSER_SEARCHES``."""
    if by in LESSER_SEARCHES:
        emit(degraded, "search", reason=by)


class Awaited(Generic[T]):
    """Stands for a part that is loaded later, and may be closed and loaded again.

    ``loaded`` is the part, or None while it loads or where it cannot be opened; ``problem`` says
    why it cannot, in words for the user. ``name`` is what it is called until then.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._settled = anyio.Event()
        self.loaded: T | None = None
        self.problem = ""

    def arrive(self, part: T) -> None:
        """Use ``part`` from now on."""
        self.loaded, self.problem = part, ""
        self._settled.set()

    def depart(self) -> T | None:
        """The part leaves, and whoever needs one waits for the next; what left."""
        self._settled = anyio.Event()
        part, self.loaded = self.loaded, None
        return part

    def fail(self, problem: str) -> None:
        """Loading failed for this reason."""
        self.problem = problem
        self._settled.set()

    async def wait_until_settled(self) -> None:
        """Return when loading is over, well or badly."""
        await self._settled.wait()

    async def get(self) -> T:
        """The part, when it is there; raises ``RecallUnavailable`` when time runs out."""
        await self._wait(self._settled)
        return self._there(self.loaded)

    async def _wait(self, event: anyio.Event) -> None:
        with anyio.move_on_after(_left_s()):
            await event.wait()

    def _there(self, part: T | None) -> T:
        if part is None:
            raise RecallUnavailable(self.problem or f"the {self._name} are still being loaded")
        return part


class LazyArchive(Awaited["Archive"]):
    """Stands for the archive of memories.

    Fulfils ``Recall``, ``Catalogue``, ``Chronicle``, ``Failures``, ``Spelling`` and ``Uses``.

    ``settled_at`` is when loading was over, in seconds since 1970; in the future until then.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__("memories")
        self._clock = clock
        self.settled_at = math.inf
        self._readable = anyio.Event()
        self._opened: Archive | None = None

    @property
    def settled(self) -> bool:
        """Whether loading is over, well or badly."""
        return self._settled.is_set()

    def open(self, part: Archive) -> None:
        """``part`` answers what its store alone can answer; its indexes are still being filled."""
        self._opened = part
        self._readable.set()

    def arrive(self, part: Archive) -> None:
        self.settled_at = self._clock()
        self.open(part)
        super().arrive(part)

    def depart(self) -> Archive | None:
        self._readable, self._opened = anyio.Event(), None
        return super().depart()

    def fail(self, problem: str) -> None:
        self.settled_at, self._opened = self._clock(), None
        self._readable.set()
        super().fail(problem)

    async def opened(self) -> Archive:
        """The archive as soon as its store is open.

        Raises ``RecallUnavailable`` when time runs out.
        """
        await self._wait(self._readable)
        return self._there(self._opened)

    async def recall(self, query: Query) -> Recalled:
        """Answer ``query``; tells what took over where there is less than a whole search."""
        try:
            recalled = await self._search(query)
        except RecallUnavailable:
            emit(fell_back, "search", to="none", reason="unavailable")
            raise
        if recalled.degraded:
            part, _, reason = recalled.degraded.partition(".")
            to = "sql" if part == "index" else recalled.mode
            emit(fell_back, part, to=to, reason=reason)
            _tell_degraded(recalled.degraded)
        return recalled

    async def _search(self, query: Query) -> Recalled:
        """By the index in memory; by SQL while it is loaded, or where there is none.

        Half of the time there is the index is waited for, the other half is for SQL.
        """
        with anyio.move_on_after(_left_s() / 2):
            await self._settled.wait()
        if self.loaded is None and not self.settled:
            return await self._search_by_sql(await self.opened(), query, "index.loading")
        archive = self._there(self.loaded)
        if not archive.without_index:
            try:
                return await archive.recall(query)
            except (LookupError, ValueError) as error:
                archive.drop_index(error)
        return await self._search_by_sql(archive, query, archive.without_index)

    async def _search_by_sql(self, archive: Archive, query: Query, reason: str) -> Recalled:
        try:
            with anyio.move_on_after(left_s := _left_s()):
                return await archive.recall_by_sql(query, reason, within_s=left_s)
        except ConnectionError as error:
            raise RecallUnavailable(str(error)) from None
        raise RecallUnavailable(f"the {self._name} could not be searched in time without an index")

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        return await (await self.opened()).latest(scopes, limit=limit, namespaces=namespaces)

    async def fetch(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.opened()).fetch(ids, scopes)

    async def made(
        self,
        scopes: tuple[Scope, ...],
        *,
        limit: int,
        namespaces: tuple[str, ...] = (),
        within: Span | None = None,
        by_use: bool = False,
    ) -> tuple[Memory, ...]:
        archive = await self.opened()
        return await archive.store.made(
            scopes, limit=limit, namespaces=namespaces, within=within, by_use=by_use
        )

    async def naming(self, file: str, scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.get()).naming(file, scopes)

    async def warning(self, keys: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.get()).warning(keys, scopes)

    async def sharing(
        self, keys: Sequence[str], scopes: tuple[Scope, ...], *, among: str
    ) -> tuple[tuple[Memory, float], ...]:
        return await (await self.get()).sharing(keys, scopes, among=among)

    async def subjects(self, scopes: tuple[Scope, ...], *, limit: int) -> tuple[str, ...]:
        """What several memories are about; empty as long as no index knows it."""
        await self.opened()
        return () if self.loaded is None else await self.loaded.subjects(scopes, limit=limit)

    def meant(self, words: Sequence[str], scopes: tuple[Scope, ...]) -> Mapping[str, str]:
        """What each misspelt one of ``words`` was meant as; nothing until all is loaded."""
        archive = self.loaded
        if archive is None or archive.without_index or archive.search.reranker is None:
            return {}
        try:
            return archive.index.meant(words, scopes)
        except (LookupError, ValueError):  # a damaged index: the search that follows drops it
            return {}

    def of(self, memory_id: str) -> Usefulness:
        return self.loaded.uses.of(memory_id) if self.loaded else Usefulness()

    @property
    def usual(self) -> Usefulness:
        return self.loaded.uses.usual if self.loaded else Usefulness()

    async def current(self, found: PromptEnriched) -> PromptEnriched:
        """``found`` without the memories that are no longer stored, or say something else now."""
        held = [one.memory.id for one in found.candidates]
        held += [one.memory.id for one in found.bearing]
        stored = await (await self.opened()).store.get(held, found.prompt.place.readable)
        kept = {memory.seen_key for memory in stored}
        return replace(
            found,
            candidates=tuple(one for one in found.candidates if one.memory.seen_key in kept),
            bearing=tuple(one for one in found.bearing if one.memory.seen_key in kept),
        )

    def handler(
        self, method: Callable[[Archive, E], Published | Awaitable[Published]]
    ) -> Callable[[E], Awaitable[Published]]:
        """A bus handler that calls ``method`` of the archive, once it is there."""

        async def handle(event: E) -> Published:
            said = method(await self.get(), event)
            return await said if isinstance(said, Awaitable) else said

        return handle

    def counter(
        self, method: Callable[[Archive, E], Awaitable[None]]
    ) -> Callable[[E], Awaitable[Published]]:
        """The same for a method that counts uses.

        A use that cannot be counted, since the database cannot be had, harms no answer: it is a
        degradation, and no failure of a stage.
        """
        handle = self.handler(method)

        async def count(event: E) -> Published:
            try:
                return await handle(event)
            except ConnectionError:
                emit(degraded, "use", reason="store.unavailable")
                return None

        return count


class RedactionCache:
    """Redacts texts, and remembers which of them had nothing to redact; not the texts themselves.

    By Python's own hash, which is keyed anew in each process: nobody can make two texts meet.
    """

    def __init__(
        self,
        redact: Callable[[str, KnownSecrets | None], str],
        *,
        max_texts: int = MAX_TEXTS,
    ) -> None:
        self._redact = redact
        self._max_texts = max_texts
        self._spotless: dict[int, None] = {}
        self._lock = threading.Lock()  # a review cleans in a thread

    def __call__(self, text: str, known: KnownSecrets | None = None) -> str:
        """``text`` redacted, with what is ``known`` of its session."""
        key = hash(text)
        if key in self._spotless:
            return known.hide(text)[0] if known else text
        cleaned = self._redact(text, known)
        if cleaned == text:
            with self._lock:
                self._spotless[key] = None
                if len(self._spotless) > self._max_texts:
                    del self._spotless[next(iter(self._spotless))]
        return cleaned
