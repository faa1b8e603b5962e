"""One connection to the team's server: made, met with the server's own word of itself, limited."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Any, TypeVar

import msgspec
import psycopg
from msgspec import Struct
from psycopg import BaseConnection, Connection
from psycopg.pq import Format
from psycopg.types import TypeInfo
from psycopg.types.string import BytesBinaryDumper

from ..protocol import Membership, OtherTeam, TeamUnavailable
from .address import STATEMENT_S, Address
from .errors import explain, explain_connect, unavailable

VERSION = 18
"""Of the tables that this subcog works with."""

T = TypeVar("T")

HELLO = (
    "SELECT version, team, member, epoch, channel, bm25, halfvec, halfvecs, pg_backend_pid(), "
    "(SELECT created_at FROM subcog.teams t WHERE t.team = me.team) FROM subcog.hello() me"
)
# Of this transaction alone, for a pool gives the connection to somebody else after it.
_LIMIT = (
    f"SET LOCAL statement_timeout = '{STATEMENT_S}s'; SET LOCAL lock_timeout = '20s'; "
    "SET LOCAL idle_in_transaction_session_timeout = '60s'"
)


class HalfVector(bytes):
    """A ``halfvec`` as the server reads it: count, zero, then big-endian float16."""


class Hello(Struct, frozen=True):
    """What the server reported on connecting."""

    version: int
    team: str
    member: str
    epoch: int | None
    channel: str
    bm25: bool
    halfvec: int
    halfvecs: int
    backend: int
    founded: datetime | None

    def is_pooled(self, connection: BaseConnection[Any]) -> bool:
        """Whether a pool stands between: it has made up the process that it told of.

        Such a connection is another one of the server's in each transaction, so no setting of a
        session, no prepared statement and no LISTEN may be left on it.
        """
        return self.backend != connection.info.backend_pid


def connect(address: Address) -> Connection:
    """A connection that commits each statement. Raises TeamUnavailable."""
    was_plain = address.is_plain
    try:
        return psycopg.connect(address.conninfo, autocommit=True)
    except psycopg.Error as error:
        if not address.failed(error, was_plain=was_plain):
            raise explain_connect(address.server, error) from None
    return connect(address)


def checked(found: Any, kind: type[T]) -> T:
    """``found`` as a ``kind``. Raises psycopg.InternalError where a server tells something else."""
    try:
        return msgspec.convert(found, kind)
    except msgspec.ValidationError:
        raise psycopg.InternalError("the server told something else than it was asked") from None


def greet(found: tuple[Any, ...] | None, server: str) -> Hello:
    """What ``HELLO`` found.

    Raises TeamUnavailable where this subcog cannot work with it, and psycopg.Error.
    """
    if found is None:
        raise unavailable("no_member", server)
    hello = checked(dict(zip(Hello.__struct_fields__, found, strict=True)), Hello)
    if hello.version > VERSION:
        raise unavailable("newer_schema", server, found=hello.version, known=VERSION)
    if hello.version < VERSION:
        raise unavailable("no_schema", server)
    if hello.epoch is None:
        raise unavailable("restored", server)
    return hello


class Link:
    """One connection of a member, ready to be used. Of another team than ``joined`` it is refused.

    Raises TeamUnavailable.
    """

    def __init__(self, address: Address, joined: Membership | None = None) -> None:
        self._server = address.server
        self._joined = joined
        self._halfvec = 0
        self.connection = connect(address)
        try:
            self._is_pooled = self.greet().is_pooled(self.connection)
        except psycopg.Error as error:
            self.connection.close()
            raise explain(address.server, error) from None
        except TeamUnavailable:
            self.connection.close()
            raise
        if self._is_pooled:
            self.connection.prepare_threshold = None

    def greet(self) -> Hello:
        """Ask who is there: behind a pool it may be another server by now.

        Raises TeamUnavailable and psycopg.Error.
        """
        return self._met(self.connection.execute(HELLO).fetchone())

    def _met(self, found: tuple[Any, ...] | None) -> Hello:
        hello = greet(found, self._server)
        if self._joined and not self._joined.is_of(hello.team, hello.founded):
            raise OtherTeam(self._joined.team, hello.team)
        if hello.halfvec != self._halfvec:
            _teach_halfvec(self.connection, hello)
            self._halfvec = hello.halfvec
        return hello

    @contextmanager
    def limited(self) -> Iterator[None]:
        """Meanwhile no statement may take too long, by settings that nobody else gets.

        Behind a pool it asks whose server this is, for that may be another one each time.
        """
        if not self._is_pooled:  # it has them for good
            yield
            return
        with self.connection.transaction():
            cursor = self.connection.execute(f"{_LIMIT}; {HELLO}")
            while cursor.nextset():
                pass
            self._met(cursor.fetchone())
            yield

    def cut(self) -> None:
        """Make a wait for the server on this connection fail at once. Thread-safe."""
        with suppress(OSError, psycopg.Error):
            fd = self.connection.fileno()
            with socket.fromfd(fd, socket.AF_INET, socket.SOCK_STREAM) as double:
                double.shutdown(socket.SHUT_RDWR)


def _teach_halfvec(connection: Connection, hello: Hello) -> None:
    TypeInfo("halfvec", hello.halfvec, hello.halfvecs).register(connection)

    class Dumper(BytesBinaryDumper):
        format = Format.BINARY
        oid = hello.halfvec

    connection.adapters.register_dumper(HalfVector, Dumper)
