"""The daemon's side of a prompt, and a cold start. Times are reported, never gated."""

import json
import random
import time

import pytest

from subcog.sinks.projects import Projects
from tests.integration.house import House

from .corpus import fill, question
from .report import say

PROMPTS = 300


@pytest.fixture(scope="module", params=[1_000, 10_000])
def filled(request, tmp_path_factory):
    """A house whose project has many memories, with a warm daemon."""
    house = House(tmp_path_factory.mktemp("filled"))
    place = Projects().place(project_dir=str(house.project), cwd="", user="x")
    house.paths.data.mkdir(parents=True, mode=0o700)
    fill(house.paths.database, place.project, request.param)
    del house.env["SUBCOG_HOOK_TOTAL_MS"]
    house.start()
    while not house.ask("status")["ready"]:
        pass
    yield request.param, house
    house.close()


def test_a_prompt_in_the_daemon(filled):
    count, house = filled
    rng = random.Random(2)
    took_ms, contexts = [], 0
    for number in range(PROMPTS):
        payload = {"session_id": f"s{number}", "prompt": question(rng)}
        body = json.dumps(payload).encode()
        started = time.perf_counter()
        status, answer = house.exchange(
            "hook", "UserPromptSubmit", body, project=str(house.project), client="claude"
        )
        took_ms.append((time.perf_counter() - started) * 1000)
        assert status == "ok"
        contexts += b"additionalContext" in answer
    assert contexts, "no prompt got a context, so nothing was measured"
    say(f"prompt, socket in → out, {count:,} memories", took_ms, target="p50 5, p99 15 at 10,000")
    print(f"  {contexts} of {PROMPTS} prompts got a context")


def test_a_cold_start(tmp_path):
    took_ms = []
    house = House(tmp_path)
    del house.env["SUBCOG_HOOK_TOTAL_MS"], house.env["SUBCOG_HOOK_START_MS"]
    house.capture("We use argon2id for password hashing because bcrypt truncates at 72 bytes")
    answered = 0
    try:
        for number in range(10):
            house.run("daemon", "stop")
            started = time.perf_counter()
            answered += bool(house.context("how do I hash passwords here?", f"s{number}"))
            took_ms.append((time.perf_counter() - started) * 1000)
    finally:
        house.close()
    say("first hook, no daemon running", took_ms, target="1,000, and never above the budget")
    print(f"  {answered} of 10 got their memory on that first prompt")
