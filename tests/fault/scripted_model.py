"""An OpenAI-compatible server on loopback that answers exactly as badly as a test wants it to."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

import anyio
from anyio.abc import SocketStream
from anyio.from_thread import BlockingPortal, start_blocking_portal

LOCATION = {"intent_type": "location", "topics": ["scripted topic"], "confidence": 0.97}
MEGABYTE = 1_000_000

Send = Callable[[SocketStream], Awaitable[None]]


def completion(content: str) -> bytes:
    """A chat completion whose one message is ``content``."""
    message = {"role": "assistant", "content": content}
    body = {
        "id": "c",
        "object": "chat.completion",
        "created": 1,
        "model": "m",
        "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
    }
    return json.dumps(body).encode()


def reply(body: bytes, *, status: str = "200 OK", kind: str = "application/json", more: str = ""):
    head = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def after(delay_s: float, answer: object = LOCATION) -> Send:
    """Say ``answer`` after so long."""

    async def send(stream: SocketStream) -> None:
        await anyio.sleep(delay_s)
        await stream.send(reply(completion(json.dumps(answer))))

    return send


def once(allowed: threading.Event) -> Send:
    """Say it as soon as it is ``allowed``, however slow the machine is."""

    async def send(stream: SocketStream) -> None:
        await anyio.to_thread.run_sync(allowed.wait, abandon_on_cancel=True)
        await after(0.0)(stream)

    return send


def at_once(data: bytes, *, hang_up: bool = False) -> Send:
    """Send these bytes, and then perhaps close the connection."""

    async def send(stream: SocketStream) -> None:
        await stream.send(data)
        if hang_up:
            await stream.aclose()

    return send


async def never(stream: SocketStream) -> None:
    await anyio.sleep_forever()


async def a_byte_a_second(stream: SocketStream) -> None:
    for byte in reply(completion(json.dumps(LOCATION))):
        await stream.send(bytes([byte]))
        await anyio.sleep(1)


_ERROR = b'{"error": {"message": "scripted", "type": "x"}}'
BEHAVIOURS: dict[str, Send] = {
    "20 ms": after(0.02),
    "150 ms": after(0.15),
    "199 ms": after(0.199),
    "250 ms": after(0.25),
    "1 s": after(1.0),
    "never": never,
    "a byte a second": a_byte_a_second,
    "500": at_once(reply(_ERROR, status="500 Internal Server Error")),
    "429": at_once(reply(_ERROR, status="429 Too Many Requests", more="Retry-After: 1\r\n")),
    "closed mid-body": at_once(reply(completion("{}"))[:-20], hang_up=True),
    "HTML": at_once(reply(b"<html>It works!</html>", kind="text/html")),
    "wrong shape": after(0.0, {"kind": "location", "sure": True}),
    "a megabyte": at_once(reply(completion("x" * MEGABYTE))),
}


class ScriptedModel:
    """``send`` is what answers the next question; ``asked`` keeps every question's body."""

    def __init__(self, portal: BlockingPortal) -> None:
        self._portal = portal
        self.send: Send = BEHAVIOURS["20 ms"]
        self.asked: list[dict] = []
        self.keys: list[str] = []
        self.connections = 0
        self.accepted = 0
        self.answering = 0
        self.port = 0
        self._scope: anyio.CancelScope | None = None

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def up(self) -> None:
        """Listen, on the same port as before."""
        self._portal.start_task(self._listen)

    def down(self) -> None:
        """Close every connection, and refuse new ones."""
        if self._scope is not None:
            self._portal.call(self._scope.cancel)

    async def _listen(self, *, task_status) -> None:
        with anyio.CancelScope() as self._scope:
            listener = await anyio.create_tcp_listener(
                local_host="127.0.0.1", local_port=self.port, reuse_port=False
            )
            async with listener:
                self.port = listener.extra(anyio.abc.SocketAttribute.local_port)
                task_status.started()
                await listener.serve(self._serve)

    async def _serve(self, stream: SocketStream) -> None:
        self.connections += 1
        self.accepted += 1
        try:
            async with stream:
                while True:
                    head, question = await _read_request(stream)
                    self.keys += re.findall(r"(?im)^authorization: (.*?)\r?$", head)
                    self.asked.append(question)
                    await self._answer(stream)
        except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
            pass
        finally:
            self.connections -= 1

    async def _answer(self, stream: SocketStream) -> None:
        """Answer, unless the client hangs up first."""
        self.answering += 1
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_until_hung_up, stream, tasks.cancel_scope)
                await self.send(stream)
                tasks.cancel_scope.cancel()
        finally:
            self.answering -= 1


async def _until_hung_up(stream: SocketStream, scope: anyio.CancelScope) -> None:
    try:
        await stream.receive()
    except (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError):
        scope.cancel()


async def _read_request(stream: SocketStream) -> tuple[str, dict]:
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    length = int(lengths[0].partition(b":")[2]) if lengths else 0
    while len(body) < length:
        body += await stream.receive()
    return head.decode("latin-1"), json.loads(body)


@contextmanager
def scripted_model() -> Iterator[ScriptedModel]:
    """A server in a thread of its own."""
    with start_blocking_portal() as portal:
        model = ScriptedModel(portal)
        model.up()
        yield model
        model.down()
