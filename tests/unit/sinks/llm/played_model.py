"""A language model whose worker is played by hand."""

from __future__ import annotations

from contextlib import asynccontextmanager
from operator import itemgetter

import anyio
from anyio import wait_all_tasks_blocked

from subcog.bus.prompts import DetectionSource, IntentType, SearchIntent
from subcog.bus.signals import asked
from subcog.sinks.llm.circuit_breaker import CircuitBreaker
from subcog.sinks.llm.language_model import LanguageModel, PromptSpec
from subcog.sinks.llm.worker_process import Answer
from tests.emissions import emitted
from tests.waiting import PATIENCE_S

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


BRIEF = PromptSpec(
    system="system",
    question=lambda text: f"<{text}>",
    read=read,
    clean=lambda text: text.replace("secret", "***"),
)


def outcomes():
    """How each question ended, as it is emitted."""
    return emitted(asked, itemgetter("outcome"))


@asynccontextmanager
async def running(worker, *, late_s=60.0, problem="", failures=5):
    breaker = CircuitBreaker(now=anyio.current_time, failures=failures)
    model = LanguageModel(worker, BRIEF, late_s=late_s, breaker=breaker, problem=problem)
    with anyio.fail_after(PATIENCE_S):
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
