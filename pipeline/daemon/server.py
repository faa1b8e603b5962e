"""One connection of a client: read frames, answer them, and never let one client harm another."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

import anyio
from anyio.abc import SocketStream
from anyio.streams.buffered import BufferedByteReceiveStream

from ...bus.frames import MAX_LINE, BadFrame, Head, read_fields, read_head, reply_frame

# A request that has begun must arrive whole within this time.
ARRIVAL_S = 10.0
# A connection that is silent for so long is closed; a client connects anew without noticing.
SILENCE_S = 300.0
_log = logging.getLogger(__name__)

Answer = Callable[[str, dict[str, str], bytes], Awaitable[bytes]]
Call = Callable[[str, dict[str, str], bytes], Awaitable[tuple[bool, bytes]]]
Converse = Callable[[BufferedByteReceiveStream, SocketStream, dict[str, str]], Awaitable[None]]


class Server:
    """Serves connections. ``more_time_ms`` says how long a hook may be told to wait, or 0.

    After the head of an ``mcp`` request the connection is handed over to ``mcp``.
    """

    def __init__(
        self,
        *,
        version: str,
        hook: Answer,
        call: Call,
        mcp: Converse,
        more_time_ms: Callable[[], int],
    ) -> None:
        self._version = version
        self._hook = hook
        self._call = call
        self._mcp = mcp
        self._more_time_ms = more_time_ms
        self.connections = 0
        self.last_seen = anyio.current_time()
        self.newer_client = anyio.Event()

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
            _log.error("a request failed unexpectedly", extra={"error": type(error).__name__})
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
            self._compare(fields.get("version", ""))
            if head.kind == "hook":
                await self._answer_hook(stream, inbox, head.name, fields, body)
                return
            if head.kind == "mcp":
                await self._mcp(inbox, stream, fields)
                return
            done, answer = await self._call(head.name, fields, body)
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
        answer: bytes | None = None
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(_until_hung_up, inbox, tasks.cancel_scope)
            answer = await self._hook(event, fields, body)
            tasks.cancel_scope.cancel()
        if answer is not None:
            await stream.send(reply_frame("ok", self._version, answer))

    def _compare(self, version: str) -> None:
        if parse_version(version) > parse_version(self._version):
            self.newer_client.set()


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
    return tuple(map(int, parts)) if all(part.isdecimal() for part in parts) else ()
