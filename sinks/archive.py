"""The archive: the store, and the warm indexes that are made from it and kept in step.

DuckDB is the truth; the search index and the topic index are caches. Nothing is acknowledged
before it is committed, and what is acknowledged is found by the next search.
"""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import anyio.to_thread
import msgspec

from ..bus.events import (
    CaptureSettled,
    Event,
    ForgetRequested,
    ForgetSettled,
    MemoryForgotten,
    MemoryStored,
    StoreRequested,
)
from ..bus.signals import degraded, stored, tell
from ..bus.values import Encoding, Kept, Memory, Query, Recalled, Scope
from .embedder import Embedder
from .index import Index
from .rows import Row
from .search import Search
from .store import Store
from .topics import TopicIndex
from .trouble import StoreUnavailable
from .words import Words, searchable, text_encoding

_log = logging.getLogger(__name__)


class Archive:
    """Keeps, finds and forgets memories. ``open`` it once; close it at the end."""

    def __init__(
        self,
        store: Store,
        *,
        model_folder: Path | None,
        merge_similarity: float,
        clock: Callable[[], datetime],
    ) -> None:
        self.store = store
        self.index = Index()
        self.topics = TopicIndex()
        self.embedder: Embedder | None = None
        self._words = Words()
        self._trouble: StoreUnavailable | None = None
        self._model_folder = model_folder
        self._merge_similarity = merge_similarity
        self._clock = clock
        self._search = Search(
            self.index, None, fetch=store.get_now, latest=store.latest, clock=clock
        )

    # --- life ------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the store and fill the indexes. Raises ``StoreUnavailable`` (an ``OSError``)."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._bring_embedder)
            tasks.start_soon(self._open_store)
        if self._trouble is not None:
            raise self._trouble
        async for rows in self.store.load():
            await anyio.to_thread.run_sync(self._fill, rows)

    async def _bring_embedder(self) -> None:
        self.embedder = await anyio.to_thread.run_sync(self._load_embedder)
        self._search.embedder = self.embedder

    async def _open_store(self) -> None:
        try:
            await self.store.open()
        except StoreUnavailable as error:  # a task group would wrap it in an exception group
            self._trouble = error

    async def close(self) -> None:
        await self.store.close()

    def _load_embedder(self) -> Embedder | None:
        try:
            return Embedder.load(self._model_folder)
        except (OSError, ValueError) as error:
            _log.error("the embedding cannot be loaded", extra={"error": type(error).__name__})
            tell(degraded, "embedder", reason="embedder.unavailable")
            return None

    def _fill(self, rows: Sequence[Row]) -> None:
        self.index.extend((row.memory, self._current(row)) for row in rows)
        self.topics.build(row.memory for row in rows)

    def _current(self, row: Row) -> Encoding:
        """The encoding of a row, made anew where it comes from another model."""
        if self.embedder is None or row.encoding.model == self.embedder.name:
            return row.encoding
        return self.embedder.encode(searchable(row.memory))

    @property
    def count(self) -> int:
        """How many memories can be found."""
        return sum(self.index.stats.memories.values())

    # --- searching -------------------------------------------------------------------------------

    async def recall(self, query: Query) -> Recalled:
        return await self._search.recall(query)

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        return await self.store.latest(scopes, limit=limit, namespaces=namespaces)

    # --- keeping ---------------------------------------------------------------------------------

    async def keep(self, event: StoreRequested) -> tuple[Event, ...]:
        """Commit a redacted text, or merge it into the memory that says the same."""
        memory = self._draft(event)
        try:
            twin = await self._twin(memory, explicit=event.request.explicit)
            if twin is not None and twin.id != memory.id:
                return await self._merge(event, twin)
            return await self._commit(event, memory, "stored")
        except StoreUnavailable as error:
            _log.error("a memory could not be stored", extra={"reason": error.reason})
            return (could_not_store(event, str(error)),)

    def _draft(self, event: StoreRequested) -> Memory:
        request, now = event.request, self._clock()
        return Memory(
            id=request.id,
            scope=request.scope,
            namespace=event.namespace,
            content=event.content.text,
            summary=event.summary.text,
            tags=event.tags,
            confidence_percent=request.confidence_percent,
            provenance=request.provenance,
            created_at=now,
            updated_at=now,
            content_hash=content_hash(event.content.text),
        )

    async def _twin(self, memory: Memory, *, explicit: bool) -> Memory | None:
        """The memory that already says this: word for word, or nearly so if nobody insisted."""
        same = await self.store.find_hash(memory.content_hash, memory.scope, memory.namespace)
        if same is not None or explicit:
            return same
        nearest = await anyio.to_thread.run_sync(self._nearest, memory)
        if nearest is None:
            return None
        found = await self.store.get([nearest], [memory.scope])
        return found[0] if found else None

    def _nearest(self, memory: Memory) -> str | None:
        if self.embedder is None:
            return None
        near = self.index.nearest(
            self.embedder.encode(searchable(memory)), memory.scope, memory.namespace, 1
        )
        return near[0][0] if near and near[0][1] >= self._merge_similarity else None

    async def _merge(self, event: StoreRequested, twin: Memory) -> tuple[Event, ...]:
        merged = msgspec.structs.replace(
            twin,
            version=twin.version + 1,
            tags=tuple(dict.fromkeys((*twin.tags, *event.tags))),
            confidence_percent=min(
                100, max(twin.confidence_percent, event.request.confidence_percent) + 5
            ),
            updated_at=self._clock(),
        )
        return await self._commit(event, merged, "merged")

    async def _commit(
        self, event: StoreRequested, memory: Memory, outcome: str
    ) -> tuple[Event, ...]:
        encoding = await anyio.to_thread.run_sync(self._encode, memory)
        await self.store.put([Row(memory, encoding)])
        tell(stored, "store", namespace=memory.namespace, outcome=outcome)
        kept = Kept(
            outcome="merged" if outcome == "merged" else "stored",
            namespace=memory.namespace,
            memory_id=memory.id,
            summary=memory.summary,
            redactions=event.content.redactions,
        )
        return (
            MemoryStored(trace=event.trace, memory=memory, encoding=encoding),
            CaptureSettled(trace=event.trace, kept=kept, memory=memory),
        )

    def _encode(self, memory: Memory) -> Encoding:
        if self.embedder is None:
            return text_encoding(searchable(memory), self._words)
        return self.embedder.encode(searchable(memory))

    def add(self, event: MemoryStored) -> None:
        """Make a committed memory findable."""
        self.index.add(event.memory, event.encoding)

    def note(self, event: MemoryStored) -> None:
        """Note the topics of a committed memory."""
        self.topics.add(event.memory)

    # --- forgetting ------------------------------------------------------------------------------

    async def forget(self, event: ForgetRequested) -> tuple[Event, ...]:
        found = await self.store.get([event.id], event.scopes)
        if not found or not await self.store.forget(event.id, event.scopes):
            return (ForgetSettled(trace=event.trace, id=event.id, found=False),)
        return (
            MemoryForgotten(trace=event.trace, id=event.id, scope=found[0].scope),
            ForgetSettled(trace=event.trace, id=event.id, found=True),
        )

    def remove(self, event: MemoryForgotten) -> None:
        """Make a forgotten memory unfindable."""
        self.index.remove(event.id)

    def unnote(self, event: MemoryForgotten) -> None:
        """Take a forgotten memory out of the topics."""
        self.topics.remove(event.id)


def could_not_store(event: StoreRequested, reason: str) -> CaptureSettled:
    """The end of a capture that the store could not take."""
    kept = Kept(outcome="failed", namespace=event.namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)


def content_hash(text: str) -> str:
    """Equal for texts that differ in white space and case alone."""
    return hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()
