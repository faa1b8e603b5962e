"""What keeps the team's server from answering, in words that say what to do about it."""

from __future__ import annotations

import psycopg
from psycopg import errors

from ...store.writes import ForeignScope
from ..protocol import TeamUnavailable

# What a server says about who connects, in the language of its messages; where that is another,
# libpq still knows whether a password was asked for.
_REFUSALS = ("password", "authentication", "role ", "pg_hba.conf", "no pg_hba")
_NO_DATABASE = ("database ", "does not exist")
# Classes of SQLSTATE that a connection may meet at any time: it is the server that goes or is full.
_AWAY = ("08", "57P")
_ROW_ERRORS = (psycopg.DataError, psycopg.IntegrityError, errors.ProgramLimitExceeded)
_NO_TABLES = (
    errors.InvalidSchemaName,
    errors.UndefinedTable,
    errors.UndefinedFunction,
    errors.UndefinedObject,
)
_FOREIGN_SCOPE, _NO_TEAM = "SC001", "SC002"


def closed() -> TeamUnavailable:
    """The store was closed."""
    return TeamUnavailable("closed", "the connection to the team's server was closed")


def bad_address() -> TeamUnavailable:
    """The URL is none. It is not repeated, for it may hold a password."""
    return TeamUnavailable(
        "unreachable",
        "the address of the team's server cannot be read. It has the form "
        "postgresql://ROLE@HOST:5432/DATABASE, and is set as [team] url or SUBCOG_TEAM_URL.",
    )


def unreachable(server: str) -> TeamUnavailable:
    """Nobody answers, or the connection was lost."""
    return TeamUnavailable(
        "unreachable",
        f"the team's server {server} does not answer. What you capture is kept here and sent when "
        "it does.",
    )


def timeout(server: str) -> TeamUnavailable:
    """It took too long."""
    return TeamUnavailable(
        "timeout", f"the team's server {server} took too long to answer. It will be asked again."
    )


def refused(server: str) -> TeamUnavailable:
    """The server does not let this role in."""
    return TeamUnavailable(
        "refused",
        f"the team's server {server} refuses the role or its password. Put the right ones into "
        "[team] url, or the password into ~/.pgpass (readable by you alone).",
    )


def no_database(server: str) -> TeamUnavailable:
    """There is no such database."""
    return TeamUnavailable(
        "no_schema", f"there is no database {server}. Look at the end of the team's URL."
    )


def no_member(server: str) -> TeamUnavailable:
    """The role is in no team."""
    return TeamUnavailable(
        "no_member",
        f"your role on {server} is in no team. Ask whoever runs the server to add you: "
        "`subcog team init --member NAME`.",
    )


def no_schema(server: str) -> TeamUnavailable:
    """The tables are missing, or older than this subcog."""
    return TeamUnavailable(
        "no_schema",
        f"the database {server} has no tables for subcog, or older ones than this version needs. "
        "Whoever runs the server creates and upgrades them with `subcog team init`.",
    )


def restored(server: str) -> TeamUnavailable:
    """The tables come from another cluster."""
    return TeamUnavailable(
        "no_schema",
        f"the database {server} was restored from another server's backup. Whoever runs it makes "
        "it usable with `subcog team init`; nothing is sent or fetched before that.",
    )


def newer_schema(server: str, found: int, known: int) -> TeamUnavailable:
    """The tables are of a later subcog."""
    return TeamUnavailable(
        "newer_schema",
        f"the tables on {server} have version {found}, this subcog knows versions up to {known}. "
        "Update subcog on this machine.",
    )


def no_pgvector(server: str) -> TeamUnavailable:
    """The extension is not there."""
    return TeamUnavailable(
        "no_pgvector",
        f"the server of {server} lacks the extension pgvector (0.7 or later). Install it there, "
        "or ask the administrator to create the extension vector in this database.",
    )


def open_schema(server: str, schema: str) -> TeamUnavailable:
    """Every role may create objects beside those of pgvector."""
    return TeamUnavailable(
        "refused",
        f"every role of {server} may create functions in the schema {schema}, where pgvector is, "
        "and could so become any member of any team. Take that away first: "
        f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC.",
    )


def old_server(server: str) -> TeamUnavailable:
    """PostgreSQL is too old."""
    return TeamUnavailable(
        "failed", f"the server of {server} is older than PostgreSQL 15, which a team needs."
    )


def no_owner(server: str) -> TeamUnavailable:
    """Whoever initialises may not."""
    return TeamUnavailable(
        "refused",
        f"the role that you named may not administer {server}. It has to own the database (or the "
        "schema subcog, if that is there) and to be allowed to create roles.",
    )


def failed(server: str, error: psycopg.Error) -> TeamUnavailable:
    """Something unexpected; only its kind is told, for the rest may hold text of a memory."""
    state = f" {error.sqlstate}" if error.sqlstate else ""
    return TeamUnavailable(
        "failed",
        f"the team's server {server} failed ({type(error).__name__}{state}). Its log says more; "
        "it will be asked again.",
    )


def refusal(error: psycopg.Error) -> ValueError:
    """What a row that the server does not take is answered with, without its text."""
    return ValueError(f"the database refused a memory ({type(error).__name__})")


def explain_connect(server: str, error: psycopg.Error) -> TeamUnavailable:
    """Why a connection did not come about."""
    if isinstance(error, errors.ConnectionTimeout):
        return timeout(server)
    text = str(error)
    if all(word in text for word in _NO_DATABASE) and "role " not in text:
        return no_database(server)
    asked = error.pgconn is not None and (error.pgconn.needs_password or error.pgconn.used_password)
    if any(word in text for word in _REFUSALS) or (asked and "starting up" not in text):
        return refused(server)
    return unreachable(server)


def explain(server: str, error: psycopg.Error) -> TeamUnavailable | ValueError:
    """What an error of the server means to whoever asked."""
    if error.sqlstate == _FOREIGN_SCOPE:
        return ForeignScope()
    if isinstance(error, _ROW_ERRORS):
        return refusal(error)
    return _unavailable(server, error)


def _unavailable(server: str, error: psycopg.Error) -> TeamUnavailable:
    state = error.sqlstate or ""
    if state == _NO_TEAM or isinstance(error, errors.InsufficientPrivilege):
        return no_member(server)
    if isinstance(error, errors.QueryCanceled):
        return timeout(server)
    if isinstance(error, _NO_TABLES):
        return no_schema(server)
    if state.startswith(_AWAY) or (not state and isinstance(error, psycopg.OperationalError)):
        return unreachable(server)
    return failed(server, error)
