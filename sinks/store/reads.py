"""The queries, each on a cursor of its own.

Nothing here reads without a scope, but for ``LOAD``, ``run`` and ``counts``, which feed the indexes
and the status, and ``usage`` and ``scopes_of``, which hold no text.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection

from ...bus.values import Memory, Scope
from .caches import CurrentVersions
from .rows import Usage, fingerprint, naive, to_memory, to_scope, usage_of
from .sql import by_count
from .writes import among

# What an exact duplicate has in common: content hash, scope and namespace.
Text = tuple[str, Scope, str]

# As many as a search finds; each parsed statement takes 5 kB.
_MAX_PARSED = 20

# Rows of a run: what DuckDB reads at once, and the decoding takes 10 ms.
RUN_ROWS = 2_048

_VALID = (
    "forgotten_at IS NULL AND superseded_by IS NULL "
    "AND (valid_from IS NULL OR valid_from <= ?) AND (valid_to IS NULL OR valid_to > ?)"
)

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


def latest(
    cursor: DuckDBPyConnection,
    scopes: Sequence[Scope],
    *,
    limit: int,
    namespaces: Sequence[str],
    now: datetime,
) -> tuple[Memory, ...]:
    """The newest that are valid at ``now`` and not superseded, newest first."""
    allowed, parameters = among("scope", scope_texts(scopes))
    parameters += [naive(now), naive(now)]
    where = f"{allowed} AND {_VALID}"
    if namespaces:
        named, more = among("namespace", namespaces)
        where, parameters = f"{where} AND {named}", parameters + more
    keys = cursor.execute(
        f"SELECT key FROM store.memories WHERE {where} ORDER BY created_at DESC, id DESC LIMIT ?",  # noqa: S608 - placeholders
        [*parameters, limit],
    ).fetchall()
    return _versions(cursor, [key for (key,) in keys])


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


def find_hash(
    cursor: DuckDBPyConnection, content_hash: str, scope: Scope, namespace: str, now: datetime
) -> Memory | None:
    """The oldest memory with that text that is valid at ``now`` and not superseded."""
    print_ = fingerprint(str(scope), namespace, content_hash)
    if print_ is None:
        return None
    keys = cursor.execute(
        f"SELECT key FROM store.memories WHERE fingerprint = ? AND {_VALID} ORDER BY id",  # noqa: S608 - constants
        [print_, naive(now), naive(now)],
    ).fetchall()
    same = (content_hash, scope, namespace)
    for memory in _versions(cursor, [key for (key,) in keys]):
        if (memory.content_hash, memory.scope, memory.namespace) == same:
            return memory
    return None


def known_texts(cursor: DuckDBPyConnection, texts: Collection[Text], now: datetime) -> set[Text]:
    """Those of ``texts`` that a memory has that is valid at ``now`` and not superseded.

    One scan of the table for all of them. Goes by the 64 bits of the fingerprint alone: among a
    million memories one new text in 10 million millions would be taken for a known one.
    """
    prints = {text: fingerprint(str(text[1]), text[2], text[0]) for text in texts}
    found = cursor.execute(
        "SELECT fingerprint FROM store.memories "  # noqa: S608 - constants
        f"WHERE fingerprint IN (SELECT unnest(?::BIGINT[])) AND {_VALID}",
        [[print_ for print_ in prints.values() if print_ is not None], naive(now), naive(now)],
    ).fetchall()
    known = {print_ for (print_,) in found}
    return {text for text, print_ in prints.items() if print_ in known}


def scopes_of(cursor: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Scope]:
    """The scope of each of ``ids`` that was ever stored, forgotten ones too."""
    if not ids:
        return {}
    wanted, parameters = among("id", ids)
    found = cursor.execute(
        f"SELECT id, scope FROM store.memories WHERE {wanted}",  # noqa: S608 - placeholders
        parameters,
    ).fetchall()
    return {memory_id: to_scope(scope) for memory_id, scope in found}


def usage(cursor: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Usage]:
    """How often each of ``ids`` was used; those that are not there are left out."""
    if not ids:
        return {}
    wanted, parameters = among("id", ids)
    found = cursor.execute(
        f"SELECT id, times_injected, last_used FROM store.memories WHERE {wanted}",  # noqa: S608 - placeholders
        parameters,
    ).fetchall()
    return {row[0]: usage_of(row[1], row[2]) for row in found}


def counts(cursor: DuckDBPyConnection) -> dict[Scope, int]:
    """How many memories each scope has, forgotten ones not counted."""
    found = cursor.execute(
        "SELECT scope, count(*) FROM store.memories WHERE forgotten_at IS NULL GROUP BY scope"
    ).fetchall()
    return {to_scope(scope): count for scope, count in found}
