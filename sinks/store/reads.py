"""The queries, each on a cursor of its own.

Nothing here reads without a scope, but for ``LOAD``, ``run`` and ``counts``, which feed the indexes
and the status, and ``usage`` and ``scopes_of``, which hold no text.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Literal, NamedTuple

from duckdb import DuckDBPyConnection
from msgspec import Struct

from ...bus.prompts import Span
from ...bus.values import NAMESPACES, Memory, Scope
from .caches import CurrentVersions
from .rows import Usage, aware, fingerprint, naive, to_memory, to_scope, usage_of
from .sql import by_count
from .writes import among

# What an exact duplicate has in common: content hash, scope and namespace.
Text = tuple[str, Scope]

# As many as a search finds; each parsed statement takes 5 kB.
_MAX_PARSED = 20

# Rows of a run: what DuckDB reads at once, and the decoding takes 10 ms.
RUN_ROWS = 2_048

_VALID = (
    "forgotten_at IS NULL AND superseded_by IS NULL "
    "AND (valid_from IS NULL OR valid_from <= ?) AND (valid_to IS NULL OR valid_to > ?)"
)

_HOLDING = f"SELECT id FROM store.memories WHERE {_VALID}"  # noqa: S608 - constants
_NOBODY = "\0"
_VOTED = "SELECT memory_id FROM store.use_events WHERE kind IN ('kept', 'buried')"

LOAD = (
    "SELECT v.body, v.model, v.vectors, v.words, v.lengths, v.terms "
    "FROM store.memories m JOIN store.versions v ON v.key = m.key"
)


def _bodies(wanted: str) -> str:
    return f"SELECT key, body FROM store.versions WHERE {wanted}"  # noqa: S608 - placeholders


_BODIES = by_count(lambda count: _bodies(among("key", [""] * count)[0]), most=_MAX_PARSED)


def scope_texts(scopes: Sequence[Scope]) -> list[str]:
    """The scopes as the tables hold them. Raises ValueError without any: nothing reads unscoped."""
    if not scopes:
        raise ValueError("a read needs a scope")
    return [str(scope) for scope in scopes]


def get(
    cursor: DuckDBPyConnection,
    ids: Sequence[str],
    scopes: Sequence[Scope],
    current: CurrentVersions,
) -> tuple[Memory, ...]:
    """The current versions of ``ids`` that are in ``scopes``, in the order asked."""
    readable = frozenset(scope_texts(scopes))
    keys = [f"{each}:{current.version(each)}" for each in dict.fromkeys(ids)]
    # By the primary key alone, which is half of what it costs to join: a memory that was forgotten
    # has no versions, and its body says which scope it is in.
    found = _versions(cursor, keys)
    return tuple(memory for memory in found if str(memory.scope) in readable)


def made(
    cursor: DuckDBPyConnection,
    scopes: Sequence[Scope],
    *,
    limit: int,
    namespaces: Sequence[str],
    now: datetime,
    within: Span | None = None,
    by_use: bool = False,
) -> tuple[Memory, ...]:
    """The newest that are valid at ``now`` and not superseded, newest first.

    ``within`` bounds when they were made; ``by_use`` puts first what was shown most often.
    """
    allowed, parameters = among("scope", scope_texts(scopes))
    parameters += [naive(now), naive(now)]
    where = f"{allowed} AND {_VALID}"
    if namespaces:
        named, more = among("namespace", namespaces)
        where, parameters = f"{where} AND {named}", parameters + more
    if within is not None:
        where += " AND created_at >= ? AND created_at < ?"
        parameters += [naive(within.since), naive(within.until)]
    order = ("times_injected DESC, " if by_use else "") + "created_at DESC, id DESC"
    keys = cursor.execute(
        f"SELECT key FROM store.memories WHERE {where} ORDER BY {order} LIMIT ?",  # noqa: S608 - placeholders
        [*parameters, limit],
    ).fetchall()
    return _versions(cursor, [key for (key,) in keys])


class Filter(Struct, frozen=True, kw_only=True):
    """Which memories are listed; None and empty mean any.

    ``hooks`` are those of the version that counts now; ``unhooked`` means any but those.
    ``contradicting`` means those that contradict one that holds too, ``without_questions`` those
    that have none.
    ``voted`` False leaves out those that the user voted on, ``unused`` those that were ever shown.
    ``since`` and ``until`` bound when they were made, both included.
    """

    ids: Sequence[str] = ()
    namespace: str | None = None
    tag: str | None = None
    authors: Sequence[str] | None = None
    session: str | None = None
    hooks: Collection[str] = ()
    unhooked: bool = False
    voted: bool = True
    unused: bool = False
    contradicting: bool = False
    without_questions: bool = False
    since: datetime | None = None
    until: datetime | None = None


class Listed(NamedTuple):
    """One page of a list, newest first, how often each was shown, and how many there are in all."""

    memories: tuple[Memory, ...]
    times_shown: Mapping[str, int]
    total: int


def listed(
    cursor: DuckDBPyConnection,
    scopes: Sequence[Scope],
    wanted: Filter,
    *,
    now: datetime,
    limit: int,
    after: str = "",
) -> Listed:
    """The newest that are valid at ``now`` and that ``wanted`` lets through, from ``after`` on."""
    conditions = [*_listable(scopes, now), *_conditions(wanted, now)]
    where = " AND ".join(condition for condition, _ in conditions)
    parameters = [value for _, values in conditions for value in values]
    joined = "store.memories AS m JOIN store.versions AS v ON v.key = m.key"
    source = joined if "v.body" in where else "store.memories AS m"
    from_there, place = _from(cursor, after)
    found = cursor.execute(
        f"WITH found AS (SELECT m.id, m.key, m.created_at, m.times_injected FROM {source} "  # noqa: S608 - placeholders
        f"WHERE {where}) SELECT key, id, times_injected, (SELECT count(*) FROM found) FROM found "
        f"WHERE {from_there} ORDER BY created_at DESC, id DESC LIMIT ?",
        [*parameters, *place, limit],
    ).fetchall()
    if found:
        total = found[0][3]
    else:  # the page is empty; there may be others before it
        counted = f"SELECT count(*) FROM {source} WHERE {where}"  # noqa: S608 - placeholders
        [(total,)] = cursor.execute(counted, parameters).fetchall()
    memories = _versions(cursor, [key for key, *_ in found])
    return Listed(memories, {id_: times for _, id_, times, _ in found}, total)


Condition = tuple[str, Sequence[Any]]


def _listable(scopes: Sequence[Scope], now: datetime) -> Iterator[Condition]:
    yield among("m.scope", scope_texts(scopes))
    yield _VALID, [naive(now), naive(now)]


def _conditions(wanted: Filter, now: datetime) -> Iterator[Condition]:
    if wanted.ids:
        yield among("m.id", wanted.ids)
    if wanted.namespace is not None:
        yield "m.namespace = ?", [wanted.namespace]
    if wanted.since is not None:
        yield "m.created_at >= ?", [naive(wanted.since)]
    if wanted.until is not None:
        yield "m.created_at <= ?", [naive(wanted.until)]
    if wanted.unused:
        yield "m.times_injected = 0", []
    if not wanted.voted:
        yield f"m.id NOT IN ({_VOTED})", []
    yield from _conditions_on_bodies(wanted, now)


def _conditions_on_bodies(wanted: Filter, now: datetime) -> Iterator[Condition]:
    if wanted.tag is not None:
        yield "json_contains(v.body -> '$.tags', to_json(?::VARCHAR))", [wanted.tag]
    if wanted.authors is not None:
        yield among(f"coalesce({_said('author')}, '')", wanted.authors or [_NOBODY])
    if wanted.session is not None:
        yield f"{_said('session')} = ?", [wanted.session]
    if wanted.without_questions:
        yield "coalesce(json_array_length(v.body -> '$.questions'), 0) = 0", []
    if wanted.contradicting:
        yield f"(v.body ->> '$.contradicts') IN ({_HOLDING})", [naive(now), naive(now)]
    if wanted.hooks:
        condition, values = among(f"coalesce({_said('hook')}, '')", list(wanted.hooks))
        yield (f"NOT ({condition})" if wanted.unhooked else condition), values


def _said(field: str) -> str:
    """A field of the provenance in a body, in parentheses: the arrow binds loosely."""
    return f"(v.body ->> '$.provenance.{field}')"


def _from(cursor: DuckDBPyConnection, after: str) -> Condition:
    """The condition for what comes after the memory ``after``, forgotten since or not."""
    if not after:
        return "true", []
    found = cursor.execute("SELECT created_at FROM store.memories WHERE id = ?", [after]).fetchall()
    if not found:
        return "false", []
    return "(created_at, id) < (?, ?)", [found[0][0], after]


def made_by_time(
    cursor: DuckDBPyConnection, scopes: Sequence[Scope], hooks: Sequence[str], since: datetime
) -> list[tuple[datetime, bool, int]]:
    """How many memories were made in each quarter of an hour, and whether by one of ``hooks``."""
    allowed, parameters = among("m.scope", scope_texts(scopes))
    named, more = among(f"coalesce({_said('hook')}, '')", hooks)
    found = cursor.execute(
        f"SELECT time_bucket(INTERVAL 15 MINUTE, m.created_at), {named}, count(*) "  # noqa: S608 - placeholders
        "FROM store.memories AS m JOIN store.versions AS v ON v.key = m.key "
        f"WHERE {allowed} AND m.forgotten_at IS NULL AND m.created_at >= ? GROUP BY ALL",
        [*more, *parameters, naive(since)],
    ).fetchall()
    return [(aware(at), automatic, count) for at, automatic, count in found]


def said(
    cursor: DuckDBPyConnection, scopes: Sequence[Scope], field: Literal["author", "session"]
) -> set[str]:
    """Who wrote what is in ``scopes``, or in which sessions, as it stands in the versions."""
    allowed, parameters = among("v.scope", scope_texts(scopes))
    found = cursor.execute(
        f"SELECT DISTINCT {_said(field)} FROM store.versions AS v WHERE {allowed}",  # noqa: S608 - placeholders
        parameters,
    ).fetchall()
    return {value for (value,) in found if value}


def _versions(cursor: DuckDBPyConnection, keys: Sequence[str]) -> tuple[Memory, ...]:
    if not keys:
        return ()
    if len(keys) <= _MAX_PARSED:
        found = _BODIES(len(keys)).run(cursor, keys).fetchall()
    else:
        wanted, parameters = among("key", keys)
        found = cursor.execute(_bodies(wanted), parameters).fetchall()
    bodies = dict(found)
    return tuple(to_memory(bodies[key]) for key in keys if key in bodies)


def page(
    cursor: DuckDBPyConnection, scopes: Sequence[Scope], *, after: str, limit: int
) -> tuple[Memory, ...]:
    """The current versions from the first id beyond ``after`` on, whatever their validity."""
    allowed, parameters = among("scope", scope_texts(scopes))
    keys = cursor.execute(
        f"SELECT key FROM store.memories WHERE {allowed} AND forgotten_at IS NULL AND id > ? "  # noqa: S608 - placeholders
        "ORDER BY id LIMIT ?",
        [*parameters, after, limit],
    ).fetchall()
    return _versions(cursor, [key for (key,) in keys])


def run(
    cursor: DuckDBPyConnection, first: int, current: CurrentVersions
) -> tuple[Memory, ...] | None:
    """The current versions among ``RUN_ROWS`` rows from ``first`` on; None beyond the last row."""
    [(last,)] = cursor.execute("SELECT max(rowid) FROM store.versions").fetchall()
    if last is None or first > last:
        return None
    found = cursor.execute(
        "SELECT body FROM store.versions WHERE rowid >= ? AND rowid < ?", [first, first + RUN_ROWS]
    ).fetchall()
    memories = [to_memory(body) for (body,) in found]
    return tuple(m for m in memories if m.version == current.version(m.id))


def history(
    cursor: DuckDBPyConnection, memory_id: str, scopes: Sequence[Scope]
) -> tuple[Memory, ...]:
    """Every version of one memory, oldest first. Scans the table: not for the hot path."""
    readable = scope_texts(scopes)
    found = cursor.execute(
        "SELECT scope, body FROM store.versions WHERE id = ? ORDER BY version", [memory_id]
    ).fetchall()
    return tuple(to_memory(body) for scope, body in found if scope in readable)


def starting(
    cursor: DuckDBPyConnection, beginning: str, scopes: Sequence[Scope], *, limit: int
) -> tuple[str, ...]:
    """The ids in ``scopes`` that start with ``beginning``, in their order, ``limit`` at most."""
    found = cursor.execute(
        "SELECT id FROM store.memories WHERE starts_with(id, ?) AND list_contains(?, scope) "
        "AND forgotten_at IS NULL ORDER BY id LIMIT ?",
        [beginning, scope_texts(scopes), limit],
    ).fetchall()
    return tuple(id_ for (id_,) in found)


def find_hash(
    cursor: DuckDBPyConnection, content_hash: str, scope: Scope, namespace: str, now: datetime
) -> Memory | None:
    """The oldest memory with that text that is valid at ``now`` and not superseded.

    One of ``namespace`` comes before the others.
    """
    text = (content_hash, scope)
    same = known_texts(cursor, [text], now).get(text, ())
    return min(same, key=lambda memory: memory.namespace != namespace, default=None)


def fingerprints_of(text: Text) -> list[int]:
    """Those that a memory with this text may have, whatever its namespace."""
    content_hash, scope = text
    prints = [fingerprint(str(scope), namespace, content_hash) for namespace in NAMESPACES]
    return [print_ for print_ in prints if print_ is not None]


def known_texts(
    cursor: DuckDBPyConnection, texts: Collection[Text], now: datetime
) -> dict[Text, tuple[Memory, ...]]:
    """The memories with each of ``texts`` that are valid at ``now`` and not superseded.

    The oldest of a text first; a text that none has is left out. One scan of the table for all.
    """
    prints = [print_ for text in texts for print_ in fingerprints_of(text)]
    keys = cursor.execute(
        "SELECT key FROM store.memories "  # noqa: S608 - constants
        f"WHERE fingerprint IN (SELECT unnest(?::BIGINT[])) AND {_VALID} ORDER BY id",
        [prints, naive(now), naive(now)],
    ).fetchall()
    wanted, found = set(texts), dict[Text, tuple[Memory, ...]]()
    for memory in _versions(cursor, [key for (key,) in keys]):
        text = (memory.content_hash, memory.scope)
        if text in wanted:
            found[text] = (*found.get(text, ()), memory)
    return found


def scopes_of(cursor: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Scope]:
    """The scope of each of ``ids`` that was ever stored, forgotten ones too."""
    return {id_: to_scope(scope) for id_, scope in _of_ids(cursor, "id, scope", ids)}


def usage(cursor: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Usage]:
    """How often each of ``ids`` was used; those that are not there are left out."""
    found = _of_ids(cursor, "id, times_injected, last_used", ids)
    return {id_: usage_of(times, last) for id_, times, last in found}


def _of_ids(
    cursor: DuckDBPyConnection, columns: str, ids: Sequence[str]
) -> Sequence[tuple[Any, ...]]:
    if not ids:
        return ()
    wanted, parameters = among("id", ids)
    return cursor.execute(
        f"SELECT {columns} FROM store.memories WHERE {wanted}",  # noqa: S608 - placeholders
        parameters,
    ).fetchall()


def counts(cursor: DuckDBPyConnection) -> dict[Scope, int]:
    """How many memories each scope has, superseded and expired ones too, forgotten ones not."""
    found = cursor.execute(
        "SELECT scope, count(*) FROM store.memories WHERE forgotten_at IS NULL GROUP BY scope"
    ).fetchall()
    return {to_scope(scope): count for scope, count in found}


def holding(cursor: DuckDBPyConnection, now: datetime) -> dict[Scope, int]:
    """How many memories of each scope are valid at ``now`` and not superseded, as lists count."""
    found = cursor.execute(
        f"SELECT scope, count(*) FROM store.memories WHERE {_VALID} GROUP BY scope",  # noqa: S608 - constants
        [naive(now), naive(now)],
    ).fetchall()
    return {to_scope(scope): count for scope, count in found}
