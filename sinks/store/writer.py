"""The one thread that writes. Writes that wait at the same time share a commit."""

from __future__ import annotations

import logging
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from datetime import datetime
from itertools import compress
from typing import Any, TypeVar

import duckdb
from msgspec import MsgspecError, Struct

from .database import Database
from .errors import StoreUnavailable, closed, explain, invalidates_database, refusal
from .rows import Record, Usage, fingerprint_of
from .writes import add_first_versions, add_records, add_uses, are_first_versions

_log = logging.getLogger(__name__)

T = TypeVar("T")

# One commit costs a flush to disk (1 to 4 ms) whatever is in it; this many rows bound what
# a later put waits for.
_MOST_ROWS = 2_000
# Without a write for this long, there is time for a checkpoint.
_IDLE_S = 1.0
# A log below the first is not worth a checkpoint; one above the second gets it in full run.
_IDLE_WAL_BYTES = 1_000_000
_FULL_WAL_BYTES = 64_000_000
# After so many groups there is housekeeping, be it idle or not.
_MOST_GROUPS = 100

_ROW_ERRORS = (
    duckdb.DataError,
    duckdb.IntegrityError,
    duckdb.NotSupportedError,
    duckdb.ProgrammingError,
)
# What the database, its disk or a row is to blame for. ``StoreUnavailable`` is an OSError.
_STORE_ERRORS = (duckdb.Error, OSError, ValueError)
# What a programming error in a job raises; it was rolled back.
_WORK_ERRORS = (AttributeError, LookupError, MsgspecError, RuntimeError, TypeError)


class _Put(Struct, frozen=True):
    records: Sequence[Record]
    future: Future[list[bool]]


class _Job(Struct, frozen=True):
    work: Callable[[], Any]
    future: Future[Any]


class Writer:
    """Writes to ``database`` on a thread of its own, in the order asked.

    Each method returns a future. Its errors are StoreUnavailable, and ValueError for what the
    database does not take. A future cancelled in time is not carried out.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._queue: queue.SimpleQueue[_Put | _Job | None] = queue.SimpleQueue()
        self._next: _Put | _Job | None = None
        self._uses: dict[str, Usage] = {}
        self._later: dict[Callable[[], None], None] = {}
        self._groups = 0
        self._lock = threading.Lock()
        self._open = True
        self._thread = threading.Thread(target=self._run, name="subcog-writer", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Drain the queue, then end the thread. Waits for it."""
        with self._lock:
            if self._open:
                self._open = False
                self._queue.put(None)
        self._thread.join()

    def put(self, records: Sequence[Record]) -> Future[list[bool]]:
        """Append ``records`` all or none; for each whether it was new. Done means committed."""
        future: Future[list[bool]] = Future()
        self._enqueue(_Put(records, future))
        return future

    def call(self, work: Callable[[], T]) -> Future[T]:
        """Call ``work`` on the writer's thread, between two commits."""
        future: Future[T] = Future()
        self._enqueue(_Job(work, future))
        return future

    def note_uses(self, ids: Sequence[str], now: datetime) -> None:
        """Count a use of each of ``ids``, to be written when there is time."""
        self.call(lambda: self._note(ids, now))

    def do_later(self, work: Callable[[], None]) -> None:
        """Call ``work`` on the writer's thread when there is time, and before the end.

        Once, however often it is asked for until then. What fails is tried again.
        """
        self.call(lambda: self._later.setdefault(work))

    def flush_uses(self) -> None:
        """Write the counted uses, and do what was to be done later.

        For the writer's thread, so through ``call``.
        """
        if self._uses:
            with self._database.transaction() as connection:
                add_uses(connection, self._uses)
            self._uses = {}
        while self._later:
            work = next(iter(self._later))
            work()
            del self._later[work]

    def _enqueue(self, item: _Put | _Job) -> None:
        with self._lock:
            if not self._open:
                raise closed()
            self._queue.put(item)

    # --- on the thread ---------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while group := self._await_group():
                asked = [item for item in group if item.future.set_running_or_notify_cancel()]
                try:
                    self._do(asked)
                finally:  # a programming error ends the thread; its callers get an answer
                    for item in asked:
                        if not item.future.done():
                            item.future.set_exception(closed())
            self._housekeep()
        finally:
            self._refuse_remaining()

    def _await_group(self) -> Sequence[_Put | _Job]:
        """Consecutive puts, or one job; empty at the end."""
        first = self._next or self._await_item()
        self._next = None
        if not isinstance(first, _Put):
            return [first] if first else []
        group, rows = [first], len(first.records)
        while rows < _MOST_ROWS:
            try:
                item = self._queue.get_nowait()
            except queue.Empty:
                break
            if not isinstance(item, _Put):
                # The end marker goes back: this group is still to be written.
                self._next = item
                if item is None:
                    self._queue.put(None)
                break
            group.append(item)
            rows += len(item.records)
        return group

    def _await_item(self) -> _Put | _Job | None:
        try:
            return self._queue.get(timeout=_IDLE_S)
        except queue.Empty:
            self._housekeep()
        return self._queue.get()

    def _do(self, group: Sequence[_Put | _Job]) -> None:
        puts = [item for item in group if isinstance(item, _Put)]
        if puts:
            self._commit(puts)
        for item in group:
            if isinstance(item, _Job):
                self._call(item)
        self._groups += 1
        if self._groups >= _MOST_GROUPS or self._database.wal_bytes() > _FULL_WAL_BYTES:
            self._housekeep()

    def _commit(self, puts: Sequence[_Put]) -> None:
        try:
            taken = self._write_with_room([record for put in puts for record in put.records])
        except _STORE_ERRORS as error:
            if len(puts) == 1:
                puts[0].future.set_exception(self._translated(error))
                return
            # One of them may be at fault; written one by one, the others succeed.
            for put in puts:
                self._commit([put])
            return
        for put in puts:
            put.future.set_result(taken[: len(put.records)])
            del taken[: len(put.records)]

    def _write_with_room(self, records: Sequence[Record]) -> list[bool]:
        """A question that has taken all the memory makes room for a write."""
        try:
            return self._write(records)
        except duckdb.OutOfMemoryException:
            if not self._database.interrupt_questions():
                raise
            return self._write(records)

    def _write(self, records: Sequence[Record]) -> list[bool]:
        self._reopen_if_invalidated()
        taken = self._write_new(records) if are_first_versions(records) else None
        if taken is None:
            with self._database.transaction() as connection:
                taken = add_records(connection, records, self._database.tombstones.bars)
                self._database.note_written(connection, compress(records, taken))
        self._database.fingerprints.update(map(fingerprint_of, records))
        for record, was_taken in zip(records, taken, strict=True):
            if was_taken:
                self._database.current_versions.note(record.id, record.version)
        return taken

    def _write_new(self, records: Sequence[Record]) -> list[bool] | None:
        """Skip looking up ids.

        None where one is stored already, or its text was forgotten; nothing is written then.
        """
        if any(map(self._database.tombstones.bars, records)):
            return None
        try:
            with self._database.transaction() as connection:
                self._database.tally.know(connection)
                taken = add_first_versions(connection, records)
                self._database.note_written(connection, records)
        except duckdb.ConstraintException:
            return None
        self._database.tally.add(len(records))
        return taken

    def _call(self, job: _Job) -> None:
        try:
            self._reopen_if_invalidated()
            result = job.work()
        except _STORE_ERRORS as error:
            job.future.set_exception(self._translated(error))
            return
        except _WORK_ERRORS as error:  # for the caller; the thread goes on
            job.future.set_exception(error)
            return
        job.future.set_result(result)

    def _reopen_if_invalidated(self) -> None:
        if self._database.invalidated:
            self._database.reopen()
            _log.warning("the database was reopened after a fatal error")

    def _translated(self, error: Exception) -> Exception:
        if invalidates_database(error):
            self._database.invalidated = True
            with suppress(StoreUnavailable):
                self._reopen_if_invalidated()
        if isinstance(error, _ROW_ERRORS):
            return refusal(error)
        if isinstance(error, duckdb.Error):
            return explain(self._database.path, error)
        return error

    def _housekeep(self) -> None:
        """Housekeeping. What fails here is tried again at the next rest."""
        busy, self._groups = self._groups > 0, 0
        try:
            self._reopen_if_invalidated()
            self.flush_uses()
            if busy:
                self._database.shrink_if_large()
            if self._database.wal_bytes() > _IDLE_WAL_BYTES:
                self._database.checkpoint()
        except (*_STORE_ERRORS, *_WORK_ERRORS) as error:
            known = self._translated(error)
            reason = known.reason if isinstance(known, StoreUnavailable) else type(error).__name__
            _log.warning("housekeeping of the database failed", extra={"reason": reason})

    def _note(self, ids: Sequence[str], now: datetime) -> None:
        for memory_id in ids:
            known = self._uses.get(memory_id, Usage())
            self._uses[memory_id] = Usage(known.times_injected + 1, now)

    def _refuse_remaining(self) -> None:
        with self._lock:
            self._open = False
        left, self._next = [self._next], None
        while not self._queue.empty():
            left.append(self._queue.get())
        for item in left:
            if item and item.future.set_running_or_notify_cancel():
                item.future.set_exception(closed())
