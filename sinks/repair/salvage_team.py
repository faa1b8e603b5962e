"""Saves what a damaged database knew of a team, and makes good what it no longer knows.

Whatever is missing is on the team's server, or on this machine and perhaps not on the server yet.
So where anything was lost the feed is pulled anew and one's own is sent anew, which changes
nothing where it was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection

from ..store.writes import Insert, insert
from ..team.membership import forget_team, read_joined, read_membership, write_cursor
from ..team.outbox import ENTRY_TYPES, RECEIVED_TYPES, Outbox, last_number
from ..team.protocol import Cursor

# DuckDB reads so many rows of a column at once: smaller steps save no more.
_STEP = 2048
_TABLES = {
    "team": {"name": "VARCHAR", "value": "VARCHAR"},
    "shared": {"scope": "VARCHAR", "name": "VARCHAR", "sends": "BOOLEAN", "whole": "BOOLEAN"},
    "received": RECEIVED_TYPES,
    "outbox": ENTRY_TYPES,
}
_WITHOUT_TEXT = (
    "DELETE FROM store.outbox WHERE version > 0 AND key NOT IN (SELECT key FROM store.versions)"
)


def save_team(
    connection: DuckDBPyConnection, source: DuckDBPyConnection, now: datetime, *, is_whole: bool
) -> None:
    """Copy the team's tables of ``source``, after its memories, all of which were if ``is_whole``.

    Nothing is kept where it can no longer be read which team it was.
    """
    copied = [_copy(connection, source, table, types) for table, types in _TABLES.items()]
    joined = read_membership(connection)
    if joined is None:
        forget_team(connection)
        return
    connection.execute(_WITHOUT_TEXT)
    if not (is_whole and all(copied)):
        write_cursor(connection, Cursor(joined.epoch))
        outbox = Outbox(read_joined(connection), last_number(connection))
        for scope in sorted(outbox.joined.sends):
            outbox.queue_own(connection, scope, now)


def _copy(
    connection: DuckDBPyConnection,
    source: DuckDBPyConnection,
    table: str,
    types: Mapping[str, str],
) -> bool:
    """Whether all of it could be read."""
    is_whole = True
    for start in steps(source, table):
        rows = read(source, ", ".join(types), table, start)
        is_whole = is_whole and rows is not None
        if rows:
            insert(connection, Insert(f"store.{table}", types), rows)
    return is_whole


def steps(source: DuckDBPyConnection, table: str) -> range:
    """The first row of each run of rows that is read at once."""
    [(last,)] = source.execute(f"SELECT max(rowid) FROM store.{table}").fetchall()  # noqa: S608 - constants
    return range(0, -1 if last is None else last + 1, _STEP)


def read(
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
