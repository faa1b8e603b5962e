"""The small tables of a team: the membership, the cursor of its feed, and the shared scopes.

Each function is for use inside a transaction, or for reading.
"""

from __future__ import annotations

from typing import TypeVar

import msgspec
from duckdb import DuckDBPyConnection
from msgspec import Struct

from ...bus.values import Memory, Scope
from ..store.rows import to_scope
from .protocol import Cursor, Membership, Sharing

T = TypeVar("T")

_MEMBERSHIP = "membership"
_CURSOR = "cursor"
_DECLINED = "declined"


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
        whole = read_cursor(connection).xid == 0
        values = [str(scope), name, sends, whole]
        connection.execute("INSERT INTO store.shared VALUES (?, ?, ?, ?)", values)
        _decline(connection, {*read_declined(connection)} - {scope})
        return sends
    values = [name, before.sends or sends, str(scope)]
    connection.execute("UPDATE store.shared SET name = ?, sends = ? WHERE scope = ?", values)
    return sends and not before.sends


def drop_shared(connection: DuckDBPyConnection, scope: Scope) -> None:
    """Take a scope off the list and remember that it is declined."""
    connection.execute("DELETE FROM store.shared WHERE scope = ?", [str(scope)])
    _decline(connection, {*read_declined(connection), scope})


def mark_backfilled(connection: DuckDBPyConnection, scope: Scope | None = None) -> None:
    """Note that a scope, or each, needs no backfill from the feed's beginning."""
    named = scope and str(scope)
    every = "UPDATE store.shared SET whole = true WHERE ?::VARCHAR IS NULL OR scope = ?"
    connection.execute(every, [named, named])


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
