"""The statements of the writer, each for use inside a transaction, and the queue told of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from duckdb import DuckDBPyConnection

from ..sql.search_tables import unindex
from .rows import HEAD_TYPES, VERSION_TYPES, Record, Usage, head_values, naive, version_values
from .sql import Statement


class ChangeQueue(Protocol):
    """Hands writes to whatever replicates them.

    Called on the writer's thread; each call but ``open`` within the transaction of the write.
    """

    def open(self, connection: DuckDBPyConnection) -> None:
        """The file was opened or reopened: read from its tables what is to be queued."""

    def note(
        self, connection: DuckDBPyConnection, records: Iterable[Record], now: datetime
    ) -> None:
        """Queue versions that were just written."""

    def note_forgotten(self, connection: DuckDBPyConnection, memory_id: str, now: datetime) -> None:
        """Queue that a memory was deleted."""


class NoQueue:
    """Queues nothing: the store of a machine whose writes go nowhere else."""

    def open(self, connection: DuckDBPyConnection) -> None:
        pass

    def note(
        self, connection: DuckDBPyConnection, records: Iterable[Record], now: datetime
    ) -> None:
        pass

    def note_forgotten(self, connection: DuckDBPyConnection, memory_id: str, now: datetime) -> None:
        pass


# Up to here ids are looked up one by one through the primary key; beyond, one scan is cheaper.
_FEW = 100

_USE_TYPES = {"id": "VARCHAR", "times": "BIGINT", "last": "TIMESTAMP"}


class ForeignScope(ValueError):
    """A new version of a memory claims another scope than the memory has."""

    def __init__(self) -> None:
        super().__init__("a memory stays in its scope: supersede it by one in the other scope")


class Head(NamedTuple):
    """What is known of an id before a write."""

    version: int
    scope: str
    forgotten: bool


def _unnested(types: Mapping[str, str]) -> str:
    return "SELECT " + ", ".join(f"unnest(?::{kind}[]) AS {name}" for name, kind in types.items())


class Insert:
    """One statement for a single row, and one, slower to begin with, for any number."""

    def __init__(self, table: str, types: Mapping[str, str]) -> None:
        into = f"INSERT INTO {table} ({', '.join(types)})"
        self.one = Statement(f"{into} VALUES ({', '.join('?' * len(types))})")
        self.many = Statement(f"{into} {_unnested(types)}")


_VERSIONS = Insert("store.versions", VERSION_TYPES)
_HEADS = Insert("store.memories", HEAD_TYPES)
_TOMBSTONE_TYPES = {
    name: "TIMESTAMP" if name == "forgotten_at" else HEAD_TYPES[name]
    for name in ("id", "key", "version", "scope", "namespace", "created_at", "forgotten_at")
}
_TOMBSTONES = Insert("store.memories", _TOMBSTONE_TYPES)
_MOVE_HEADS = (
    "UPDATE store.memories SET "  # noqa: S608 - constants
    + ", ".join(f"{name} = new.{name}" for name in HEAD_TYPES if name not in {"id", "scope"})
    + f" FROM ({_unnested(HEAD_TYPES)}) AS new WHERE memories.id = new.id"
)
# key, id, version and scope stay.
_KEYS = 4
_REWRITE = (
    "UPDATE store.versions SET "  # noqa: S608 - constants
    + ", ".join(f"{name} = ?" for name in list(VERSION_TYPES)[_KEYS:])
    + " WHERE key = ?"
)
_ADD_USES = (
    "UPDATE store.memories SET times_injected = times_injected + new.times, last_used = "  # noqa: S608
    f"greatest(last_used, new.last) FROM ({_unnested(_USE_TYPES)}) AS new "
    "WHERE memories.id = new.id"
)


def among(column: str, values: Sequence[str]) -> tuple[str, list[Any]]:
    """The condition that ``column`` is one of ``values``, and its parameters."""
    if len(values) <= _FEW:
        return f"{column} IN ({', '.join('?' * len(values))})", list(values)
    return f"{column} IN (SELECT unnest(?::VARCHAR[]))", [list(values)]


def _columns(rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*rows, strict=True)]


def insert(
    connection: DuckDBPyConnection, statement: Insert, rows: Sequence[tuple[Any, ...]]
) -> None:
    """Add rows to the table of ``statement``: at least one."""
    if len(rows) == 1:
        statement.one.run(connection, rows[0])
    else:
        statement.many.run(connection, _columns(rows))


def heads(connection: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Head]:
    """What is known of each of ``ids``; nothing of those that were never stored."""
    condition, parameters = among("id", ids)
    found = connection.execute(
        "SELECT id, version, scope, forgotten_at IS NOT NULL FROM store.memories "  # noqa: S608 - placeholders
        f"WHERE {condition}",
        parameters,
    ).fetchall()
    return {row[0]: Head(*row[1:]) for row in found}


class _Plan:
    """Sorts records into new memories, new versions of known ones, and what is stored already."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        records: Sequence[Record],
        is_barred: Callable[[Record], bool],
    ) -> None:
        self._connection = connection
        self._is_barred = is_barred
        self._heads = heads(connection, list({record.id for record in records}))
        self.versions: dict[str, Record] = {}
        self.added: dict[str, Record] = {}
        self.moved: dict[str, Record] = {}

    def take(self, record: Record) -> bool:
        """Whether ``record`` is to be written. Raises ForeignScope."""
        head = self._heads.get(record.id)
        if head and (head.forgotten or self._is_there(record, head)):
            return False
        if head and head.scope != record.scope:
            raise ForeignScope
        if head is None and self._is_barred(record):
            return False
        self.versions[record.key] = record
        if head is None or record.id in self.added:
            self._lead(self.added, record, head)
        else:
            self._lead(self.moved, record, head)
        return True

    def _lead(self, leaders: dict[str, Record], record: Record, head: Head | None) -> None:
        if head is None or record.version > head.version:
            leaders[record.id] = record
            self._heads[record.id] = Head(record.version, record.scope, forgotten=False)

    def _is_there(self, record: Record, head: Head) -> bool:
        if record.version == head.version or record.key in self.versions:
            return True
        if record.version > head.version:
            return False
        found = self._connection.execute("SELECT 1 FROM store.versions WHERE key = ?", [record.key])
        return bool(found.fetchall())


def _bars_nothing(record: Record) -> bool:
    return False


def add_records(
    connection: DuckDBPyConnection,
    records: Sequence[Record],
    is_barred: Callable[[Record], bool] = _bars_nothing,
) -> list[bool]:
    """Append versions; for each whether it was new. Stored and forgotten ones are skipped.

    ``is_barred`` tells which texts may begin no new memory. Raises ForeignScope.
    """
    if not records:
        return []
    plan = _Plan(connection, records, is_barred)
    taken = [plan.take(record) for record in records]
    append_versions(connection, list(plan.versions.values()))
    if plan.added:
        insert(connection, _HEADS, [head_values(each) for each in plan.added.values()])
    move_heads(connection, list(plan.moved.values()))
    return taken


def append_versions(connection: DuckDBPyConnection, records: Sequence[Record]) -> None:
    """Append versions that are new. The caller moves the heads."""
    if records:
        insert(connection, _VERSIONS, [version_values(record) for record in records])


def move_heads(connection: DuckDBPyConnection, records: Sequence[Record]) -> None:
    """Make each of ``records`` the current version of its memory."""
    if records:
        connection.execute(_MOVE_HEADS, _columns(map(head_values, records)))


def rewrite(connection: DuckDBPyConnection, record: Record) -> None:
    """Put ``record`` in place of what is stored under its key."""
    unindex(connection, "key", [record.key])
    values = version_values(record)
    connection.execute(_REWRITE, [*values[_KEYS:], record.key])


def add_first_versions(connection: DuckDBPyConnection, records: Sequence[Record]) -> list[bool]:
    """``add_records`` for first versions, without looking up ids: half the work of a capture.

    Raises ``duckdb.ConstraintException`` where one of their ids is stored; the
    caller rolls back.
    """
    append_versions(connection, records)
    insert(connection, _HEADS, [head_values(record) for record in records])
    return [True] * len(records)


def are_first_versions(records: Sequence[Record]) -> bool:
    """Whether each is the first version of a different memory."""
    ids = {record.id for record in records}
    return 0 < len(records) == len(ids) and all(record.version == 1 for record in records)


def delete_where(
    connection: DuckDBPyConnection, table: str, column: str, values: Sequence[str]
) -> None:
    """Delete the rows of ``table`` whose ``column`` is one of ``values``.

    What SQL finds a version by goes with it.
    """
    if table == "versions":
        unindex(connection, column, values)
    if values:
        condition, parameters = among(column, values)
        connection.execute(f"DELETE FROM store.{table} WHERE {condition}", parameters)  # noqa: S608 - placeholders


def delete_uses(connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
    """Delete what became of memories when they were shown."""
    for table in ("use_events", "use_sums"):
        delete_where(connection, table, "memory_id", ids)


def add_tombstones(
    connection: DuckDBPyConnection, forgotten: Iterable[tuple[str, str, datetime, datetime]]
) -> None:
    """Note memories that were forgotten elsewhere, as (id, scope, created_at, forgotten_at)."""
    rows = [(id_, "", 0, scope, "", created, at) for id_, scope, created, at in forgotten]
    if rows:
        insert(connection, _TOMBSTONES, rows)


def add_uses(connection: DuckDBPyConnection, uses: Mapping[str, Usage]) -> None:
    """Add to how often memories were used. Ids that are not there are passed over."""
    rows = [
        (memory_id, use.times_injected, naive(use.last_used) if use.last_used else None)
        for memory_id, use in uses.items()
    ]
    connection.execute(_ADD_USES, _columns(rows))
