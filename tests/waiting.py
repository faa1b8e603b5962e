"""Waiting for what happens in threads or other processes, and cannot be waited for otherwise."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable
from typing import Any

import anyio

# How long anything may take before a test gives up: far beyond what it needs, since a busy machine
# may hold a process up for seconds.
PATIENCE_S = 60.0


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
    deadline = time.monotonic() + PATIENCE_S
    while not (found := ask()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return found
