"""What was forgotten since a backup was made, carried over into a copy of it before it is restored.

Nothing here may be called on an event loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection
from msgspec import Struct

from ..passages import table as passages
from ..passages.table import Forgotten
from ..store.database import Database
from ..store.errors import explain
from ..store.migrations import tables
from ..store.rows import naive, to_memory
from ..store.sql import attach
from ..store.tombstones import Note, Print, add_notes, latest_notes, print_of, wording_of
from ..store.writes import add_tombstones
from ..team.outbox import Outbox, drop_ids

_MEMORY_LIMIT_MB = 256
_BATCH_ROWS = 2_000
_TICK = timedelta(microseconds=1)


class Buried(Struct, frozen=True):
    """What a database says was forgotten, and the ids of the memories that it has.

    ``ids`` has the scope, and when it was created and forgotten, of each forgotten memory.
    """

    ids: Mapping[str, tuple[str, datetime, datetime]] = {}
    texts: Mapping[Print, Note] = {}
    passages: tuple[Forgotten, ...] = ()
    alive: frozenset[str] = frozenset()


class Returning(Struct, frozen=True):
    """How many memories and passages of a backup were forgotten since."""

    memories: int
    passages: int


def read_buried(connection: DuckDBPyConnection) -> Buried:
    """What the database attached as ``store`` says was forgotten."""
    there = tables(connection)
    found = connection.execute(
        "SELECT id, scope, created_at, forgotten_at FROM store.memories"
    ).fetchall()
    return Buried(
        ids={row[0]: row[1:] for row in found if row[3] is not None},
        texts=latest_notes(connection) if "forgotten_texts" in there else {},
        passages=tuple(passages.forgotten(connection)) if "passages" in there else (),
        alive=frozenset(row[0] for row in found if row[3] is None),
    )


def read_buried_file(database: Path) -> Buried | None:
    """The same of a file that nobody has open; None where it cannot be read."""
    if not database.exists():
        return Buried()
    try:
        with duckdb.connect(config={"threads": 1}) as connection:
            attach(connection, database, "store", read_only=True)
            return read_buried(connection)
    except duckdb.Error:
        return None


def count_returning(copy: Path, buried: Buried, now: datetime) -> Returning:
    """How much of ``copy`` was forgotten since. Raises StoreUnavailable."""
    database = Database(copy, memory_limit_mb=_MEMORY_LIMIT_MB, clock=lambda: now)
    database.open()
    try:
        with database.reading() as connection:
            found = _Comparison(connection, buried)
            return Returning(len(found.returning), found.said())
    finally:
        database.close()


def carry_over(copy: Path, buried: Buried, now: datetime, *, bring_back: bool) -> Returning:
    """Forget in ``copy`` what was forgotten since, unless it is to be brought back.

    What ``copy`` does not have stays forgotten either way. Raises StoreUnavailable.
    """
    outbox = Outbox()
    database = Database(copy, memory_limit_mb=_MEMORY_LIMIT_MB, clock=lambda: now, queue=outbox)
    database.open()
    try:
        with database.transaction() as connection:
            found = _Comparison(connection, buried)
            add_notes(connection, found.notes())
            add_tombstones(connection, found.missing())
            ids = list(found.returning)
            if bring_back:
                said = found.said()
                add_notes(connection, found.lifting(now))
            else:
                database.tombstones.delete(connection, ids, now)
                drop_ids(connection, ids)
                passages.remember_forgotten(connection, found.passages)
                said = sum(passages.delete_forgotten(connection, one) for one in found.passages)
            for scope in sorted(outbox.joined.sends):
                outbox.queue_tombstones(connection, scope, now)
        if (ids or said) and not bring_back:
            database.compact()
    except duckdb.Error as error:
        raise explain(copy, error) from None
    finally:
        database.close()
    return Returning(len(ids), said)


class _Comparison:
    """A backup on ``connection`` beside what was ``buried`` since.

    ``returning`` are its memories that were forgotten since, with the prints of what they say.
    """

    def __init__(self, connection: DuckDBPyConnection, buried: Buried) -> None:
        self._connection = connection
        self._buried = buried
        self._here = latest_notes(connection)
        self._there = read_buried(connection)
        self.passages = [one for one in buried.passages if one not in self._there.passages]
        self.returning = dict(self._find())

    def said(self) -> int:
        """How many passages were forgotten since."""
        return len(
            {id_ for one in self.passages for id_ in passages.covered(self._connection, one)}
        )

    def notes(self) -> Iterator[tuple[Print, Note]]:
        """What was noted of texts later than in the backup."""
        for print_, note in self._buried.texts.items():
            known = self._here.get(print_)
            if known is None or known.noted_at < note.noted_at:
                yield print_, note

    def missing(self) -> list[tuple[str, str, datetime, datetime]]:
        """The forgotten memories of which the backup knows nothing, for ``add_tombstones``."""
        known = self._there.alive | self._there.ids.keys()
        return [(id_, *rest) for id_, rest in self._buried.ids.items() if id_ not in known]

    def lifting(self, now: datetime) -> Iterator[tuple[Print, Note]]:
        """Notes by which the texts of what is brought back are no longer forgotten."""
        for print_ in {each for prints in self.returning.values() for each in prints}:
            note = self._buried.texts.get(print_)
            if note is not None and not note.lifted:
                at = naive(now)
                yield print_, Note(max(at, note.noted_at + _TICK), lifted=True)

    def _find(self) -> Iterator[tuple[str, list[Print]]]:
        since = self._since()
        by_id = self._there.alive & self._buried.ids.keys()
        if not (since or by_id):
            return
        keys = sorted({print_.key for print_ in self._buried.texts})
        for id_, scope, body in _current(self._connection):
            wording = wording_of(to_memory(body).content)
            prints = [print_of(key, scope, wording) for key in keys]
            said = not since.isdisjoint(prints) and id_ not in self._buried.alive
            if said or id_ in by_id:
                yield id_, prints

    def _since(self) -> set[Print]:
        """The texts that are forgotten now, and were not when the backup was made."""
        then = {print_ for print_, note in self._here.items() if not note.lifted}
        return {p for p, note in self._buried.texts.items() if not note.lifted} - then


def _current(connection: DuckDBPyConnection) -> Iterator[tuple[str, str, str]]:
    """The id, scope and body of each memory's current version."""
    found = connection.execute(
        "SELECT m.id, m.scope, v.body FROM store.memories m JOIN store.versions v ON v.key = m.key"
    )
    while batch := found.fetchmany(_BATCH_ROWS):
        yield from batch
