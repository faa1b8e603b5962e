"""The archive: the store, and the in-memory indexes derived from it and kept in step.

DuckDB is the truth; the search index and the topic index are caches. Nothing is acknowledged
before it is committed, and what is acknowledged is found by the next search.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
from anyio.streams.memory import MemoryObjectSendStream
from cachetools import FIFOCache

from ...bus.events import (
    ContextBuilt,
    Event,
    ForgetRequested,
    ForgetSettled,
    MemoriesShown,
    MemoriesStored,
    MemoryForgotten,
)
from ...bus.signals import degraded, emit
from ...bus.values import Memory, Query, Recalled, Scope, UseEvent, Usefulness
from ..indexes.key_cache import KeyCache
from ..models import cross_encoder, spelling
from ..models.embedder import Embedder, Encoder
from ..search.index import Index
from ..search.retriever import Search
from ..search.sql_index import SqlIndex
from ..store.errors import StoreUnavailable
from ..store.rows import Row
from ..store.store import Store
from .bulk_import import BulkImport
from .capture import CaptureWriter, FindAnchors, no_anchors
from .comparison import Comparer, Judge
from .contradictions import Contradictions
from .lifecycle import Lifecycle
from .memory_cache import MemoryCache
from .mention_indexes import FEW, MentionIndexes
from .use_log import UseLog, count_nothing

MOST_SHARING = 8
"""So many memories at most come back of those that share most with some keys."""

INDEX_FAILED = "index.failed"
"""Why SQL searches: the index in memory is damaged, or does not fit."""
INDEX_ERRORS = (LookupError, MemoryError, ValueError)
"""What an index raises that is damaged, or does not fit into memory."""

_log = logging.getLogger(__name__)
_MOST_FORGOTTEN = 4_096
# Rows added to the index at once; each addition copies the index.
_FILL_ROWS = 6_000


class Archive:
    """Stores, finds and forgets memories. ``open`` it once; ``close`` it at the end.

    ``captures``, ``contradictions``, ``lifecycle`` and ``bulk_import`` write; ``store``, ``index``
    and ``topics`` are for reading. ``judge`` compares a text with an older one, ``warning_keys``
    gives the keys of what a memory may warn of, ``anchors`` the places in the code
    that a text names, and ``usefulness`` sums up what became of a memory.

    ``without_index`` says why SQL has to search: ``index.off``, to be set before ``open``, or
    ``index.failed``; it is empty where there is an index in memory.
    """

    def __init__(
        self,
        store: Store,
        *,
        model_folder: Path | None,
        merge_similarity: float,
        judge: Judge,
        clock: Callable[[], datetime],
        warning_keys: KeyCache | None = None,
        anchors: FindAnchors = no_anchors,
        usefulness: Callable[[Iterable[UseEvent]], Usefulness] = count_nothing,
    ) -> None:
        self.store = store
        self.uses = UseLog(store, sum_up=usefulness, clock=clock)
        self._clock = clock
        # The ids of what was forgotten lately.
        self._forgotten: FIFOCache[str, None] = FIFOCache(_MOST_FORGOTTEN)
        self.index = Index()
        self.sql_index = SqlIndex(store)
        keys = warning_keys or KeyCache(lambda _: ())
        self.mentions = MentionIndexes(store, interned=self._interned, keys=keys, clock=clock)
        self.topics = self.mentions.topics
        self.encoder = Encoder()
        self._fetched = MemoryCache(store.get_now)
        self.lifecycle = Lifecycle(store, encoder=self.encoder, judge=judge, clock=clock)
        self.captures = CaptureWriter(
            store,
            comparer=Comparer(
                index=self.index,
                fetch=self._fetched,
                encoder=self.encoder,
                judge=judge,
                clock=clock,
            ),
            encoder=self.encoder,
            lifecycle=self.lifecycle,
            merge_similarity=merge_similarity,
            clock=clock,
        )
        self.captures.find_anchors = anchors
        self._lifts = judge.lifts
        self.contradictions = Contradictions(
            index=self.index,
            fetch=self._fetched,
            encoder=self.encoder,
            lifecycle=self.lifecycle,
            load=cross_encoder.load_contradictions,
            reranker=self._reranker,
            judge=judge,
            clock=clock,
        )
        self.bulk_import = BulkImport(
            store, encoder=self.encoder, lifecycle=self.lifecycle, clock=clock
        )
        self.without_index = ""
        self.searched_by_sql = 0
        self._stored = 0
        self._failure: StoreUnavailable | None = None
        self._model_folder = model_folder
        self._loading_reranker = anyio.Lock()
        self._reranker_requested = False
        self.search = Search(
            self.index, None, fetch=self._fetched, latest=store.latest, clock=clock
        )
        self.recall = self.search.recall
        self.latest = store.latest
        self.compact = store.compact

    # --- life ------------------------------------------------------------------------------------

    async def open(self, readable: Callable[[], None] = lambda: None) -> None:
        """Open the store and fill the index. Raises ``StoreUnavailable`` (an ``OSError``).

        ``readable`` is called as soon as the store can be read, before there is an index.
        """
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._load_encoder)
            tasks.start_soon(self._open_store, readable)
        if self._failure is None and not self.without_index:
            await self._fill_index()
        if self._failure is None:
            await self._recount()
        if self._failure is not None:
            await self.store.close()  # else the file is held until the process has ended
            raise self._failure
        self.store.shrink()

    async def _fill_index(self) -> None:
        """Read the next rows while the last ones are indexed, on two processors where there are."""
        send, receive = anyio.create_memory_object_stream[Sequence[Row]]()
        async with anyio.create_task_group() as tasks, receive:
            tasks.start_soon(self._read_all, send)
            async for rows in receive:
                await anyio.to_thread.run_sync(self._fill, rows)
        await anyio.to_thread.run_sync(self.index.fold_postings)

    async def _read_all(self, send: MemoryObjectSendStream[Sequence[Row]]) -> None:
        batch: list[Row] = []
        try:
            async with send:
                async for rows in self.store.load():
                    batch.extend(rows)
                    if len(batch) >= _FILL_ROWS:
                        await send.send(batch)
                        batch = []
                await send.send(batch)
        except StoreUnavailable as error:  # a task group would wrap it in an exception group
            self._failure = error

    async def _load_encoder(self) -> None:
        self.encoder.embedder = await anyio.to_thread.run_sync(self._load_embedder)
        self.search.embedder = self.encoder.embedder

    async def load_reranker(self) -> None:
        """Load the cross-encoder that reranks the best candidates of a question. Idempotent.

        With it come the words by which misspelt ones are told. Until then the first-stage relevance
        decides alone. It takes 50 MB and half a second, so
        it should not be loaded before there is a memory.
        """
        async with self._loading_reranker:
            if not self._reranker_requested:
                self._reranker_requested = True
                await anyio.to_thread.run_sync(spelling.load)
                self.search.reranker = await anyio.to_thread.run_sync(cross_encoder.load_bundled)

    async def _reranker(self) -> cross_encoder.CrossEncoder | None:
        await self.load_reranker()
        return self.search.reranker

    async def _open_store(self, readable: Callable[[], None]) -> None:
        try:
            await self.store.open()
            await self.uses.open()
            readable()
        except StoreUnavailable as error:  # a task group would wrap it in an exception group
            self._failure = error

    def _load_embedder(self) -> Embedder | None:
        try:
            return Embedder.load(self._model_folder)
        except (OSError, ValueError) as error:
            _log.error("the embedding cannot be loaded", extra={"error": type(error).__name__})
            emit(degraded, "embedder", reason="embedder.unavailable")
            return None

    def _fill(self, rows: Sequence[Row]) -> None:
        if self.without_index:
            return
        try:
            pairs = [(row.memory, row.encoding) for row in rows]
            self.index.extend(self.encoder.refresh(pairs))
        except INDEX_ERRORS as error:
            self.drop_index(error)
            return
        self._fetched.warm(row.memory for row in rows)

    def drop_index(self, error: Exception) -> None:
        """The index in memory is damaged: SQL searches from now on, until the next start."""
        self.without_index, self._stored = INDEX_FAILED, self.index.count
        self.index.clear()
        _log.error(
            "the index in memory failed, SQL searches", extra={"error": type(error).__name__}
        )

    async def build_topics(self) -> None:
        """Fill the indexes of topics, files, failures and SQL, and sum up uses, after ``open``.

        No prompt waits for that.

        In small slices with pauses, since a computing thread holds up the event loop.
        """
        await self.uses.load()
        await self.mentions.fill(self.index)
        await self._fill_sql_index()
        self.store.shrink()

    async def read_warnings(self) -> None:
        """After ``build_topics``, once: read what memories warn of that no earlier start has read.

        May take minutes. What fails is read when it is called again.
        """
        with suppress(StoreUnavailable):
            await self.mentions.read_rest()

    async def close(self) -> None:
        """Close the store."""
        self.mentions.close()
        await self.store.close()

    async def _fill_sql_index(self) -> None:
        try:
            await self.sql_index.fill()
        except StoreUnavailable as error:  # the warm index answers; the next start tries again
            _log.warning("search by SQL cannot be prepared", extra={"reason": error.reason})

    def _interned(self, memory_id: str) -> str | None:
        return memory_id if self.without_index else self.index.interned_id(memory_id)

    @property
    def count(self) -> int:
        """How many memories are indexed; without an index, how many are stored."""
        return self._stored if self.without_index else self.index.count

    async def _recount(self) -> None:
        """Count what is stored where no index does; if that fails, the next change counts it."""
        if self.without_index:
            with suppress(StoreUnavailable):
                self._stored = sum((await self.store.counts()).values())

    # --- searching -------------------------------------------------------------------------------

    async def fetch(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        """The memories with ``ids`` that are in ``scopes``, in the order asked."""
        return tuple(await anyio.to_thread.run_sync(self._fetched, ids, scopes))

    async def naming(self, file: str, scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        """The memories that name a file called ``file``, in whatever folder, newest first."""
        ids = self.mentions.files.naming(file, scopes)
        return await self.fetch(ids, scopes) if ids else ()

    async def warning(self, keys: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        """The memories that may warn of what has ``keys``, newest first; none that is lifted."""
        return await self._undenied(self.mentions.warnings.warning(keys, scopes), scopes)

    async def sharing(
        self, keys: Sequence[str], scopes: tuple[Scope, ...], *, among: str
    ) -> tuple[tuple[Memory, float], ...]:
        """The memories that share most with ``keys``, and how much; none that is over or lifted."""
        shared = dict(self.mentions.warnings.sharing(keys, scopes, among=among))
        now = self._clock()
        found = await self._undenied(tuple(shared), scopes)
        holding = [memory for memory in found if memory.holds(now)]
        return tuple((memory, shared[memory.id]) for memory in holding[:MOST_SHARING])

    async def _undenied(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        if not ids:
            return ()
        found = await self.fetch(ids, scopes)
        return tuple(
            await anyio.to_thread.run_sync(self.search.undenied, found, scopes, self._lifts)
        )

    async def subjects(self, scopes: tuple[Scope, ...], *, limit: int) -> tuple[str, ...]:
        """What several memories of ``scopes`` are about, the most frequent first."""
        found = await anyio.to_thread.run_sync(partial(self.topics.list, scopes, limit=limit))
        return tuple(topic.name for topic in found if topic.memory_count > 1)

    async def count_shown(self, event: MemoriesShown) -> None:
        """Count what went into a context at a moment that is no prompt."""
        await self.store.mark_used([one.memory_id for one in event.shown])

    async def count_uses(self, event: ContextBuilt) -> None:
        """Count what went into a context; written when there is time."""
        if not event.classified.enriched.prompt.rehearsal:
            used = [memory.id for memory in event.context.injected_memories]
            await self.store.mark_used(used)

    async def recall_by_sql(
        self, query: Query, reason: str, *, within_s: float = math.inf
    ) -> Recalled:
        """Search without the index in memory, which is missing for ``reason``: slower."""
        self.searched_by_sql += 1
        await self.sql_index.catch_up()
        search = partial(
            self.search.recall_by_sql,
            query=query,
            encoder=self.encoder,
            reason=reason,
            within_s=within_s,
        )
        return await self.store.read(search)

    # --- the indexes follow ----------------------------------------------------------------------

    async def index_stored(self, event: MemoriesStored) -> None:
        """Make committed memories findable, but for what was forgotten since."""
        for memory, _ in event.stored:
            self._fetched.drop(memory.id)
        self.sql_index.note([memory.id for memory, _ in event.stored])
        if self.without_index:
            await self._recount()
            return
        stored = [one for one in event.stored if not await self._was_forgotten(one[0])]
        if len(stored) > FEW:
            await anyio.to_thread.run_sync(self.index.extend, stored)
        else:
            for memory, encoding in stored:
                self.index.add(memory, encoding)

    # --- forgetting ------------------------------------------------------------------------------

    async def forget(self, event: ForgetRequested) -> tuple[Event, ...]:
        async with self.lifecycle.write_lock:
            memory = await self.lifecycle.find(event.id, event.scopes)
            if memory is None or event.version not in {None, memory.version}:
                return (ForgetSettled(trace=event.trace, id=event.id, found=False),)
            await self.mentions.forget_keys(event.id)
            with anyio.CancelScope(shield=True):  # a commit that is under way cannot be called back
                await self.store.forget(event.id, event.scopes)
            self._take_out(event.id)  # before it is answered
        return (
            MemoryForgotten(trace=event.trace, id=event.id, scope=memory.scope),
            ForgetSettled(trace=event.trace, id=event.id, found=True),
        )

    async def unindex(self, event: MemoryForgotten) -> None:
        """Make a forgotten memory unfindable."""
        await self.mentions.forget_keys(event.id)
        self.uses.drop(event.id)
        self._take_out(event.id)
        await self._recount()

    def _take_out(self, memory_id: str) -> None:
        self._forgotten[memory_id] = None
        self._fetched.drop(memory_id)
        self.index.remove(memory_id)

    async def _was_forgotten(self, memory: Memory) -> bool:
        """Whether ``memory`` was forgotten after it was committed: its event came later."""
        if memory.id not in self._forgotten:
            return False
        return not await self.store.get([memory.id], [memory.scope])
