"""Work on a worker thread that ends as soon as its caller is cancelled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

import anyio
import anyio.to_thread
from anyio import CancelScope, CapacityLimiter, get_cancelled_exc_class

T = TypeVar("T")

_INTERRUPT_EVERY_S = 0.001


class Interruptible(Generic[T]):
    """Calls ``work`` once. On cancellation ``interrupt`` is called repeatedly until it ends.

    Repeatedly, since DuckDB between two statements loses an interrupt.
    """

    def __init__(self, work: Callable[[], T], interrupt: Callable[[], None]) -> None:
        self._work = work
        self._interrupt = interrupt
        self._lock = threading.Lock()
        self._running = False
        self._cancelled = False

    async def result(self, limiter: CapacityLimiter | None = None) -> T:
        """The result of ``work``. After a cancellation no thread is left in it."""
        try:
            return await anyio.to_thread.run_sync(
                self._run, abandon_on_cancel=True, limiter=limiter
            )
        except get_cancelled_exc_class():
            with CancelScope(shield=True):
                await self._end()
            raise

    def _run(self) -> T:
        with self._lock:
            if self._cancelled:
                raise InterruptedError("the caller was cancelled")
            self._running = True
        try:
            return self._work()
        finally:
            self._running = False

    async def _end(self) -> None:
        with self._lock:
            self._cancelled = True
        while self._running:
            self._interrupt()
            await anyio.sleep(_INTERRUPT_EVERY_S)
