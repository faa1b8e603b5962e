"""The store: every memory, durable and scoped. What it acknowledges is on disk."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

import anyio
import anyio.to_thread
from anyio import CancelScope, CapacityLimiter
from duckdb import DuckDBPyConnection

from ...bus.prompts import Span
from ...bus.values import Memory, Scope
from . import reads
from .database import Database
from .errors import StoreUnavailable, closed
from .rows import Record, Row, Usage, to_record, to_row
from .sql import Interruptible
from .tombstones import EVERYWHERE
from .wal import Recovery
from .writer import Writer
from .writes import ChangeQueue

__all__ = ["Recovery", "Row", "Store", "StoreUnavailable", "Usage"]

T = TypeVar("T")

_BATCH_ROWS = 2_000
_READERS = 4
# Making records of more rows than this would hold up the event loop for over a millisecond.
_FEW_ROWS = 32


class Store:
    """Memories in the file at ``path``. ``queue`` is told of each write, within its transaction.

    Reads are scoped, but for ``load`` and ``counts``, and ``usage`` and ``scopes_of``, which hold
    no text.

    Each method raises StoreUnavailable (a ConnectionError) while the file cannot be used, with a
    message that says what to do. A cancelled read is interrupted and leaves no thread behind.
    """

    def __init__(
        self,
        path: Path,
        *,
        memory_limit_mb: int,
        clock: Callable[[], datetime],
        queue: ChangeQueue | None = None,
    ) -> None:
        self.database = Database(path, memory_limit_mb=memory_limit_mb, clock=clock, queue=queue)
        self._clock = clock
        self._writer: Writer | None = None
        self._limiter: CapacityLimiter | None = None

    async def open(self) -> None:
        """Open or create the file; migrate its tables; repair its log, keeping a copy.

        Raises StoreUnavailable where another process holds it, it is of a newer version, damaged
        beyond the log, or cannot be written.
        """
        await anyio.to_thread.run_sync(self.database.open)
        self._limiter = CapacityLimiter(_READERS)
        self._writer = Writer(self.database)
        self._writer.start()

    async def close(self) -> None:
        """Drain pending writes, checkpoint and close. Idempotent."""
        writer, self._writer = self._writer, None
        if writer is None:
            return
        with CancelScope(shield=True):
            await anyio.to_thread.run_sync(writer.stop)
            await anyio.to_thread.run_sync(self.database.close)

    # --- write -----------------------------------------------------------------------------------

    async def put(
        self, rows: Sequence[Row], *, wanted: bool = False, merged: str = ""
    ) -> tuple[bool, ...]:
        """Append ``rows``, all or none; committed on return.

        False for each (id, version) that is stored already, for each forgotten id, and for each new
        memory whose text was forgotten in its scope, unless it is ``wanted``: then somebody asked
        to keep it, and it is no longer forgotten. ``merged`` is a text that the one row took in.
        Raises ValueError for a row that cannot be stored, or that would change a memory's scope.
        """

        def make() -> list[Record]:
            return [to_record(row)._replace(wanted=wanted, merged=merged) for row in rows]

        records = await anyio.to_thread.run_sync(make) if len(rows) > _FEW_ROWS else make()
        taken = await asyncio.wrap_future(self._writing().put(records))
        return tuple(taken)

    async def forget(self, id: str, scopes: Sequence[Scope]) -> bool:  # noqa: A002
        """Delete all versions of a memory; its id, scope and the time stay as a tombstone.

        A digest of each of its texts stays too, so that none comes back under another id.
        False where there is no such memory in ``scopes``. Its bytes leave the disk with
        ``compact``.
        """
        readable = reads.scope_texts(scopes)

        def work(connection: DuckDBPyConnection) -> bool:
            forgotten = self.database.tombstones.forget(connection, id, readable, self._clock())
            if forgotten:
                self.database.mark_uncompacted()
                self.database.note_forgotten(connection, id)
            return forgotten

        return await self.write(partial(self.database.transact, work))

    async def mark_used(self, ids: Sequence[str]) -> None:
        """Count a use of each of ``ids``. Written later, and lost in a crash before that."""
        if ids:
            self._writing().note_uses(tuple(ids), self._clock())

    def write_later(self, work: Callable[[], None]) -> None:
        """Call ``work`` on the writer's thread when there is time; lost in a crash before that.

        Once, however often it is asked for until then.
        """
        self._writing().do_later(work)

    async def flush(self) -> None:
        """Write now what was to be written later."""
        await self.write(self._writing().flush_uses)

    async def checkpoint(self) -> None:
        """Write the log into the file. The writer also does so when it is idle."""
        await self.write(self.database.checkpoint)

    async def backup(self, target: Path) -> None:
        """Write a compact copy, readable by its owner alone. Writes go on meanwhile.

        Raises FileExistsError rather than overwrite ``target``.
        """
        await anyio.to_thread.run_sync(self.database.backup, target)
        self.shrink()

    async def compact(self) -> None:
        """Rewrite the file without what was forgotten. Writes wait, reads hardly.

        Quarantined logs are not touched. Raises StoreUnavailable with the reason ``busy`` where a
        long read does not end; nothing is changed then.
        """
        await self.write(self.database.compact)

    # --- read ------------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        """The current versions in the order of ``ids``, valid or not.

        Ids that are missing, forgotten or not in ``scopes`` are left out.
        """
        current = self.database.current_versions
        return await self.read(lambda cursor: reads.get(cursor, ids, scopes, current))

    def get_now(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        """The same for a caller on a worker thread. Raises RuntimeError on an event loop's."""
        with self.database.reading() as cursor:
            return reads.get(cursor, ids, scopes, self.database.current_versions)

    async def latest(
        self, scopes: Sequence[Scope], *, limit: int, namespaces: Sequence[str] = ()
    ) -> tuple[Memory, ...]:
        """The newest memories that are valid now and not superseded, newest first."""
        return await self.made(scopes, limit=limit, namespaces=namespaces)

    async def made(
        self,
        scopes: Sequence[Scope],
        *,
        limit: int,
        namespaces: Sequence[str] = (),
        within: Span | None = None,
        by_use: bool = False,
    ) -> tuple[Memory, ...]:
        """As ``latest``, but made ``within`` a span; ``by_use`` puts first what was shown most."""
        work = partial(
            reads.made,
            scopes=scopes,
            limit=limit,
            namespaces=namespaces,
            now=self._clock(),
            within=within,
            by_use=by_use,
        )
        return await self.read(work)

    async def list(
        self, scopes: Sequence[Scope], wanted: reads.Filter, *, limit: int, after: str = ""
    ) -> reads.Listed:
        """A page of the memories that are valid now and that ``wanted`` lets through."""
        now = self._clock()
        return await self.read(
            lambda cursor: reads.listed(cursor, scopes, wanted, now=now, limit=limit, after=after)
        )

    async def authors(self, scopes: Sequence[Scope]) -> set[str]:
        """The members of a team who wrote what is in ``scopes``."""
        return await self.read(lambda cursor: reads.said(cursor, scopes, "author"))

    async def sessions(self, scopes: Sequence[Scope]) -> set[str]:
        """The sessions in which what is in ``scopes`` was said."""
        return await self.read(lambda cursor: reads.said(cursor, scopes, "session"))

    async def history(self, id: str, scopes: Sequence[Scope]) -> tuple[Memory, ...]:  # noqa: A002
        """All versions of one memory, oldest first."""
        return await self.read(lambda cursor: reads.history(cursor, id, scopes))

    async def starting(
        self, beginning: str, scopes: Sequence[Scope], *, limit: int
    ) -> tuple[str, ...]:
        """The ids in ``scopes`` that start with ``beginning``, in their order."""
        return await self.read(
            lambda cursor: reads.starting(cursor, beginning, scopes, limit=limit)
        )

    async def find_hash(self, content_hash: str, scope: Scope, namespace: str) -> Memory | None:
        """A memory of ``scope`` with that hash, valid now and not superseded.

        Where several have it, one of ``namespace`` if there is one.
        """
        if not self._may_be_stored((content_hash, scope)):
            return None
        now = self._clock()
        return await self.read(
            lambda cursor: reads.find_hash(cursor, content_hash, scope, namespace, now)
        )

    async def known_texts(
        self, texts: Collection[reads.Text]
    ) -> dict[reads.Text, tuple[Memory, ...]]:
        """The memories with each of ``texts`` (content hash, scope), as ``find_hash`` finds them.

        The oldest of a text first; a text that none has is left out.
        """
        maybe = [text for text in texts if self._may_be_stored(text)]
        if not maybe:
            return {}
        now = self._clock()
        return await self.read(lambda cursor: reads.known_texts(cursor, maybe, now))

    def _may_be_stored(self, text: reads.Text) -> bool:
        """False for a text that was never written, without asking the database."""
        return any(one in self.database.fingerprints for one in reads.fingerprints_of(text))

    def is_forgotten(
        self, text: str, scope: Scope, before: Iterable[Scope] = (), *, unasked: bool = False
    ) -> bool:
        """Whether a memory with ``text``, in whatever form, was forgotten in ``scope``.

        Or in one that its project had ``before``. ``unasked``: or of the user or the organisation,
        whose memories every project reads.
        """
        places = [str(place) for place in (scope, *before)]
        return self.database.tombstones.covers(text, *places, *(EVERYWHERE if unasked else ()))

    async def page(
        self, scopes: Sequence[Scope], *, after: str = "", limit: int
    ) -> tuple[Memory, ...]:
        """The current versions by id, from the first id beyond ``after`` on.

        Those that are superseded or not valid now are among them.
        """
        return await self.read(lambda cursor: reads.page(cursor, scopes, after=after, limit=limit))

    async def scopes_of(self, ids: Sequence[str]) -> dict[str, Scope]:
        """The scope of each of ``ids`` that was ever stored, forgotten ones too."""
        return await self.read(lambda cursor: reads.scopes_of(cursor, ids))

    async def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """How often each of ``ids`` was used, uses that are not written yet included."""
        await self.flush()
        return await self.read(lambda cursor: reads.usage(cursor, ids))

    async def counts(self) -> dict[Scope, int]:
        """How many memories each scope has, superseded and expired ones too, forgotten ones not."""
        return await self.read(reads.counts)

    async def holding(self) -> dict[Scope, int]:
        """How many memories of each scope hold now: valid, not superseded; as lists count."""
        now = self._clock()
        return await self.read(lambda cursor: reads.holding(cursor, now))

    async def load(self) -> AsyncIterator[Sequence[Row]]:
        """The current version of every memory as of now, in batches, in no order."""
        cursor = await anyio.to_thread.run_sync(self.database.acquire)
        try:
            await self._fetch(cursor, lambda: cursor.execute(reads.LOAD))
            while batch := await self._fetch(
                cursor, lambda: [to_row(row) for row in cursor.fetchmany(_BATCH_ROWS)]
            ):
                yield batch
        finally:
            with CancelScope(shield=True):
                await anyio.to_thread.run_sync(self.database.release, cursor)
            self.shrink()

    async def current(self) -> AsyncIterator[Sequence[Memory]]:
        """The memories as ``load`` has them, without what retrieval needs, a read a batch.

        Writes go on between the reads. A memory may be missing where others were forgotten and
        the log was written into the file meanwhile.
        """
        first = 0
        while True:
            read = partial(reads.run, first=first, current=self.database.current_versions)
            if (found := await self.read(read)) is None:
                return
            yield found
            first += reads.RUN_ROWS

    # --- threads ---------------------------------------------------------------------------------

    def _writing(self) -> Writer:
        if self._writer is None:
            raise closed()
        return self._writer

    def shrink(self) -> None:
        """Let DuckDB release the memory that a large read took, on the writer's thread."""
        if self._writer:
            self._writer.call(self.database.shrink)

    async def write(self, work: Callable[[], T]) -> T:
        """Call ``work`` on the writer's thread, between two commits."""
        future: Future[T] = self._writing().call(work)
        return await asyncio.wrap_future(future)

    async def read(self, work: Callable[[DuckDBPyConnection], T]) -> T:
        """Call ``work`` with a cursor on a worker thread; interrupted where this is cancelled."""
        return await self._read(self.database.reading, work)

    async def ask(self, work: Callable[[DuckDBPyConnection], T]) -> T:
        """As ``read``, and interrupted as well where a write needs the memory that it took.

        Raises StoreUnavailable, ``closed``, then.
        """
        return await self._read(self.database.asking, work)

    async def _read(
        self,
        opened: Callable[[], AbstractContextManager[DuckDBPyConnection]],
        work: Callable[[DuckDBPyConnection], T],
    ) -> T:
        held: list[DuckDBPyConnection] = []

        def run() -> T:
            with opened() as cursor:
                held.append(cursor)
                return work(cursor)

        def interrupt() -> None:
            for cursor in held:
                self.database.interrupt(cursor)

        return await self._run(Interruptible(run, interrupt))

    async def _fetch(self, cursor: DuckDBPyConnection, work: Callable[[], T]) -> T:
        def run() -> T:
            with self.database.translating_errors():
                return work()

        return await self._run(Interruptible(run, lambda: self.database.interrupt(cursor)))

    async def _run(self, work: Interruptible[T]) -> T:
        try:
            return await work.result(self._limiter)
        except StoreUnavailable:
            if self.database.invalidated and self._writer:
                self._writer.call(lambda: None)  # the writer reopens the file before any work
            raise
