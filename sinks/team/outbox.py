"""The outbox: versions and deletions of this machine that the team's server does not have yet.

An entry is inserted in the transaction of its version, and deleted when the server has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

from duckdb import DuckDBPyConnection

from ..store.rows import Record, aware, naive, to_row, to_scope
from ..store.writes import Insert, delete_where, insert
from .membership import LEFT_BEHIND, Joined, is_foreign, read_joined, select, select_by_key
from .protocol import Depth, Outgoing

ENTRY_TYPES = {
    "seq": "BIGINT",
    "key": "VARCHAR",
    "id": "VARCHAR",
    "version": "BIGINT",
    "scope": "VARCHAR",
    "queued_at": "TIMESTAMP",
}
_ENTRIES = Insert("store.outbox", ENTRY_TYPES)
RECEIVED_TYPES = {"key": "VARCHAR", "author": "VARCHAR", "pulled": "BOOLEAN"}
_RECEIVED = Insert("store.received", RECEIVED_TYPES)

_OWN = """
    INSERT INTO store.outbox
    SELECT ? + row_number() OVER (ORDER BY id, version), v.key, id, version, v.scope, ?
    FROM store.versions v
    ANTI JOIN (SELECT key FROM store.received WHERE pulled AND (author <> '' OR NOT ?)) r
        USING (key)
    ANTI JOIN store.outbox o ON o.key = v.key
    WHERE v.scope = ? AND NOT contains(v.body, '"gate":"' || ? || '"')
"""
# Not what the team forgot, which leaves the prints of what colleagues may take back; or, of what
# was never here, a memory that was made when it was forgotten.
_FORGOTTEN = """
    INSERT INTO store.outbox
    SELECT ? + row_number() OVER (ORDER BY id), id || ':0', id, 0, m.scope, ?
    FROM store.memories m
    ANTI JOIN store.outbox o USING (id)
    ANTI JOIN store.merged_texts t USING (id)
    WHERE m.scope = ? AND forgotten_at IS NOT NULL AND forgotten_at <> created_at
"""


class Outbox:
    """Writes the table ``outbox``, and notes in ``received`` what is somebody else's text.

    Implements the store's ``ChangeQueue``. ``joined`` must be renewed after each change of the
    team's tables. Without a team nothing is queued and no statement executed.
    """

    def __init__(self) -> None:
        self.joined = Joined()
        self._last = 0

    def open(self, connection: DuckDBPyConnection) -> None:
        """Read the membership, and where the numbering of entries goes on."""
        self.joined = read_joined(connection)
        [(last,)] = connection.execute("SELECT max(seq) FROM store.outbox").fetchall()
        self._last = int(last or 0)

    def note(
        self, connection: DuckDBPyConnection, records: Iterable[Record], now: datetime
    ) -> None:
        """Queue those of the versions just written that are in a scope that sends."""
        if not self.joined.member:
            return
        written = list(records)
        self._insert(
            connection,
            [
                (each.key, each.id, each.version, each.scope)
                for each in written
                if each.scope in self.joined.sends
            ],
            now,
        )
        foreign = [
            (each, True)
            for each in written
            if each.memory.scope in self.joined.receives
            and is_foreign(each.memory, self.joined.member)
        ]
        mark_received(connection, foreign, pulled=False)

    def note_forgotten(self, connection: DuckDBPyConnection, memory_id: str, now: datetime) -> None:
        """Queue a deletion in place of the memory's versions."""
        if not self.joined.member:
            return
        drop_ids(connection, [memory_id])
        found = connection.execute("SELECT scope FROM store.memories WHERE id = ?", [memory_id])
        [(scope,)] = found.fetchall()
        if scope in self.joined.sends:
            self._insert(connection, [(f"{memory_id}:0", memory_id, 0, scope)], now)

    def queue_own(self, connection: DuckDBPyConnection, scope: str, now: datetime) -> int:
        """Queue every version in a scope that did not come from the team; returns how many."""
        return self._select(connection, _OWN, now, False, scope, LEFT_BEHIND)

    def queue_tombstones(self, connection: DuckDBPyConnection, scope: str, now: datetime) -> int:
        """Queue every deletion in a scope that was made here; returns how many."""
        return self._select(connection, _FORGOTTEN, now, scope)

    def queue_again(self, connection: DuckDBPyConnection, now: datetime) -> int:
        """Queue all that this member wrote or forgot in what is sent, whoever has it already.

        Returns how many versions and deletions.
        """
        return sum(
            self._select(connection, _OWN, now, True, scope, LEFT_BEHIND)
            + self.queue_tombstones(connection, scope, now)
            for scope in sorted(self.joined.sends)
        )

    def renumber(self, connection: DuckDBPyConnection, now: datetime) -> None:
        """Give every entry a new number, so that one that is being sent stays queued."""
        [(first, last)] = connection.execute(
            "SELECT min(seq), max(seq) FROM store.outbox"
        ).fetchall()
        if first is not None:
            shift = self._next(now) - first
            connection.execute("UPDATE store.outbox SET seq = seq + ?", [shift])
            self._last = last + shift

    def _select(
        self, connection: DuckDBPyConnection, statement: str, now: datetime, *of: object
    ) -> int:
        """Run within the database: there may be a hundred thousand."""
        first = self._next(now)
        [(count,)] = connection.execute(statement, [first, naive(now), *of]).fetchall()
        self._last = first + int(count)
        return int(count)

    def _insert(
        self, connection: DuckDBPyConnection, entries: Sequence[tuple[Any, ...]], now: datetime
    ) -> None:
        if not entries:
            return
        first, at = self._next(now), naive(now)
        numbered = [(first + step, *entry, at) for step, entry in enumerate(entries)]
        insert(connection, _ENTRIES, numbered)
        self._last = first + len(numbered)

    def _next(self, now: datetime) -> int:
        """The time in microseconds: no number is used twice, whatever was deleted."""
        return max(self._last + 1, int(now.timestamp() * 1_000_000))


def page(cursor: DuckDBPyConnection, limit: int) -> tuple[Outgoing, ...]:
    """The oldest entries, at most one a memory; deletions first, for no quota holds them back."""
    entries = cursor.execute(
        "SELECT seq, key, id, version, scope, queued_at FROM store.outbox WHERE seq IN "
        "(SELECT min(seq) AS seq FROM store.outbox GROUP BY id "
        "ORDER BY min(version) > 0, seq LIMIT ?) ORDER BY version > 0, seq",
        [limit],
    ).fetchall()
    wanted = [key for _, key, _, version, *_ in entries if version]
    columns = "key, body, model, vectors, words, lengths, terms"
    found = select_by_key(cursor, columns, wanted)
    rows = {key: to_row(tuple(values)) for key, *values in found}
    return tuple(
        Outgoing(seq, id_, version, to_scope(scope), rows.get(key), aware(queued_at))
        for seq, key, id_, version, scope, queued_at in entries
        if not version or key in rows
    )


def depth(cursor: DuckDBPyConnection) -> Depth:
    """How many entries there are, and the age of the oldest."""
    [(count, oldest)] = cursor.execute(
        "SELECT count(*), min(queued_at) FROM store.outbox"
    ).fetchall()
    return Depth(count, aware(oldest) if oldest else None)


def contested(connection: DuckDBPyConnection, numbers: Sequence[int]) -> list[tuple[str, int, str]]:
    """The (id, version, scope) of entries that may have to give way to what the team has there.

    Not of what itself came from there: that entry is deleted.
    """
    of = [list(numbers)]
    connection.execute(
        "DELETE FROM store.outbox WHERE seq IN (SELECT unnest(?::BIGINT[])) "
        "AND key IN (SELECT key FROM store.received WHERE pulled)",
        of,
    )
    return connection.execute(
        "SELECT id, version, scope FROM store.outbox "
        "WHERE seq IN (SELECT unnest(?::BIGINT[])) AND version > 0",
        of,
    ).fetchall()


def drop_numbers(connection: DuckDBPyConnection, numbers: Sequence[int]) -> None:
    """Delete entries."""
    connection.execute(
        "DELETE FROM store.outbox WHERE seq IN (SELECT unnest(?::BIGINT[]))", [list(numbers)]
    )


def withhold(connection: DuckDBPyConnection, scope: str) -> None:
    """Delete the entries of versions in ``scope``; deletions stay."""
    connection.execute("DELETE FROM store.outbox WHERE version > 0 AND scope = ?", [scope])


def drop_ids(connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
    """Delete the entries and author marks of forgotten memories, their deletions included."""
    delete_where(connection, "outbox", "id", ids)
    _drop_marks(connection, ids)


def drop_versions(connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
    """The same, but who forgot them here as well still tells the team."""
    connection.execute(
        "DELETE FROM store.outbox WHERE version > 0 AND id IN (SELECT unnest(?::VARCHAR[]))",
        [list(ids)],
    )
    _drop_marks(connection, ids)


def _drop_marks(connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
    delete_where(connection, "received", "split_part(key, ':', 1)", ids)


def noted_keys(connection: DuckDBPyConnection, keys: Sequence[str]) -> set[str]:
    """Those of ``keys`` that have an author mark."""
    return {key for (key,) in select(connection, "key", "received", "key", keys)}


def mark_received(
    connection: DuckDBPyConnection, records: Iterable[tuple[Record, bool]], *, pulled: bool
) -> None:
    """Mark versions as pulled or not, each with whether it is another member's text."""
    rows = [
        (record.key, record.memory.provenance.author if is_foreign else "", pulled)
        for record, is_foreign in records
    ]
    if rows:
        insert(connection, _RECEIVED, rows)
