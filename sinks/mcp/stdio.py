"""One MCP connection's bytes: a message a line, in and out, and nothing that a client can break.

What is no message is answered with the protocol's error. A client that asks more and more without
reading is not read from any longer, and one that does not read at all is left.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator

import anyio
import mcp_types as types
from anyio.abc import ByteSendStream
from anyio.streams.buffered import BufferedByteReceiveStream
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import ServerMessageMetadata, SessionMessage

MAX_LINE = 16 * 1024 * 1024
CHUNK = 1 << 16
# A client that takes so long to read what it is sent reads nothing.
WRITE_S = 30.0
# So many requests of one client are worked on at a time; the next one waits in its pipe.
MAX_OPEN = 64

Incoming = MemoryObjectSendStream[SessionMessage | Exception]
Outgoing = MemoryObjectReceiveStream[SessionMessage]


class BadMessage(ValueError):
    """A line that is no message: the error code, and the id of its request where it has one."""

    def __init__(self, code: int, why: str, request_id: str | int | None = None) -> None:
        super().__init__(why)
        self.code = code
        self.request_id = request_id


def read_message(line: bytes) -> types.JSONRPCMessage:
    """The message in ``line``. Raises ``BadMessage``.

    Half a character (a lone surrogate) becomes a question mark.
    """
    try:
        message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
    except ValueError:  # pydantic's
        return _mended(line)
    is_notification = isinstance(message, types.JSONRPCNotification)
    # What has an id that is none was meant as a request, and would wait for its answer.
    if is_notification and b'"id"' in line and "id" in json.loads(line):
        raise BadMessage(types.INVALID_REQUEST, "Invalid Request")
    return message


def _mended(line: bytes) -> types.JSONRPCMessage:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        raise BadMessage(types.PARSE_ERROR, "Parse error") from None
    try:
        mended = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return types.jsonrpc_message_adapter.validate_json(mended, by_name=False)
    except (ValueError, RecursionError):
        raise BadMessage(types.INVALID_REQUEST, "Invalid Request", _id_of(value)) from None


def _id_of(value: object) -> str | int | None:
    given = value.get("id") if isinstance(value, dict) else None
    if isinstance(given, str):
        return given.encode("utf-8", "replace").decode()
    return given if isinstance(given, int) and not isinstance(given, bool) else None


async def lines(source: BufferedByteReceiveStream, limit: int = MAX_LINE) -> AsyncIterator[bytes]:
    """The lines of ``source`` that are not blank; of one that is too long, its beginning.

    What is longer than ``limit`` is never held. A last line without its end is dropped.
    """
    held = bytearray()
    while True:
        try:
            chunk = await source.receive(CHUNK)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            return
        *ends, rest = chunk.split(b"\n")
        for end in ends:
            held += end
            if held.strip():
                yield bytes(held)
            held.clear()
        held += rest
        del held[limit + 1 :]


class LineTransport:
    """One connection. Run ``read`` and ``write`` beside the server that they feed."""

    def __init__(self, source: BufferedByteReceiveStream, target: ByteSendStream) -> None:
        self._source = source
        self._target = target
        self._sending = anyio.Lock()
        self._slots = anyio.Semaphore(MAX_OPEN)

    async def read(self, incoming: Incoming) -> None:
        """Hand every message on until the client leaves, then close ``incoming``."""
        async with incoming:
            async for line in lines(self._source):
                try:
                    if len(line) > MAX_LINE:
                        raise BadMessage(types.INVALID_REQUEST, "Message too large")
                    await self._hand_on(read_message(line), incoming)
                except BadMessage as error:
                    await self._refuse(error)
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async def _hand_on(self, message: types.JSONRPCMessage, incoming: Incoming) -> None:
        if not isinstance(message, types.JSONRPCRequest):
            await incoming.send(SessionMessage(message))
            return
        await self._slots.acquire()
        metadata = ServerMessageMetadata(on_request_unanswered=self._free)
        await incoming.send(SessionMessage(message, metadata))

    async def _free(self) -> None:
        self._slots.release()

    async def write(self, outgoing: Outgoing) -> None:
        """Send every message. Raises ``TimeoutError`` for a client that does not read."""
        async with outgoing:
            async for each in outgoing:
                message = each.message
                data = message.model_dump_json(by_alias=True, exclude_unset=True)
                await self._send(data.encode())
                if isinstance(message, (types.JSONRPCResponse, types.JSONRPCError)):
                    self._slots.release()

    async def _refuse(self, error: BadMessage) -> None:
        told = {"code": error.code, "message": str(error)}
        answer = {"jsonrpc": "2.0", "id": error.request_id, "error": told}
        await self._send(json.dumps(answer).encode())

    async def _send(self, data: bytes) -> None:
        with anyio.fail_after(WRITE_S):
            async with self._sending:
                await self._target.send(data + b"\n")
