"""The team's feed: what changed since a cursor, and to be woken when something does."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Sequence
from typing import Any

import psycopg
from psycopg import AsyncConnection, Connection, sql

from ....bus.values import Encoding, Scope
from ...store.rows import Row, digest, to_scope
from ..protocol import Change, Changes, Cursor, TeamUnavailable
from .columns import read_memory, signed
from .connection import HELLO, Address, greet
from .errors import explain, explain_connect, failed

_AFTER = (
    "SELECT xid::text::bigint, seq, scope, id, version, author, body, "
    "model, vectors, words, lengths, terms, epoch, behind "
    "FROM subcog.changes_after(%s, %s::text::xid8, %s, %s, %s, %s)"
)
_REMAINING = (
    "SELECT count(*) FROM subcog.changes "
    "WHERE scope = ANY (%s) AND (xid, seq) > (%s::text::xid8, %s)"
)
# What one answer may hold, beside one row more, be it as large as the server takes them.
_MOST_BYTES = 4_000_000
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
                found.append(_change(after.epoch, row))
        time.sleep(0)  # lets the event loop have the interpreter
    raise psycopg.InternalError("the feed has no end")


def _told(found: list[Change], after: Cursor, row: tuple[Any, ...]) -> Changes:
    xid, seq, epoch, behind = row[0], row[1], row[12], row[13]
    if epoch != after.epoch:
        return Changes((), Cursor(epoch), behind=True)
    return Changes(tuple(found), Cursor(epoch, xid, seq), behind)


def _change(epoch: int, columns: tuple[Any, ...]) -> Change:
    xid, seq, scope_text, id_, version, author, body, *blobs = columns[:12]
    cursor, scope = Cursor(epoch, xid, seq), to_scope(scope_text)
    if version == 0:
        return Change(cursor, id_, 0, scope, "", b"", None)
    memory = read_memory(body)
    if memory is None or (memory.id, memory.version, memory.scope) != (id_, version, scope):
        return Change(cursor, id_, version, scope, author, b"", None)
    row = Row(signed(memory, author), Encoding(*blobs))
    return Change(cursor, id_, version, scope, author, digest(memory), row)


def remaining(connection: Connection, after: Cursor, scopes: Sequence[Scope]) -> int:
    """How many changes of ``scopes`` come after the cursor."""
    texts = [str(scope) for scope in scopes]
    [count] = connection.execute(_REMAINING, [texts, str(after.xid), after.seq]).fetchone() or (0,)
    return int(count)


async def listen(address: Address) -> AsyncGenerator[None, None]:
    """Yields once when it listens, and each time the team's feed has something new.

    On a connection of its own. Raises TeamUnavailable when that is lost.
    """
    try:
        connection = await AsyncConnection.connect(address.conninfo, autocommit=True)
    except psycopg.Error as error:
        raise explain_connect(address.server, error) from None
    try:
        hello = greet(await (await connection.execute(HELLO)).fetchone(), address.server)
        await connection.execute(sql.SQL("LISTEN {}").format(sql.Identifier(hello.channel)))
        while True:
            yield None
            async for _ in connection.notifies(stop_after=1):
                pass  # and all that came with it
    except psycopg.Error as error:
        translated = explain(address.server, error)
        if isinstance(translated, TeamUnavailable):
            raise translated from None
        raise failed(address.server, error) from None
    finally:
        await connection.close()
