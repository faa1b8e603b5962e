import gc
import math
import weakref

import anyio
import pytest
from anyio import wait_all_tasks_blocked
from anyio.lowlevel import checkpoint

from subcog.bus.bus import Bus, BusClosed, Overflow, StageFailed
from subcog.bus.events import Event
from subcog.bus.signals import delivered, dropped, failed
from tests.waiting import PATIENCE_S


class Asked(Event, frozen=True, kw_only=True, tag="test.asked"):
    n: int = 0


class Halfway(Event, frozen=True, kw_only=True, tag="test.halfway"):
    n: int = 0


class Answered(Event, frozen=True, kw_only=True, tag="test.answered"):
    n: int = 0


class Told:
    """Watches a signal and keeps what it said."""

    def __init__(self, *signals):
        self.facts = []
        self._watchers = [
            lambda sender, _name=signal.name, **facts: self.facts.append((_name, sender, facts))
            for signal in signals
        ]
        for signal, watcher in zip(signals, self._watchers, strict=True):
            signal.connect(watcher)

    def reasons(self):
        return [facts.get("reason") for _, _, facts in self.facts]


async def test_each_subscriber_hears_every_event_of_its_type_in_order():
    heard = {"a": [], "b": []}
    bus = Bus()
    bus.subscribe(Asked, lambda e: heard["a"].append(e.n), name="a")
    bus.subscribe(Asked, lambda e: heard["b"].append(e.n), name="b")
    bus.subscribe(Halfway, lambda e: heard["a"].append("never"), name="c")
    async with bus:
        for n in range(50):
            await bus.publish(Asked(trace="t", n=n))
    assert heard == {"a": list(range(50)), "b": list(range(50))}


async def test_a_request_goes_through_the_stages_and_returns_the_reply_of_its_trace():
    bus = Bus()
    bus.subscribe(Asked, lambda e: Halfway(trace=e.trace, n=e.n + 1), name="first")
    bus.subscribe(Halfway, lambda e: Answered(trace=e.trace, n=e.n * 10), name="second")
    async with bus:
        replies = {}

        async def ask(n):
            replies[n] = (await bus.request(Asked(trace=str(n), n=n), Answered, within_s=5)).n

        async with anyio.create_task_group() as tasks:
            for n in range(20):
                tasks.start_soon(ask, n)
    assert replies == {n: (n + 1) * 10 for n in range(20)}


async def test_workers_start_when_they_are_needed_and_never_more_than_are_allowed():
    gate, handled = anyio.Event(), []

    async def wait(event):
        await gate.wait()
        handled.append(event.n)

    bus = Bus()
    waiting = bus.subscribe(Asked, wait, name="waiting", concurrency=3)
    async with bus:
        assert waiting.workers == 0
        counts = []
        for n in range(5):
            await bus.publish(Asked(trace="t", n=n))
            await wait_all_tasks_blocked()
            counts.append((waiting.workers, waiting.depth))
        assert counts == [(1, 0), (2, 0), (3, 0), (3, 1), (3, 2)]
        gate.set()
    assert handled == [0, 1, 2, 3, 4]


async def test_what_was_published_before_the_bus_runs_is_handled_when_it_does():
    heard = []
    bus = Bus()
    bus.subscribe(Asked, lambda e: heard.append(e.n), name="a")
    await bus.publish(Asked(trace="t", n=1))
    async with bus:
        await wait_all_tasks_blocked()
        assert heard == [1]


async def test_a_request_past_its_deadline_raises_and_really_cancels_the_work():
    cancelled = anyio.Event()

    async def slow(event):
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    told = Told(dropped)
    bus = Bus()
    bus.subscribe(Asked, slow, name="slow")
    async with bus:
        with pytest.raises(TimeoutError):
            await bus.request(Asked(trace="t"), Answered, within_s=0.01)
        with anyio.fail_after(PATIENCE_S):
            await cancelled.wait()
        assert bus._pending == {}
    assert told.reasons() == ["deadline"]


async def test_a_cancelled_requester_takes_its_work_with_it():
    cancelled, started = anyio.Event(), anyio.Event()

    async def slow(event):
        started.set()
        try:
            await anyio.sleep_forever()
        finally:
            cancelled.set()

    told = Told(dropped)
    bus = Bus()
    bus.subscribe(Asked, slow, name="slow")
    async with bus:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: bus.request(Asked(trace="t"), Answered, within_s=600))
            await started.wait()
            tasks.cancel_scope.cancel()
        with anyio.fail_after(PATIENCE_S):
            await cancelled.wait()
    assert told.reasons() == ["abandoned"]


async def test_a_failing_stage_wakes_its_requester_at_once():
    def broken(event):
        raise ValueError("a text that must not be logged")

    told = Told(failed)
    bus = Bus()
    bus.subscribe(Asked, broken, name="broken")
    async with bus:
        with anyio.fail_after(PATIENCE_S), pytest.raises(StageFailed) as caught:
            await bus.request(Asked(trace="t"), Answered, within_s=600)
    assert caught.value.stage == "broken"
    assert isinstance(caught.value.__cause__, ValueError)
    assert told.facts == [("failed", "broken", {"event": "Asked", "error": "ValueError"})]


async def test_a_failing_stage_loses_one_letter_and_goes_on(caplog):
    heard = []

    def fragile(event):
        if event.n == 1:
            raise ValueError("secret words")
        heard.append(event.n)

    bus = Bus()
    bus.subscribe(Asked, fragile, name="fragile")
    async with bus:
        for n in range(3):
            await bus.publish(Asked(trace="t", n=n))
    assert heard == [0, 2]
    assert "secret words" not in caplog.text
    assert caplog.records[0].at.startswith("test_bus.py:")


async def test_a_bystander_that_fails_does_not_end_the_request():
    def broken(event):
        raise ValueError

    bus = Bus()
    bus.subscribe(Asked, broken, name="bystander", fails_request=False)
    bus.subscribe(Asked, lambda e: Answered(trace=e.trace), name="stage")
    async with bus:
        assert await bus.request(Asked(trace="t"), Answered, within_s=10)


async def test_two_requests_of_one_trace_are_refused():
    bus = Bus()
    async with bus, anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: bus.request(Asked(trace="t"), Answered, within_s=600))
        await wait_all_tasks_blocked()
        with pytest.raises(ValueError, match="already under way"):
            await bus.request(Asked(trace="t"), Answered, within_s=10)
        tasks.cancel_scope.cancel()


async def test_a_full_inbox_makes_the_publisher_wait():
    gate, heard = anyio.Event(), []

    async def gated(event):
        await gate.wait()
        heard.append(event.n)

    bus = Bus()
    bus.subscribe(Asked, gated, name="gated", capacity=1)
    async with bus, anyio.create_task_group() as tasks:
        published = []

        async def publish():
            for n in range(4):
                await bus.publish(Asked(trace="t", n=n))
                published.append(n)

        tasks.start_soon(publish)
        await wait_all_tasks_blocked()
        assert published == [0, 1]
        gate.set()
    assert heard == [0, 1, 2, 3]


async def test_a_full_inbox_that_drops_tells_of_each_drop():
    gate, heard, told = anyio.Event(), [], Told(dropped)

    async def gated(event):
        await gate.wait()
        heard.append(event.n)

    bus = Bus()
    bus.subscribe(Asked, gated, name="gated", capacity=1, overflow=Overflow.DROP)
    async with bus:
        await bus.publish(Asked(trace="t", n=0))
        await wait_all_tasks_blocked()
        for n in (1, 2, 3):
            await bus.publish(Asked(trace="t", n=n))
        gate.set()
    assert heard == [0, 1]
    assert told.reasons() == ["full", "full"]


async def test_letters_are_handled_at_once_where_that_is_allowed():
    working, gate = [], anyio.Event()

    async def gated(event):
        working.append(event.n)
        await gate.wait()

    bus = Bus()
    bus.subscribe(Asked, gated, name="wide", concurrency=3)
    async with bus:
        for n in range(5):
            await bus.publish(Asked(trace=str(n), n=n))
        await wait_all_tasks_blocked()
        assert working == [0, 1, 2]
        gate.set()


async def test_draining_refuses_new_events_and_finishes_what_was_accepted():
    heard = []

    async def relay(event):
        await checkpoint()
        return Halfway(trace=event.trace, n=event.n)

    bus = Bus()
    bus.subscribe(Asked, relay, name="relay")
    bus.subscribe(Halfway, lambda e: heard.append(e.n), name="end")
    async with bus:
        for n in range(10):
            await bus.publish(Asked(trace="t", n=n))
        assert await bus.drain(5)
        with pytest.raises(BusClosed):
            await bus.publish(Asked(trace="t"))
    assert heard == list(range(10))


async def test_what_outlasts_the_grace_is_cancelled_and_told():
    told = Told(dropped, delivered)

    async def stuck(event):
        await anyio.sleep_forever()

    bus = Bus(grace_s=0.01)
    bus.subscribe(Asked, stuck, name="stuck")
    async with bus:
        for n in range(3):
            await bus.publish(Asked(trace="t", n=n))
        await wait_all_tasks_blocked()
    assert told.reasons() == ["shutdown"] * 3


async def test_what_outlasted_a_drain_is_not_waited_for_again():
    told = Told(dropped)

    async def stuck(event):
        await anyio.sleep_forever()

    bus = Bus(grace_s=math.inf)
    bus.subscribe(Asked, stuck, name="stuck")
    with anyio.fail_after(PATIENCE_S):
        async with bus:
            await bus.publish(Asked(trace="t"))
            assert not await bus.drain(0.01)
    assert told.reasons() == ["shutdown"]


async def test_a_handler_may_ask_the_bus_while_it_drains():
    answers = []

    async def asks(event):
        answers.append(await bus.request(Halfway(trace="inner"), Answered, within_s=5))

    bus = Bus()
    bus.subscribe(Asked, asks, name="asks")
    bus.subscribe(Halfway, lambda e: Answered(trace=e.trace), name="answers")
    async with bus:
        await bus.publish(Asked(trace="outer"))
        assert await bus.drain(5)
    assert len(answers) == 1


async def test_an_expired_letter_is_not_begun():
    heard, told = [], Told(dropped)
    bus = Bus()
    bus.subscribe(Asked, heard.append, name="late")
    async with bus:
        await bus.publish(Asked(trace="t"), deadline=anyio.current_time() - 1)
        await bus.publish(Asked(trace="t", n=1), deadline=math.inf)
    assert [e.n for e in heard] == [1]
    assert told.reasons() == ["deadline"]


async def test_who_waits_keeps_nothing_of_what_was_handled():
    class Heavy(Event, frozen=True, kw_only=True, weakref=True, tag="test.heavy"):
        """Something large that came once."""

    bus = Bus()
    bus.subscribe(Heavy, lambda e: None, name="a", concurrency=4)
    async with bus:
        event = Heavy(trace="t")
        kept = weakref.ref(event)
        await bus.publish(event)
        await wait_all_tasks_blocked()
        del event
        gc.collect()
        assert kept() is None
