"""Each letter that an inbox accepted is delivered, failed or dropped, exactly once."""

import contextlib
from collections import Counter

import anyio
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog.bus.bus import Bus, Overflow, StageFailed
from subcog.bus.events import Event
from subcog.bus.signals import delivered, dropped, failed
from tests.emissions import all_emitted
from tests.thorough import times


class Thing(Event, frozen=True, kw_only=True, tag="test.thing"):
    deed: str


class Reply(Event, frozen=True, kw_only=True, tag="test.reply"):
    deed: str


DEEDS = ("answer", "ignore", "raise", "yield", "hang")


async def _handle(event):
    if event.deed == "raise":
        raise ValueError
    if event.deed == "hang":
        await anyio.sleep_forever()
    if event.deed == "yield":
        await checkpoint()
    return Reply(trace=event.trace, deed=event.deed) if event.deed == "answer" else None


async def _play(deeds, *, capacity, overflow, concurrency, asks):
    bus = Bus(grace_s=0.005)
    bus.subscribe(
        Thing,
        _handle,
        name="one",
        capacity=capacity,
        overflow=overflow,
        concurrency=concurrency,
    )
    bus.subscribe(Thing, _handle, name="two", capacity=256)

    async def ask(n, deed):
        with contextlib.suppress(TimeoutError, StageFailed):
            await bus.request(Thing(trace=str(n), deed=deed), Reply, within_s=0.005)

    async with bus, anyio.create_task_group() as tasks:
        for n, deed in enumerate(deeds):
            if asks:
                tasks.start_soon(ask, n, deed)
            else:
                with anyio.move_on_after(0.002):
                    await bus.publish(Thing(trace=str(n), deed=deed))
    return bus


@settings(max_examples=times(60))
@given(
    deeds=st.lists(st.sampled_from(DEEDS), max_size=30),
    capacity=st.sampled_from([1, 4, 256]),
    overflow=st.sampled_from(list(Overflow)),
    concurrency=st.sampled_from([1, 3]),
    asks=st.booleans(),
)
def test_every_accepted_letter_is_settled_exactly_once(
    deeds, capacity, overflow, concurrency, asks
):
    with all_emitted(delivered, failed, dropped) as emissions:
        bus = anyio.run(
            lambda: _play(
                deeds, capacity=capacity, overflow=overflow, concurrency=concurrency, asks=asks
            )
        )
    outcomes = Counter(
        (sender, name) for name, sender, facts in emissions if facts["event"] == "Thing"
    )
    assert bus._in_flight == 0
    settled_by_two = sum(count for (name, _), count in outcomes.items() if name == "two")
    settled_by_one = sum(count for (name, _), count in outcomes.items() if name == "one")
    assert settled_by_one <= len(deeds)
    if overflow is Overflow.WAIT:
        assert settled_by_two <= settled_by_one
    if overflow is Overflow.DROP:
        assert settled_by_one == len(deeds)
    assert outcomes["two", "failed"] <= deeds.count("raise")
