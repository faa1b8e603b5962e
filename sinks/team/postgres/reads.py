"""What is read of the team's memories, each time by one question, and the search on the server.

The server's row security adds the team. Nothing here reads without a scope, but for ``Loading`` and
``counts``, and ``usage``, ``scopes_of`` and ``digests``, which hold no text. The feed tells what
changed since a cursor, and wakes who listens when something does.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Collection, Sequence
from datetime import datetime
from typing import Any

import anyio
import psycopg
from msgspec import structs
from psycopg import AsyncConnection, Connection, ServerCursor, sql

from ....bus.values import Encoding, Hit, Memory, Query, Scope
from ...store.reads import Text, scope_texts
from ...store.rows import Row, Usage, digest, fingerprint, to_scope
from ..protocol import Change, Changes, Cursor, NoWakeUps, TeamUnavailable
from ..sync_state import Pace
from .columns import half_vector, read_memory, search_text, signed
from .connection import HELLO, Address, Connections, Link, greet
from .errors import explain, explain_connect, failed

_LOAD_ROWS = 1_000

_CURRENT = (
    "SELECT v.body FROM subcog.memories m "
    "JOIN subcog.versions v ON v.team = m.team AND v.id = m.id AND v.version = m.version"
)
_VALID = (
    "m.forgotten_at IS NULL AND m.superseded_by IS NULL "
    "AND (m.valid_from IS NULL OR m.valid_from <= %(now)s) "
    "AND (m.valid_to IS NULL OR m.valid_to > %(now)s)"
)
_GET = f"{_CURRENT} WHERE m.id = ANY (%(ids)s) AND m.scope = ANY (%(scopes)s)"
_LATEST = (
    f"{_CURRENT} WHERE m.scope = ANY (%(scopes)s) AND {_VALID} "
    "AND (cardinality(%(namespaces)s::text[]) = 0 OR m.namespace = ANY (%(namespaces)s)) "
    "ORDER BY m.created_at DESC, m.id DESC LIMIT %(limit)s"
)
_PAGE = (
    f"{_CURRENT} WHERE m.scope = ANY (%(scopes)s) AND m.id > %(after)s "
    "ORDER BY m.id LIMIT %(limit)s"
)
_HISTORY = (
    "SELECT v.body FROM subcog.versions v "
    "JOIN subcog.memories m ON m.team = v.team AND m.id = v.id "
    "WHERE v.id = %(id)s AND m.scope = ANY (%(scopes)s) ORDER BY v.version"
)
_SAME_TEXT = (
    f"{_CURRENT} WHERE m.scope = %(scope)s AND m.fingerprint = %(print)s AND {_VALID} ORDER BY m.id"
)
_PRINTS = "SELECT m.fingerprint FROM subcog.memories m WHERE m.scope = ANY (%(scopes)s)"
_KNOWN = f"{_PRINTS} AND m.fingerprint = ANY (%(prints)s) AND {_VALID}"
_USAGE = (
    "SELECT m.id, coalesce(u.times, 0), u.last FROM subcog.memories m "
    "LEFT JOIN subcog.uses u ON u.team = m.team AND u.id = m.id WHERE m.id = ANY (%(ids)s)"
)
_DIGESTS = (
    "SELECT v.id, v.version, v.digest FROM subcog.versions v "
    "JOIN unnest(%(ids)s::text[], %(versions)s::bigint[]) AS asked (id, version) "
    "ON v.id = asked.id AND v.version = asked.version"
)
_LOAD = (
    "SELECT v.body, v.model, v.vectors, v.words, v.lengths, v.terms FROM subcog.memories m "
    "JOIN subcog.versions v ON v.team = m.team AND v.id = m.id AND v.version = m.version"
)


def get(connection: Connection, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
    """The current versions of ``ids`` that are in ``scopes``, in the order asked."""
    named = {"ids": list(ids), "scopes": scope_texts(scopes)}
    found = {memory.id: memory for memory in _memories(connection, _GET, named)}
    return tuple(found[each] for each in dict.fromkeys(ids) if each in found)


def latest(
    connection: Connection,
    scopes: Sequence[Scope],
    *,
    limit: int,
    namespaces: Sequence[str],
    now: datetime,
) -> tuple[Memory, ...]:
    """The newest that are valid at ``now`` and not superseded, newest first."""
    named = {
        "scopes": scope_texts(scopes),
        "namespaces": list(namespaces),
        "now": now,
        "limit": limit,
    }
    return tuple(_memories(connection, _LATEST, named))


def page(
    connection: Connection, scopes: Sequence[Scope], *, after: str, limit: int
) -> tuple[Memory, ...]:
    """The current versions from the first id beyond ``after`` on, whatever their validity."""
    named = {"scopes": scope_texts(scopes), "after": after, "limit": limit}
    return tuple(_memories(connection, _PAGE, named))


def history(connection: Connection, id_: str, scopes: Sequence[Scope]) -> tuple[Memory, ...]:
    """Every version of one memory, oldest first."""
    return tuple(_memories(connection, _HISTORY, {"id": id_, "scopes": scope_texts(scopes)}))


def find_hash(
    connection: Connection, content_hash: str, scope: Scope, namespace: str, now: datetime
) -> Memory | None:
    """The oldest memory with that text that is valid at ``now`` and not superseded."""
    named = {
        "scope": str(scope),
        "print": fingerprint(str(scope), namespace, content_hash),
        "now": now,
    }
    same = (content_hash, scope, namespace)
    for memory in _memories(connection, _SAME_TEXT, named):
        if (memory.content_hash, memory.scope, memory.namespace) == same:
            return memory
    return None


def known_texts(connection: Connection, texts: Collection[Text], now: datetime) -> set[Text]:
    """Those of ``texts`` that a memory has that is valid at ``now`` and not superseded."""
    prints = {text: fingerprint(str(text[1]), text[2], text[0]) for text in texts}
    named = {
        "scopes": list({str(scope) for _, scope, _ in texts}),
        "prints": [print_ for print_ in prints.values() if print_ is not None],
        "now": now,
    }
    known = {print_ for (print_,) in connection.execute(_KNOWN, named)}
    return {text for text, print_ in prints.items() if print_ in known}


def scopes_of(connection: Connection, ids: Sequence[str]) -> dict[str, Scope]:
    """The scope of each of ``ids`` that was ever stored, forgotten ones too."""
    found = connection.execute(
        "SELECT id, scope FROM subcog.memories WHERE id = ANY (%s)", [list(ids)]
    )
    return {id_: to_scope(scope) for id_, scope in found}


def usage(connection: Connection, ids: Sequence[str]) -> dict[str, Usage]:
    """How often each of ``ids`` was used; those that are not there are left out."""
    return {id_: Usage(*use) for id_, *use in connection.execute(_USAGE, {"ids": list(ids)})}


def counts(connection: Connection) -> dict[Scope, int]:
    """How many memories each scope has, forgotten ones not counted."""
    found = connection.execute(
        "SELECT scope, count(*) FROM subcog.memories WHERE forgotten_at IS NULL GROUP BY scope"
    )
    return {to_scope(scope): count for scope, count in found}


def digests(
    connection: Connection, keys: Sequence[tuple[str, int]]
) -> dict[tuple[str, int], bytes]:
    """The digest of each (id, version) that is there."""
    ids, versions = [id_ for id_, _ in keys], [version for _, version in keys]
    found = connection.execute(_DIGESTS, {"ids": ids, "versions": versions})
    return {(id_, version): digest for id_, version, digest in found}


class Loading:
    """The current version of every memory, as of the first batch; for threads, one at a time."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections
        self._link: Link | None = None
        self._cursor: ServerCursor | None = None

    def next(self) -> list[Row]:
        """The next batch; empty at the end. Raises TeamUnavailable."""
        try:
            cursor = self._cursor or self._begin()
            while found := cursor.fetchmany(_LOAD_ROWS):
                read = ((read_memory(body), blobs) for body, *blobs in found)
                if rows := [Row(memory, Encoding(*blobs)) for memory, blobs in read if memory]:
                    return rows
            return []
        except psycopg.Error as error:
            raise explain(self._connections.address.server, error) from None

    def _begin(self) -> ServerCursor:
        self._link = self._connections.take()
        self._link.connection.execute("BEGIN READ ONLY")
        self._cursor = self._link.connection.cursor("loading")
        self._cursor.execute(_LOAD)
        return self._cursor

    def cut(self) -> None:
        """Let a batch that is being fetched fail at once."""
        if self._link:
            self._link.cut()

    def close(self) -> None:
        """Close the connections."""
        if self._link:
            self._link.connection.close()
        if self._cursor:
            self._cursor.close()


def _memories(connection: Connection, question: str, named: dict[str, Any]) -> list[Memory]:
    """What the question finds, but for what is no memory: a member can put anything there."""
    found = (read_memory(body) for (body,) in connection.execute(question.encode(), named))
    return [memory for memory in found if memory is not None]


_SEARCH = (
    "SELECT body, author, text_score, cosine, rank FROM ("
    " SELECT *, sum(octet_length(body)) OVER best AS bytes"
    " FROM subcog.search(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " WINDOW best AS (ORDER BY rank DESC, id DESC ROWS UNBOUNDED PRECEDING)"
    ") AS found WHERE bytes <= %s ORDER BY rank DESC, id DESC"
)
# What one answer may hold, of the feed beside one row more: a member can make each memory as large
# as the server takes them.
_MOST_BYTES = 4_000_000


def search(
    connection: Connection, query: Query, vector: Sequence[float] | None, now: datetime
) -> tuple[Hit, ...]:
    """The hits of ``query`` in its scopes, best first; large ones fewer."""
    asked = "" if query.mode == "vector" else search_text(query.text)
    near = half_vector(vector) if vector is not None and query.mode != "text" else None
    arguments = [
        asked,
        near,
        scope_texts(query.scopes),
        list(query.namespaces),
        list(query.tags),
        query.since,
        query.until,
        now,
        query.limit,
        _MOST_BYTES,
    ]
    hits = (_hit(*found) for found in connection.execute(_SEARCH, arguments))
    return tuple(hit for hit in hits if hit and hit.relevance >= query.min_relevance)


def _hit(body: str, author: str, text: float, cosine: float, rank: float) -> Hit | None:
    """None for what is no memory: a member can put anything there."""
    memory = read_memory(body)
    if memory is None:
        return None
    return Hit(
        memory=signed(memory, author),
        text=text,
        late=0.0,
        vector=cosine,
        order=rank,
        relevance=max(0.0, min(1.0, cosine)),
    )


# --- the feed -----------------------------------------------------------------------------------

_AFTER = (
    "SELECT xid::text::bigint, seq, scope, id, version, author, body, "
    "model, vectors, words, lengths, terms, epoch, behind, at, since "
    "FROM subcog.changes_after(%s, %s::text::xid8, %s, %s, %s, %s)"
)
_REMAINING = (
    "SELECT count(*) FROM subcog.changes "
    "WHERE scope = ANY (%s) AND (xid, seq) > (%s::text::xid8, %s)"
)
# Rows that are decoded in about 2 ms.
_SLICE = 50


def changes(connection: Connection, after: Cursor, scopes: Sequence[Scope], limit: int) -> Changes:
    """At most ``limit`` changes of ``scopes`` after the cursor, in the feed's order.

    Nothing, and the cursor before the beginning of the server's epoch, where that is another, or
    where the server never got as far as the cursor.
    """
    texts = [str(scope) for scope in scopes]
    cursor = connection.execute(
        _AFTER, [after.epoch, str(after.xid), after.seq, texts, limit, _MOST_BYTES]
    )
    found: list[Change] = []
    while part := cursor.fetchmany(_SLICE):
        for row in part:
            if row[3] is None:  # the last one, which says where the feed is read up to
                return _told(found, after, row)
            if row[6] is not None or row[4] == 0:  # else it was forgotten since
                found.append(_change(after.epoch, row, *row[14:]))
        time.sleep(0)  # lets the event loop have the interpreter
    raise psycopg.InternalError("the feed has no end")


def _told(found: list[Change], after: Cursor, row: tuple[Any, ...]) -> Changes:
    xid, seq, epoch, behind = row[0], row[1], row[12], row[13]
    if epoch != after.epoch:
        return Changes((), Cursor(epoch), behind=True)
    return Changes(tuple(found), Cursor(epoch, xid, seq), behind)


def _change(epoch: int, columns: tuple[Any, ...], at: datetime, since: datetime) -> Change:
    """``at`` is when the server took this version, ``since`` when it took the first of them."""
    xid, seq, scope_text, id_, version, author, body, *blobs = columns[:12]
    cursor, scope = Cursor(epoch, xid, seq), to_scope(scope_text)
    if version == 0:
        return Change(cursor, id_, 0, scope, "", b"", None)
    memory = read_memory(body)
    if memory is None or (memory.id, memory.version, memory.scope) != (id_, version, scope):
        return Change(cursor, id_, version, scope, author, b"", None)
    memory = _bounded(memory, at, since)
    row = Row(signed(memory, author), Encoding(*blobs))
    return Change(cursor, id_, version, scope, author, digest(memory), row)


def _bounded(memory: Memory, at: datetime, since: datetime) -> Memory:
    """``memory`` with no time that only a clock ahead of the server's can have known.

    A validity that begins or ends later than the version was written is somebody's wish, and kept.
    """
    said = memory.updated_at

    def known(time: datetime | None) -> datetime | None:
        return at if time is not None and at < time <= said else time

    return structs.replace(
        memory,
        created_at=min(memory.created_at, since),
        updated_at=min(said, at),
        valid_from=known(memory.valid_from),
        valid_to=known(memory.valid_to),
    )


def remaining(connection: Connection, after: Cursor, scopes: Sequence[Scope]) -> int:
    """How many changes of ``scopes`` come after the cursor."""
    texts = [str(scope) for scope in scopes]
    [count] = connection.execute(_REMAINING, [texts, str(after.xid), after.seq]).fetchone() or (0,)
    return int(count)


async def listen(address: Address) -> AsyncGenerator[None, None]:
    """Yields once when it listens, and each time the team's feed has something new.

    On a connection of its own. Raises TeamUnavailable when that is lost, and NoWakeUps behind a
    pool. Every role of the server may notify: who floods the channel is not listened to until the
    next item is due.
    """
    pace = Pace()
    connection = await _connect(address)
    try:
        hello = greet(await (await connection.execute(HELLO)).fetchone(), address.server)
        if hello.is_pooled(connection):
            raise NoWakeUps(address.server)
        channel = sql.Identifier(hello.channel)
        await connection.execute(sql.SQL("LISTEN {}").format(channel))
        while True:
            yield None
            async for _ in connection.notifies(stop_after=1):
                pass  # and all that came with it
            if held_s := pace.wait_s(anyio.current_time()):
                await connection.execute(sql.SQL("UNLISTEN {}").format(channel))
                await anyio.sleep(held_s)
                await connection.execute(sql.SQL("LISTEN {}").format(channel))
    except psycopg.Error as error:
        translated = explain(address.server, error)
        if isinstance(translated, TeamUnavailable):
            raise translated from None
        raise failed(address.server, error) from None
    finally:
        await connection.close()


async def _connect(address: Address) -> AsyncConnection:
    was_plain = address.is_plain
    try:
        return await AsyncConnection.connect(address.conninfo, autocommit=True)
    except psycopg.Error as error:
        if not address.failed(error, was_plain=was_plain):
            raise explain_connect(address.server, error) from None
    return await _connect(address)
