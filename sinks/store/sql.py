"""How the store speaks to DuckDB: its files, statements parsed only once, and interrupted work.

In DuckDB 2 parsing is half of what a small statement costs.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread
import duckdb
from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class
from duckdb import DuckDBPyConnection

T = TypeVar("T")

# Files that DuckDB 1.5 can read as well, should one have to go back.
_STORAGE_VERSION = "STORAGE_VERSION 'v1.4.0'"
# A checkpoint rewrites each row group that changed: with DuckDB's own 122,880 rows one new memory
# cost a checkpoint of 4 s at 100,000 memories, with these 0.1 s.
_ROW_GROUPS = "ROW_GROUP_SIZE 8192"

# How a directory beside the database begins that is to be deleted where a process left it.
_PRIVATE = ".subcog-copy-"
# How one begins that belongs to the database whose name follows.
_SPILL = f"{_PRIVATE}spill."


def spill_of(path: Path) -> Path:
    """Where DuckDB puts what does not fit into its memory, texts of memories among it."""
    return path.parent / f"{_SPILL}{path.name}"


@contextmanager
def private_directory(parent: Path) -> Iterator[Path]:
    """A directory inside ``parent`` for this block alone."""
    with (
        tempfile.TemporaryDirectory(prefix=_PRIVATE, dir=parent) as private,
        _opened(Path(private)) as descriptor,
    ):
        fcntl.flock(descriptor, fcntl.LOCK_EX)  # also a killed process lets it go
        yield Path(private)


def remove_left(path: Path) -> None:
    """Remove what killed processes left beside ``path``, with text that was to be gone."""
    for private in path.parent.glob(f"{_PRIVATE}*"):
        with suppress(FileNotFoundError):  # just finished
            if _is_left(private, path):
                shutil.rmtree(private)


def _is_left(private: Path, path: Path) -> bool:
    """Whether nobody works in ``private`` any more, of the database ``path`` or another."""
    owner = private.name.removeprefix(_SPILL)
    if owner != private.name:
        return owner == path.name or not private.with_name(owner).exists()
    with _opened(private) as descriptor:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


@contextmanager
def _opened(directory: Path) -> Iterator[int]:
    descriptor = os.open(directory, os.O_RDONLY | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def connect(path: Path, memory_limit_mb: int) -> DuckDBPyConnection:
    """A connection with the file at ``path`` as ``store``. Raises ``duckdb.Error``."""
    # Attached, since only then the size of a row group can be chosen.
    root = duckdb.connect(
        config={
            "memory_limit": f"{memory_limit_mb}MB",
            "threads": 1,
            # By default it is in the directory that the process was started in.
            "temp_directory": str(spill_of(path)),
            # The writer checkpoints long before this.
            "wal_autocheckpoint": "1GB",
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
            "allow_community_extensions": False,
            "python_enable_replacements": False,
        }
    )
    try:
        attach(root, path, "store")
    except duckdb.Error:
        root.close()
        raise
    return root


def attach(
    connection: DuckDBPyConnection, path: Path, name: str, *, read_only: bool = False
) -> None:
    """Attach the file at ``path`` as ``name``; it is created where there is none."""
    quoted = str(path).replace("'", "''")
    # An existing file keeps its version; opening it with another one fails.
    options = _ROW_GROUPS if path.exists() else f"{_STORAGE_VERSION}, {_ROW_GROUPS}"
    connection.execute(f"ATTACH '{quoted}' AS {name} ({'READ_ONLY' if read_only else options})")


def copy_store(cursor: DuckDBPyConnection, target: Path) -> None:
    """Copy the live data of ``store`` into a new file; others may be copied into at once."""
    escaped = str(target).replace('"', '""')
    copy = f'"{escaped}"'  # what is attached belongs to all cursors, so each copy has its own name
    attach(cursor, target, copy)
    try:
        cursor.execute(f"COPY FROM DATABASE store TO {copy}")
        cursor.execute(f"CHECKPOINT {copy}")
    finally:
        cursor.execute(f"DETACH {copy}")


class Statement:
    """One statement of SQL, for any connection and thread: each run works on a copy."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._parsed: duckdb.Statement | None = None

    def run(
        self, connection: DuckDBPyConnection, parameters: Sequence[Any] = ()
    ) -> DuckDBPyConnection:
        """Execute it; what it found is to be fetched from what is returned."""
        if self._parsed is None:
            [self._parsed] = connection.extract_statements(self.sql)
        return connection.execute(self._parsed, parameters)


def by_count(sql: Callable[[int], str], *, most: int) -> Callable[[int], Statement]:
    """Statements that differ in how many placeholders they have; ``most`` of them are kept."""

    @lru_cache(maxsize=most)
    def statement(count: int) -> Statement:
        return Statement(sql(count))

    return statement


_INTERRUPT_EVERY_S = 0.001


class Interruptible(Generic[T]):
    """Calls ``work`` once. On cancellation ``interrupt`` is called repeatedly until it ends.

    Repeatedly, since DuckDB between two statements loses an interrupt.
    """

    def __init__(self, work: Callable[[], T], interrupt: Callable[[], None]) -> None:
        self._work = work
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._running = False
        self._cancelled = False

    async def result(self, limiter: CapacityLimiter | None = None) -> T:
        """The result of ``work``. After a cancellation no thread is left in it."""
        try:
            return await anyio.to_thread.run_sync(
                self._run, abandon_on_cancel=True, limiter=limiter
            )
        except get_cancelled_exc_class():
            with CancelScope(shield=True):
                await self._end()
            raise

    def _run(self) -> T:
        with self._lock:
            if self._cancelled:
                raise InterruptedError("the caller was cancelled")
            self._running = True
        try:
            return self._work()
        finally:
            self._running = False

    async def _end(self) -> None:
        with self._lock:
            self._cancelled = True
        while self._running:
            self._interrupt()
            await anyio.sleep(_INTERRUPT_EVERY_S)
