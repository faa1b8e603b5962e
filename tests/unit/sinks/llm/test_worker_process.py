"""The worker's process, with a small program in the worker's place."""

import os
import sys
from contextlib import asynccontextmanager

import anyio
import pytest

from subcog.sinks.llm.worker_process import (
    Answer,
    Ask,
    Configure,
    ModelProcess,
    Trouble,
    WorkerGone,
)
from tests.processes import children_of
from tests.waiting import PATIENCE_S

OTHERS: set[int] = set()
PLAYED = """
import json, os, sys

def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()

settings = json.loads(sys.stdin.readline())
if settings["model"] == "crashes":
    sys.exit(3)
say(type="ready")
for line in sys.stdin:
    message = json.loads(line)
    if message["type"] == "cancel":
        say(type="answer", id=0, text=f"cancelled {message['id']}")
        say(type="answer", id=message["id"], text="too late")
        print(message["id"], file=open(settings["api_base"], "a"))
    elif message["user"] == "die":
        os._exit(4)
    elif message["user"] == "babble":
        print("not json", flush=True)
    elif message["user"] == "flood":
        print("x" * 1_000_000, flush=True)
    elif message["user"] == "fail":
        say(type="trouble", id=message["id"], kind="connection")
    elif message["user"] != "hang":
        say(type="answer", id=message["id"], text=message["user"].upper() + settings["model"])
"""


def make_ask(user, number=1):
    return Ask(id=number, system="s", user=user, max_tokens=10, timeout_s=10)


@pytest.fixture
def script(tmp_path):
    file = tmp_path / "played.py"
    file.write_text(PLAYED)
    return file


@asynccontextmanager
async def running(script, *, model="m", **changes):
    configure = Configure(model=model, api_base=str(script.parent / "cancelled"))
    process = ModelProcess((sys.executable, str(script)), configure, **changes)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            try:
                yield process, tasks
            finally:
                tasks.cancel_scope.cancel()


@pytest.fixture(autouse=True, scope="module")
def _others():
    """What other tests keep running, a server for instance."""
    OTHERS.update(children_of())


def children():
    return [pid for pid in children_of() if pid not in OTHERS]


async def gone(process):
    """Return when the worker has ended; the caller's time limit holds."""
    await let_go(process)
    while True:
        if not children():
            return
        await anyio.sleep(0.001)


async def let_go(process):
    while True:
        if process.state == "none":
            return
        await anyio.sleep(0.001)


def descriptors():
    return len(os.listdir("/proc/self/fd"))


async def test_it_starts_when_it_is_needed_and_answers(script):
    async with running(script) as (process, tasks):
        assert (process.state, children()) == ("none", [])
        await process.start(tasks)
        assert process.state == "ready"
        assert await process.call(make_ask("hello ")) == Answer(id=1, text="HELLO m")
        assert await process.call(make_ask("fail", 2)) == Trouble(id=2, kind="connection")


async def test_there_is_one_however_many_start_it(script):
    async with running(script) as (process, tasks):
        async with anyio.create_task_group() as callers:
            for _ in range(5):
                callers.start_soon(process.start, tasks)
        assert len(children()) == 1


async def test_many_questions_at_once_each_get_their_answer(script):
    said = {}

    async def ask(process, number):
        said[number] = (await process.call(make_ask(f"q{number}", number))).text

    async with running(script) as (process, tasks):
        await process.start(tasks)
        async with anyio.create_task_group() as callers:
            for number in range(50):
                callers.start_soon(ask, process, number)
    assert said == {number: f"Q{number}m" for number in range(50)}


async def test_a_cancelled_question_is_cancelled_there_and_its_answer_ignored(script):
    async with running(script) as (process, tasks):
        await process.start(tasks)
        with anyio.move_on_after(0.01):
            await process.call(make_ask("hang", 7))
        assert (await process.call(make_ask("next", 8))).text == "NEXTm"
        assert (script.parent / "cancelled").read_text() == "7\n"


@pytest.mark.parametrize("word", ["die", "babble", "flood"])
async def test_a_worker_that_breaks_fails_what_is_asked_and_the_next_one_serves(script, word):
    async with running(script) as (process, tasks):
        await process.start(tasks)
        async with anyio.create_task_group() as callers:

            async def hang():
                with pytest.raises(WorkerGone):
                    await process.call(make_ask("hang", 1))

            callers.start_soon(hang)
            with pytest.raises(WorkerGone):
                await process.call(make_ask(word, 2))
        await gone(process)
        with pytest.raises(WorkerGone):
            await process.call(make_ask("hello", 3))
        await process.start(tasks)
        assert (await process.call(make_ask("hello", 4))).text == "HELLOm"


async def test_a_worker_that_cannot_start_says_so(script):
    async with running(script, model="crashes") as (process, tasks):
        with pytest.raises(WorkerGone):
            await process.start(tasks)


async def test_a_command_that_is_not_there_says_so(tmp_path):
    async with running(tmp_path / "x") as (_, tasks):
        process = ModelProcess(("/nonexistent/python",), Configure(model="m", api_base=""))
        with pytest.raises(WorkerGone):
            await process.start(tasks)


async def test_it_leaves_when_nothing_is_asked_for_long(script):
    async with running(script, idle_s=0.05) as (process, tasks):
        await process.start(tasks)
        await process.call(make_ask("hello"))
        await gone(process)
        assert children() == []


async def test_it_ends_with_its_owner_and_leaves_nothing_open(script):
    before = descriptors()
    async with running(script) as (process, tasks):
        await process.start(tasks)
        assert len(children()) == 1
    assert children() == []
    assert descriptors() <= before + 3  # the loop's watcher of child processes stays
    again = descriptors()
    async with running(script) as (process, tasks):
        await process.start(tasks)
    assert descriptors() == again


async def test_while_one_leaves_the_next_question_has_another(script):
    script.write_text(PLAYED + "\nimport time\ntime.sleep(60)\n")  # it has to be killed
    async with running(script, idle_s=0.01) as (process, tasks):
        await process.start(tasks)
        await let_go(process)
        assert len(children()) == 1
        await process.start(tasks)
        assert process.state == "ready"
        assert len(children()) == 2
