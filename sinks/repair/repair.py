"""What is wrong with a database that nobody has open, and mending what can be mended.

``diagnose`` changes nothing. ``repair`` mends what ``diagnose`` calls repairable; before it
changes a file it keeps a copy of it aside, and it says where. Both open the file, so they are for
a process that has seen to it that no daemon runs: where one does, the finding is ``held``. Neither
may be called on an event loop.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import duckdb
from msgspec import Struct

from ..files.private import free_name, sync_directory
from ..store.database import Database
from ..store.errors import StoreUnavailable, damaged, explain, foreign, full, newer, read_only
from ..store.migrations import MIGRATIONS, ForeignSchema, schema_version, tables
from ..store.rows import naive
from ..store.sql import attach
from ..store.wal import quarantine_orphan_log, readable_bytes, wal_of
from .kept_copies import UNFINISHED
from .salvage import salvage

_MEMORY_LIMIT_MB = 256
# Opening writes a few blocks; with less room than this every write is refused.
_LEAST_FREE_BYTES = 16_000_000
_OWNER_WRITES = stat.S_IWUSR | stat.S_IRUSR
_TABLES = {"memories", "versions", "team", "shared", "outbox", "received"}
_SALVAGED = "salvaged.duckdb"


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong. ``seen`` and ``mend`` are sentences for the user.

    ``reason`` is that of ``StoreUnavailable``, or ``log`` (the write-ahead log is damaged),
    ``lost_file`` (there is a log, and no file that it belongs to) or ``leftovers`` (copies that
    a process left half made). ``repairable`` says whether ``repair`` mends it.
    """

    reason: str
    seen: str
    mend: str
    repairable: bool


class Mended(Struct, frozen=True, kw_only=True):
    """One thing that was mended; where the files are now that were there before.

    ``lost`` is how many versions of memories could not be saved.
    """

    reason: str
    done: str
    kept_aside: tuple[Path, ...] = ()
    lost: int = 0


class _DamagedLog(ValueError):
    """DuckDB cannot read the write-ahead log."""


def diagnose(database: Path) -> tuple[Problem, ...]:
    """Everything that is wrong with the file at ``database``; nothing where there is none yet.

    Reads every block, which takes about a second for 100,000 memories.
    """
    return tuple(_problems(database))


def repair(database: Path, *, now: datetime) -> tuple[Mended, ...]:
    """Mend whatever ``diagnose`` calls repairable, in an order in which each step helps the next.

    Raises ``StoreUnavailable`` where a step cannot be done; the steps before it are done.
    """
    problems = [problem for problem in diagnose(database) if problem.repairable]
    mended = [_mend(database, problem.reason, now) for problem in problems]
    if any(one.reason == "read_only" for one in mended):  # what it hid can be seen now
        mended += repair(database, now=now)
    return tuple(mended)


# --- what is wrong -------------------------------------------------------------------------------


def _problems(database: Path) -> Iterator[Problem]:
    if not database.parent.is_dir():
        return
    if shutil.disk_usage(database.parent).free < _LEAST_FREE_BYTES:
        yield _told(full(database))
    if _is_fixed(database):
        yield _told(read_only(database), repairable=_may_unfix(database))
        return
    if any(True for _ in _unfinished(database)):
        yield Problem(
            reason="leftovers",
            seen=f"there are copies in {database.parent} that a process left half made",
            mend="they are of no use; the repair deletes them",
            repairable=True,
        )
    if not database.exists():
        if _log_bytes(database):
            yield _lost_file(database)
        return
    yield from _unreadable(database)


def _unreadable(database: Path) -> Iterator[Problem]:
    if (lost := _torn_bytes(database)) > 0:
        yield _damaged_log(database, f"the last {lost} bytes of it are cut off")
    elif not database.stat().st_size:
        return  # an empty file is begun anew
    try:
        _read_everything(database)
    except _DamagedLog:
        if not lost:
            yield _damaged_log(database, "a write in it is damaged")
    except StoreUnavailable as error:
        yield _told(error, repairable=error.reason == "damaged" and _can_attach(database))


def _told(error: StoreUnavailable, *, repairable: bool = False) -> Problem:
    seen, _, mend = str(error).partition(". ")
    return Problem(reason=error.reason, seen=seen, mend=mend, repairable=repairable)


def _damaged_log(database: Path, how: str) -> Problem:
    return Problem(
        reason="log",
        seen=f"the write-ahead log {wal_of(database)} is damaged: {how}",
        mend="what stands before the damage can be read; a copy of the log is kept aside",
        repairable=True,
    )


def _lost_file(database: Path) -> Problem:
    return Problem(
        reason="lost_file",
        seen=f"{wal_of(database)} is there, but {database} that it belongs to is not",
        mend=(
            "put the database back if you moved it. Else the repair keeps the log aside, and an "
            "empty database is begun"
        ),
        repairable=True,
    )


def _is_fixed(database: Path) -> bool:
    """Whether somebody took the permission to write away."""
    places = [database.parent, *(p for p in (database, wal_of(database)) if p.exists())]
    return not all(os.access(place, os.R_OK | os.W_OK) for place in places)


def _may_unfix(database: Path) -> bool:
    places = [p for p in (database.parent, database, wal_of(database)) if p.exists()]
    fixed = [place for place in places if not os.access(place, os.R_OK | os.W_OK)]
    return all(
        place.stat().st_uid == os.geteuid()
        and place.stat().st_mode & _OWNER_WRITES != _OWNER_WRITES
        for place in fixed
    )


def _unfinished(database: Path) -> Iterator[Path]:
    for pattern in UNFINISHED:
        yield from database.parent.glob(pattern.format(database.name))


def _log_bytes(database: Path) -> int:
    wal = wal_of(database)
    return wal.stat().st_size if wal.exists() else 0


def _torn_bytes(database: Path) -> int:
    """How many bytes at the end of the log are no whole entry."""
    size = _log_bytes(database)
    if not size:
        return 0
    with wal_of(database).open("rb") as log:
        return size - readable_bytes(log, size)


def _can_attach(database: Path) -> bool:
    try:
        with duckdb.connect() as connection:
            attach(connection, database, "store", read_only=True)
    except duckdb.Error:
        return False
    return True


def _read_everything(database: Path) -> None:
    """Read each value of each table. Raises ``_DamagedLog`` and ``StoreUnavailable``."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{_MEMORY_LIMIT_MB}MB",
        "threads": 1,
    }
    try:
        with duckdb.connect(config=config) as connection:
            attach(connection, database, "store", read_only=True)
            found = schema_version(connection)
            if found > len(MIGRATIONS):
                raise newer(database, found, len(MIGRATIONS))
            for table in _TABLES & tables(connection):
                # A checksum of the blocks is looked at when they are read, so all must be.
                connection.execute(f"SELECT bit_xor(hash(t)) FROM store.{table} t").fetchall()  # noqa: S608 - constants
    except StoreUnavailable:
        raise
    except ForeignSchema:
        raise foreign(database) from None
    except (duckdb.Error, OSError) as error:
        if "WAL" in str(error):
            raise _DamagedLog from None
        raise explain(database, error) from None


# --- mending -------------------------------------------------------------------------------------


def _mend(database: Path, reason: str, now: datetime) -> Mended:
    return {
        "read_only": _unfix,
        "leftovers": _delete_unfinished,
        "lost_file": _put_log_aside,
        "log": _cut_log,
        "damaged": _save_what_can_be_read,
    }[reason](database, now)


def _unfix(database: Path, now: datetime) -> Mended:
    places = [p for p in (database.parent, database, wal_of(database)) if p.exists()]
    for place in places:
        search = stat.S_IXUSR if place.is_dir() else 0
        place.chmod(place.stat().st_mode | _OWNER_WRITES | search)
    return Mended(reason="read_only", done=f"you may write {database} again")


def _delete_unfinished(database: Path, now: datetime) -> Mended:
    for place in list(_unfinished(database)):
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    return Mended(reason="leftovers", done="copies that were half made are deleted")


def _put_log_aside(database: Path, now: datetime) -> Mended:
    lost = quarantine_orphan_log(database, now)
    return Mended(
        reason="lost_file",
        done="the log without a database is kept aside",
        kept_aside=(lost.kept_aside,) if lost else (),
    )


def _cut_log(database: Path, now: datetime) -> Mended:
    """Open the file as the daemon does, which cuts the log before the damage."""
    store = Database(database, memory_limit_mb=_MEMORY_LIMIT_MB, clock=lambda: now)
    store.open()
    store.close()
    recovery = store.recovery
    kept = (recovery.kept_aside,) if recovery else ()
    return Mended(
        reason="log", done="everything before the damage in the log is saved", kept_aside=kept
    )


def _save_what_can_be_read(database: Path, now: datetime) -> Mended:
    """Copy what can be read into a new file, and put the damaged one aside."""
    private = database.with_name(f".subcog-copy-repair-{os.getpid()}")
    private.mkdir(mode=0o700)
    try:
        fresh = Database(private / _SALVAGED, memory_limit_mb=_MEMORY_LIMIT_MB, clock=lambda: now)
        fresh.open()
        try:
            with fresh.transaction() as connection:
                saved = salvage(connection, database, naive(now))
        except duckdb.Error as error:
            raise explain(database, error) from None
        finally:
            fresh.close()
        if not saved.kept and saved.lost:
            raise damaged(database)
        kept = _put_aside(database, now)
        (private / _SALVAGED).replace(database)
        sync_directory(database.parent)
    finally:
        shutil.rmtree(private)
    lost = f"; {saved.lost} of {saved.kept + saved.lost} could not be read" if saved.lost else ""
    return Mended(
        reason="damaged",
        done=f"{saved.kept} versions of memories were saved into a new file{lost}",
        kept_aside=kept,
        lost=saved.lost,
    )


def _put_aside(database: Path, now: datetime) -> tuple[Path, ...]:
    """Move file and log to names of their own."""
    target = free_name(database.with_name(f"{database.name}.damaged-{now:%Y%m%dT%H%M%S}"))
    moved = []
    # The log first: a file without its log is whole, a log without its file is lost.
    for source, aside in ((wal_of(database), wal_of(target)), (database, target)):
        if source.exists():
            source.replace(aside)
            moved.append(aside)
    return tuple(reversed(moved))
