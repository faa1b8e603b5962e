"""The errors of the team's server, in sentences that say what to do."""

from __future__ import annotations

from typing import cast

import psycopg
from psycopg import errors

from ...store.writes import ForeignScope
from ..protocol import (
    SENT_LATER,
    ForgetRefused,
    Locked,
    QuotaExceeded,
    Reason,
    TeamUnavailable,
)

# What a server says about who connects, in the language of its messages; where that is another,
# libpq still knows whether a password was asked for.
_REFUSALS = ("password", "authentication", "role ", "pg_hba.conf", "no pg_hba")
# What is said of the server itself, also to who gave the right password: by libpq, by PostgreSQL,
# and by PgBouncer before it.
_OF_ITSELF = {
    "server does not support SSL": "no_tls",
    "session is read-only": "read_only",
    "hot standby mode": "read_only",
    "starting up": "unreachable",
    "shutting down": "unreachable",
    "slots are reserved": "unreachable",
    "too many connections": "unreachable",
    "cannot connect to server": "unreachable",
    "server login": "unreachable",
    "query_wait_timeout": "unreachable",
}
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
_FOREIGN_SCOPE, _NO_TEAM, _QUOTA, _NOT_YOURS = "SC001", "SC002", "SC003", "SC004"
_FULL_LIST = "SC005"
_REFUSED: dict[str, type[ForeignScope | ForgetRefused]] = {
    _FOREIGN_SCOPE: ForeignScope,
    _NOT_YOURS: ForgetRefused,
}

_MESSAGES = {
    # The URL is not repeated, for it may hold a password.
    "bad_address": (
        "the address of the team's server cannot be read. It has the form "
        "postgresql://ROLE@HOST:5432/DATABASE, and is set as [team] url or SUBCOG_TEAM_URL; a "
        "service that it or PGSERVICE names must be in the service file."
    ),
    "unreachable": f"the team's server {{server}} does not answer.{SENT_LATER}",
    "no_tls": (
        "the server at {server} speaks no TLS, and nothing is sent over a network without it. "
        "Whoever runs it sets ssl = on, ssl_cert_file and ssl_key_file in postgresql.conf; or "
        "reach it through a tunnel that ends at 127.0.0.1, and put that into [team] url."
    ),
    "timeout": ("the team's server {server} took too long to answer. It will be asked again."),
    "read_only": (
        "the server at {server} is a read-only standby, or was set to read-only, and takes "
        "nothing. What you capture is kept here and sent when it takes changes again. Where "
        "another is the primary now, put that into [team] url, or all: HOST:PORT,HOST:PORT."
    ),
    "quota": (
        "the team's server {server} takes no more from you today: what a member may add a day is "
        "used up. The rest is kept here and sent after 00:00 UTC; whoever runs the server can "
        "raise it (`subcog help team`)."
    ),
    "full_list": (
        "you have as many projects on the list of {server} as one member may. Take some off with "
        "`subcog team unshare`; whoever runs the server can raise the number (`subcog help team`)."
    ),
    "locked": (
        "an open transaction on {server} holds some of what you changed. All else is sent, and "
        "that is tried again; whoever runs the server can find and end the transaction "
        "(`subcog help team`, long transactions)."
    ),
    "refused": (
        "the team's server {server} refuses the role or its password. Put the right ones into "
        "[team] url, or the password into ~/.pgpass (readable by you alone)."
    ),
    "no_database": ("there is no database {server}. Look at the end of the team's URL."),
    "no_member": (
        "your role on {server} is in no team. Ask whoever runs the server to add you: "
        "`subcog team init --member NAME`."
    ),
    "no_schema": (
        "the database {server} has no tables for subcog, or older ones than this version needs. "
        "Whoever runs the server creates and upgrades them with `subcog team init`."
    ),
    "restored": (
        "the database {server} was restored from another server's backup. Whoever runs it makes "
        "it usable with `subcog team init`; nothing is sent or fetched before that."
    ),
    "incomplete": (
        "the tables in {server} are not whole: {missing} is missing, as after a restore into a "
        "database without the extension vector. Drop the schema subcog there, create the "
        "extension, and restore the backup again (`subcog help team`)."
    ),
    "newer_schema": (
        "the tables on {server} have version {found}, this subcog knows versions up to {known}. "
        "Update subcog on this machine."
    ),
    "no_pgvector": (
        "the server of {server} lacks the extension pgvector (0.8 or later). Install it there, "
        "or ask the administrator to create the extension vector in this database, or to update it "
        "(ALTER EXTENSION vector UPDATE)."
    ),
    "open_schema": (
        "every role of {server} may create functions in the schema {schema}, where pgvector is, "
        "and could so become any member of any team. Take that away first: "
        "REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC."
    ),
    "old_server": ("the server of {server} is older than PostgreSQL 15, which a team needs."),
    "no_owner": (
        "the role that you named may not administer {server}. It has to own the database (or the "
        "schema subcog, if that is there) and to be allowed to create roles."
    ),
    # Of an unexpected error only the class is named, for its message may hold a memory's text.
    "failed": (
        "the team's server {server} failed ({error}). Its log says more; it will be asked again."
    ),
}
# The reason of each kind that is not one itself.
_REASONS: dict[str, Reason] = {
    "bad_address": "unreachable",
    "full_list": "quota",
    "no_database": "no_schema",
    "restored": "no_schema",
    "incomplete": "no_schema",
    "open_schema": "refused",
    "old_server": "failed",
    "no_owner": "refused",
}


def closed() -> TeamUnavailable:
    """The store was closed."""
    return TeamUnavailable("closed", "the connection to the team's server was closed")


def unavailable(kind: str, server: str, **facts: object) -> TeamUnavailable:
    """The error of ``kind``, a key of the messages above, about ``server``."""
    reason = _REASONS.get(kind, cast(Reason, kind))
    return TeamUnavailable(reason, _MESSAGES[kind].format(server=server, **facts))


def failed(server: str, error: psycopg.Error) -> TeamUnavailable:
    """An unexpected error, by its class and SQLSTATE."""
    name = f"{type(error).__name__} {error.sqlstate or ''}".rstrip()
    return unavailable("failed", server, error=name)


def explain_connect(server: str, error: psycopg.Error) -> TeamUnavailable:
    """Why connecting failed."""
    if isinstance(error, errors.ConnectionTimeout):
        return unavailable("timeout", server)
    text = str(error)
    for words, kind in _OF_ITSELF.items():
        if words in text:
            return unavailable(kind, server)
    if all(word in text for word in _NO_DATABASE) and "role " not in text:
        return unavailable("no_database", server)
    asked = error.pgconn is not None and (error.pgconn.needs_password or error.pgconn.used_password)
    if any(word in text for word in _REFUSALS) or asked:
        return unavailable("refused", server)
    return unavailable("unreachable", server)


def explain(server: str, error: psycopg.Error) -> TeamUnavailable | ValueError:
    """The error for the caller of what psycopg raised."""
    if refusal := _REFUSED.get(error.sqlstate or ""):
        return refusal()
    if error.sqlstate == _QUOTA:
        return QuotaExceeded("quota", _MESSAGES["quota"].format(server=server))
    if error.sqlstate == _FULL_LIST:
        return unavailable("full_list", server)
    if isinstance(error, errors.LockNotAvailable):
        return Locked("locked", _MESSAGES["locked"].format(server=server))
    if isinstance(error, _ROW_ERRORS):
        # Without its text, which may be a memory's.
        return ValueError(f"the database refused a memory ({type(error).__name__})")
    return _translate(server, error)


def _translate(server: str, error: psycopg.Error) -> TeamUnavailable:
    state = error.sqlstate or ""
    if state == _NO_TEAM or isinstance(error, errors.InsufficientPrivilege):
        return unavailable("no_member", server)
    if isinstance(error, errors.ReadOnlySqlTransaction):
        return unavailable("read_only", server)
    if isinstance(error, errors.QueryCanceled):
        return unavailable("timeout", server)
    if isinstance(error, _NO_TABLES):
        return unavailable("no_schema", server)
    if state.startswith(_AWAY) or (not state and isinstance(error, psycopg.OperationalError)):
        return unavailable("unreachable", server)
    return failed(server, error)
