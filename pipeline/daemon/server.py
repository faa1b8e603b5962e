"""Accepting clients, and one connection of a client, which can never harm another.

Read frames and answer them.
"""

from __future__ import annotations

import contextlib
import errno
import itertools
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import anyio
from anyio.abc import SocketStream, TaskGroup
from anyio.streams.buffered import BufferedByteReceiveStream

from ...bus.bus import raised_at
from ...bus.frames import MAX_LINE, BadFrame, Head, read_fields, read_head, reply_frame
from ..entrance.handler import HookAnswer

# accept() fails so while no descriptors or buffers are left; they come back when a client leaves.
_EXHAUSTED = (errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM)
_EXHAUSTED_PAUSE_S = 0.1
_FINISH_CHECK_S = 0.01
_ACCEPTED_PER_TURN = 2
# No number of a version has more; Python itself refuses to read one of thousands.
_MAX_DIGITS = 9
_FAILED = b'{"error":"the daemon met an unexpected error; `subcog logs` tells"}'
_log = logging.getLogger(__name__)

Serve = Callable[[SocketStream], Awaitable[None]]
# A request that has begun must arrive whole within this time.
ARRIVAL_S = 10.0
# A connection that is silent for so long is closed; a client connects anew without noticing.
SILENCE_S = 300.0
Answer = Callable[[str, dict[str, str], bytes], Awaitable[HookAnswer]]
Call = Callable[[str, dict[str, str], bytes], Awaitable[tuple[bool, bytes]]]
Converse = Callable[[BufferedByteReceiveStream, SocketStream, dict[str, str]], Awaitable[None]]


class Listener:
    """Accepts from a non-blocking listening socket, a few clients a turn of the event loop.

    One a turn would leave the last of many waiting for as long as it takes to answer the first;
    all at once would let the first wait until all others are accepted. Owns the socket, and its
    file, where ``path`` names that.
    """

    def __init__(self, listening: socket.socket, path: Path | None = None) -> None:
        self._listening = listening
        self._path = path
        self._file = path.stat() if path else None

    async def serve(self, serve: Serve, tasks: TaskGroup) -> None:
        """Start ``serve`` in ``tasks`` for each client; returns when this is closed."""
        while self._listening.fileno() >= 0:
            try:
                await anyio.wait_readable(self._listening)
                for client in itertools.islice(self._waiting(), _ACCEPTED_PER_TURN):
                    tasks.start_soon(_serve, serve, client)
            except anyio.ClosedResourceError:
                return
            except OSError as error:
                if error.errno not in _EXHAUSTED:
                    raise
                _log.error("cannot accept connections", extra={"error": error.strerror})
                await anyio.sleep(_EXHAUSTED_PAUSE_S)

    def close(self) -> None:
        """Close the socket; ``serve`` returns. A file that another socket has is left alone."""
        if self._listening.fileno() < 0:  # it is closed
            return
        anyio.notify_closing(self._listening)
        if self._path and self._file:
            with contextlib.suppress(OSError):
                if os.path.samestat(self._file, self._path.stat()):
                    self._path.unlink()
        self._listening.close()

    def _waiting(self) -> Iterator[socket.socket]:
        while True:
            try:
                client, _ = self._listening.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            yield client


async def _serve(serve: Serve, client: socket.socket) -> None:
    try:
        stream = await SocketStream.from_socket(client)
    except (OSError, ValueError):  # it had gone before it was let in
        client.close()
        _log.debug("a client disconnected")
        return
    await serve(stream)


class Server:
    """Serves connections. ``more_time_ms`` says how long a hook may be told to wait, or 0.

    After the head of an ``mcp`` request the connection is handed over to ``mcp``. Of a client of a
    newer version, or of a command line of another build, ``other_client`` tells, and
    ``newer_command`` too where it is a command line of a newer version.
    """

    def __init__(
        self,
        *,
        version: str,
        build: str,
        hook: Answer,
        call: Call,
        mcp: Converse,
        more_time_ms: Callable[[], int],
    ) -> None:
        self._version = version
        self._build = build
        self._hook = hook
        self._call = call
        self._mcp = mcp
        self._more_time_ms = more_time_ms
        self.connections = 0
        self._answering = 0
        self.last_seen = anyio.current_time()
        self.other_client = anyio.Event()
        self.newer_command = anyio.Event()

    async def finish(self) -> None:
        """Wait until no request is being answered."""
        while self._answering:  # noqa: ASYNC110 - at a daemon's end alone
            await anyio.sleep(_FINISH_CHECK_S)

    async def serve(self, stream: SocketStream) -> None:
        """Serve one client until it leaves."""
        self.connections += 1
        try:
            async with stream:
                await self._converse(stream)
        except BadFrame as error:
            _log.warning("a client sent a malformed frame", extra={"problem": str(error)})
        except (anyio.EndOfStream, anyio.IncompleteRead, anyio.DelimiterNotFound):
            _log.debug("a client disconnected during a request")
        except (anyio.BrokenResourceError, anyio.ClosedResourceError):
            _log.debug("a client disconnected")
        except TimeoutError:
            _log.warning("a client did not complete its request in time")
        except Exception as error:  # noqa: BLE001 - one client's bad luck; the others are served
            facts = {"error": type(error).__name__, "at": raised_at(error.__traceback__)}
            _log.error("a request failed unexpectedly", extra=facts)
        finally:
            self.connections -= 1
            self.last_seen = anyio.current_time()

    async def _converse(self, stream: SocketStream) -> None:
        inbox = BufferedByteReceiveStream(stream)
        while True:
            with anyio.move_on_after(SILENCE_S) as silence:
                first = await inbox.receive_exactly(1)
            if silence.cancelled_caught:
                return
            head, fields, body = await _read_request(inbox, first)
            self.last_seen = anyio.current_time()
            if head.kind == "mcp":
                self._compare(head.kind, fields)
                await self._mcp(inbox, stream, fields)
                return
            self._answering += 1
            try:
                self._compare(head.kind, fields)
                if head.kind == "hook":
                    await self._answer_hook(stream, inbox, head.name, fields, body)
                    return
                await self._answer_call(stream, head.name, fields, body)
            finally:
                self._answering -= 1

    async def _answer_call(
        self, stream: SocketStream, name: str, fields: dict[str, str], body: bytes
    ) -> None:
        """Answer a call; one that fails unexpectedly is answered with an error, and raises."""
        done, answer = False, _FAILED
        try:
            done, answer = await self._call(name, fields, body)
        finally:
            await stream.send(reply_frame("ok" if done else "error", self._version, answer))

    async def _answer_hook(
        self,
        stream: SocketStream,
        inbox: BufferedByteReceiveStream,
        event: str,
        fields: dict[str, str],
        body: bytes,
    ) -> None:
        if more_ms := self._more_time_ms():
            await stream.send(reply_frame("wait", str(more_ms)))
        answer: HookAnswer | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_hung_up, inbox, tasks.cancel_scope)
            answer = await self._hook(event, fields, body)
            tasks.cancel_scope.cancel()
        if answer is not None:
            status = "ok" if answer.is_settled else "unsettled"
            try:
                await stream.send(reply_frame(status, self._version, answer.body))
                await stream.send(b"")  # asyncio raises what a send met at the next one
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                answer.take_back()
                raise

    def _compare(self, kind: str, fields: dict[str, str]) -> None:
        if parse_version(fields.get("version", "")) > parse_version(self._version):
            self.other_client.set()
            if kind == "call":
                self.newer_command.set()
        elif fields.get("build", self._build) != self._build:
            self.other_client.set()


async def _read_request(
    inbox: BufferedByteReceiveStream, first: bytes
) -> tuple[Head, dict[str, str], bytes]:
    with anyio.fail_after(ARRIVAL_S):
        head = read_head(first + await inbox.receive_until(b"\n", MAX_LINE))
        fields = read_fields(await inbox.receive_exactly(head.fields) if head.fields else b"")
        return head, fields, await inbox.receive_exactly(head.body) if head.body else b""


async def _until_hung_up(inbox: BufferedByteReceiveStream, scope: anyio.CancelScope) -> None:
    try:
        await inbox.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        scope.cancel()


def parse_version(text: str) -> tuple[int, ...]:
    """``1.10.2`` as numbers that compare; what is no version is older than everything."""
    parts = text.split(".")
    is_version = all(part.isdecimal() and len(part) <= _MAX_DIGITS for part in parts)
    return tuple(map(int, parts)) if is_version else ()
