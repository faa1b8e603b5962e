"""The archive before it is loaded: who needs it waits for it, as long as there is time."""

from __future__ import annotations

import math
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

import anyio

from ...bus.events import Event
from ...bus.signals import emit, fell_back
from ...bus.values import Hit, Memory, Query, Recalled, Scope
from ...stages.ports import RecallUnavailable

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive

E = TypeVar("E", bound=Event)
Published = Event | tuple[Event, ...] | None
# What the stages after a search still need, in seconds; waiting for the archive leaves it to them.
RESERVE_S = 0.03


class LazyArchive:
    """Stands for the archive from the first moment.

    Fulfils ``Recall``, ``Catalogue`` and ``ActionReader``.

    ``settled_at`` is when loading was over, in seconds since 1970; in the future until then.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        self._settled = anyio.Event()
        self._archive: Archive | None = None
        self._clock = clock
        self.settled_at = math.inf
        self.problem = ""

    @property
    def loaded(self) -> Archive | None:
        """The archive, or None while it loads or where it cannot be opened."""
        return self._archive

    @property
    def settled(self) -> bool:
        """Whether loading is over, well or badly."""
        return self._settled.is_set()

    def arrive(self, archive: Archive) -> None:
        self._archive, self.problem = archive, ""
        self._settle()

    def depart(self) -> Archive | None:
        """The archive leaves, and whoever needs one waits for the next; what left."""
        self._settled = anyio.Event()
        archive, self._archive = self._archive, None
        return archive

    def fail(self, problem: str) -> None:
        """Loading failed; ``problem`` says why, in words for the user."""
        self.problem = problem
        self._settle()

    def _settle(self) -> None:
        self.settled_at = self._clock()
        self._settled.set()

    async def get(self) -> Archive:
        """The archive, when it is there; raises ``RecallUnavailable`` when time runs out."""
        left_s = anyio.current_effective_deadline() - anyio.current_time()
        with anyio.move_on_after(max(0.0, left_s - RESERVE_S)):
            await self._settled.wait()
        if self._archive is None:
            raise RecallUnavailable(self.problem or "the memories are still being loaded")
        return self._archive

    async def recall(self, query: Query) -> Recalled:
        """Answer ``query``; tells what took over where there is less than a whole search."""
        try:
            archive = await self.get()
        except RecallUnavailable:
            emit(fell_back, "search", to="none", reason="unavailable")
            raise
        recalled = await archive.recall(query)
        if recalled.degraded:
            part, _, reason = recalled.degraded.partition(".")
            emit(fell_back, part, to=recalled.mode, reason=reason)
        return recalled

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        return await (await self.get()).latest(scopes, limit=limit, namespaces=namespaces)

    async def fetch(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.get()).fetch(ids, scopes)

    async def naming(self, file: str, scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.get()).naming(file, scopes)

    async def subjects(self, scopes: tuple[Scope, ...], *, limit: int) -> tuple[str, ...]:
        return await (await self.get()).subjects(scopes, limit=limit)

    async def read(self, pairs: Sequence[tuple[str, Memory]]) -> Sequence[float]:
        return await (await self.get()).read(pairs)

    async def current(self, hits: tuple[Hit, ...], scopes: tuple[Scope, ...]) -> tuple[Hit, ...]:
        """Those of ``hits`` whose memory is still stored, in the same version."""
        found = await (await self.get()).store.get([hit.memory.id for hit in hits], scopes)
        kept = {(memory.id, memory.version) for memory in found}
        return tuple(hit for hit in hits if (hit.memory.id, hit.memory.version) in kept)

    def handler(
        self, method: Callable[[Archive, E], Published | Awaitable[Published]]
    ) -> Callable[[E], Awaitable[Published]]:
        """A bus handler that calls ``method`` of the archive, once it is there."""

        async def handle(event: E) -> Published:
            said = method(await self.get(), event)
            return await said if isinstance(said, Awaitable) else said

        return handle
