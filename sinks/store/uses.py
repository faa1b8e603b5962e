"""What became of memories, in DuckDB: appended to, bounded, and deleted with its memory.

``use_events`` has one row for each thing that happened, and no text of anybody. Of a session that
is too old, or one too many, only that it was is left, in ``use_sums``: evidence as old as that says
nothing any more. The votes of the user stay.

Each function works on a connection that its caller hands in: those that write, inside of a
transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from duckdb import DuckDBPyConnection
from msgspec import Struct

from ...bus.values import Scope, UseEvent
from .reads import scope_texts
from .rows import aware, naive
from .writes import Insert, among, delete_where, insert

TYPES = {
    "memory_id": "VARCHAR",
    "session": "VARCHAR",
    "seen_at": "TIMESTAMP",
    "kind": "VARCHAR",
    "moment": "VARCHAR",
    "rank": "INTEGER",
    "detail": "VARCHAR",
}
SUM_TYPES = {
    "memory_id": "VARCHAR",
    "shown": "BIGINT",
    "sessions": "BIGINT",
}
VOTES = ("kept", "buried")

_VOTE = "kind IN ('kept', 'buried')"
_COLUMNS = ", ".join(TYPES)
_EVENTS = Insert("store.use_events", TYPES)
_SUMS = Insert("store.use_sums", SUM_TYPES)
_BATCH_ROWS = 2_000


class UseSum(Struct, frozen=True):
    """What is left of the sessions whose events are gone: ``shown`` so often, in ``sessions``."""

    shown: int = 0
    sessions: int = 0

    def __add__(self, other: UseSum) -> UseSum:
        return UseSum(self.shown + other.shown, self.sessions + other.sessions)


class Vote(Struct, frozen=True):
    """A vote of the user on a memory, one of ``VOTES``, and when it was cast."""

    kind: str
    at: datetime


def add(connection: DuckDBPyConnection, events: Sequence[UseEvent]) -> None:
    """Append ``events``, but for those of memories that are not there any more."""
    alive = _alive(connection, list({event.memory_id for event in events}))
    rows = [_values(event) for event in events if event.memory_id in alive]
    if rows:
        insert(connection, _EVENTS, rows)


def of(connection: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, list[UseEvent]]:
    """The events of each of ``ids`` that has any, in the order in which they happened."""
    if not ids:
        return {}
    wanted, given = among("memory_id", ids)
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM store.use_events WHERE {wanted} ORDER BY memory_id, seen_at",  # noqa: S608 - placeholders
        given,
    ).fetchall()
    return {id_: list(map(_event, rows)) for id_, rows in groupby(found, lambda row: row[0])}


def shown_in(connection: DuckDBPyConnection, session: str) -> list[UseEvent]:
    """What was shown in ``session``, in the order in which it was. Scans the table."""
    found = connection.execute(
        f"SELECT {_COLUMNS} FROM store.use_events WHERE session = ? AND kind = 'shown' "  # noqa: S608 - constants
        "ORDER BY seen_at, rank",
        [session],
    ).fetchall()
    return list(map(_event, found))


def by_time(
    connection: DuckDBPyConnection, scopes: Sequence[Scope], since: datetime
) -> list[tuple[datetime, str, int]]:
    """How often each kind of event was seen in each quarter of an hour, in ``scopes``.

    Quarters of an hour, since some zones begin their days at one.
    """
    allowed, parameters = among("m.scope", scope_texts(scopes))
    found = connection.execute(
        "SELECT time_bucket(INTERVAL 15 MINUTE, e.seen_at), e.kind, count(*) "  # noqa: S608 - placeholders
        "FROM store.use_events AS e JOIN store.memories AS m ON m.id = e.memory_id "
        f"WHERE {allowed} AND e.seen_at >= ? GROUP BY ALL",
        [*parameters, naive(since)],
    ).fetchall()
    return [(aware(at), kind, count) for at, kind, count in found]


def most_seen(
    connection: DuckDBPyConnection, scopes: Sequence[Scope], kinds: Collection[str], *, limit: int
) -> list[tuple[str, str, int]]:
    """The memories of ``scopes`` with the most events of ``kinds``: id, summary and how many."""
    allowed, parameters = among("m.scope", scope_texts(scopes))
    counted, more = among("e.kind", list(kinds))
    return connection.execute(
        "SELECT m.id, any_value(v.body ->> '$.summary'), count(*) AS seen "  # noqa: S608 - placeholders
        "FROM store.use_events AS e JOIN store.memories AS m ON m.id = e.memory_id "
        "JOIN store.versions AS v ON v.key = m.key "
        f"WHERE {allowed} AND m.forgotten_at IS NULL AND {counted} "
        "GROUP BY m.id ORDER BY seen DESC, m.id LIMIT ?",
        [*parameters, *more, limit],
    ).fetchall()


def retract_votes(connection: DuckDBPyConnection, memory_id: str, since: datetime) -> None:
    """Delete the votes on a memory from ``since`` on."""
    connection.execute(
        f"DELETE FROM store.use_events WHERE memory_id = ? AND {_VOTE} AND seen_at >= ?",  # noqa: S608 - constants
        [memory_id, naive(since)],
    )


def sums(connection: DuckDBPyConnection, ids: Sequence[str] | None = None) -> dict[str, UseSum]:
    """What is left of older sessions, of ``ids`` or of all."""
    wanted, given = among("memory_id", ids) if ids is not None else ("true", [])
    found = connection.execute(
        f"SELECT {', '.join(SUM_TYPES)} FROM store.use_sums WHERE {wanted}",  # noqa: S608 - placeholders
        given,
    ).fetchall()
    return {row[0]: UseSum(*row[1:]) for row in found}


def last_votes(connection: DuckDBPyConnection) -> dict[str, Vote]:
    """The last vote on each memory that the user voted on."""
    found = connection.execute(
        "SELECT memory_id, arg_max(kind, seen_at), max(seen_at) FROM store.use_events "  # noqa: S608 - constants
        f"WHERE {_VOTE} GROUP BY ALL"
    )
    return {id_: Vote(kind, aware(at)) for id_, kind, at in found.fetchall()}


def by_memory(connection: DuckDBPyConnection) -> Iterator[tuple[str, list[UseEvent]]]:
    """Every memory with what became of it, a session's repetitions once; for summing up."""
    found = connection.execute(
        "SELECT memory_id, session, min(seen_at) AS seen_at, kind, moment, rank, '' AS detail "  # noqa: S608 - constants
        f"FROM store.use_events WHERE NOT {_VOTE} GROUP BY memory_id, session, kind, moment, rank "
        f"UNION ALL SELECT {_COLUMNS} FROM store.use_events WHERE {_VOTE} "
        "ORDER BY memory_id, seen_at"
    )
    for id_, rows in groupby(_fetched(found), lambda row: row[0]):
        yield id_, list(map(_event, rows))


def _fetched(found: DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    while batch := found.fetchmany(_BATCH_ROWS):
        yield from batch


# --- bounds ---------------------------------------------------------------------------------------


def compact(connection: DuckDBPyConnection, before: datetime, *, each: int, total: int) -> set[str]:
    """Put sums in place of sessions that ended before a time, and of all beyond the bounds.

    At most ``each`` events of one memory stay, and ``total`` of all, the newest; the votes
    beside. Returns the ids of the memories that this concerns.
    """
    cut = max(naive(before), _newest_but(connection, total))
    old = connection.execute(
        "SELECT memory_id, session FROM ("  # noqa: S608 - constants
        "SELECT memory_id, session, max(seen_at) AS last, "
        "sum(count(*)) OVER (PARTITION BY memory_id ORDER BY max(seen_at) DESC, session) AS upto "
        f"FROM store.use_events WHERE NOT {_VOTE} GROUP BY memory_id, session"
        ") WHERE upto > ? OR last < ?",
        [each, cut],
    ).fetchall()
    if old:
        _sum_up(connection, set(old))
    return {id_ for id_, _ in old}


def _newest_but(connection: DuckDBPyConnection, total: int) -> datetime:
    """The time from which on there are at most ``total`` events."""
    found = connection.execute(
        f"SELECT seen_at FROM store.use_events WHERE NOT {_VOTE} "  # noqa: S608 - constants
        "ORDER BY seen_at DESC LIMIT 1 OFFSET ?",
        [max(0, total - 1)],
    ).fetchall()
    return found[0][0] if found else datetime.min  # noqa: DTZ901 - as the table holds it


def _sum_up(connection: DuckDBPyConnection, old: set[tuple[str, str]]) -> None:
    ids = sorted({id_ for id_, _ in old})
    summed = sums(connection, ids)
    for id_, events in of(connection, ids).items():
        gone = [e for e in events if (id_, e.session) in old and e.kind not in VOTES]
        summed[id_] = summed.get(id_, UseSum()) + _sum_of(gone)
    connection.execute(
        "DELETE FROM store.use_events WHERE (memory_id, session) IN "  # noqa: S608 - constants
        f"(SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[])) AND NOT {_VOTE}",
        [list(column) for column in zip(*old, strict=True)],
    )
    delete_where(connection, "use_sums", "memory_id", ids)
    insert(connection, _SUMS, [_sum_values(id_, one) for id_, one in summed.items()])


def _sum_of(events: Sequence[UseEvent]) -> UseSum:
    return UseSum(
        shown=sum(event.kind == "shown" for event in events),
        sessions=len({event.session for event in events}),
    )


def _sum_values(memory_id: str, one: UseSum) -> tuple[Any, ...]:
    return (memory_id, one.shown, one.sessions)


def _alive(connection: DuckDBPyConnection, ids: Sequence[str]) -> set[str]:
    wanted, given = among("id", ids)
    found = connection.execute(
        f"SELECT id FROM store.memories WHERE {wanted} AND forgotten_at IS NULL",  # noqa: S608 - placeholders
        given,
    )
    return {id_ for (id_,) in found.fetchall()}


def _values(event: UseEvent) -> tuple[Any, ...]:
    return (
        event.memory_id,
        event.session,
        naive(event.at),
        event.kind,
        event.moment,
        event.rank,
        event.detail,
    )


def _event(row: Sequence[Any]) -> UseEvent:
    id_, session, at, kind, moment, rank, detail = row
    return UseEvent(
        memory_id=id_,
        session=session,
        at=aware(at),
        kind=kind,
        moment=moment,
        rank=rank,
        detail=detail,
    )
