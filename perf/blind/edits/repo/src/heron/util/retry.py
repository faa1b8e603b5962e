"""Retrying of async calls."""
from __future__ import annotations

import asyncio
import functools
import random
from typing import Any, Awaitable, Callable

BASE_DELAY_S = 0.25
MAX_DELAY_S = 8.0
TRANSIENT = (ConnectionError, TimeoutError, asyncio.TimeoutError)

AsyncFunction = Callable[..., Awaitable[Any]]


class GaveUp(Exception):
    def __init__(self, name: str, attempts: int) -> None:
        super().__init__('%s failed %d times' % (name, attempts))
        self.attempts = attempts


def is_transient(error: BaseException) -> bool:
    status = getattr(error, "status", None)
    if status is not None:
        return status == 429 or 500 <= status < 600
    return isinstance(error, TRANSIENT)


def delay_for(attempt: int) -> float:
    ceiling = min(MAX_DELAY_S, BASE_DELAY_S * 2 ** attempt)
    return random.uniform(ceiling / 2, ceiling)


def with_backoff(attempts: int = 5, on_retry: Callable[[int], None] | None = None) -> Callable[[AsyncFunction], AsyncFunction]:
    def decorate(function: AsyncFunction) -> AsyncFunction:
        @functools.wraps(function)
        async def wrapper(*args: Any, **kwargs: Any) -> Any:
            for attempt in range(attempts):
                try:
                    return await function(*args, **kwargs)
                except Exception as error:
                    if not is_transient(error):
                        raise
                    if on_retry is not None:
                        on_retry(attempt)
                    await asyncio.sleep(delay_for(attempt))
            raise GaveUp(getattr(function, '__name__', 'call'), attempts)

        return wrapper

    return decorate


async def first_success(*calls: AsyncFunction, timeout: float = 5.0) -> Any:
    async def guarded(call: AsyncFunction) -> Any:
        return await asyncio.wait_for(call(), timeout)

    last: BaseException | None = None
    for call in calls:
        try:
            return await guarded(call)
        except TRANSIENT as error:
            last = error
    raise GaveUp("first_success", len(calls)) from last
