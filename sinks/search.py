"""Search: the warm index ranks, and the winners alone are fetched from the store."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

import anyio
import anyio.to_thread

from ..bus.values import Hit, Memory, Query, Recalled, Scope
from .embedder import Embedder
from .index import Index
from .ranking import Scored

THREADS = 2
"""More searches at once than this only take turns with one interpreter, and all end late."""

Fetch = Callable[[Sequence[str], Sequence[Scope]], Sequence[Memory]]


class Latest(Protocol):
    """The store's newest memories."""

    def __call__(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> Awaitable[tuple[Memory, ...]]:
        """The newest of ``scopes``, newest first."""


class Search:
    """Answers queries from an index and a store.

    ``fetch`` gives the memories with some ids that are in some scopes; it is called in a worker
    thread, and may leave out what is gone. ``embedder`` may arrive later than the rest: until
    it does, text search answers.
    """

    def __init__(
        self,
        index: Index,
        embedder: Embedder | None,
        *,
        fetch: Fetch,
        latest: Latest,
        clock: Callable[[], datetime],
    ) -> None:
        self._index = index
        self._fetch = fetch
        self._latest = latest
        self._clock = clock
        self._threads = anyio.CapacityLimiter(THREADS)
        self.embedder = embedder

    @property
    def embedder(self) -> Embedder | None:
        return self._index.embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        self._index.embedder = embedder

    async def recall(self, query: Query) -> Recalled:
        """Answer ``query``, best first, from its scopes alone; in one worker thread."""
        work = partial(self.recall_now, query)
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        """The newest memories of ``scopes``, newest first."""
        return await self._latest(scopes, limit=limit, namespaces=namespaces)

    def recall_now(self, query: Query) -> Recalled:
        """The same, in the thread that calls."""
        began = time.perf_counter()
        degraded = self._degraded(query)
        ranking = self._index.search(query, self._index.ask(query.text), self._clock())
        hits = self._hits(_worthy(ranking.scored, query))
        return Recalled(
            hits=hits,
            mode="text" if degraded else query.mode,
            total=ranking.total,
            took_ms=(time.perf_counter() - began) * 1000,
            degraded=degraded,
        )

    def _degraded(self, query: Query) -> str | None:
        if query.mode == "text" or self._index.usable_embedder is not None:
            return None
        return "embedder.unavailable" if self.embedder is None else "embedder.changed"

    def _hits(self, scored: Sequence[Scored]) -> tuple[Hit, ...]:
        if not scored:
            return ()
        scopes = tuple(dict.fromkeys(one.scope for one in scored))
        memories = {memory.id: memory for memory in self._fetch([s.id for s in scored], scopes)}
        return tuple(
            Hit(
                memory=memories[one.id],
                text=one.text,
                late=one.late,
                vector=one.vector,
                order=one.order,
                relevance=one.relevance,
            )
            for one in scored
            if one.id in memories
        )


def _worthy(scored: Sequence[Scored], query: Query) -> list[Scored]:
    """Those that are relevant enough to be fetched."""
    floors = dict(query.floors)
    return [
        one for one in scored if one.relevance >= floors.get(one.namespace, query.min_relevance)
    ]
