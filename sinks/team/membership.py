"""The small tables of a team: the membership, its feed's cursor, the shared scopes; and leaving.

Each function is for use inside a transaction, or for reading.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import msgspec
from duckdb import DuckDBPyConnection
from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Memory, Scope
from ..store.rows import Row, to_record, to_row, to_scope
from ..store.writes import among, append_versions, delete_uses, delete_where, move_heads
from .protocol import Cursor, Membership, Sharing

T = TypeVar("T")

LEFT_BEHIND = "a newer text of it went with the team"
"""The gate of a version that ends an own text of which a colleague had written a newer one.

The team never gets it: there the newer text is in that place.
"""

_MEMBERSHIP = "membership"
_CURSOR = "cursor"
_DECLINED = "declined"
# All versions of those memories that have own texts as well as others'.
_MIXED = """
    SELECT r.key IS NOT NULL, v.version, body, model, vectors, words, lengths, terms
    FROM store.versions v
    LEFT JOIN (SELECT key FROM store.received WHERE author <> '') r USING (key)
    WHERE v.id IN (
        SELECT id FROM store.versions
        ANTI JOIN (SELECT key FROM store.received WHERE author <> '') USING (key)
        WHERE id IN (SELECT unnest(?::VARCHAR[]))
    )
    ORDER BY v.id, v.version
"""
# Through the primary key as long as they are few.
_FEW = 100


class Joined(Struct, frozen=True):
    """What a write needs to know of the team: ``member`` is empty where none was joined.

    ``receives`` are the shared scopes, ``sends`` those of them of which this machine sends what
    it writes.
    """

    member: str = ""
    receives: frozenset[Scope] = frozenset()
    sends: frozenset[str] = frozenset()


def is_foreign(memory: Memory, member: str) -> bool:
    """Whether neither the text nor any capture merged into it was made by ``member``."""
    own = ("", member)
    return memory.provenance.author not in own and not any(s.author in own for s in memory.sources)


def read_joined(connection: DuckDBPyConnection) -> Joined:
    """The current state of the tables."""
    membership = read_membership(connection)
    if membership is None:
        return Joined()
    shared = read_shared(connection)
    return Joined(
        member=membership.member,
        receives=frozenset(each.scope for each in shared),
        sends=frozenset(str(each.scope) for each in shared if each.sends),
    )


def read_membership(connection: DuckDBPyConnection) -> Membership | None:
    """The team that was joined."""
    return _read(connection, _MEMBERSHIP, Membership)


def write_membership(connection: DuckDBPyConnection, membership: Membership) -> None:
    """Join, or update the membership. Raises ValueError where another team was joined."""
    before = read_membership(connection)
    if before is not None and before.team != membership.team:
        raise ValueError(f"this machine is in the team {before.team}: leave that first")
    _write(connection, _MEMBERSHIP, membership)
    if before is None:
        write_cursor(connection, Cursor(membership.epoch))


def read_cursor(connection: DuckDBPyConnection) -> Cursor:
    """The place up to which the feed was pulled."""
    return _read(connection, _CURSOR, Cursor) or Cursor()


def write_cursor(connection: DuckDBPyConnection, cursor: Cursor) -> None:
    """Set the place up to which the feed was pulled."""
    _write(connection, _CURSOR, cursor)


def read_declined(connection: DuckDBPyConnection) -> tuple[Scope, ...]:
    """The scopes unshared here, which are not received although the team lists them."""
    return _read(connection, _DECLINED, tuple[Scope, ...]) or ()


def read_shared(connection: DuckDBPyConnection) -> tuple[Sharing, ...]:
    """The list of shared scopes, in their order."""
    found = connection.execute(
        "SELECT scope, name, sends, whole FROM store.shared ORDER BY scope"
    ).fetchall()
    return tuple(Sharing(to_scope(scope), *rest) for scope, *rest in found)


def put_shared(connection: DuckDBPyConnection, scope: Scope, name: str, *, sends: bool) -> bool:
    """Add a scope to the list or rename it; True if it sends now and did not before.

    Raises ValueError for a user's scope, and without a team.
    """
    if scope.kind == "user":
        raise ValueError("what is kept for the user alone is never shared")
    if read_membership(connection) is None:
        raise ValueError("this machine is in no team")
    before = {each.scope: each for each in read_shared(connection)}.get(scope)
    if before is None:
        # The pull may be further than the cursor on disk, which echoes do not move.
        values = [str(scope), name, sends]
        connection.execute("INSERT INTO store.shared VALUES (?, ?, ?, false)", values)
        _decline(connection, {*read_declined(connection)} - {scope})
        return sends
    values = [name, before.sends or sends, str(scope)]
    connection.execute("UPDATE store.shared SET name = ?, sends = ? WHERE scope = ?", values)
    return sends and not before.sends


def drop_shared(connection: DuckDBPyConnection, scope: Scope) -> None:
    """Take a scope off the list and remember that it is declined."""
    connection.execute("DELETE FROM store.shared WHERE scope = ?", [str(scope)])
    _decline(connection, {*read_declined(connection), scope})


def drop_empty(connection: DuckDBPyConnection, scopes: Collection[Scope]) -> None:
    """Take those off the list that are only received and of which there is nothing here.

    They are not declined: the team may list them again.
    """
    connection.execute(
        "DELETE FROM store.shared WHERE NOT sends AND scope IN (SELECT unnest(?::VARCHAR[])) "
        "AND scope LIKE 'project:%' AND scope NOT IN (SELECT v.scope FROM store.versions v "
        "SEMI JOIN (SELECT key FROM store.received WHERE pulled) r USING (key))",
        [list(map(str, scopes))],
    )


def mark_backfilled(connection: DuckDBPyConnection, scopes: Sequence[Scope] | None = None) -> None:
    """Note that those scopes, or all, need no backfill from the feed's beginning."""
    named = None if scopes is None else list(map(str, scopes))
    connection.execute(
        "UPDATE store.shared SET whole = true "
        "WHERE ?::VARCHAR[] IS NULL OR scope IN (SELECT unnest(?::VARCHAR[]))",
        [named, named],
    )


def clear_team(connection: DuckDBPyConnection) -> None:
    """Delete all data about the team, except for the memories."""
    connection.execute("DELETE FROM store.team")
    connection.execute("DELETE FROM store.shared")
    connection.execute("DELETE FROM store.outbox")
    connection.execute("DELETE FROM store.received")


def _decline(connection: DuckDBPyConnection, scopes: set[Scope]) -> None:
    _write(connection, _DECLINED, tuple(sorted(scopes)))


def _read(connection: DuckDBPyConnection, name: str, kind: type[T]) -> T | None:
    found = connection.execute("SELECT value FROM store.team WHERE name = ?", [name]).fetchall()
    return msgspec.json.decode(found[0][0], type=kind) if found else None


def _write(connection: DuckDBPyConnection, name: str, value: object) -> None:
    text = msgspec.json.encode(value).decode()
    changed = connection.execute("UPDATE store.team SET value = ? WHERE name = ?", [text, name])
    if changed.fetchall() == [(0,)]:
        connection.execute("INSERT INTO store.team VALUES (?, ?)", [name, text])


class Removed(Struct, frozen=True):
    """The removed memories, and the rows that became current of those that stay."""

    gone: Mapping[str, Scope]
    current: tuple[Row, ...]


def remove_others(connection: DuckDBPyConnection, scope: Scope | None, now: datetime) -> Removed:
    """Delete every version in ``scope``, or in all, that is somebody else's text.

    A memory that is left without a version is gone. One that only such a memory supersedes comes
    back into force: the versions that say so are deleted as well. Of a colleague's memory an own
    text that another one had replaced stays, and is over.
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
    replaced = _replaced(connection, ids, now)
    delete_where(connection, "versions", "key", keys)
    delete_where(connection, "received", "key", keys)
    delete_where(connection, "outbox", "key", keys)
    append_versions(connection, [to_record(row) for row in replaced])
    left = {row.memory.id: row for row in _versions(connection, ids)}
    move_heads(connection, [to_record(row) for row in left.values()])
    gone = _delete_heads(connection, [id_ for id_ in ids if id_ not in left])
    left |= _restore(connection, gone)
    return Removed(gone, tuple(left.values()))


def _replaced(connection: DuckDBPyConnection, ids: Sequence[str], now: datetime) -> list[Row]:
    """The versions that end own texts of others' memories, to which others wrote a newer text."""
    found = connection.execute(_MIXED, [list(ids)]).fetchall()
    chains: dict[str, list[tuple[Row, bool]]] = {}
    for is_foreign, _, *columns in found:
        row = to_row(tuple(columns))
        chains.setdefault(row.memory.id, []).append((row, bool(is_foreign)))
    return [end for chain in chains.values() if (end := _end(chain, now))]


def _end(chain: Sequence[tuple[Row, bool]], now: datetime) -> Row | None:
    """``chain`` has the versions of one memory in their order, and whether each is foreign."""
    own = [row for row, foreign in chain if not foreign]
    if not own or not chain[0][1]:
        return None
    last = own[-1].memory
    newer = [
        row.memory
        for row, foreign in chain
        if foreign and row.memory.version > last.version and row.memory.content != last.content
    ]
    if not newer or last.is_over(now):
        return None
    ended = replace(
        last,
        version=last.version + 1,
        valid_to=min(newer[0].updated_at, now),
        provenance=replace(last.provenance, gate=LEFT_BEHIND),
    )
    return Row(ended, own[-1].encoding)


def _versions(connection: DuckDBPyConnection, ids: Sequence[str]) -> list[Row]:
    columns = "body, model, vectors, words, lengths, terms"
    rows = map(to_row, select(connection, columns, "versions", "id", ids))
    return sorted(rows, key=lambda row: row.memory.version)


def select(
    connection: DuckDBPyConnection,
    columns: str,
    table: str,
    column: str,
    values: Collection[str],
) -> list[tuple[Any, ...]]:
    """The ``columns`` of the rows of ``table`` whose ``column`` is among ``values``."""
    wanted, parameters = among(column, list(values))
    found = connection.execute(
        f"SELECT {columns} FROM store.{table} WHERE {wanted}",  # noqa: S608 - constants
        parameters,
    )
    return found.fetchall()


def select_by_key(
    connection: DuckDBPyConnection, columns: str, keys: Sequence[str]
) -> list[tuple[Any, ...]]:
    """The ``columns`` of the versions with ``keys``: through the index, which few at once are."""
    return [
        row
        for start in range(0, len(keys), _FEW)
        for row in select(connection, columns, "versions", "key", keys[start : start + _FEW])
    ]


def _delete_heads(connection: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Scope]:
    delete_uses(connection, ids)
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
