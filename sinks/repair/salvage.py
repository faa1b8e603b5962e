"""Reads what can still be read of a damaged database into a new one.

DuckDB keeps each column in blocks of its own with a checksum each, so a bad block costs some
rows, or only one column of some rows. ``versions`` holds every text; ``memories`` is made from it
anew, and from the old table come tombstones and counts of use alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection
from msgspec import DecodeError, Struct

from ...bus.values import Encoding
from ..store.attached import attach
from ..store.migrations import tables
from ..store.rows import Record, Row, aware, to_memory, to_record, usage_of
from ..store.writes import add_records, add_tombstones, add_uses
from .salvage_team import read, save_team, steps

_WHOLE = "body, model, vectors, words, lengths, terms"
_NO_ENCODING = ("", b"", b"", b"", b"")


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
        if "team" in tables(source):
            save_team(connection, source, aware(now), is_whole=not lost)
    return Salvaged(kept, lost)


def _versions(source: DuckDBPyConnection) -> Iterator[tuple[list[Record], int]]:
    for start in steps(source, "versions"):
        rows = read(source, _WHOLE, "versions", start)
        if rows is None:
            bodies = read(source, "body", "versions", start)
            rows = None if bodies is None else [(body, *_NO_ENCODING) for (body,) in bodies]
        if rows is None:
            yield [], len(read(source, "rowid", "versions", start) or ())
            continue
        records = [record for row in rows if (record := _record(row)) is not None]
        yield records, len(rows) - len(records)


def _record(columns: tuple[Any, ...]) -> Record | None:
    try:
        return to_record(Row(to_memory(columns[0]), Encoding(*columns[1:])))
    except (DecodeError, ValueError):
        return None


def _save_tombstones(
    connection: DuckDBPyConnection, source: DuckDBPyConnection, now: datetime
) -> None:
    for start in steps(source, "memories"):
        rows = read(source, "id, scope, created_at, forgotten_at", "memories", start) or ()
        add_tombstones(connection, [row for row in rows if row[3] is not None])


def _save_uses(connection: DuckDBPyConnection, source: DuckDBPyConnection) -> None:
    for start in steps(source, "memories"):
        rows = read(source, "id, times_injected, last_used", "memories", start) or ()
        if uses := {row[0]: usage_of(*row[1:]) for row in rows if row[1]}:
            add_uses(connection, uses)
