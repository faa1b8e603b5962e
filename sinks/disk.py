"""Looks at a disk that may hang, without the event loop or anybody else waiting for it.

As long as one look at a thing hangs, nobody waits for that thing again: on a network file system
that does not answer, each look would take one more thread, until it answers or for ever.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import anyio
import anyio.to_thread

T = TypeVar("T")


class Disk:
    """Looks at things on disks in at most ``threads`` threads at once, besides those that hang."""

    def __init__(self, threads: int) -> None:
        self._most = threads
        self._hanging: dict[str, _Look[Any]] = {}
        self._threads: anyio.CapacityLimiter | None = None

    async def look(self, key: str, work: Callable[[], T], *, within_s: float) -> T:
        """What ``work`` finds of the thing named ``key``. Raises ``TimeoutError``."""
        if self._threads is None:
            self._threads = anyio.CapacityLimiter(self._most)
        before = self._hanging.get(key)
        # One that began just now may only have lost its client.
        if before is not None and before.hangs and time.monotonic() - before.made_at > within_s:
            raise TimeoutError
        look = _Look(work)
        try:
            with anyio.fail_after(within_s):
                return await anyio.to_thread.run_sync(
                    look, limiter=self._threads, abandon_on_cancel=True
                )
        finally:
            self._keep_oldest(key, look)

    def _keep_oldest(self, key: str, look: _Look[Any]) -> None:
        """Keep the look at ``key`` that hangs the longest, if any does."""
        before = self._hanging.pop(key, look)
        if before.hangs or look.hangs:
            self._hanging[key] = before if before.hangs else look


class _Look(Generic[T]):
    """A look, of which another thread knows whether it is over."""

    def __init__(self, work: Callable[[], T]) -> None:
        self.made_at = time.monotonic()
        self.has_begun = False
        self.is_over = False
        self._work = work

    @property
    def hangs(self) -> bool:
        """Whether a thread is still at it."""
        return self.has_begun and not self.is_over

    def __call__(self) -> T:
        self.has_begun = True
        try:
            return self._work()
        finally:
            self.is_over = True
