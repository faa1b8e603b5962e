"""The language model as a racer, with a worker that is played by hand."""

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from subcog.bus.prompts import DetectionSource
from subcog.sinks.llm import language_model as model_module
from subcog.sinks.llm.circuit_breaker import State
from subcog.sinks.llm.language_model import MAX_CACHED, MAX_CALLS
from subcog.sinks.llm.worker_process import Answer, Trouble, WorkerGone

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


async def test_an_answer_in_time_is_a_vote(worker, told):
    async with running(worker) as model:
        vote = await model.ask("how?", within_s=10)
    assert (vote.racer, vote.intent, vote.missing) == (DetectionSource.LLM, HOWTO, "")
    assert told == ["won"]
    assert (worker.asks[0].system, worker.asks[0].user) == ("system", "<how?>")


async def test_what_must_not_leave_the_machine_does_not(worker):
    async with running(worker) as model:
        await model.ask("my secret is this", within_s=10)
    assert worker.asks[0].user == "<my *** is this>"


async def test_the_same_prompt_is_asked_once(worker, told):
    async with running(worker) as model:
        await model.ask("how?", within_s=10)
        again = await model.ask("how?", within_s=10)
    assert again.intent == HOWTO
    assert len(worker.asks) == 1
    assert told == ["won"]


async def test_a_no_is_remembered_too(worker):
    worker.say = lambda ask: Answer(id=ask.id, text="none")
    async with running(worker) as model:
        for _ in range(2):
            vote = await model.ask("do it", within_s=10)
            assert (vote.intent, vote.missing) == (None, "")
    assert len(worker.asks) == 1


async def test_the_cache_is_bounded_and_holds_no_prompt(worker):
    async with running(worker) as model:
        for number in range(MAX_CACHED + 5):
            await model.ask(f"prompt {number}", within_s=10)
        assert model.status()["cached"] == MAX_CACHED
        assert all(isinstance(key, bytes) and len(key) == 16 for key in model._cache)


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        (Trouble(id=0, kind="timeout"), "timeout"),
        (Trouble(id=0, kind="status", status=400), "error"),
        (Trouble(id=0, kind="refused"), "error"),
        (Trouble(id=0, kind="malformed"), "malformed"),
        (Answer(id=0, text="gibberish"), "malformed"),
        (WorkerGone("it ended"), "error"),
    ],
)
async def test_what_is_no_answer_is_told_at_once_and_not_asked_again(worker, told, said, outcome):
    worker.say = lambda ask: said
    async with running(worker) as model:
        vote = await model.ask("how?", within_s=10, late=Taker())
    assert (vote.intent, vote.missing) == (None, outcome)
    assert told == [outcome]
    assert len(worker.asks) == 1


async def test_after_failures_in_a_row_nothing_is_asked_or_waited_for(worker, told):
    worker.say = lambda ask: Trouble(id=0, kind="refused")
    async with running(worker, failures=2) as model:
        for number in range(4):
            vote = await model.ask(f"how {number}?", within_s=10)
        assert model.breaker is State.OPEN
        assert model.status()["breaker"] == "open"
    assert vote.missing == "breaker_open"
    assert len(worker.asks) == 2
    assert told == ["error", "error", "breaker_open", "breaker_open"]


async def test_a_provider_that_asks_for_a_pause_gets_it(worker):
    worker.say = lambda ask: Trouble(id=0, kind="status", status=429, retry_after_s=30)
    async with running(worker) as model:
        await model.ask("how?", within_s=10, late=Taker())
        assert (await model.ask("why?", within_s=10)).missing == "breaker_open"
    assert len(worker.asks) == 1


async def test_questions_that_are_cancelled_do_not_open_the_breaker(worker):
    worker.gate = anyio.Event()
    async with running(worker, failures=1) as model:
        with anyio.move_on_after(0.01):
            await model.ask("how?", within_s=10)
        await settle(model)
        assert model.breaker is State.CLOSED


async def test_a_session_that_begins_starts_the_worker_once(worker):
    worker.state = "none"
    async with running(worker) as model:
        model.warm()
        await wait_all_tasks_blocked()
        model.warm()
        await wait_all_tasks_blocked()
    assert worker.starts == 1
    assert worker.asks == []


async def test_without_what_it_needs_nothing_is_started_or_told(worker, told):
    async with running(worker, problem="litellm is not installed") as model:
        model.warm()
        vote = await model.ask("how?", within_s=10)
        assert model.status()["problem"] == "litellm is not installed"
    assert vote.missing == "not_installed"
    assert worker.starts == 0
    assert told == []


async def test_of_too_many_questions_the_last_are_not_asked(worker, told):
    worker.gate = anyio.Event()
    votes = []
    async with running(worker) as model:
        async with anyio.create_task_group() as tasks:

            async def ask(number):
                votes.append(await model.ask(f"{number}?", within_s=0.05))

            for number in range(MAX_CALLS + 3):
                tasks.start_soon(ask, number)
        await settle(model)
    assert [vote.missing for vote in votes].count("busy") == 3
    assert len(worker.asks) == MAX_CALLS
    assert told == ["timeout"] * MAX_CALLS


async def test_a_thousand_questions_of_every_kind_leave_no_task_behind(worker):
    async with running(worker, failures=10_000) as model:
        await model.ask("warm", within_s=10)
        before = anyio.get_running_tasks()
        for number in range(200):
            for say, within_s, late in (
                (Answer(id=0, text="howto"), 10, Taker()),
                (Answer(id=0, text="gibberish"), 10, None),
                (Trouble(id=0, kind="connection"), 10, Taker()),
                (None, 0.0, Taker()),
                (None, 0.0, None),
            ):
                worker.gate = anyio.Event()
                if say is not None:
                    worker.say = lambda ask, say=say: say
                    worker.gate.set()
                await model.ask(f"{number} {say} {late}", within_s=within_s, late=late)
                worker.gate.set()
        await settle(model)
        assert len(anyio.get_running_tasks()) == len(before)
        assert model.status()["asking"] == 0
