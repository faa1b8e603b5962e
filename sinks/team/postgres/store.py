"""The team's memory on its server: the same promises as the store on this machine, and a feed."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from datetime import datetime
from typing import Any, TypeVar

import anyio
import anyio.to_thread
from psycopg import Connection

from ....bus.values import Hit, Memory, Query, Scope
from ...store.reads import Interruptible, Text, scope_texts
from ...store.rows import Row, Usage, to_scope
from ..protocol import About, Changes, Cursor, Project, TeamUnavailable
from . import reads
from .columns import COLUMN_TYPES, to_columns
from .connection import Connections, Link
from .reads import search

__all__ = ["PostgresStore", "TeamUnavailable"]

T = TypeVar("T")

# Rows of one statement: what they take in memory here and on the server is bounded by it.
_ROWS = 1_000
_NAME_CHARS = 200
# Vectors that enter the graph in one call: about a fifth of a second of the server's time.
_GRAPHED = 200

_PUT = f"SELECT subcog.put({', '.join(f'%s::{kind}[]' for kind in COLUMN_TYPES)}, %b)"
_TEAM = "SELECT created_at, forgetting = 'authors' FROM subcog.teams"
_MEMBERS = "SELECT member FROM subcog.members ORDER BY member"
# Any member may add to the list: the latest of too many are left out.
_PROJECTS = (
    "SELECT scope, name, shared_by FROM "
    "(SELECT * FROM subcog.projects ORDER BY shared_at, scope LIMIT 1000) AS first "
    "ORDER BY name, scope"
)


class PostgresStore:
    """Memories of one team, on the server at ``url``; as a member, whose role the URL names.

    Each method raises TeamUnavailable (a ConnectionError) while the server cannot be used, with a
    message that says what to do, and asks it anew when called again. A cancelled call ends at
    once; what it asked for may have been done.
    """

    def __init__(self, url: str, *, clock: Callable[[], datetime]) -> None:
        self._connections = Connections(url)
        self._clock = clock

    @property
    def server(self) -> str:
        """host:port/database, without who and password."""
        return self._connections.address.server

    @property
    def answer_s(self) -> float:
        """How long the server takes to answer, in seconds; 0 before it was asked."""
        return self._connections.answer_s

    async def open(self) -> None:
        """Connect, to see that it can be done. The first call does so as well."""
        self._connections.open()
        await self._run(lambda _: None)

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        await anyio.to_thread.run_sync(self._connections.close)

    async def about(self) -> About:
        """What the server reports of itself, the team and the caller."""
        return await self._connections.run(_about)

    # --- write -----------------------------------------------------------------------------------

    async def put(self, rows: Sequence[Row]) -> tuple[bool, ...]:
        """Append ``rows``, all or none; committed on return.

        False for an (id, version) that was there already, and for an id that was forgotten.
        Raises ValueError for a row that cannot be stored, or that would change a memory's scope.
        """
        return await self._run(lambda connection: _put(connection, rows)) if rows else ()

    async def forget(self, id: str, scopes: Sequence[Scope]) -> bool:  # noqa: A002
        """Delete all versions of a memory; its id, scope and the time stay as a tombstone.

        False where there is no such memory in ``scopes``. Raises ForgetRefused where the team lets
        only who wrote it do that, and somebody else did.
        """
        return bool(await self._ask("SELECT subcog.forget(%s, %s)", id, scope_texts(scopes)))

    async def mark_used(self, ids: Sequence[str]) -> None:
        """Count a use of each of ``ids``."""
        if ids:
            await self._ask("SELECT subcog.mark_used(%s, %s)", list(ids), self._clock())

    async def share(self, scope: Scope, name: str) -> bool:
        """Add a project to the team's list; False where it is listed already."""
        shown = "".join(char for char in name if char.isprintable())[:_NAME_CHARS]
        return bool(await self._ask("SELECT subcog.share(%s, %s)", str(scope), shown))

    async def unshare(self, scope: Scope) -> bool:
        """Remove a project from the team's list; False unless this member shared it."""
        return bool(await self._ask("SELECT subcog.unshare(%s)", str(scope)))

    async def tidy(self) -> int:
        """Add some of the latest vectors to the graph that search uses.

        How many are left, counted to 1,000: they are found as well, only slower. For when there
        is nothing else to do.
        """
        return int(await self._ask("SELECT subcog.graph(%s)", _GRAPHED))

    # --- read ------------------------------------------------------------------------------------

    async def get(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        """The current versions, in the order asked, whatever became of their validity.

        Ids that are missing, forgotten or not in ``scopes`` are left out.
        """
        return await self._run(lambda connection: reads.get(connection, ids, scopes))

    def get_now(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        """The same for a caller on a worker thread. Raises RuntimeError on an event loop's."""
        return self._connections.run_now(lambda link: reads.get(link.connection, ids, scopes))

    async def latest(
        self, scopes: Sequence[Scope], *, limit: int, namespaces: Sequence[str] = ()
    ) -> tuple[Memory, ...]:
        """The newest memories that are valid now and not superseded, newest first."""
        now = self._clock()
        return await self._run(
            lambda connection: reads.latest(
                connection, scopes, limit=limit, namespaces=namespaces, now=now
            )
        )

    async def history(self, id: str, scopes: Sequence[Scope]) -> tuple[Memory, ...]:  # noqa: A002
        """All versions of one memory, oldest first."""
        return await self._run(lambda connection: reads.history(connection, id, scopes))

    async def find_hash(self, content_hash: str, scope: Scope, namespace: str) -> Memory | None:
        """A memory of ``scope`` and ``namespace`` with that hash, valid now and not superseded."""
        now = self._clock()
        return await self._run(
            lambda connection: reads.find_hash(connection, content_hash, scope, namespace, now)
        )

    async def known_texts(self, texts: Collection[Text]) -> set[Text]:
        """Those of ``texts`` (content hash, scope, namespace) for which ``find_hash`` finds one."""
        now = self._clock()
        return await self._run(lambda connection: reads.known_texts(connection, texts, now))

    async def page(
        self, scopes: Sequence[Scope], *, after: str = "", limit: int
    ) -> tuple[Memory, ...]:
        """The current versions by id, from the first id beyond ``after`` on.

        Those that are superseded or not valid now are among them.
        """
        return await self._run(
            lambda connection: reads.page(connection, scopes, after=after, limit=limit)
        )

    async def scopes_of(self, ids: Sequence[str]) -> dict[str, Scope]:
        """The scope of each of ``ids`` that was ever stored, forgotten ones too."""
        return await self._run(lambda connection: reads.scopes_of(connection, ids))

    async def usage(self, ids: Sequence[str]) -> dict[str, Usage]:
        """How often each of ``ids`` was used."""
        return await self._run(lambda connection: reads.usage(connection, ids))

    async def counts(self) -> dict[Scope, int]:
        """How many memories each scope has, forgotten ones not counted."""
        return await self._run(reads.counts)

    async def load(self) -> AsyncGenerator[Sequence[Row], None]:
        """The current version of every memory as of now, in batches, in no order."""
        loading = reads.Loading(self._connections)
        try:
            while batch := await Interruptible(loading.next, loading.cut).result():
                yield batch
        finally:
            loading.close()

    async def search(self, query: Query, vector: Sequence[float] | None) -> tuple[Hit, ...]:
        """The hits of ``query``, best first; ``vector`` is what its text means, if that is known.

        ``relevance`` is the cosine of the hit, which is no probability as it is in a local search.
        """
        now = self._clock()
        return await self._run(lambda connection: search(connection, query, vector, now))

    # --- the feed --------------------------------------------------------------------------------

    async def changes(self, after: Cursor, scopes: Sequence[Scope], *, limit: int = 500) -> Changes:
        """What changed in ``scopes`` after the cursor, in the feed's order; large rows fewer.

        Where the server's epoch is not the cursor's: nothing, and the cursor to begin with.
        """
        return await self._run(lambda connection: reads.changes(connection, after, scopes, limit))

    async def remaining(self, after: Cursor, scopes: Sequence[Scope]) -> int:
        """How many changes of ``scopes`` come after the cursor."""
        return await self._run(lambda connection: reads.remaining(connection, after, scopes))

    async def digests(self, keys: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], bytes]:
        """The digest of each (id, version) of ``keys`` that is there."""
        return await self._run(lambda connection: reads.digests(connection, keys))

    async def listen(self) -> AsyncGenerator[None, None]:
        """Yields once when it listens, and each time the team's feed has something new.

        Raises TeamUnavailable when the connection is lost, and NoWakeUps behind a pool. One wake-up
        may stand for many changes.
        """
        async with aclosing(reads.listen(self._connections.address)) as woken:
            async for _ in woken:
                yield None

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
    [taken] = connection.execute(_PUT, to_columns(rows)).fetchone() or ((),)
    return tuple(taken)


def _about(link: Link) -> About:
    hello, connection = link.greet(), link.connection
    founded, authors_alone = connection.execute(_TEAM).fetchone() or (None, False)
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
