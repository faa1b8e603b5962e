"""Administration of the server: creating and upgrading the tables, adding members.

The tables are made in numbered steps from an empty database on.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.resources import files

import psycopg
from msgspec import Struct
from psycopg import Connection, sql

from ..protocol import TextSearch
from .address import Address
from .connection import VERSION, connect
from .errors import explain, unavailable

OLDEST_SERVER = 150_000
"""PostgreSQL 15: before it, everybody may create objects in the schema ``public``."""

# Before it, a search of the graph could not go on until it had found enough in the asked scopes.
_OLDEST_PGVECTOR = (0, 8)

_MIGRATIONS = (
    "CREATE TABLE IF NOT EXISTS migrations "
    "(version integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now())"
)
_MADE = re.compile(r"^CREATE (?:OR REPLACE )?(?:TABLE|FUNCTION) (\w+)", re.MULTILINE)
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
    with _alone(connection):
        extension = _bring_pgvector(connection, server)
        connection.execute("CREATE SCHEMA IF NOT EXISTS subcog")
        _set_path(connection, extension)
        connection.execute(_MIGRATIONS)
        before = _version(connection)
        if before > VERSION:
            raise unavailable("newer_schema", server, found=before, known=VERSION)
        _require_whole(connection, server, before)
    for version, step in enumerate(steps()[before:], before + 1):
        with _alone(connection):
            _set_path(connection, extension)
            if _version(connection) < version:  # else somebody else did it meanwhile
                connection.execute(step.encode())
                connection.execute("INSERT INTO migrations (version) VALUES (%s)", [version])
    return before, VERSION


def _require_whole(connection: Connection, server: str, version: int) -> None:
    """Raise TeamUnavailable where something is missing of what the first ``version`` steps made."""
    made = {name for step in steps()[:version] for name in _MADE.findall(step)}
    missing = connection.execute(
        "SELECT min(name) FROM unnest(%s::text[]) AS made (name) "
        "WHERE to_regclass('subcog.' || name) IS NULL AND NOT EXISTS (SELECT FROM pg_proc p "
        "WHERE p.proname = name AND p.pronamespace = 'subcog'::regnamespace)",
        [list(made)],
    ).fetchone()
    if missing and missing[0]:
        raise unavailable("incomplete", server, missing=missing[0])


@contextmanager
def _alone(connection: Connection) -> Iterator[None]:
    """One transaction, of nobody else at the same time; a pool between may give it away after."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(hashtext('subcog.migrate'))")
        yield


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


_GROUP = "subcog_member"
# Of a longer name the server would take the beginning.
_MAX_ROLE_BYTES = 63
_NO_ROLES = ("public", "none")
# Of whatever a new member's login does: a transaction that has written holds up what all receive.
# The second is known since PostgreSQL 17.
_MEMBER_LIMITS = {"idle_in_transaction_session_timeout": "60s", "transaction_timeout": "5min"}
_PASSWORD_BYTES = 24

make_password = partial(secrets.token_urlsafe, _PASSWORD_BYTES)
"""A random password."""


class NewMember(Struct, frozen=True):
    """A member, and the role of the server that it is.

    ``url`` has a password that was made now and is told this once; it is empty where the role was
    there before.
    """

    name: str
    role: str
    url: str


class Initialised(Struct, frozen=True):
    """What ``init`` found and did. ``upgraded_from`` is 0 where the tables were created."""

    team: str
    server: str
    version: int
    upgraded_from: int
    epoch: int
    members: tuple[NewMember, ...]
    text_search: TextSearch


def init(
    url: str,
    team: str,
    members: Sequence[str],
    *,
    password: Callable[[], str] = make_password,
) -> Initialised:
    """Create or upgrade the tables in the database at ``url``, the team, and its members.

    ``url`` is of a role that may create extensions, schemas and roles, and owns what was created
    before. Each member becomes a login role of that name, with a made password; a role that is
    there keeps its own. What exists stays as it is, so it may be called again.

    Raises TeamUnavailable where that cannot be done, and ValueError for a name that cannot be one,
    or for a member of another team.
    """
    _require_names(team, members)
    address = Address(url, limits="")
    connection = connect(address)
    connection.prepare_threshold = None  # a pool would not find what was prepared
    try:
        if connection.info.server_version < OLDEST_SERVER:
            raise unavailable("old_server", address.server)
        return _init(connection, address, team, members, password)
    except psycopg.errors.InsufficientPrivilege:
        raise unavailable("no_owner", address.server) from None
    except psycopg.Error as error:
        raise explain(address.server, error) from None
    finally:
        connection.close()


def _require_names(team: str, members: Sequence[str]) -> None:
    """Raise ValueError where one is empty or hides something, or the server has no such roles."""
    if not team or not all(members):
        raise ValueError("a team and its members need names")
    for name in (team, *members):
        if not name.isprintable():
            raise ValueError(f"{name!r} is no name: it has characters that are not shown")
    for name in members:
        if len(name.encode()) > _MAX_ROLE_BYTES or name.startswith("pg_") or name in _NO_ROLES:
            raise ValueError(
                f"{name} cannot be a role of PostgreSQL, whose names have at most "
                f"{_MAX_ROLE_BYTES} bytes and do not begin with pg_: choose another name"
            )


def _init(
    connection: Connection,
    address: Address,
    team: str,
    members: Sequence[str],
    password: Callable[[], str],
) -> Initialised:
    before, version = migrate(connection, address.server)
    bm25 = bring_bm25(connection)
    with connection.transaction():
        [epoch] = connection.execute("SELECT subcog.renew_feed()").fetchone() or (0,)
        connection.execute(
            "INSERT INTO subcog.teams (team) VALUES (%s) ON CONFLICT DO NOTHING", [team]
        )
        added = tuple(_admit(connection, address, team, name, password) for name in members)
    return Initialised(
        team=team,
        server=address.server,
        version=version,
        upgraded_from=before,
        epoch=epoch,
        members=added,
        text_search="bm25" if bm25 else "native",
    )


def _admit(
    connection: Connection, address: Address, team: str, name: str, password: Callable[[], str]
) -> NewMember:
    known = connection.execute("SELECT team FROM subcog.members WHERE role = %s", [name]).fetchone()
    if known and known != (team,):
        raise ValueError(f"the role {name} is in another team already: choose another name")
    there = connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [name]).fetchone()
    secret = "" if there is not None else password()
    if secret:
        _create_role(connection, name, secret)
    connection.execute(sql.SQL("GRANT {} TO {}").format(*map(sql.Identifier, (_GROUP, name))))
    connection.execute(
        "INSERT INTO subcog.members (role, team, member) VALUES (%s, %s, %s) "
        "ON CONFLICT DO NOTHING",
        [name, team, name],
    )
    url = address.url(name, secret, connection.info.dbname) if secret else ""
    return NewMember(name, name, url)


def _create_role(connection: Connection, name: str, secret: str) -> None:
    """The server gets a verifier, so that its log never has the password."""
    verifier = connection.pgconn.encrypt_password(
        secret.encode(), name.encode(), b"scram-sha-256"
    ).decode()
    connection.execute(
        sql.SQL("CREATE ROLE {} LOGIN PASSWORD {}").format(
            sql.Identifier(name), sql.Literal(verifier)
        )
    )
    for limit, value in _MEMBER_LIMITS.items():
        known = connection.execute("SELECT FROM pg_settings WHERE name = %s", [limit]).fetchone()
        if known is not None:
            connection.execute(
                sql.SQL("ALTER ROLE {} SET {} = {}").format(
                    sql.Identifier(name), sql.Identifier(limit), sql.Literal(value)
                )
            )
