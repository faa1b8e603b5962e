"""One DuckDB file: opening and repairing it, cursors, transactions, compaction.

Nothing here is async, and all of it refuses to run on a thread with an event loop.
"""

from __future__ import annotations

import asyncio
import logging
import os
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
from duckdb import DuckDBPyConnection

from ..files import FILE_MODE, FOLDER_MODE, sync_directory
from ..sql.views import create_views
from .caches import CurrentVersions, Fingerprints, read_fingerprints, read_versions
from .errors import StoreUnavailable, closed, explain, invalidates_database, unavailable
from .migrations import ForeignSchema, NewerSchema, begin_search_anew, migrate
from .rows import Record, Row, fingerprint_of, naive, to_record
from .sql import Statement, connect, copy_store, private_directory, remove_left, spill_of
from .tombstones import Tombstones
from .wal import (
    Presence,
    Recovery,
    Tally,
    beginning_of,
    cut_damage,
    find_torn_tail,
    make_room,
    note_lost_log,
    quarantine_orphan_log,
    wal_of,
)
from .writes import ChangeQueue, NoQueue

_log = logging.getLogger(__name__)

T = TypeVar("T")

# Each cut leaves less of the log, so this only bounds a log with very many damaged places.
_MOST_REPAIRS = 100
# What a checkpoint writes beyond the log: the row groups that it touches.
_ROOM_BYTES = 16_000_000
_SMALL_MB = 32
_LARGE_MB = 64
_READERS_LEAVE_WITHIN_S = 10.0
_BEGIN, _COMMIT = Statement("BEGIN"), Statement("COMMIT")
_INTERRUPT_EVERY_S = 0.05


def refuse_event_loop() -> None:
    """Raise RuntimeError on a thread that runs an event loop: DuckDB would hold it up."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    raise RuntimeError("the event loop must not enter the database")


class Database:
    """The file at ``path``. One thread writes; any thread may read, each with its own cursor.

    ``queue`` is told of each write, within its transaction.
    """

    def __init__(
        self,
        path: Path,
        *,
        memory_limit_mb: int,
        clock: Callable[[], datetime],
        queue: ChangeQueue | None = None,
    ) -> None:
        self.path = path
        self.wal = wal_of(path)
        self.presence = Presence(path, self.wal)
        self.tally = Tally(path)
        # What was done to a damaged log at the last opening; None where it was whole.
        self.recovery: Recovery | None = None
        # Set by a fatal error, after which DuckDB answers nothing until the file is reopened.
        self.invalidated = False
        # Of every text that was ever committed, by whatever way.
        self.fingerprints = Fingerprints(np.zeros(0, dtype=np.int64))
        self.current_versions = CurrentVersions({})
        self.tombstones = Tombstones()
        self._queue: ChangeQueue = queue or NoQueue()
        # Exists, also after a crash, while the file still holds what was deleted.
        self._uncompacted = path.with_name(f"{path.name}.uncompacted")
        self._unpurged = path.with_name(f"{path.name}.unpurged")
        self._deletions = 0
        self._memory_limit_mb = memory_limit_mb
        self._clock = clock
        self._root: DuckDBPyConnection | None = None
        self._writer: DuckDBPyConnection | None = None
        self._cursors: set[DuckDBPyConnection] = set()
        # Those of the cursors that answer people's own questions, which may take all the memory.
        self._asking: set[DuckDBPyConnection] = set()
        self._changed = threading.Condition()

    # --- open and close --------------------------------------------------------------------------

    def open(self) -> None:
        """Open or create the file, repair its log, migrate it. Raises StoreUnavailable."""
        refuse_event_loop()
        with self._changed, self.translating_errors():
            self._open()

    def _open(self) -> None:
        self.path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        make_room(self.path)
        if lost := quarantine_orphan_log(self.path, self._clock()):
            self._report(lost)
        before = self.recovery
        root = self._connect_repaired()
        try:
            self._prepare(root)
            self._compare_tally(root, told=self.recovery is not before)
        except BaseException:
            root.close()
            raise
        beginning_of(self.path).unlink(missing_ok=True)
        self._root, self._writer = root, root.cursor()
        self.presence.note_opened()

    def _prepare(self, root: DuckDBPyConnection) -> None:
        self.path.chmod(FILE_MODE)
        remove_left(self.path)
        torn = find_torn_tail(self.path, self._clock())
        if torn:
            self._report(torn)
        self._make_wal_private()
        before, after = migrate(root, naive(self._clock()))
        create_views(root)
        self.fingerprints, self.current_versions = read_fingerprints(root), read_versions(root)
        self.tombstones.open(root)
        self._queue.open(root)
        if before != after:
            _log.info("the tables were migrated", extra={"before": before, "after": after})
        if torn:  # nothing must be written behind a torn end
            # A checkpoint with nothing to write leaves the log as it is, so there is something.
            root.execute(
                "INSERT INTO store.migrations VALUES (?, ?)", [after, naive(self._clock())]
            )
            root.execute("CHECKPOINT store")

    def _compare_tally(self, root: DuckDBPyConnection, *, told: bool) -> None:
        """Note that memories are missing, unless a damage that takes some is told."""
        missing = self.tally.find_missing(root)
        if not missing:
            return
        try:
            if not told:
                note = note_lost_log(self.path, missing, self._clock())
                extra = {"missing": missing, "note": str(note)}
                _log.error(
                    "memories are missing: the write-ahead log was deleted, or the file replaced",
                    extra=extra,
                )
            self.tally.clear()
        except OSError as error:  # the next opening tells it, and what is there can be read
            extra = {"missing": missing, "error": error.strerror}
            _log.error("memories are missing, which cannot be noted", extra=extra)
        self.tally.know(root)

    def _connect_repaired(self) -> DuckDBPyConnection:
        for _ in range(_MOST_REPAIRS):
            try:
                return connect(self.path, self._memory_limit_mb)
            except duckdb.Error as error:
                repaired = cut_damage(self.path, str(error), self._clock())
                if not repaired:
                    raise
                self._report(repaired)
        return connect(self.path, self._memory_limit_mb)

    def _report(self, recovery: Recovery) -> None:
        self.recovery = recovery
        _log.error(
            "the write-ahead log was damaged: a copy was kept, unreadable writes were dropped",
            extra={
                "reason": recovery.reason,
                "kept_aside": str(recovery.kept_aside),
                "dropped_bytes": recovery.dropped_bytes,
            },
        )

    def close(self) -> None:
        """Interrupt and await the readers, checkpoint and close."""
        refuse_event_loop()
        with self._changed:
            root, self._root = self._root, None
            self._interrupt(self._cursors)
            if root is None:
                return
            # A checkpoint that fails leaves the log behind, and the next opening replays it. Where
            # another file lies there now, the log beside that is not ours.
            with suppress(duckdb.Error):
                in_place = self.presence.is_in_place
                root.execute(
                    "CHECKPOINT store" if in_place else "PRAGMA disable_checkpoint_on_shutdown"
                )
            root.close()
            shutil.rmtree(spill_of(self.path), ignore_errors=True)

    def reopen(self) -> None:
        """Reopen the file after DuckDB invalidated it. Raises StoreUnavailable."""
        refuse_event_loop()
        with self._changed, self.translating_errors():
            if self._root is None:
                raise closed()
            self._interrupt(self._cursors)
            self._root.close()
            self._open()
            self.invalidated = False

    def _interrupt(self, cursors: set[DuckDBPyConnection]) -> None:
        """Interrupt all that ``cursors`` do and await that they are released."""
        # A cursor that is just between two statements loses an interrupt, so it is sent again.
        for _ in range(int(_READERS_LEAVE_WITHIN_S / _INTERRUPT_EVERY_S)):
            for cursor in cursors:
                cursor.interrupt()
            if self._changed.wait_for(lambda: not cursors, _INTERRUPT_EVERY_S):
                return

    @contextmanager
    def translating_errors(self) -> Iterator[None]:
        """Raise what DuckDB and the system raise in this block as StoreUnavailable."""
        try:
            yield
        except NewerSchema as error:
            raise unavailable("newer", self.path, found=error.found, known=error.known) from None
        except ForeignSchema:
            raise unavailable("foreign", self.path) from None
        except StoreUnavailable:
            raise
        except (duckdb.Error, OSError) as error:
            self.invalidated |= invalidates_database(error)
            raise explain(self.path, error) from error

    # --- read and write --------------------------------------------------------------------------

    def acquire(self) -> DuckDBPyConnection:
        """A cursor for this caller alone, to be released. Raises StoreUnavailable when closed."""
        refuse_event_loop()
        with self._changed:
            if self._root is None:
                raise closed()
            # A new cursor costs 0.04 ms, and none is ever shared or left over from a closed file.
            with self.translating_errors():
                cursor = self._root.cursor()
            self._cursors.add(cursor)
            return cursor

    def release(self, cursor: DuckDBPyConnection) -> None:
        """Give back what ``acquire`` gave."""
        with self._changed:
            self._cursors.discard(cursor)
            self._asking.discard(cursor)
            cursor.close()
            self._changed.notify_all()

    def interrupt(self, cursor: DuckDBPyConnection) -> None:
        """Interrupt what ``cursor`` does, if it can be done without waiting; else do nothing."""
        if self._changed.acquire(blocking=False):
            try:
                if cursor in self._cursors:
                    cursor.interrupt()
            finally:
                self._changed.release()

    @contextmanager
    def reading(self) -> Iterator[DuckDBPyConnection]:
        """A cursor for this block. Its database errors come out as StoreUnavailable."""
        cursor = self.acquire()
        try:
            with self.translating_errors():
                yield cursor
        finally:
            self.release(cursor)

    @contextmanager
    def asking(self) -> Iterator[DuckDBPyConnection]:
        """As ``reading``, for a question that is interrupted when a write needs its memory."""
        with self.reading() as cursor:
            self._asking.add(cursor)
            yield cursor

    def interrupt_questions(self) -> bool:
        """Interrupt people's own questions and await their end; whether there was any."""
        with self._changed:
            were_any = bool(self._asking)
            self._interrupt(self._asking)
        return were_any

    @contextmanager
    def transaction(self) -> Iterator[DuckDBPyConnection]:
        """The writer's connection, committed at the end of the block, rolled back on any error.

        For one thread at a time. DuckDB's own errors come out as they are.
        """
        refuse_event_loop()
        if self._writer is None or self._root is None:
            raise closed()
        self.presence.check()
        self._make_wal_private()
        writer = self._writer
        _BEGIN.run(writer)
        try:
            yield writer
            _COMMIT.run(writer)
            self.presence.check()
            self.tombstones.commit()
        except BaseException as error:
            self.tombstones.roll_back()
            self.invalidated |= invalidates_database(error)
            with suppress(duckdb.Error):  # a failed commit has rolled back already
                writer.execute("ROLLBACK")
            raise

    def transact(self, work: Callable[[DuckDBPyConnection], T]) -> T:
        """Do ``work``, which needs the tables that SQL finds memories by, in a transaction.

        Where a damaged block keeps it from that, it is done once more with these tables begun anew:
        they follow from the versions, and are filled at the next start.
        """
        try:
            with self.transaction() as connection:
                return work(connection)
        except duckdb.Error as error:
            if explain(self.path, error).reason != "damaged":
                raise
        with self.transaction() as connection:
            begin_search_anew(connection)
            done = work(connection)
        _log.warning("the tables for search by SQL were damaged, and are begun anew")
        with suppress(StoreUnavailable):  # altered tables are not left in the log for long
            self.checkpoint()
        return done

    def note_written(self, connection: DuckDBPyConnection, records: Iterable[Record]) -> None:
        """Tell the tombstones and the change queue what was written in this transaction."""
        written = list(records)
        self.tombstones.note_written(connection, written, self._clock())
        self._queue.note(connection, written, self._clock())

    def note_forgotten(self, connection: DuckDBPyConnection, memory_id: str) -> None:
        """Hand a deletion in this transaction to the change queue."""
        self._queue.note_forgotten(connection, memory_id, self._clock())

    def note_current(self, rows: Iterable[Row], gone: Iterable[str]) -> None:
        """Update the caches after a commit that did more than append."""
        for row in rows:
            record = to_record(row)
            self.fingerprints.update([fingerprint_of(record)])
            self.current_versions.set(record.id, record.version)
        for memory_id in gone:
            self.current_versions.set(memory_id, 1)

    def _make_wal_private(self) -> None:
        """Create the log first: after each checkpoint DuckDB would make it world-readable."""
        if not self.wal.exists():
            os.close(os.open(self.wal, os.O_CREAT | os.O_WRONLY | os.O_CLOEXEC, FILE_MODE))
            self.presence.note_log()

    # --- housekeeping ----------------------------------------------------------------------------

    def is_in_place(self) -> bool:
        """Whether the file is still where it was opened; waits for a compaction to end."""
        with self._changed:
            return self._root is None or self.presence.is_in_place

    def wal_bytes(self) -> int:
        """The size of the write-ahead log."""
        try:
            return self.wal.stat().st_size
        except FileNotFoundError:
            return 0

    def checkpoint(self) -> None:
        """Write the log into the file. Raises StoreUnavailable, on a full disk before it tries.

        A checkpoint that fails makes DuckDB give up the whole file, so it is not begun without
        room for it.
        """
        refuse_event_loop()
        if self._writer is None or self._root is None:
            raise closed()
        if shutil.disk_usage(self.path.parent).free < 2 * self.wal_bytes() + _ROOM_BYTES:
            raise unavailable("full", self.path)
        self.presence.check()
        try:
            self._writer.execute("CHECKPOINT store")
        finally:
            self.presence.note_log()

    def shrink(self) -> None:
        """Release the memory that reading everything took: 170 MB at 100,000 memories.

        Writer's thread only, so that no write meets the lower limit.
        """
        with self.reading() as cursor:
            try:
                cursor.execute(f"SET memory_limit = '{_SMALL_MB}MB'")
            except duckdb.OutOfMemoryException:
                _log.debug("some of the cache is in use and was not released")
            finally:
                cursor.execute(f"SET memory_limit = '{self._memory_limit_mb}MB'")

    def shrink_if_large(self) -> None:
        """``shrink`` where scattered reads have filled DuckDB's cache. Writer's thread only."""
        with self.reading() as cursor:
            used = cursor.execute("SELECT sum(memory_usage_bytes) FROM duckdb_memory()")
            [(held,)] = used.fetchall()
        if held > _LARGE_MB * 1_000_000:
            self.shrink()

    def backup(self, target: Path) -> None:
        """A compact copy at ``target``, which must not exist yet. Raises FileExistsError."""
        if target.exists():
            raise FileExistsError(f"{target} exists already: name another file for the backup")
        try:
            with self._copied(target.parent) as copy:
                copy.rename(target)
        except StoreUnavailable as error:
            # It is the copy's disk, and that may be another one.
            raise unavailable("full", target) if error.reason == "full" else error from None
        sync_directory(target.parent)

    @contextmanager
    def _copied(self, directory: Path) -> Iterator[Path]:
        """A compact copy in a private directory inside ``directory``."""
        with private_directory(directory) as private:
            copy = private / "compacted.duckdb"
            with self.reading() as cursor:
                copy_store(cursor, copy)
            copy.chmod(FILE_MODE)
            yield copy

    @property
    def needs_compaction(self) -> bool:
        """Whether the file still holds what was deleted from it."""
        return self._uncompacted.exists()

    def mark_uncompacted(self) -> None:
        """Note before a deletion that the file will need compaction, and the backups a purge.

        Writer's thread only.
        """
        with self.translating_errors():
            self._unpurged.touch(mode=FILE_MODE)
            self._uncompacted.touch(mode=FILE_MODE)
            self.tally.clear()
        self._deletions += 1

    @property
    def needs_purge(self) -> bool:
        """Whether the backups may hold what was deleted from the file, compacted or not."""
        return self._unpurged.exists()

    def deletions(self) -> int:
        """How many deletions are committed since the file was opened. Writer's thread only."""
        return self._deletions

    def note_purged(self, deletions: int) -> None:
        """The backups are without what so many ``deletions`` took away. Writer's thread only."""
        if deletions == self._deletions:
            self._unpurged.unlink(missing_ok=True)

    def compact(self) -> None:
        """Replace the file by a copy without what was deleted from it.

        Raises StoreUnavailable, ``busy``, where readers stay for too long; nothing is changed
        then. Writer's thread only.
        """
        with self._copied(self.path.parent) as copy, self._changed, self.translating_errors():
            if not self._changed.wait_for(lambda: not self._cursors, _READERS_LEAVE_WITHIN_S):
                raise unavailable("busy", self.path)
            if self._root is None:
                raise closed()
            self.presence.check()
            self._root.execute("CHECKPOINT store")
            self.invalidated = True  # until the file is open again, whatever fails before
            self._root.close()
            # A log that outlived the closing belongs to the old file.
            if not self.wal_bytes():
                copy.replace(self.path)
                sync_directory(self.path.parent)
                self._uncompacted.unlink(missing_ok=True)
            self._open()
            self.invalidated = False
