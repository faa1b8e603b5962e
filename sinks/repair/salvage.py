"""Copies what can still be read of a damaged database into a new one.

DuckDB keeps each column in blocks of its own with a checksum each, so a bad block costs some
rows, or only one column of some rows. ``versions`` holds every text; ``memories`` is
rebuilt from it; only tombstones and counts of use are copied from the old table.

What was said in sessions, what of it was forgotten, and what became of memories that were shown, is
copied as it is.

Of a team whatever is missing is on its server, or on this machine and perhaps not on the server
yet. So where anything was lost the feed is pulled from its beginning and all local versions are
queued again; both are idempotent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection
from msgspec import DecodeError, Struct

from ...bus.values import Encoding
from ..passages.table import FORGOTTEN_TYPES, TYPES
from ..store import uses
from ..store.migrations import tables
from ..store.rows import Record, Row, aware, to_memory, to_record, usage_of
from ..store.sql import attach
from ..store.tombstones import FORGOTTEN_TYPES as TEXT_TYPES
from ..store.tombstones import MERGED_TYPES
from ..store.writes import Insert, add_records, add_tombstones, add_uses, insert
from ..team.membership import clear_team, read_membership, write_cursor
from ..team.outbox import ENTRY_TYPES, RECEIVED_TYPES, Outbox
from ..team.protocol import Cursor

_WHOLE = "body, model, vectors, words, lengths, terms"
_NO_ENCODING = ("", b"", b"", b"", b"")
# DuckDB reads so many rows of a column at once.
_STEP = 2048
_TABLES = {
    "team": {"name": "VARCHAR", "value": "VARCHAR"},
    "shared": {"scope": "VARCHAR", "name": "VARCHAR", "sends": "BOOLEAN", "whole": "BOOLEAN"},
    "received": RECEIVED_TYPES,
    "outbox": ENTRY_TYPES,
}
_COPIED = {
    "forgotten_passages": FORGOTTEN_TYPES,
    "passages": TYPES,
    "forgotten_texts": TEXT_TYPES,
    "merged_texts": MERGED_TYPES,
    "use_events": uses.TYPES,
    "use_sums": uses.SUM_TYPES,
}
_WITHOUT_TEXT = (
    "DELETE FROM store.outbox WHERE version > 0 AND key NOT IN (SELECT key FROM store.versions)"
)


class Salvaged(Struct, frozen=True):
    """How many versions of memories were saved, and how many could not be read."""

    kept: int
    lost: int


def salvage(connection: DuckDBPyConnection, damaged: Path, now: datetime) -> Salvaged:
    """Write what can be read of ``damaged`` through ``connection``, into its empty ``store``.

    Where vectors cannot be read the text is kept without them; they are made again when it is
    loaded. Raises ``duckdb.Error`` where ``damaged`` cannot even be opened.
    """
    with duckdb.connect(config={"threads": 1}) as source:
        attach(source, damaged, "store", read_only=True)
        _save_tombstones(connection, source, now)
        kept = lost = 0
        for records, unreadable in _versions(source):
            kept += sum(add_records(connection, records))
            lost += unreadable
        _save_uses(connection, source)
        there = tables(source)
        if "team" in there:
            _save_team(connection, source, aware(now), is_whole=not lost)
        for table, types in _COPIED.items():
            if table in there:
                _copy(connection, source, table, types)
    return Salvaged(kept, lost)


def can_attach(database: Path) -> bool:
    """Whether the file opens, so that some of it may be readable."""
    try:
        with duckdb.connect() as connection:
            attach(connection, database, "store", read_only=True)
    except duckdb.Error:
        return False
    return True


def fill_up(
    connection: DuckDBPyConnection, backup: Path, is_barred: Callable[[Record], bool], now: datetime
) -> int:
    """Add the memories of ``backup`` that are neither saved nor forgotten; how many versions.

    Whether a team has them is not known, so it is asked.
    """
    with duckdb.connect(config={"threads": 1}) as source:
        attach(source, backup, "store", read_only=True)
        found = (found for found, _ in _versions(source))
        added = sum(sum(add_records(connection, records, is_barred)) for records in found)
    if added:
        _start_over(connection, now)
    return added


def _versions(source: DuckDBPyConnection) -> Iterator[tuple[list[Record], int]]:
    for start in _steps(source, "versions"):
        rows = _read(source, _WHOLE, "versions", start)
        if rows is None:
            bodies = _read(source, "body", "versions", start)
            if bodies is None:
                bodies = list(_one_by_one(source, start))
            rows = [(body, *_NO_ENCODING) for (body,) in bodies]
        records = [record for row in rows if (record := _record(row)) is not None]
        yield records, len(rows) - len(records)


def _one_by_one(source: DuckDBPyConnection, start: int) -> Iterator[tuple[str]]:
    """The texts of a run of rows, each through the index, which reads its own block alone.

    One that cannot be read is empty.
    """
    keys = _read(source, "key", "versions", start)
    if keys is None:
        yield from [("",)] * len(_read(source, "rowid", "versions", start) or ())
    for (key,) in keys or ():
        try:
            found = source.execute("SELECT body FROM store.versions WHERE key = ?", [key])
            yield from found.fetchall()
        except duckdb.Error:
            yield ("",)


def _record(columns: tuple[Any, ...]) -> Record | None:
    try:
        return to_record(Row(to_memory(columns[0]), Encoding(*columns[1:])))
    except (DecodeError, ValueError):
        return None


def _save_tombstones(
    connection: DuckDBPyConnection, source: DuckDBPyConnection, now: datetime
) -> None:
    for start in _steps(source, "memories"):
        rows = _read(source, "id, scope, created_at, forgotten_at", "memories", start) or ()
        add_tombstones(connection, [row for row in rows if row[3] is not None])


def _save_uses(connection: DuckDBPyConnection, source: DuckDBPyConnection) -> None:
    for start in _steps(source, "memories"):
        rows = _read(source, "id, times_injected, last_used", "memories", start) or ()
        if uses := {row[0]: usage_of(*row[1:]) for row in rows if row[1]}:
            add_uses(connection, uses)


def _save_team(
    connection: DuckDBPyConnection, source: DuckDBPyConnection, now: datetime, *, is_whole: bool
) -> None:
    """Copy the team's tables of ``source``, after its memories, all of which were if ``is_whole``.

    Nothing is kept where it can no longer be read which team it was.
    """
    copied = [_copy(connection, source, table, types) for table, types in _TABLES.items()]
    if read_membership(connection) is None:
        clear_team(connection)
        return
    connection.execute(_WITHOUT_TEXT)
    if not (is_whole and all(copied)):
        _start_over(connection, now)


def _start_over(connection: DuckDBPyConnection, now: datetime) -> None:
    """Have the feed of the team, if one was joined, pulled anew, and everything sent again."""
    joined = read_membership(connection)
    if joined is None:
        return
    write_cursor(connection, Cursor(joined.epoch))
    outbox = Outbox()
    outbox.open(connection)
    outbox.queue_again(connection, now)


def _copy(
    connection: DuckDBPyConnection,
    source: DuckDBPyConnection,
    table: str,
    types: Mapping[str, str],
) -> bool:
    """Copy a table; returns whether all of it could be read.

    Where the encodings of what was said cannot be read they are made again when it is loaded.
    """
    is_whole = True
    columns = list(types)
    for start in _steps(source, table):
        rows = _read(source, ", ".join(columns), table, start)
        is_whole = is_whole and rows is not None
        if rows is None and table == "passages":
            texts = _read(source, ", ".join(columns[: -len(_NO_ENCODING)]), table, start) or ()
            rows = [(*row, *_NO_ENCODING) for row in texts]
        if rows:
            insert(connection, Insert(f"store.{table}", types), rows)
    return is_whole


def _steps(source: DuckDBPyConnection, table: str) -> range:
    """The first row of each run of rows that is read at once."""
    [(last,)] = source.execute(f"SELECT max(rowid) FROM store.{table}").fetchall()  # noqa: S608 - constants
    return range(0, -1 if last is None else last + 1, _STEP)


def _read(
    source: DuckDBPyConnection, columns: str, table: str, start: int
) -> list[tuple[Any, ...]] | None:
    """A run of rows; None where a block of theirs is damaged."""
    try:
        return source.execute(
            f"SELECT {columns} FROM store.{table} WHERE rowid >= ? AND rowid < ?",  # noqa: S608 - constants
            [start, start + _STEP],
        ).fetchall()
    except duckdb.Error:
        return None
