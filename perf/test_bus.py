"""Throughput of one publish → one subscriber hop. Target: 100,000 events/s."""

import math
from time import perf_counter

import anyio
import pytest

from subcog.bus.bus import Bus
from subcog.bus.events import Event

from .report import record

EVENTS = 100_000


class Ping(Event, frozen=True, kw_only=True, tag="perf.ping"):
    n: int


async def _run(*, deadline: bool) -> float:
    heard = 0

    async def count(event: Ping) -> None:
        nonlocal heard
        heard += 1

    bus = Bus()
    bus.subscribe(Ping, count, name="count")
    async with bus:
        until = anyio.current_time() + 1000 if deadline else math.inf
        started = perf_counter()
        for n in range(EVENTS):
            await bus.publish(Ping(trace="t", n=n), deadline=until)
        await bus.drain(60)
        took_s = perf_counter() - started
    assert heard == EVENTS
    return EVENTS / took_s


@pytest.mark.parametrize("deadline", [False, True])
def test_one_hop(deadline):
    best = max(anyio.run(lambda: _run(deadline=deadline)) for _ in range(3))
    kind = "with a deadline" if deadline else "without a deadline"
    if not deadline:
        record("bus", [best])
    print(f"\nbus, one hop, {kind}: {best:,.0f} events/s; target 100,000 (without)")
