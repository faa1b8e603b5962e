"""Search: the warm index ranks, and the winners alone are fetched from the store."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Collection, Iterator, Sequence
from datetime import datetime
from functools import partial
from typing import Protocol

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.values import Hit, Memory, Query, Recalled, Scope
from ..models.cross_encoder import CrossEncoder
from ..models.embedder import Embedder, Question
from ..models.script import is_latin
from .calibration import read_relevance
from .index import Index
from .ranking import Scored

READ = 6
"""So many candidates of a question are read: of those that answer, nine in ten are among them."""

READ_FROM = 0.02
"""What is less relevant by its words is not read: it hardly ever answers."""

READING_S = 0.05
"""Reading begins with no further candidate after so long, less what the question waited for its
turn: of many that come at once the later ones are answered by words alone, in place of too late."""

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
    it does, text search answers. So does ``reader``: until it does, words alone say how relevant a
    memory is.
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
        self.reader: CrossEncoder | None = None
        self.embedder = embedder

    @property
    def embedder(self) -> Embedder | None:
        return self._index.embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        self._index.embedder = embedder

    async def recall(self, query: Query) -> Recalled:
        """Answer ``query``, best first, from its scopes alone; in one worker thread."""
        work = partial(self.recall_now, query, came=time.perf_counter())
        return await anyio.to_thread.run_sync(work, limiter=self._threads)

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        """The newest memories of ``scopes``, newest first."""
        return await self._latest(scopes, limit=limit, namespaces=namespaces)

    def recall_now(self, query: Query, *, came: float | None = None) -> Recalled:
        """The same, in the thread that calls; ``came`` is when it was asked, if not now."""
        began = time.perf_counter()
        waited_s = 0.0 if came is None else began - came
        degraded = self._degraded(query)
        ranking = self._index.search(query, self._question(query), self._clock())
        hits = self._answers(query, ranking.scored, READING_S - waited_s)
        return Recalled(
            hits=hits,
            mode="text" if degraded else query.mode,
            total=ranking.total,
            took_ms=(time.perf_counter() - began) * 1000,
            degraded=degraded,
        )

    def _question(self, query: Query) -> Question:
        """The query for the index; what was typed in another script by its words alone."""
        question = self._index.ask(query.text)
        return question if is_latin(query.asked) else Question(terms=question.terms)

    def _degraded(self, query: Query) -> str | None:
        if query.mode == "text" or self._index.usable_embedder is not None:
            return None
        return "embedder.unavailable" if self.embedder is None else "embedder.changed"

    def _answers(self, query: Query, scored: Sequence[Scored], left_s: float) -> tuple[Hit, ...]:
        """The hits that are relevant enough; the best of them read, if the query is a question."""
        worthy = _worthy(scored, query)
        if self.reader is None or not query.asked or not is_latin(query.asked):
            return self._hits(worthy)
        unread = {one.id for one in scored[:READ] if one.relevance >= READ_FROM}
        wanted = unread | {one.id for one in worthy}
        hits = self._hits([one for one in scored if one.id in wanted])
        read = _read(self.reader, query.asked, hits, unread, left_s)
        return tuple(hit for hit in read if _suffices(hit, query))

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


def _read(
    reader: CrossEncoder, asked: str, hits: Sequence[Hit], unread: Collection[str], left_s: float
) -> Iterator[Hit]:
    """``hits``, of which the ``unread`` get the relevance that they have when they are read."""
    until = time.perf_counter() + left_s
    for hit in hits:
        if hit.memory.id not in unread or time.perf_counter() > until:
            yield hit
            continue
        said = reader.read(asked, f"{hit.memory.namespace}: {hit.memory.content}")
        yield replace(hit, relevance=read_relevance(hit.relevance, said), by_words=hit.relevance)


def _worthy(scored: Sequence[Scored], query: Query) -> list[Scored]:
    """Those that are relevant enough to be fetched."""
    floors = dict(query.floors)
    return [
        one for one in scored if one.relevance >= floors.get(one.namespace, query.min_relevance)
    ]


def _suffices(hit: Hit, query: Query) -> bool:
    """Whether ``hit`` is relevant enough; the floors of namespaces are for one that is not read."""
    floors = {} if hit.by_words is not None else dict(query.floors)
    return hit.relevance >= floors.get(hit.memory.namespace, query.min_relevance)
