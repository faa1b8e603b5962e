"""What is read, each time on a cursor of its own.

Nothing here reads without a scope, but for ``LOAD`` and ``counts``, which feed the indexes and the
status, and ``usage``, which holds no text.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection

from ..bus.values import Memory, Scope
from .rows import (
    ENCODING_COLUMNS,
    MEMORY_COLUMNS,
    Usage,
    aware,
    fingerprint,
    naive,
    to_memory,
    to_scope,
)
from .writes import among

_MEMORY = ", ".join(f"v.{name}" for name in MEMORY_COLUMNS)
_ROW = ", ".join(f"v.{name}" for name in MEMORY_COLUMNS + ENCODING_COLUMNS)
_VALID = (
    "forgotten_at IS NULL AND superseded_by IS NULL "
    "AND (valid_from IS NULL OR valid_from <= ?) AND (valid_to IS NULL OR valid_to > ?)"
)

LOAD = f"SELECT {_ROW} FROM memories m JOIN versions v ON v.key = m.key"  # noqa: S608 - constants


def scope_texts(scopes: Sequence[Scope]) -> list[str]:
    """The scopes as the tables hold them. Raises ValueError without any: nothing reads unscoped."""
    if not scopes:
        raise ValueError("a read needs a scope")
    return [str(scope) for scope in scopes]


def get(
    cursor: DuckDBPyConnection, ids: Sequence[str], scopes: Sequence[Scope]
) -> tuple[Memory, ...]:
    """The current versions of ``ids`` that are in ``scopes``, in the order asked."""
    readable = scope_texts(scopes)
    asked = list(dict.fromkeys(ids))
    if not asked:
        return ()
    wanted, parameters = among("m.id", asked)
    allowed, more = among("v.scope", readable)
    found = cursor.execute(
        f"SELECT {_MEMORY} FROM memories m JOIN versions v ON v.key = m.key "  # noqa: S608 - placeholders
        f"WHERE {wanted} AND {allowed}",
        parameters + more,
    ).fetchall()
    memories = {row[0]: to_memory(row) for row in found}
    return tuple(memories[each] for each in asked if each in memories)


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
        f"SELECT key FROM memories WHERE {where} ORDER BY created_at DESC, id DESC LIMIT ?",  # noqa: S608 - placeholders
        [*parameters, limit],
    ).fetchall()
    return _versions(cursor, [key for (key,) in keys])


def _versions(cursor: DuckDBPyConnection, keys: Sequence[str]) -> tuple[Memory, ...]:
    if not keys:
        return ()
    wanted, parameters = among("v.key", keys)
    found = cursor.execute(
        f"SELECT {_MEMORY}, v.key FROM versions v WHERE {wanted}",  # noqa: S608 - placeholders
        parameters,
    ).fetchall()
    memories = {row[-1]: to_memory(row[:-1]) for row in found}
    return tuple(memories[key] for key in keys if key in memories)


def history(
    cursor: DuckDBPyConnection, memory_id: str, scopes: Sequence[Scope]
) -> tuple[Memory, ...]:
    """Every version of one memory, oldest first. Scans the table: not for the hot path."""
    allowed, parameters = among("v.scope", scope_texts(scopes))
    found = cursor.execute(
        f"SELECT {_MEMORY} FROM versions v WHERE v.id = ? AND {allowed} ORDER BY v.version",  # noqa: S608 - placeholders
        [memory_id, *parameters],
    ).fetchall()
    return tuple(to_memory(row) for row in found)


def find_hash(
    cursor: DuckDBPyConnection, content_hash: str, scope: Scope, namespace: str, now: datetime
) -> Memory | None:
    """The oldest memory with that text that is valid at ``now`` and not superseded."""
    print_ = fingerprint(str(scope), namespace, content_hash)
    if print_ is None:
        return None
    keys = cursor.execute(
        f"SELECT key FROM memories WHERE fingerprint = ? AND {_VALID} ORDER BY id",  # noqa: S608 - constants
        [print_, naive(now), naive(now)],
    ).fetchall()
    same = (content_hash, scope, namespace)
    for memory in _versions(cursor, [key for (key,) in keys]):
        if (memory.content_hash, memory.scope, memory.namespace) == same:
            return memory
    return None


def usage(cursor: DuckDBPyConnection, ids: Sequence[str]) -> dict[str, Usage]:
    """How often each of ``ids`` was used; those that are not there are left out."""
    if not ids:
        return {}
    wanted, parameters = among("id", ids)
    found = cursor.execute(
        f"SELECT id, times_injected, last_used FROM memories WHERE {wanted}",  # noqa: S608 - placeholders
        parameters,
    ).fetchall()
    return {row[0]: Usage(row[1], aware(row[2]) if row[2] else None) for row in found}


def counts(cursor: DuckDBPyConnection) -> dict[Scope, int]:
    """How many memories each scope has, forgotten ones not counted."""
    found = cursor.execute(
        "SELECT scope, count(*) FROM memories WHERE forgotten_at IS NULL GROUP BY scope"
    ).fetchall()
    return {to_scope(scope): count for scope, count in found}
