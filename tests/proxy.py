"""A TCP server's stand-in on loopback, which a test may slow down, freeze or cut.

It runs in a thread of its own, so that tests with and without an event loop use it alike, and so
that it goes on while the loop under test does not.
"""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

HOST = "127.0.0.1"


class Proxy:
    """Hands bytes on to ``target``, each ``delay_s`` after it came; a round trip takes two of them.

    The delay is latency, not bandwidth: what follows close behind arrives close behind. It may be
    set at any time. ``port`` stays the same through ``cut`` and ``mend``.
    """

    def __init__(self, target: tuple[str, int], *, delay_s: float = 0.0) -> None:
        self.target = target
        self.delay_s = delay_s
        self.port = 0
        self.frozen = False
        self.accepted = 0
        self.sent_bytes = 0  # from clients to the target
        self.received_bytes = 0
        self._pipes: set[_Pipe] = set()
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="proxy", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._on_loop(self._listen)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._on_loop(self._cut)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    # --- what a test does to it ------------------------------------------------------------------

    def cut(self) -> None:
        """Every connection is closed, and new ones are refused, until ``mend``."""
        self._on_loop(self._cut)

    def mend(self) -> None:
        self._on_loop(self._listen)

    def reset(self) -> None:
        """Every connection is reset; new ones are welcome."""
        self._on_loop(self._reset)

    def freeze(self) -> None:
        """Connections stay, new ones are accepted, and not a byte is handed on until ``thaw``."""
        self._on_loop(self._freeze)

    def thaw(self) -> None:
        self._on_loop(self._thaw)

    # --- on the loop of its thread ---------------------------------------------------------------

    def _on_loop(self, work: Callable[[], object]) -> None:
        async def run() -> None:
            done = work()
            if asyncio.iscoroutine(done):
                await done

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(timeout=10.0)

    async def _listen(self) -> None:
        if self._server is None:
            self._server = await self._loop.create_server(lambda: _Pipe(self), HOST, self.port)
            self.port = self._server.sockets[0].getsockname()[1]

    async def _cut(self) -> None:
        # One that is accepted while the server closes would be dropped by asyncio, socket and all.
        await self._settled()
        if self._server is not None:
            self._server.close()
            self._server = None
        await self._reset()

    async def _settled(self) -> None:
        """No connection is just being accepted or made."""
        while under_way := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(under_way)

    async def _reset(self) -> None:
        await self._settled()
        for pipe in tuple(self._pipes):
            pipe.abort()
        # A transport that was aborted closes its socket in the loop's next rounds.
        for _ in range(3):
            await asyncio.sleep(0)

    def _freeze(self) -> None:
        self.frozen = True

    def _thaw(self) -> None:
        self.frozen = False
        for pipe in tuple(self._pipes):
            pipe.flush()


class _Way:
    """One direction of a connection: what came, and when each of it may go on; None is the end."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._waiting: deque[tuple[float, bytes | None]] = deque()
        self.to: asyncio.Transport | None = None

    def take(self, data: bytes | None) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time() + self._proxy.delay_s
        if self._waiting:
            due = max(due, self._waiting[-1][0])
        self._waiting.append((due, data))
        if due <= loop.time():
            self.flush()
        else:
            loop.call_at(due, self.flush)

    def flush(self) -> None:
        if self._proxy.frozen or self.to is None:
            return
        # A timer may ring a little before its time, as the clock counts it.
        now = asyncio.get_running_loop().time() + 0.001
        while self._waiting and self._waiting[0][0] <= now:
            data = self._waiting.popleft()[1]
            if data is None:
                self.to.close()
            else:
                self.to.write(data)


class _Pipe(asyncio.Protocol):
    """A client's connection, and the one to the target that belongs to it."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy
        self._there = _Way(proxy)
        self._back = _Way(proxy)
        self._open = 0
        self._connecting: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._proxy.accepted += 1
        self._back.to = transport
        self.opened()
        self._connecting = asyncio.get_running_loop().create_task(self._connect(transport))

    async def _connect(self, client: asyncio.Transport) -> None:
        loop = asyncio.get_running_loop()
        try:
            transport, _ = await loop.create_connection(lambda: _Answers(self), *self._proxy.target)
        except OSError:
            client.abort()
            return
        self._there.to = transport
        self.flush()

    def data_received(self, data: bytes) -> None:
        self._proxy.sent_bytes += len(data)
        self._there.take(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self.closed()
        self._there.take(None)

    def answer(self, data: bytes | None) -> None:
        if data is not None:
            self._proxy.received_bytes += len(data)
        self._back.take(data)

    def flush(self) -> None:
        self._there.flush()
        self._back.flush()

    def opened(self) -> None:
        self._open += 1
        self._proxy._pipes.add(self)

    def closed(self) -> None:
        self._open -= 1
        if not self._open:
            self._proxy._pipes.discard(self)

    def abort(self) -> None:
        for way in (self._there, self._back):
            if way.to is not None:
                way.to.abort()


class _Answers(asyncio.Protocol):
    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._pipe.opened()

    def data_received(self, data: bytes) -> None:
        self._pipe.answer(data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._pipe.closed()
        self._pipe.answer(None)
