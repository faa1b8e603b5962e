"""Bounded hand-over between the socket readers and the writers."""
from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import Awaitable, Callable

from heron.ingest.frames import Frame, parse_frame
from heron.util.retry import with_backoff

log = logging.getLogger(__name__)

HIGH_WATER = 800
LOW_WATER = 200

Sink = Callable[[list[Frame]], Awaitable[None]]


class QueueClosed(RuntimeError):
    pass


class BoundedQueue:
    capacity = 1000

    def __init__(self, name: str) -> None:
        self.name = name
        self._items: deque[Frame] = deque()
        self._wakeup = asyncio.Event()
        self._closed = False
        self.dropped = 0

    def __len__(self) -> int:
        return len(self._items)

    async def put(self, frame: Frame) -> bool:
        if self._closed:
            raise QueueClosed(self.name)
        if len(self._items) >= self.capacity:
            # urgent frames push out the oldest one
            if not frame.is_urgent:
                self.dropped += 1
                return False
            self._items.popleft()
            self.dropped += 1
        self._items.append(frame)
        self._wakeup.set()
        return True

    async def take(self, limit: int) -> list[Frame]:
        while not self._items:
            if self._closed:
                return []
            self._wakeup.clear()
            await self._wakeup.wait()
        count = min(limit, len(self._items))
        return [self._items.popleft() for _ in range(count)]

    def close(self) -> None:
        self._closed = True
        self._wakeup.set()

    @property
    def is_congested(self) -> bool:
        return len(self._items) > HIGH_WATER


@with_backoff(attempts=4)
async def deliver(sink: Sink, batch: list[Frame]) -> int:
    await sink(batch)
    return len(batch)


async def drain(queue: BoundedQueue, sink: Sink, *, limit: int = 100) -> int:
    total = 0

    async def flush(batch: list[Frame]) -> None:
        nonlocal total
        total += await deliver(sink, batch)

    while batch := await queue.take(limit):
        await flush(batch)
        if queue.is_congested:
            log.warning("queue %s is congested: %d frames", queue.name, len(queue))
    return total


async def replay(path: str, queue: BoundedQueue) -> int:
    """Feed a recorded dump, one hex frame a line, into ``queue``."""
    accepted = 0
    with open(path, encoding="ascii") as dump:
        for line in dump:
            frame = parse_frame(bytes.fromhex(line.strip()))
            accepted += await queue.put(frame)
    return accepted
