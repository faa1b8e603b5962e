"""Waiting for what happens in threads or other processes, and cannot be waited for otherwise."""

from __future__ import annotations

import inspect
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import pytest

# How long anything may take before a test gives up: far beyond what it needs, since a busy machine
# may hold a process up for seconds.
PATIENCE_S = 60.0


# What a text of any size may take of the processor; what is linear takes a hundredth of it.
ENDLESS_S = 10.0


@contextmanager
def ends_soon(cpu_s: float = ENDLESS_S) -> Iterator[None]:
    """Fail where the block computes for so long that it must be worse than linear.

    Counted is what this process computes, so a busy machine changes nothing. The text given must be
    so long that the square of its length takes far longer than ``cpu_s``. A regular expression is
    interrupted in the middle.
    """

    def give_up(*_: object) -> None:
        pytest.fail(f"it has not ended after {cpu_s:g} s of computing")

    before = signal.signal(signal.SIGVTALRM, give_up)
    signal.setitimer(signal.ITIMER_VIRTUAL, cpu_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


async def until(condition: Callable[[], Any]) -> Any:
    """What ``condition``, which may be a coroutine function, says as soon as that is true."""
    pause_s = 0.002
    with anyio.fail_after(PATIENCE_S):
        while True:
            found = condition()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return found
            await anyio.sleep(pause_s)
            pause_s = min(1.5 * pause_s, 0.1)


def eventually(ask: Callable[[], Any]) -> Any:
    """The same where there is no event loop."""
    deadline, pause_s = time.monotonic() + PATIENCE_S, 0.02
    while not (found := ask()):
        assert time.monotonic() < deadline
        time.sleep(pause_s)
        pause_s = min(1.3 * pause_s, 0.15)
    return found
