"""The new rows in a log that cannot be replayed into its own file, since that is damaged.

A log has an entry for each thing done: the table that is meant, rows added, rows deleted, a commit.
To add rows needs no block of the file, so these entries alone are replayed by DuckDB, which checks
each, into an empty database with the same tables. What only changed or deleted rows is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from ..store.database import Database
from ..store.errors import StoreUnavailable
from ..store.wal import entries, first_entry, kind_of, wal_of

_USE_TABLE, _ADD_ROWS, _COMMIT = 25, 26, 100
_TABLES = (b"versions", b"forgotten_texts", b"merged_texts")
_MEMORY_LIMIT_MB = 256


def replay_rows(log: Path, target: Path, now: datetime) -> bool:
    """Make a database at ``target`` with the memories that ``log`` adds; False where none is read.

    It also has what the log notes as forgotten.
    """
    data = log.read_bytes()
    _make_empty(target, now)
    head = first_entry(wal_of(target).read_bytes())
    wal_of(target).write_bytes(head + b"".join(_additions(data)))
    database = Database(target, memory_limit_mb=_MEMORY_LIMIT_MB, clock=lambda: now)
    try:
        database.open()
    except StoreUnavailable:
        return False
    database.close()
    return True


def _make_empty(target: Path, now: datetime) -> None:
    """An empty database with a log of its own beside it, as a crash leaves the two."""
    database = Database(target, memory_limit_mb=_MEMORY_LIMIT_MB, clock=lambda: now)
    database.open()
    with database.transaction() as connection:
        connection.execute("INSERT INTO store.team VALUES ('replayed', '')")
    file, log = target.read_bytes(), wal_of(target).read_bytes()
    database.close()
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
