"""A daemon with 100,000 memories, and an empty one. Times and sizes are reported, never gated.

``SUBCOG_TEST_MEMORIES`` sets another number.
"""

import json
import os
import random
import time
from pathlib import Path

import pytest

from subcog.sinks.projects import Projects
from subcog.sinks.topics import TopicIndex
from tests.integration.house import House

from .corpus import fill, memories, question, sentence
from .report import percentile, say

MEMORIES = int(os.environ.get("SUBCOG_TEST_MEMORIES", "100000"))
ROUNDS = 200


def resident_mb(pid):
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("large"))
    del house.env["SUBCOG_HOOK_TOTAL_MS"]
    place = Projects().place(project_dir=str(house.project), cwd="", user="x")
    house.paths.data.mkdir(parents=True, mode=0o700)
    started = time.perf_counter()
    fill(house.paths.database, place.project, MEMORIES)
    took_s = time.perf_counter() - started
    print(f"\nbulk import with embeddings: {MEMORIES / took_s:,.0f} memories/s; target 2,000")
    yield house
    house.close()


def test_an_empty_daemon_is_small(tmp_path):
    house = House(tmp_path)
    try:
        house.capture("one memory")
        house.prompt("how do I deploy?")
        time.sleep(3)
        print(f"\nresident, empty: {resident_mb(house.pid())} MB; target 160")
    finally:
        house.close()


def test_it_is_ready_soon(large):
    large.run("daemon", "stop")
    started = time.perf_counter()
    pid = large.start()
    listening_s = time.perf_counter() - started
    while not large.ask("status")["ready"]:
        time.sleep(0.05)
    ready_s = time.perf_counter() - started
    print(
        f"\n{MEMORIES:,} memories: answers after {listening_s:.2f} s, recalls after {ready_s:.2f} s"
    )
    print(f"  target 3 s; resident {resident_mb(pid)} MB, target 420")


def test_prompts_and_captures_at_scale(large):
    large.start()
    while not large.ask("status")["ready"]:
        time.sleep(0.05)
    rng = random.Random(3)
    prompts_ms, captures_ms = [], []
    for number in range(ROUNDS):
        payload = {"session_id": f"s{number}", "prompt": question(rng)}
        prompts_ms.append(_time(large, "hook", "UserPromptSubmit", payload))
        captures_ms.append(_time(large, "call", "capture", {"text": sentence(rng)}))
    say(f"prompt, socket in → out, {MEMORIES:,} memories", prompts_ms, target="recall p99 15")
    say(f"capture acknowledged, {MEMORIES:,} memories", captures_ms, target="p50 5, p99 25")
    print(f"  resident afterwards {resident_mb(large.pid())} MB")


def _time(house, kind, name, body):
    started = time.perf_counter()
    status, _ = house.exchange(
        kind, name, json.dumps(body).encode(), project=str(house.project), client="claude"
    )
    assert status == "ok"
    return (time.perf_counter() - started) * 1000


@pytest.mark.parametrize(("count", "target"), [(1_000, "50 ms"), (MEMORIES, "5 s")])
def test_the_topic_index_is_built(large, count, target):
    scope = Projects().place(project_dir=str(large.project), cwd="", user="x").project
    kept = list(memories(count, scope))
    index = TopicIndex()
    started = time.process_time()
    index.build(kept)
    took_ms = (time.process_time() - started) * 1000
    extra, add_ms = list(memories(200, scope, seed=9)), []
    for memory in extra:
        started = time.process_time()
        index.add(memory)
        add_ms.append((time.process_time() - started) * 1000)
    print(f"\ntopic index of {count:,}: {took_ms:,.0f} ms of processor time; target {target}")
    print(f"  add one: p99 {percentile(add_ms, 99):.2f} ms; target 1")
