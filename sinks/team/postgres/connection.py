"""Connections to the team's server, used from threads that can be left at any moment."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from datetime import datetime
from functools import partial
from ipaddress import ip_address
from itertools import cycle
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import anyio
import msgspec
import psycopg
from anyio import CapacityLimiter
from msgspec import Struct
from psycopg import BaseConnection, Connection
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.errors import ConnectionTimeout
from psycopg.pq import Format, PGconn
from psycopg.types import TypeInfo
from psycopg.types.string import BytesBinaryDumper

from ..protocol import Membership, OtherTeam, TeamUnavailable
from .errors import closed, explain, explain_connect, unavailable

VERSION = 17
"""Of the tables that this subcog works with."""

T = TypeVar("T")

CONNECT_S = 5
MAX_CONNECT_S = 40
STATEMENT_S = 30
_LEAVE_S = STATEMENT_S + CONNECT_S
_MOST = 4

_SESSION = {
    "application_name": "subcog",
    "connect_timeout": CONNECT_S,
    # A dead peer is noticed within 25 s, be it between two questions or during one.
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 25_000,
}
_LIMITS = (
    f"-c statement_timeout={STATEMENT_S}s -c lock_timeout=20s "
    "-c idle_in_transaction_session_timeout=60s"
)

_quoted = partial(quote, safe="")

# Modes of TLS that an attacker on the way, or the server, may turn into none.
_OPEN = ("disable", "allow", "prefer", "")
_HOSTS = ("host", "hostaddr")
_TLS = ("sslmode", "sslrootcert")
_PLACE = ("host", "hostaddr", "port", "sslmode")

HELLO = (
    "SELECT version, team, member, epoch, channel, bm25, halfvec, halfvecs, pg_backend_pid(), "
    "(SELECT created_at FROM subcog.teams t WHERE t.team = me.team) FROM subcog.hello() me"
)
# Of this transaction alone, for a pool gives the connection to somebody else after it.
_LIMIT = (
    f"SET LOCAL statement_timeout = '{STATEMENT_S}s'; SET LOCAL lock_timeout = '20s'; "
    "SET LOCAL idle_in_transaction_session_timeout = '60s'"
)
# Words of a connection pool that takes no settings of a session.
_NO_OPTIONS = "unsupported startup parameter"


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


class Address:
    """Where the server is, and who asks. Raises TeamUnavailable for a URL that is none.

    ``limits`` bound what one statement may take; whoever upgrades large tables goes without.
    ``is_plain``: a pool refused ``options``, so they are left out.
    ``connect_s`` is what connecting may take: five round trips, and more after each time-out.
    """

    def __init__(self, url: str, *, limits: str = _LIMITS) -> None:
        try:
            parts = conninfo_to_dict(url)
        except psycopg.Error:
            raise unavailable("bad_address", "") from None
        reached = _resolved(url)
        places = _places(reached, "localhost")
        self.server = f"{','.join(places)}/{parts.get('dbname') or ''}"
        hosts = {name: ",".join(map(_in_url, reached[name].split(","))) for name in _HOSTS}
        self._authority = ",".join(_places(reached | hosts, ""))
        self._tls = {name: parts[name] for name in _TLS if name in parts}
        settings: dict[str, Any] = _SESSION | {"options": f"{limits} -c timezone=UTC"}
        if len(places) > 1:  # of a primary and its standbys, whichever is which now
            settings["target_session_attrs"] = "read-write"
        settings |= parts
        if not _is_here(reached):  # a password and memories do not travel in the open
            mode = reached.pop("sslmode")
            settings |= {name: value for name, value in reached.items() if value}
            settings["sslmode"] = "require" if mode in _OPEN else mode
        self._conninfo = make_conninfo("", **settings)
        self._plain = make_conninfo("", **(settings | {"options": ""}))
        self.is_plain = False
        self.connect_s = CONNECT_S
        # Of several servers one may be dead, and is waited for before each try of the next.
        self._is_patient = len(places) == 1 and "connect_timeout" not in parts

    def url(self, role: str, password: str, database: str) -> str:
        """By which another role gets to ``database`` there, with the TLS asked for here."""
        who = f"{_quoted(role)}:{_quoted(password)}"
        how = "&".join(f"{name}={_quoted(str(value))}" for name, value in self._tls.items())
        return f"postgresql://{who}@{self._authority}/{_quoted(database)}{how and '?'}{how}"

    @property
    def conninfo(self) -> str:
        """What to connect with."""
        info = self._plain if self.is_plain else self._conninfo
        if not self._is_patient:
            return info
        return make_conninfo(info, connect_timeout=self.connect_s)

    def failed(self, error: psycopg.Error, *, was_plain: bool) -> bool:
        """Note why connecting failed; returns whether to try again at once, without ``options``."""
        if self._is_patient and isinstance(error, ConnectionTimeout):
            self.connect_s = min(2 * self.connect_s, MAX_CONNECT_S)
        refused = _NO_OPTIONS in str(error)
        self.is_plain |= refused
        return refused and not was_plain


def _resolved(url: str) -> dict[str, str]:
    """Where libpq would connect for ``url``, with its environment and service file.

    libpq refuses the last setting, having looked up all others and connected to nothing. Raises
    TeamUnavailable for a service that is not there.
    """
    refused = PGconn.connect_start(make_conninfo(url, target_session_attrs="none").encode())
    try:
        found = {option.keyword.decode(): option.val for option in refused.info}
    finally:
        refused.finish()
    if found["port"] is None:  # it stopped at the service
        raise unavailable("bad_address", "")
    return {name: (found[name] or b"").decode() for name in _PLACE}


def _places(reached: Mapping[str, str], default: str) -> list[str]:
    """host:port of each server; one port may be that of all."""
    hosts = (reached["host"] or reached["hostaddr"] or default).split(",")
    ports = reached["port"].split(",")
    return [f"{host}:{port}" for host, port in zip(hosts, cycle(ports), strict=False)]


def _in_url(host: str) -> str:
    """A name, an address, or the folder of a socket, which libpq takes quoted."""
    return f"[{host}]" if ":" in host else _quoted(host)


def _is_here(reached: Mapping[str, str]) -> bool:
    """Whether every host is this machine, by name and by address; none is libpq's socket."""
    hosts = [*reached["host"].split(","), *reached["hostaddr"].split(",")]
    return all(_is_local(host) for host in hosts if host)


def _is_local(host: str) -> bool:
    """Whether ``host`` is this machine: by its name, a loopback address, or a socket's folder."""
    if host == "localhost" or host.startswith(("/", "@")):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


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


class Connections:
    """A few connections to one server, made when they are needed; only to the team ``joined``.

    Work that is cancelled is left at once: its connection is cut.
    """

    def __init__(self, url: str, joined: Membership | None = None) -> None:
        self.address = Address(url)
        self._joined = joined
        self._lock = threading.Lock()
        self._idle: list[Link] = []
        self._closed = False
        self._limiter: CapacityLimiter | None = None
        self._under_way: list[float] = []
        self._last_s = 0.0

    @property
    def answer_s(self) -> float:
        """How long the last call took, or the oldest one under way takes, if that is longer.

        For any thread.
        """
        now = time.monotonic()
        return max(self._last_s, now - min(tuple(self._under_way), default=now))

    async def run(self, work: Callable[[Link], T]) -> T:
        """What ``work`` returns, from a thread. Raises TeamUnavailable and ValueError."""
        if self._limiter is None:
            self._limiter = CapacityLimiter(_MOST)
        async with self._limiter:
            started = time.monotonic()
            self._under_way.append(started)
            try:
                return await _Call(self, work).result()
            finally:
                self._under_way.remove(started)
                self._last_s = time.monotonic() - started

    def take(self) -> Link:
        """A connection; give it back or drop it."""
        with self._lock:
            if self._closed:
                raise closed()
            if self._idle:
                return self._idle.pop()
        return Link(self.address, self._joined)

    def give_back(self, link: Link) -> None:
        with self._lock:
            if not self._closed and not link.connection.closed:
                self._idle.append(link)
                return
        link.connection.close()

    def drop(self, link: Link) -> None:
        """Close a connection that failed, and with it those that wait: they have the same fate."""
        with self._lock:
            links, self._idle = [link, *self._idle], []
        for each in links:
            each.connection.close()

    def open(self) -> None:
        self._closed = False

    def close(self) -> None:
        with self._lock:
            self._closed = True
            links, self._idle = self._idle, []
        for link in links:
            link.connection.close()


class _Call(Generic[T]):
    """One piece of work on one connection, in a thread that ends with the process.

    A thread of a pool would be waited for at the end, and a server that hangs would hold up the
    daemon's leaving.
    """

    def __init__(self, connections: Connections, work: Callable[[Link], T]) -> None:
        self._connections = connections
        self._work = work
        self._lock = threading.Lock()
        self._link: Link | None = None
        self._unwanted = False

    async def result(self) -> T:
        future: Future[T] = Future()
        threading.Thread(target=self._run, args=(future,), name="subcog-team", daemon=True).start()
        address = self._connections.address
        try:
            with anyio.fail_after(_LEAVE_S + address.connect_s - CONNECT_S):
                return await asyncio.wrap_future(future)
        except TimeoutError:
            raise unavailable("timeout", address.server) from None
        finally:
            self._abandon()

    def _run(self, future: Future[T]) -> None:
        if not future.set_running_or_notify_cancel():
            return
        try:
            future.set_result(self.work())
        except (TeamUnavailable, ValueError) as error:
            future.set_exception(error)
        finally:
            if not future.done():  # a programming error: raise it in the caller as well
                future.set_exception(sys.exception() or RuntimeError("the work was not done"))

    def work(self) -> T:
        link = self._connections.take()
        with self._lock:
            self._link = link
            unwanted = self._unwanted
        try:
            if unwanted:
                raise closed()
            with link.limited():
                result = self._work(link)
        except psycopg.Error as error:
            self._let_go(link)
            raise explain(self._connections.address.server, error) from None
        except BaseException:
            self._let_go(link)
            raise
        self._let_go(link)
        return result

    def _let_go(self, link: Link) -> None:
        with self._lock:
            self._link = None
        if link.connection.broken or link.connection.closed or self._unwanted:
            self._connections.drop(link)
        else:
            self._connections.give_back(link)

    def _abandon(self) -> None:
        with self._lock:
            self._unwanted = True
            if self._link is not None:
                self._link.cut()
