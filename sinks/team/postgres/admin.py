"""Administration of the server: creating and upgrading the tables, adding members."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from functools import partial
from urllib.parse import quote

import psycopg
from msgspec import Struct
from psycopg import Connection, sql

from ..protocol import TextSearch
from .connection import Address, connect
from .errors import explain, unavailable
from .schema import OLDEST_SERVER, bring_bm25, migrate

_GROUP = "subcog_member"
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

    Raises TeamUnavailable where that cannot be done, and ValueError for an empty name, or for a
    member of another team.
    """
    address = Address(url, limits="")
    if not team or not all(members):
        raise ValueError("a team and its members need names")
    connection = connect(address)
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
    url = f"postgresql://{quote(name)}:{quote(secret)}@{address.server}" if secret else ""
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
