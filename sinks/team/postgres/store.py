"""The team's memory on its server: what a member writes, searches, and learns of the others."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeVar

import anyio.to_thread
import numpy as np
from psycopg import Connection

from ....bus.values import Encoding, Hit, Query, Scope
from ...models.analyzer import searchable
from ...store.reads import scope_texts
from ...store.rows import Row, digest, fingerprint_of, to_record, to_scope
from ..protocol import About, Changes, Cursor, Membership, Project, TeamServer
from . import reads
from .connection import HalfVector, Link, checked
from .pool import Connections
from .reads import DIMENSIONS, half_vector, search_text, signed

T = TypeVar("T")

# Rows of one statement: what they take in memory here and on the server is bounded by it.
_ROWS = 1_000
_NAME_CHARS = 200
# Vectors that enter the graph in one call: about a fifth of a second of the server's time.
_GRAPHED = 200
# Rows that are made into columns in about 2 ms.
_SLICE = 10
_TAG_SEPARATOR = "\x1f"

# Of the parameters of ``put``, but for the last: that type the connection knows.
_COLUMN_TYPES = (
    "text bigint text text bigint timestamptz timestamptz timestamptz text text text text "
    "bytea bytea bytea bytea bytea text"
).split()
_PUT = f"SELECT subcog.put({', '.join(f'%s::{kind}[]' for kind in _COLUMN_TYPES)}, %b)"
_TEAM = "SELECT created_at, forgetting = 'authors' FROM subcog.teams"
_MEMBERS = "SELECT member FROM subcog.members ORDER BY member"
# Any member may add to the list: of too many, each member's latest are left out, from whoever has
# most on.
_PROJECTS = (
    "SELECT scope, name, shared_by FROM (SELECT *, row_number() OVER "
    "(PARTITION BY shared_by ORDER BY shared_at, scope) AS place FROM subcog.projects "
    "ORDER BY place, shared_at, scope LIMIT 1000) AS first ORDER BY name, scope"
)
_DIGESTS = (
    "SELECT v.id, v.version, v.digest FROM subcog.versions v "
    "JOIN unnest(%s::text[], %s::bigint[]) AS asked (id, version) "
    "ON v.id = asked.id AND v.version = asked.version"
)
_REMAINING = (
    "SELECT count(*) FROM subcog.changes "
    "WHERE scope = ANY (%s) AND (xid, seq) > (%s::text::xid8, %s)"
)


class PostgresStore(TeamServer):
    """Memories of one team, on the server at ``url``; as a member, whose role the URL names.

    Each method raises TeamUnavailable (a ConnectionError) while the server cannot be used, with a
    message that says what to do, and asks it anew when called again. It is OtherTeam where the
    server is not, or not any more, that of the team ``joined``. A cancelled call ends at once; what
    it asked for may have been done. ``TeamServer`` says what most of them do.
    """

    def __init__(
        self, url: str, *, clock: Callable[[], datetime], joined: Membership | None = None
    ) -> None:
        self._connections = Connections(url, joined)
        self._clock = clock

    @property
    def server(self) -> str:
        """host:port/database, without who and password."""
        return self._connections.address.server

    @property
    def answer_s(self) -> float:
        return self._connections.answer_s

    async def open(self) -> None:
        """Connect, to see that it can be done. The first call does so as well."""
        self._connections.open()
        await self._run(lambda _: None)

    async def close(self) -> None:
        await anyio.to_thread.run_sync(self._connections.close)

    async def about(self) -> About:
        return await self._connections.run(_about)

    # --- write -----------------------------------------------------------------------------------

    async def put(self, rows: Sequence[Row]) -> tuple[bool, ...]:
        return await self._run(lambda connection: _put(connection, rows)) if rows else ()

    async def forget(self, id: str, scopes: Sequence[Scope]) -> bool:  # noqa: A002
        return bool(await self._ask("SELECT subcog.forget(%s, %s)", id, scope_texts(scopes)))

    async def locked(self, ids: Sequence[str]) -> frozenset[str]:
        return frozenset(await self._ask("SELECT subcog.locked(%s)", list(ids)))

    async def share(self, scope: Scope, name: str) -> bool:
        """Add a project to the team's list; False where it is listed already.

        Raises TeamUnavailable where this member has too many there.
        """
        shown = "".join(char for char in name if char.isprintable())[:_NAME_CHARS]
        return bool(await self._ask("SELECT subcog.share(%s, %s)", str(scope), shown))

    async def unshare(self, scope: Scope) -> bool:
        """Remove a project from the team's list; False unless this member shared it."""
        return bool(await self._ask("SELECT subcog.unshare(%s)", str(scope)))

    async def tidy(self) -> int:
        return int(await self._ask("SELECT subcog.graph(%s)", _GRAPHED))

    # --- read ------------------------------------------------------------------------------------

    async def search(self, query: Query, vector: Sequence[float] | None) -> tuple[Hit, ...]:
        """The hits of ``query``, best first; ``vector`` is what its text means, if that is known.

        ``relevance`` is the cosine of the hit, which is no probability as it is in a local search.
        """
        now = self._clock()
        return await self._run(lambda connection: reads.search(connection, query, vector, now))

    # --- the feed --------------------------------------------------------------------------------

    async def changes(self, after: Cursor, scopes: Sequence[Scope], *, limit: int = 500) -> Changes:
        return await self._run(lambda connection: reads.changes(connection, after, scopes, limit))

    async def remaining(self, after: Cursor, scopes: Sequence[Scope]) -> int:
        texts = [str(scope) for scope in scopes]
        return int(await self._ask(_REMAINING, texts, str(after.xid), after.seq))

    async def digests(self, keys: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], bytes]:
        pairs = [[id_ for id_, _ in keys], [version for _, version in keys]]
        found = await self._run(lambda connection: connection.execute(_DIGESTS, pairs).fetchall())
        return {(id_, version): digest for id_, version, digest in found}

    def listen(self) -> AsyncGenerator[None, None]:
        return reads.listen(self._connections.address)

    # --- threads ---------------------------------------------------------------------------------

    async def _run(self, work: Callable[[Connection], T]) -> T:
        return await self._connections.run(lambda link: work(link.connection))

    async def _ask(self, question: str, *arguments: Any) -> Any:

        def work(connection: Connection) -> Any:
            [value] = connection.execute(question.encode(), arguments).fetchone() or (None,)
            return value

        return await self._run(work)


def _put(connection: Connection, rows: Sequence[Row]) -> tuple[bool, ...]:
    if len(rows) <= _ROWS:
        return _put_some(connection, rows)
    with connection.transaction():
        parts = [rows[first : first + _ROWS] for first in range(0, len(rows), _ROWS)]
        return tuple(taken for part in parts for taken in _put_some(connection, part))


def _put_some(connection: Connection, rows: Sequence[Row]) -> tuple[bool, ...]:
    [taken] = connection.execute(_PUT, _columns(rows)).fetchone() or ((),)
    return tuple(taken)


def _columns(rows: Sequence[Row]) -> list[list[Any]]:
    """One list a parameter of ``put``. Raises ValueError for a row that cannot be stored."""
    made: list[tuple[Any, ...]] = []
    for first in range(0, len(rows), _SLICE):
        made += map(_values, rows[first : first + _SLICE])
        time.sleep(0)  # lets the event loop have the interpreter
    return [list(column) for column in zip(*made, strict=True)]


def _values(row: Row) -> tuple[Any, ...]:
    memory = signed(row.memory, "")  # who wrote it is for the server to say
    record = to_record(Row(memory, row.encoding))
    return (
        record.id,
        record.version,
        record.scope,
        memory.namespace,
        fingerprint_of(record),
        memory.created_at,
        memory.valid_from,
        memory.valid_to,
        memory.superseded_by,
        _TAG_SEPARATOR.join(memory.tags) or None,
        record.body,
        record.model,
        record.vectors,
        record.words,
        record.lengths,
        record.terms,
        digest(memory),
        search_text(searchable(memory)),
        mean_vector(row.encoding),
    )


def mean_vector(encoding: Encoding) -> HalfVector | None:
    """The direction of all passages together; None without vectors that could be compared."""
    vectors = np.frombuffer(encoding.vectors, dtype="<f2").astype(np.float32)
    if not len(vectors) or len(vectors) % DIMENSIONS:
        return None
    return half_vector(vectors.reshape(-1, DIMENSIONS).mean(axis=0))


def _about(link: Link) -> About:
    hello, connection = link.greet(), link.connection
    of_team = connection.execute(_TEAM).fetchone() or (None, False)
    founded, authors_alone = checked(of_team, tuple[datetime | None, bool])
    return About(
        team=hello.team,
        member=hello.member,
        members=tuple(member for (member,) in connection.execute(_MEMBERS)),
        epoch=hello.epoch or 0,
        version=hello.version,
        text_search="bm25" if hello.bm25 else "native",
        projects=tuple(
            Project(to_scope(scope), name, shared_by)
            for scope, name, shared_by in connection.execute(_PROJECTS)
        ),
        founded=founded,
        authors_alone=authors_alone,
    )
