"""The archive: the store, and the warm indexes that are made from it and kept in step.

DuckDB is the truth; the search index and the topic index are caches. Nothing is acknowledged
before it is committed, and what is acknowledged is found by the next search.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path

import anyio
import anyio.to_thread

from ..bus.events import (
    ContextBuilt,
    Event,
    ForgetRequested,
    ForgetSettled,
    MemoriesStored,
    MemoryForgotten,
    MemoryStored,
)
from ..bus.signals import degraded, tell
from ..bus.values import Memory, Query, Recalled, Scope
from .changing import Changing
from .embedder import Embedder
from .encoding import Encoder
from .fetched import Fetched
from .importing import Importing
from .index import Index
from .keeping import Keeping
from .rows import Row
from .search import Search
from .store import Store
from .topics import TopicIndex
from .trouble import StoreUnavailable

_log = logging.getLogger(__name__)
# Memories a read, memories a slice (about 2 ms), and the pause after it.
_TOPIC_PAGE = 500
_TOPIC_SLICE = 25
_TOPIC_PAUSE_S = 0.002


class Archive:
    """Keeps, finds and forgets memories. ``open`` it once; close it at the end.

    ``keeping``, ``changing`` and ``importing`` write; ``store``, ``index`` and ``topics`` are for
    reading.
    """

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
        self.encoder = Encoder()
        self.changing = Changing(store, encoder=self.encoder, clock=clock)
        self.keeping = Keeping(
            store,
            index=self.index,
            encoder=self.encoder,
            changing=self.changing,
            merge_similarity=merge_similarity,
            clock=clock,
        )
        self.importing = Importing(store, encoder=self.encoder, changing=self.changing, clock=clock)
        self._trouble: StoreUnavailable | None = None
        self._model_folder = model_folder
        self._clock = clock
        self._forgets = 0
        # Tells, also after a crash, that the file still holds what was forgotten.
        self._uncompacted = store.path.with_name(f"{store.path.name}.uncompacted")
        self._fetched = Fetched(store.get_now)
        self._search = Search(
            self.index, None, fetch=self._fetched, latest=store.latest, clock=clock
        )

    # --- life ------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Open the store and fill the index. Raises ``StoreUnavailable`` (an ``OSError``)."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._bring_embedder)
            tasks.start_soon(self._open_store)
        if self._trouble is not None:
            raise self._trouble
        async for rows in self.store.load():
            await anyio.to_thread.run_sync(self._fill, rows)

    async def _bring_embedder(self) -> None:
        self.encoder.embedder = await anyio.to_thread.run_sync(self._load_embedder)
        self._search.embedder = self.encoder.embedder

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
        self.index.extend(self.encoder.refresh(rows))

    async def build_topics(self) -> None:
        """Fill the topic index, after ``open``: it takes longest, and no prompt waits for it.

        In small slices with pauses between, since a thread that computes holds up the event loop.
        """
        for scope in await self.store.counts():
            after = ""
            while page := await self.store.page([scope], after=after, limit=_TOPIC_PAGE):
                after = page[-1].id
                for start in range(0, len(page), _TOPIC_SLICE):
                    part = page[start : start + _TOPIC_SLICE]
                    await anyio.to_thread.run_sync(self._note_unless_gone, part)
                    await anyio.sleep(_TOPIC_PAUSE_S)

    def _note_unless_gone(self, memories: Sequence[Memory]) -> None:
        """Note what is still in the index: the rest was forgotten since it was read."""
        self.topics.build(m for m in memories if m.id in self.index and not self._is_over(m))

    @property
    def count(self) -> int:
        """How many memories can be found."""
        return self.index.count

    # --- searching -------------------------------------------------------------------------------

    async def recall(self, query: Query) -> Recalled:
        return await self._search.recall(query)

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        return await self.store.latest(scopes, limit=limit, namespaces=namespaces)

    async def count_uses(self, event: ContextBuilt) -> None:
        """Count what went into a context; written when there is time."""
        if not event.classified.enriched.prompt.rehearsal:
            used = [memory.id for memory in event.context.injected_memories]
            await self.store.mark_used(used)

    # --- the indexes follow ----------------------------------------------------------------------

    def add(self, event: MemoryStored) -> None:
        """Make a committed memory findable."""
        self._fetched.drop(event.memory.id)
        self.index.add(event.memory, event.encoding)

    async def add_many(self, event: MemoriesStored) -> None:
        """Make committed memories findable."""
        for memory, _ in event.stored:
            self._fetched.drop(memory.id)
        await anyio.to_thread.run_sync(self.index.extend, event.stored)

    def note(self, event: MemoryStored) -> None:
        """Note the topics of a committed memory."""
        self._note(event.memory)

    async def note_many(self, event: MemoriesStored) -> None:
        """Note the topics of committed memories."""
        await anyio.to_thread.run_sync(self._note_all, [memory for memory, _ in event.stored])

    def _note_all(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            self._note(memory)

    def _note(self, memory: Memory) -> None:
        if self._is_over(memory):
            self.topics.remove(memory.id)
        else:
            self.topics.add(memory)

    def _is_over(self, memory: Memory) -> bool:
        return memory.valid_to is not None and memory.valid_to <= self._clock()

    # --- forgetting ------------------------------------------------------------------------------

    async def forget(self, event: ForgetRequested) -> tuple[Event, ...]:
        async with self.changing.turn:
            memory = await self.changing.find(event.id, event.scopes)
            if memory is None:
                return (ForgetSettled(trace=event.trace, id=event.id, found=False),)
            self._forgets += 1
            await anyio.to_thread.run_sync(self._mark_uncompacted)
            await self.store.forget(event.id, event.scopes)
        return (
            MemoryForgotten(trace=event.trace, id=event.id, scope=memory.scope),
            ForgetSettled(trace=event.trace, id=event.id, found=True),
        )

    def remove(self, event: MemoryForgotten) -> None:
        """Make a forgotten memory unfindable."""
        self._fetched.drop(event.id)
        self.index.remove(event.id)

    def unnote(self, event: MemoryForgotten) -> None:
        """Take a forgotten memory out of the topics."""
        self.topics.remove(event.id)

    @property
    def needs_compaction(self) -> bool:
        """Whether the file on disk still holds what was forgotten."""
        return self._uncompacted.exists()

    async def compact(self) -> None:
        """Write the file anew without what was forgotten.

        Raises ``TimeoutError`` while a long read is under way, and ``StoreUnavailable``.
        """
        forgets = self._forgets
        await self.store.compact()
        if forgets == self._forgets:
            await anyio.to_thread.run_sync(self._unmark_uncompacted)

    def _mark_uncompacted(self) -> None:
        self._uncompacted.touch(mode=0o600)

    def _unmark_uncompacted(self) -> None:
        self._uncompacted.unlink(missing_ok=True)
