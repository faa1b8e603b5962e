"""Accepts whoever waits at a socket, a few a turn of the event loop.

One a turn would leave the last of many standing for as long as it takes to answer the first; all at
once, and those who were let in first would wait for the others to be greeted.
"""

from __future__ import annotations

import errno
import itertools
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator

import anyio
from anyio.abc import SocketStream, TaskGroup

# No descriptors or buffers are left: they come back when somebody leaves.
_FULL = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_PAUSE_S = 0.1
_A_TURN = 2
_log = logging.getLogger(__name__)

Serve = Callable[[SocketStream], Awaitable[None]]


class Listener:
    """A listening socket that does not block, which this closes."""

    def __init__(self, listening: socket.socket) -> None:
        self._listening = listening

    async def serve(self, serve: Serve, tasks: TaskGroup) -> None:
        """Start ``serve`` in ``tasks`` for each client; returns when this is closed."""
        while self._listening.fileno() >= 0:
            try:
                await anyio.wait_readable(self._listening)
                for client in itertools.islice(self._waiting(), _A_TURN):
                    tasks.start_soon(_serve, serve, client)
            except anyio.ClosedResourceError:
                return
            except OSError as error:
                if error.errno not in _FULL:
                    raise
                _log.error("no more clients can be accepted", extra={"error": error.strerror})
                await anyio.sleep(_PAUSE_S)

    def close(self) -> None:
        """Accept nobody any more."""
        anyio.notify_closing(self._listening)
        self._listening.close()

    def _waiting(self) -> Iterator[socket.socket]:
        while True:
            try:
                client, _ = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            yield client


async def _serve(serve: Serve, client: socket.socket) -> None:
    await serve(await SocketStream.from_socket(client))
