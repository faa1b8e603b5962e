"""The tables on the server, as numbered steps from an empty database on."""

from __future__ import annotations

from importlib.resources import files

import psycopg
from psycopg import Connection, sql

from .errors import unavailable

VERSION = 6
"""Of the tables that this subcog works with."""

OLDEST_SERVER = 150_000
"""PostgreSQL 15: before it, everybody may create objects in the schema ``public``."""

_OLDEST_PGVECTOR = (0, 7)

_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS migrations "
    "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
)
_BM25 = (
    # What was put before the extension came has its words only as text search keeps them.
    "UPDATE memories SET words = array_to_string(tsvector_to_array(found_by), ' ') "
    "WHERE words IS NULL AND found_by IS NOT NULL",
    "CREATE INDEX IF NOT EXISTS memories_by_bm25 ON memories "
    "USING bm25 (words) WITH (text_config = 'english')",
)


def steps() -> list[str]:
    """The SQL files in order; the first is version 1."""
    folder = files(__package__)
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(".sql"))
    return [(folder / name).read_text() for name in names]


def migrate(connection: Connection, server: str) -> tuple[int, int]:
    """Bring the tables to ``VERSION``, one transaction a step; the versions before and after.

    For the owner. Raises TeamUnavailable where the tables are newer, or pgvector is missing.
    """
    # Of two who call this at once one waits until the other's connection ends.
    connection.execute("SELECT pg_advisory_lock(hashtext('subcog.migrate'))")
    with connection.transaction():
        extension = _bring_pgvector(connection, server)
        connection.execute("CREATE SCHEMA IF NOT EXISTS subcog")
        _set_path(connection, extension)
        connection.execute(_MIGRATIONS)
        before = _version(connection)
    if before > VERSION:
        raise unavailable("newer_schema", server, found=before, known=VERSION)
    for version, step in enumerate(steps()[before:], before + 1):
        with connection.transaction():
            _set_path(connection, extension)
            connection.execute(step.encode())
            connection.execute("INSERT INTO migrations (version) VALUES (%s)", [version])
    return before, VERSION


def bring_bm25(connection: Connection) -> bool:
    """Index the words by pg_textsearch where that can be used; whether it can."""
    found = connection.execute(
        "SELECT FROM pg_available_extensions WHERE name = 'pg_textsearch'"
    ).fetchone()
    if found is None:
        return False
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS pg_textsearch")
            connection.execute("SET LOCAL search_path = subcog, public")
            for step in _BM25:
                connection.execute(step)
    except psycopg.DatabaseError:  # it is there, but not loaded when the server starts
        return False
    return True


def _version(connection: Connection) -> int:
    [newest] = connection.execute("SELECT max(version) FROM migrations").fetchone() or (0,)
    return int(newest or 0)


def _set_path(connection: Connection, extension: str) -> None:
    """Where names are looked up in this transaction, and in every function made in it."""
    connection.execute(
        sql.SQL("SET LOCAL search_path = subcog, pg_catalog, {}, pg_temp").format(
            sql.Identifier(extension)
        )
    )


def _bring_pgvector(connection: Connection, server: str) -> str:
    """The schema that the extension is in, which all functions look into."""
    try:
        with connection.transaction():
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    except psycopg.Error:
        raise unavailable("no_pgvector", server) from None
    [schema, version, is_open] = connection.execute(
        "SELECT nspname, extversion, has_schema_privilege('public', n.oid, 'CREATE') "
        "FROM pg_extension JOIN pg_namespace n ON n.oid = extnamespace WHERE extname = 'vector'"
    ).fetchone() or ("public", "0.0", False)
    if tuple(map(int, version.split(".")[:2])) < _OLDEST_PGVECTOR:
        raise unavailable("no_pgvector", server)
    if is_open:  # whoever may put a function there has the tables' owner call it
        raise unavailable("open_schema", server, schema=schema)
    return str(schema)
