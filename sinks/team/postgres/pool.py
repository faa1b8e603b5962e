"""A few connections to the team's server, used from threads that can be left at any moment."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Generic, TypeVar

import anyio
import psycopg
from anyio import CapacityLimiter

from ..protocol import Membership, TeamUnavailable
from .address import CONNECT_S, STATEMENT_S, Address
from .connection import Link
from .errors import closed, explain, unavailable

T = TypeVar("T")
_LEAVE_S = STATEMENT_S + CONNECT_S
_MOST = 4


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
                return self._work(link)
        except psycopg.Error as error:
            raise explain(self._connections.address.server, error) from None
        finally:
            self._let_go(link)

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
