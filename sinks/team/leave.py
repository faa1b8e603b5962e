"""Removes other members' versions from this machine and leaves the local ones.

Without tombstones: joining the team again brings them back.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from duckdb import DuckDBPyConnection
from msgspec import Struct

from ...bus.values import Scope
from ..store.rows import Row, to_record, to_row, to_scope
from ..store.writes import among, delete_where, move_heads


class Removed(Struct, frozen=True):
    """The removed memories, and the rows that became current of those that stay."""

    gone: Mapping[str, Scope]
    current: tuple[Row, ...]


def remove_others(connection: DuckDBPyConnection, scope: Scope | None = None) -> Removed:
    """Delete every version in ``scope``, or in all, that is somebody else's text.

    A memory that is left without a version is gone. One that only such a memory supersedes comes
    back into force: the versions that say so are deleted as well.
    """
    found = connection.execute(
        "SELECT v.key, v.id FROM store.versions v SEMI JOIN "
        "(SELECT key FROM store.received WHERE author <> '') r USING (key) "
        "WHERE ?::VARCHAR IS NULL OR v.scope = ?",
        [scope and str(scope), scope and str(scope)],
    ).fetchall()
    if not found:
        return Removed({}, ())
    keys, ids = [key for key, _ in found], list({id_ for _, id_ in found})
    delete_where(connection, "versions", "key", keys)
    delete_where(connection, "received", "key", keys)
    delete_where(connection, "outbox", "key", keys)
    left = {row.memory.id: row for row in _versions(connection, ids)}
    move_heads(connection, [to_record(row) for row in left.values()])
    gone = _delete_heads(connection, [id_ for id_ in ids if id_ not in left])
    left |= _restore(connection, gone)
    return Removed(gone, tuple(left.values()))


def _versions(connection: DuckDBPyConnection, ids: Sequence[str]) -> list[Row]:
    """Every version of ``ids``, oldest first."""
    wanted, parameters = among("id", ids)
    found = connection.execute(
        "SELECT body, model, vectors, words, lengths, terms FROM store.versions "  # noqa: S608 - placeholders
        f"WHERE {wanted} ORDER BY version",
        parameters,
    ).fetchall()
    return list(map(to_row, found))


def _delete_heads(connection: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Scope]:
    found = connection.execute(
        "DELETE FROM store.memories WHERE id IN (SELECT unnest(?::VARCHAR[])) RETURNING id, scope",
        [list(ids)],
    ).fetchall()
    return {id_: to_scope(scope) for id_, scope in found}


def _restore(connection: DuckDBPyConnection, gone: Collection[str]) -> dict[str, Row]:
    """Undo that removed memories supersede others; returns the rows that are current now."""
    marked = connection.execute(
        "SELECT id FROM store.memories WHERE superseded_by IN (SELECT unnest(?::VARCHAR[]))",
        [list(gone)],
    ).fetchall()
    rows = _versions(connection, [id_ for (id_,) in marked]) if marked else []
    last = {row.memory.id: row for row in rows if row.memory.superseded_by not in gone}
    since = [
        f"{row.memory.id}:{row.memory.version}"
        for row in rows
        if row.memory.id in last and row.memory.version > last[row.memory.id].memory.version
    ]
    delete_where(connection, "versions", "key", since)
    delete_where(connection, "outbox", "key", since)
    move_heads(connection, [to_record(row) for row in last.values()])
    return last
