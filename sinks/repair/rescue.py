"""Saves what can be read of a damaged database into a new file, by whatever way there is.

The damaged file with its log; where that cannot be replayed, without, and what the log adds; and
what is missing then from the newest backup that opens.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import duckdb
from msgspec import Struct

from ..files import free_name, sync_directory
from ..store.database import Database
from ..store.errors import StoreUnavailable, explain, unavailable
from ..store.rows import naive
from ..store.wal import entries, first_entry, kind_of, loss_of, wal_of
from .backups import carry_over, read_buried_file
from .kept_copies import MEMORY_LIMIT_MB, find_copies, opened
from .salvage import Salvaged, can_attach, fill_up, salvage

_SALVAGED = "salvaged.duckdb"
_USE_TABLE, _ADD_ROWS, _COMMIT = 25, 26, 100
_TABLES = (b"versions", b"forgotten_texts", b"merged_texts", b"forgotten_passages")


class Mended(Struct, frozen=True, kw_only=True):
    """One repair. ``kept_aside`` are the files as they were before.

    ``lost`` is how many versions of memories could not be saved.
    """

    reason: str
    done: str
    kept_aside: tuple[Path, ...] = ()
    lost: int = 0


def can_save(database: Path) -> bool:
    """Whether anything can be read of the file, with its log or without, or of a backup."""
    with _apart_from_log(database) as alone:
        places = map(can_attach, (database, alone))
        return any(places) or any(_backups(database)) or log_bytes(database) > 0


@contextmanager
def _apart_from_log(database: Path) -> Iterator[Path]:
    """The same file under a name beside which no log lies.

    A log that cannot be replayed into a damaged file keeps DuckDB from opening what is whole of it.
    Nothing lies there where there is no such file.
    """
    private = database.with_name(f".subcog-copy-alone-{os.getpid()}")
    private.mkdir(mode=0o700)
    alone = private / database.name
    try:
        try:
            alone.hardlink_to(database)
        except FileNotFoundError:
            pass
        except OSError:  # a file system without links
            shutil.copyfile(database, alone)
        yield alone
    finally:
        shutil.rmtree(private)


def _backups(database: Path) -> Iterator[Path]:
    """The user's and subcog's own backups that can be opened, the newest first.

    Where the database itself is lost, what restores set aside comes after them.
    """
    kinds = ("backup", "before a restore") if loss_of(database) else ("backup",)
    copies = find_copies(database)
    for kind in kinds:
        for copy in reversed(copies):
            if copy.kind == kind and can_attach(copy.file):
                yield copy.file


def rescue(database: Path, now: datetime) -> Mended:
    """Save into a new file what can be read of the damaged one, and move that away.

    The damaged files are moved only when the new one is whole on disk. Raises StoreUnavailable,
    and changes nothing, where nothing can be saved; of a file that is emptied or missing there is
    nothing to be lost.
    """
    private = database.with_name(f".subcog-copy-repair-{os.getpid()}")
    private.mkdir(mode=0o700)
    try:
        saved, told = _save_all(private / _SALVAGED, database, now)
        if not saved.kept and (saved.lost or told) and not loss_of(database):
            raise unavailable("damaged", database)
        kept = _quarantine(database, now)
        (private / _SALVAGED).replace(database)
        sync_directory(database.parent)
    finally:
        shutil.rmtree(private)
    if saved.lost:
        told.append(f"{saved.lost} could not be read")
    done = f"{saved.kept} versions of memories were saved into a new file"
    return Mended(reason="damaged", done="; ".join((done, *told)), kept_aside=kept, lost=saved.lost)


def _save_all(target: Path, database: Path, now: datetime) -> tuple[Salvaged, list[str]]:
    """What was saved into ``target``, and in sentences what else is to be known about it."""
    rows = target.with_name("rows.duckdb")
    fresh = Database(target, memory_limit_mb=MEMORY_LIMIT_MB, clock=lambda: now)
    fresh.open()
    told: list[str] = []
    try:
        with fresh.transaction() as connection, _apart_from_log(database) as alone:
            source = next(filter(can_attach, (database, alone)), None)
            backup = next(_backups(database), None)
            saved = Salvaged(0, 0)
            if whole := source or backup:
                saved = salvage(connection, whole, naive(now))
            if source is None:
                gone = {"missing": "the file itself is gone", "emptied": "the file itself is empty"}
                unread = "of the damaged file itself nothing could be read"
                told.append(gone.get(loss_of(database), unread))
                if backup:
                    told.append(
                        f"{saved.kept} of them are from the backup {backup}, and what was "
                        "forgotten since it was made may be back"
                    )
            fresh.tombstones.open(connection)
            if source and backup and (saved.lost or source == alone):
                added = fill_up(connection, backup, fresh.tombstones.bars, now)
                if added:
                    told.append(f"{added} of them are from the backup {backup}")
                saved = Salvaged(saved.kept + added, max(0, saved.lost - added))
            is_replayed = source == database or not (log := log_bytes(database))
            if not is_replayed and replay_rows(wal_of(database), rows, now):
                added = fill_up(connection, rows, fresh.tombstones.bars, now)
                told.append(f"{added} of them are from the log, of which changes are lost")
                saved = Salvaged(saved.kept + added, saved.lost)
            elif not is_replayed:
                told.append(f"the newest writes, {log} bytes in the log, could not be read")
    except duckdb.Error as error:
        raise explain(database, error) from None
    finally:
        fresh.close()
    if rows.exists() and (buried := read_buried_file(rows)):
        carry_over(target, buried, now, bring_back=False)  # what the log says is forgotten
    return saved, told


def _quarantine(database: Path, now: datetime) -> tuple[Path, ...]:
    target = free_name(database.with_name(f"{database.name}.damaged-{now:%Y%m%dT%H%M%S}"))
    moved = []
    # The log first: a file without its log is whole, a log without its file is lost.
    for source, aside in ((wal_of(database), wal_of(target)), (database, target)):
        if source.exists():
            source.replace(aside)
            moved.append(aside)
    return tuple(reversed(moved))


def log_bytes(database: Path) -> int:
    """The size of the log beside ``database``."""
    wal = wal_of(database)
    return wal.stat().st_size if wal.exists() else 0


def replay_rows(log: Path, target: Path, now: datetime) -> bool:
    """Make a database at ``target`` with the memories that ``log`` adds; False where none is read.

    It also has what the log notes as forgotten. For a log that cannot be replayed into its own
    file, since that is damaged: to add rows needs no block of the file, so the entries that do (the
    table that is meant, rows added, a commit) are replayed by DuckDB into an empty database.
    """
    data = log.read_bytes()
    _make_empty(target, now)
    head = first_entry(wal_of(target).read_bytes())
    wal_of(target).write_bytes(head + b"".join(_additions(data)))
    try:
        with opened(target, now):
            return True
    except StoreUnavailable:
        return False


def _make_empty(target: Path, now: datetime) -> None:
    """An empty database with a log of its own beside it, as a crash leaves the two."""
    with opened(target, now) as database:
        with database.transaction() as connection:
            connection.execute("INSERT INTO store.team VALUES ('replayed', '')")
        file, log = target.read_bytes(), wal_of(target).read_bytes()
    target.write_bytes(file)
    wal_of(target).write_bytes(log)


def _additions(log: bytes) -> Iterator[bytes]:
    is_wanted = False
    for entry in entries(log):
        kind = kind_of(entry)
        if kind == _USE_TABLE:
            is_wanted = any(table in entry for table in _TABLES)
        if kind == _COMMIT or (is_wanted and kind in {_USE_TABLE, _ADD_ROWS}):
            yield entry
