"""What is read of the team's memories: the search on the server, and the feed.

The server's row security adds the team, and nothing is read without a scope. The feed tells what
changed since a cursor, and wakes who listens when something does.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Any

import anyio
import msgspec
import numpy as np
import psycopg
from msgspec import structs
from psycopg import AsyncConnection, Connection, sql

from ....bus.values import Encoding, Hit, Memory, Query, Scope
from ...models.analyzer import tokenize
from ...store.reads import scope_texts
from ...store.rows import Row, times_of, to_memory, to_scope
from ..protocol import Change, Changes, Cursor, NoWakeUps, TeamUnavailable
from ..sync_state import Pace
from ..validate import MEMORY_ID
from .address import Address
from .connection import HELLO, HalfVector, checked, greet
from .errors import explain, explain_connect, failed

DIMENSIONS = 256
"""Of the column ``embedding``; vectors of another model's size are kept, but not searched."""

# More of a text than this is not looked through for words.
_SEARCHED_CHARS = 100_000
_SEARCH = (
    "SELECT body, author, text_score, cosine, rank FROM ("
    " SELECT *, sum(octet_length(body)) OVER best AS bytes"
    " FROM subcog.search(%s, %s, %s, %s, %s, %s, %s, %s, %s)"
    " WINDOW best AS (ORDER BY rank DESC, id DESC ROWS UNBOUNDED PRECEDING)"
    ") AS found WHERE bytes <= %s ORDER BY rank DESC, id DESC"
)
# What the answer to a search may hold: a member can make each memory as large as the server takes.
_MOST_BYTES = 4_000_000
# And a page of the feed, beside one row more. A slow line carries twice that, for bytes are sent as
# hexadecimal digits, within the time of one call.
_PAGE_BYTES = 1_000_000


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


def search_text(text: str) -> str:
    """The words of ``text`` as search splits them here, so that both find the same."""
    return " ".join(tokenize(text[:_SEARCHED_CHARS]))


def half_vector(vector: Any) -> HalfVector | None:
    """``vector`` of any length, as the server reads it; None where it has no direction here."""
    values = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(values))
    if values.shape != (DIMENSIONS,) or not np.isfinite(length) or length == 0.0:
        return None
    halves = (values / length).astype(">f2").tobytes()
    return HalfVector(DIMENSIONS.to_bytes(2, "big") + b"\0\0" + halves)


def read_memory(body: str) -> Memory | None:
    """The memory written as ``body``; None where that is none, or a time of it has no zone."""
    try:
        memory = to_memory(body)
    except (msgspec.DecodeError, RecursionError):
        return None
    return memory if all(time.tzinfo for time in times_of(memory)) else None


def signed(memory: Memory, author: str) -> Memory:
    """``memory`` with the author that the server names."""
    return structs.replace(memory, provenance=structs.replace(memory.provenance, author=author))


# --- the feed -----------------------------------------------------------------------------------

_AFTER = (
    "SELECT xid::text::bigint, seq, scope, id, version, author, body, "
    "model, vectors, words, lengths, terms, epoch, behind, at, since "
    "FROM subcog.changes_after(%s, %s::text::xid8, %s, %s, %s, %s)"
)
# Whose it was and who forgot it; by which memories it is back, once all have taken that back.
_DELETIONS = """
    SELECT id, (array_agg(author ORDER BY at))[1], array_agg(member ORDER BY at),
        CASE WHEN count(*) = count(returned) THEN array_agg(returned) ELSE '{}' END
    FROM subcog.deletions WHERE id = ANY (%s) GROUP BY id
"""
# Rows that are decoded in about 2 ms.
_SLICE = 50


def changes(connection: Connection, after: Cursor, scopes: Sequence[Scope], limit: int) -> Changes:
    """At most ``limit`` changes of ``scopes`` after the cursor, in the feed's order.

    Nothing, and the cursor before the beginning of the server's epoch, where that is another, or
    where the server never got as far as the cursor.
    """
    texts = [str(scope) for scope in scopes]
    cursor = connection.execute(
        _AFTER, [after.epoch, str(after.xid), after.seq, texts, limit, _PAGE_BYTES]
    )
    found: list[Change] = []
    while part := cursor.fetchmany(_SLICE):
        for row in part:
            if row[3] is None:  # the last one, which says where the feed is read up to
                return _told(_about_deletions(connection, found), after, row)
            if row[6] is not None or row[4] == 0:  # else it was forgotten since
                found.append(_change(after.epoch, row, *row[14:]))
        time.sleep(0)  # lets the event loop have the interpreter
    raise psycopg.InternalError("the feed has no end")


def _about_deletions(connection: Connection, found: list[Change]) -> list[Change]:
    """``found`` with what the server noted of the deletions among them."""
    named = {each.id if each.version == 0 else _brought_back(each): each for each in found}
    named.pop("", None)
    if not named:
        return found
    rows = connection.execute(_DELETIONS, [list(named)]).fetchall()
    noted = {id_: (author, tuple(members), returned) for id_, author, members, returned in rows}
    return [_noted(each, noted) for each in found]


def _brought_back(change: Change) -> str:
    """The memory that it claims to bring back; empty where it names none."""
    claimed = change.row.memory.provenance.brings_back if change.row else ""
    return claimed if MEMORY_ID.fullmatch(claimed) else ""


def _noted(
    change: Change, noted: Mapping[str, tuple[str, tuple[str, ...], Sequence[str]]]
) -> Change:
    author, members, _ = noted.get(change.id, ("", (), ()))
    if change.version == 0:
        return structs.replace(change, author=author, forgotten_by=members)
    old = _brought_back(change)
    _, _, returned = noted.get(old, ("", (), ()))
    return structs.replace(change, brings_back=old) if change.id in returned else change


def _told(found: list[Change], after: Cursor, row: tuple[Any, ...]) -> Changes:
    xid, seq, epoch, behind = row[0], row[1], row[12], row[13]
    if epoch != after.epoch:
        return Changes((), _cursor(epoch), behind=True)
    return Changes(tuple(found), _cursor(epoch, xid, seq), behind)


def _cursor(*place: Any) -> Cursor:
    """Checked, for it is written down, and has to be read again."""
    return Cursor(*checked(place, tuple[int, ...]))


def _change(epoch: int, columns: tuple[Any, ...], at: datetime, since: datetime) -> Change:
    """``at`` is when the server took this version, ``since`` when it took the first of them."""
    xid, seq, scope_text, id_, version, author, body, *blobs = columns[:12]
    cursor, scope = _cursor(epoch, xid, seq), to_scope(scope_text)
    if version == 0:
        return Change(cursor, id_, 0, scope, "", None)
    memory = read_memory(body)
    if memory is None or (memory.id, memory.version, memory.scope) != (id_, version, scope):
        return Change(cursor, id_, version, scope, author, None)
    memory = _bounded(memory, at, since)
    row = Row(signed(memory, author), Encoding(*blobs))
    return Change(cursor, id_, version, scope, author, row)


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
