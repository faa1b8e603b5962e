"""What becomes of a question to the language model whose prompt does not wait any longer."""

import logging

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from subcog.sinks.llm import language_model as model_module
from subcog.sinks.llm.circuit_breaker import State
from subcog.sinks.llm.language_model import ATTEMPTS, SLOW_ANSWERS
from subcog.sinks.llm.worker_process import Answer, Trouble
from tests.waiting import PATIENCE_S

from .played_model import HOWTO, PlayedWorker, Taker, outcomes, running, settle


@pytest.fixture
def told():
    with outcomes() as found:
        yield found


@pytest.fixture
def worker(monkeypatch):
    """Retries need not wait in tests."""
    monkeypatch.setattr(
        model_module, "wait_random_exponential", lambda **_: lambda retry_state: 0.0
    )
    return PlayedWorker()


async def test_at_the_deadline_without_late_the_question_is_cancelled(worker, told):
    worker.gate = anyio.Event()
    async with running(worker) as model:
        vote = await model.ask("how?", within_s=0.01)
        await settle(model)
    assert vote.missing == "timeout"
    assert worker.cancelled == 1
    assert told == ["timeout"]


async def test_where_late_is_off_nothing_goes_on_after_the_deadline(worker, told):
    worker.gate = anyio.Event()
    async with running(worker, late_s=0) as model:
        await model.ask("how?", within_s=0.01, late=Taker())
        await settle(model)
    assert worker.cancelled == 1
    assert told == ["timeout"]


async def test_what_comes_late_is_handed_over_and_remembered(worker, told):
    worker.gate = anyio.Event()
    taker = Taker()
    async with running(worker) as model:
        vote = await model.ask("how?", within_s=0.01, late=taker)
        assert vote.missing == "timeout"
        worker.gate.set()
        await taker.came.wait()
        await settle(model)
        assert (await model.ask("how?", within_s=10)).intent == HOWTO
    assert [late.intent for late in taker.votes] == [HOWTO]
    assert told == []  # who took it tells
    assert len(worker.asks) == 1


async def test_what_is_late_and_not_taken_is_told_as_unused(worker, told):
    worker.gate = anyio.Event()
    taker = Taker(takes=False)
    async with running(worker) as model:
        await model.ask("how?", within_s=0.01, late=taker)
        worker.gate.set()
        await taker.came.wait()
        await settle(model)
    assert told == ["late_unused"]


async def test_too_late_is_cancelled(worker, told):
    worker.gate = anyio.Event()
    async with running(worker, late_s=0.02) as model:
        await model.ask("how?", within_s=0.01, late=Taker())
        await settle(model)
    assert worker.cancelled == 1
    assert told == ["timeout"]


async def test_who_stops_waiting_cancels_the_question(worker, told):
    worker.gate = anyio.Event()
    async with running(worker) as model:
        async with anyio.create_task_group() as tasks:

            async def ask():
                await model.ask("how?", within_s=10, late=Taker())

            tasks.start_soon(ask)
            await wait_all_tasks_blocked()
            tasks.cancel_scope.cancel()
        await settle(model)
        assert model.breaker is State.CLOSED
    assert worker.cancelled == 1
    assert told == ["cancelled"]


async def test_leaving_cancels_what_is_being_asked(worker):
    worker.gate = anyio.Event()
    async with running(worker) as model:
        await model.ask("how?", within_s=0.01, late=Taker())
    assert worker.cancelled == 1
    assert (await model.ask("how?", within_s=10)).missing == "stopped"


async def test_a_failure_of_the_moment_is_tried_again_behind_the_hook(worker, told):
    answers = [Trouble(id=0, kind="status", status=503), Answer(id=0, text="howto")]
    worker.say = lambda ask: answers.pop(0)
    taker = Taker()
    async with running(worker) as model:
        vote = await model.ask("how?", within_s=10, late=taker)
        assert vote.missing == "error"
        await taker.came.wait()
    assert taker.votes[0].intent == HOWTO
    assert told == []


async def test_it_is_not_tried_for_ever(worker, told):
    worker.say = lambda ask: Trouble(id=0, kind="connection")
    async with running(worker) as model:
        await model.ask("how?", within_s=10, late=Taker())
        await settle(model)
    assert len(worker.asks) == ATTEMPTS
    assert told == ["error"]


async def test_within_the_deadline_nothing_is_tried_twice(worker, told):
    worker.say = lambda ask: Trouble(id=0, kind="connection")
    async with running(worker) as model:
        await model.ask("how?", within_s=10)
    assert len(worker.asks) == 1
    assert told == ["error"]


async def test_a_model_that_is_always_late_is_no_longer_waited_for_until_it_is_fast(worker):
    async with running(worker) as model:
        model._answers_s.extend([5.0] * SLOW_ANSWERS)
        worker.gate, taker = anyio.Event(), Taker()
        with anyio.fail_after(PATIENCE_S):
            vote = await model.ask("slow?", within_s=4, late=taker)
        assert vote.missing == "timeout"
        worker.gate.set()
        await taker.came.wait()
        assert (await model.ask("fast?", within_s=4)).intent == HOWTO


async def test_what_an_answer_took_is_measured_late_or_not(worker):
    async with running(worker) as model:
        await model.ask("in time?", within_s=10)
        worker.gate, taker = anyio.Event(), Taker()
        # Long enough for the question to be on its way, however busy the machine is.
        await model.ask("late?", within_s=0.1, late=taker)
        worker.gate.set()
        await taker.came.wait()
        fast_s, late_s = model._answers_s
    assert fast_s >= 0
    assert late_s >= 0.05


async def test_while_the_worker_starts_nobody_waits_and_its_answer_is_late(worker, told):
    worker.state, worker.started = "starting", anyio.Event()
    taker = Taker()
    async with running(worker) as model:
        vote = await model.ask("how?", within_s=10, late=taker)
        assert vote.missing == "starting"
        worker.started.set()
        await taker.came.wait()
    assert taker.votes[0].intent == HOWTO


async def test_when_a_tenth_comes_too_late_it_is_logged_once(worker, caplog):
    caplog.set_level(logging.WARNING)
    async with running(worker) as model:
        for number in range(17):
            await model.ask(f"good {number}?", within_s=10)
        worker.gate = anyio.Event()
        for number in range(6):
            await model.ask(f"bad {number}?", within_s=0.001)
            await settle(model)
            worker.gate.set()
            await model.ask(f"good again {number}?", within_s=10)
            worker.gate = anyio.Event()
    warnings = [record.message for record in caplog.records]
    assert warnings == ["the language model often misses its deadline"]
