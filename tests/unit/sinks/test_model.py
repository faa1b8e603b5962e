"""The language model as a racer, with a worker that is played by hand."""

import logging
from contextlib import asynccontextmanager

import anyio
import pytest
from anyio import wait_all_tasks_blocked

from subcog.bus.signals import asked
from subcog.bus.values import DetectionSource, IntentType, SearchIntent
from subcog.sinks import model as model_module
from subcog.sinks.breaker import Breaker, State
from subcog.sinks.model import ATTEMPTS, MAX_CACHED, MAX_CALLS, SLOW_ANSWERS, Brief, LanguageModel
from subcog.sinks.model_process import WorkerGone
from subcog.sinks.model_wire import Answer, Trouble

HOWTO = SearchIntent(
    intent_type=IntentType.HOWTO, confidence_percent=90, source=DetectionSource.LLM
)


class PlayedWorker:
    """Answers with what ``say`` returns, once ``gate`` is open."""

    def __init__(self) -> None:
        self.state = "ready"
        self.say = lambda ask: Answer(id=ask.id, text="howto")
        self.gate = anyio.Event()
        self.gate.set()
        self.asks = []
        self.cancelled = 0
        self.starts = 0
        self.started = anyio.Event()
        self.started.set()

    async def start(self, tasks):
        self.starts += 1
        await self.started.wait()
        self.state = "ready"

    async def call(self, ask):
        self.asks.append(ask)
        try:
            await self.gate.wait()
        except anyio.get_cancelled_exc_class():
            self.cancelled += 1
            raise
        said = self.say(ask)
        if isinstance(said, Exception):
            raise said
        return said


def read(text):
    if text == "none":
        return None
    if text != "howto":
        raise ValueError("the answer is no answer")
    return HOWTO


BRIEF = Brief(
    system="system",
    question=lambda text: f"<{text}>",
    read=read,
    clean=lambda text: text.replace("secret", "***"),
)


@pytest.fixture
def told():
    outcomes = []

    def watch(sender, *, outcome, took_s):
        assert sender == "model"
        outcomes.append(outcome)

    with asked.connected_to(watch):
        yield outcomes


@pytest.fixture
def worker():
    return PlayedWorker()


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    """Retries need not wait in tests."""
    monkeypatch.setattr(
        model_module, "wait_random_exponential", lambda **_: lambda retry_state: 0.0
    )


@asynccontextmanager
async def running(worker, *, late_s=60.0, problem="", failures=5):
    breaker = Breaker(now=anyio.current_time, failures=failures)
    model = LanguageModel(worker, BRIEF, late_s=late_s, breaker=breaker, problem=problem)
    with anyio.fail_after(5):
        async with model.running():
            yield model


class Taker:
    """Takes what is late, or does not."""

    def __init__(self, *, takes=True) -> None:
        self.takes = takes
        self.votes = []
        self.came = anyio.Event()

    async def __call__(self, vote):
        self.votes.append(vote)
        self.came.set()
        return self.takes


async def settle(model):
    while model.status()["asking"]:
        await wait_all_tasks_blocked()


async def test_an_answer_in_time_is_a_vote(worker, told):
    async with running(worker) as model:
        vote = await model.ask("how?", within_s=1)
    assert (vote.racer, vote.intent, vote.missing) == (DetectionSource.LLM, HOWTO, "")
    assert told == ["won"]
    assert (worker.asks[0].system, worker.asks[0].user) == ("system", "<how?>")


async def test_what_must_not_leave_the_machine_does_not(worker):
    async with running(worker) as model:
        await model.ask("my secret is this", within_s=1)
    assert worker.asks[0].user == "<my *** is this>"


async def test_the_same_prompt_is_asked_once(worker, told):
    async with running(worker) as model:
        await model.ask("how?", within_s=1)
        again = await model.ask("how?", within_s=1)
    assert again.intent == HOWTO
    assert len(worker.asks) == 1
    assert told == ["won"]


async def test_a_no_is_remembered_too(worker):
    worker.say = lambda ask: Answer(id=ask.id, text="none")
    async with running(worker) as model:
        for _ in range(2):
            vote = await model.ask("do it", within_s=1)
            assert (vote.intent, vote.missing) == (None, "")
    assert len(worker.asks) == 1


async def test_the_cache_is_bounded_and_holds_no_prompt(worker):
    async with running(worker) as model:
        for number in range(MAX_CACHED + 5):
            await model.ask(f"prompt {number}", within_s=1)
        assert model.status()["cached"] == MAX_CACHED
        assert all(isinstance(key, bytes) and len(key) == 16 for key in model._cache)


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
        assert (await model.ask("how?", within_s=1)).intent == HOWTO
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
    assert (await model.ask("how?", within_s=1)).missing == "stopped"


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


async def test_a_model_that_is_always_late_is_no_longer_waited_for_until_it_is_fast(worker):
    async with running(worker) as model:
        model._answers_s.extend([5.0] * SLOW_ANSWERS)
        worker.gate, taker = anyio.Event(), Taker()
        with anyio.fail_after(1):
            vote = await model.ask("slow?", within_s=4, late=taker)
        assert vote.missing == "timeout"
        worker.gate.set()
        await taker.came.wait()
        assert (await model.ask("fast?", within_s=4)).intent == HOWTO


async def test_what_an_answer_took_is_measured_late_or_not(worker):
    async with running(worker) as model:
        await model.ask("in time?", within_s=1)
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
        vote = await model.ask("how?", within_s=1)
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


async def test_when_a_tenth_comes_too_late_it_is_logged_once(worker, caplog):
    caplog.set_level(logging.WARNING)
    async with running(worker) as model:
        for number in range(17):
            await model.ask(f"good {number}?", within_s=1)
        worker.gate = anyio.Event()
        for number in range(6):
            await model.ask(f"bad {number}?", within_s=0.001)
            await settle(model)
            worker.gate.set()
            await model.ask(f"good again {number}?", within_s=1)
            worker.gate = anyio.Event()
    assert [record.message for record in caplog.records] == ["the model often answers too late"]


async def test_a_thousand_questions_of_every_kind_leave_no_task_behind(worker):
    async with running(worker, failures=10_000) as model:
        await model.ask("warm", within_s=1)
        before = anyio.get_running_tasks()
        for number in range(200):
            for say, within_s, late in (
                (Answer(id=0, text="howto"), 1, Taker()),
                (Answer(id=0, text="gibberish"), 1, None),
                (Trouble(id=0, kind="connection"), 1, Taker()),
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
