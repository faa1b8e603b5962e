"""Speed and size of what is kept, each figure beside its target, in one table at the end.

python -m pytest perf/test_scale.py -s -q

The daemon is a real one, in steady state: its topics are built before anything is measured. Times
are reported, never gated. ``SUBCOG_TEST_MEMORIES`` sets another number than 100,000 for the large
one. ``SUBCOG_TEST_MILLION=1`` measures 1,000,000 memories of which 10,000 are in scope as well, and
tells how far it is; that takes up to ten minutes, 3 GB of memory and 2 GB of disk. A larger number
takes its place.
"""

from __future__ import annotations

import gc
import json
import os
import random
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from subcog.bus.frames import read_reply_head, request_frame
from subcog.bus.values import Scope
from subcog.sinks.indexes.topic_index import TopicIndex
from subcog.sinks.project.identity import Projects
from tests.integration import house as houses
from tests.integration.house import House

from .corpus import fill, fill_others, memories, question, sentence
from .report import percentile, record

MEMORIES = int(os.environ.get("SUBCOG_TEST_MEMORIES", "100000"))
MILLION = int(os.environ.get("SUBCOG_TEST_MILLION", "0"))
MILLION = 1_000_000 if MILLION == 1 else MILLION
IN_SCOPE = 10_000
ROUNDS = 300
IMPORTED = 10_000
PATIENCE_S = 900.0


class Table:
    """The figures, in the order in which they were measured."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, str]] = []

    def add(self, what: str, target: str, measured: str) -> None:
        self._rows.append((what, target, measured))

    def __str__(self) -> str:
        lines = [f"\n{'':<52} {'target':>16}   measured"]
        lines += [f"{what:<52} {target:>16}   {measured}" for what, target, measured in self._rows]
        return "\n".join(lines)


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    table = Table()
    yield table
    print(table)


@contextmanager
def filled(root: Path, count: int, others: int = 0) -> Iterator[House]:
    """A house whose project has ``count`` memories, beside ``others`` others with 10,000 each."""
    patience, houses.PATIENCE_S = houses.PATIENCE_S, PATIENCE_S
    house = House(root, installed=True)
    del house.env["SUBCOG_HOOK_TOTAL_MS"]
    house.paths.data.mkdir(parents=True, mode=0o700)
    fill(house.paths.database, project_of(house), count)
    if others:
        scopes = [Scope("project", f"other-{number}") for number in range(others)]
        fill_others(
            house.paths.database, scopes, IN_SCOPE, lambda filled: progress("filled", filled)
        )
    try:
        yield house
    finally:
        house.close()
        houses.PATIENCE_S = patience


def project_of(house: House) -> Scope:
    return Projects().place(project_dir=str(house.project), cwd="", user="x").project


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with filled(tmp_path_factory.mktemp("large"), MEMORIES) as house:
        yield house


def progress(what: str, count: int) -> None:
    """A line that overwrites itself, for whoever waits in front of ``pytest -s``."""
    print(f"\r  {what}: {count:>9,} memories", end="", file=sys.stderr, flush=True)


def status(house: House) -> dict[str, object]:
    return house.ask("status")


def settle(house: House) -> int:
    """Wait until it recalls, its topics are built and it serves HTTP; its process's number."""
    house.start()
    while not (now := status(house))["ready"] or now["index"]["in_topics"] < now["memories"]:
        if MILLION and now["ready"]:
            progress("topics", now["index"]["in_topics"])
        time.sleep(0.2)
    house.metrics()
    return now["pid"]


def resident_mb(pid: int) -> int:
    """Resident memory of a process."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) // 1024 for line in lines if line.startswith("VmRSS"))


def cpu_s(pid: int) -> float:
    ticks = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / os.sysconf("SC_CLK_TCK")


def call(house: House, kind: str, name: str, body: object) -> tuple[float, dict[str, object]]:
    """The milliseconds until the answer was there, and the answer."""
    data = json.dumps(body).encode()
    started = time.perf_counter()
    fields = {"project": str(house.project), "client": "claude"}
    state, answer = _exchange(house, request_frame(kind, name, fields, data))
    took_ms = (time.perf_counter() - started) * 1000
    assert state == "ok", answer
    return took_ms, json.loads(answer)


def _exchange(house: House, frame: bytes) -> tuple[str, bytes]:
    """One frame to the daemon, and its answer; a hook may be told to wait for it."""
    with house.connect() as connection, connection.makefile("rwb") as stream:
        stream.write(frame)
        stream.flush()
        while (head := read_reply_head(stream.readline())).status == "wait":
            pass
        return head.status, stream.read(head.body)


def spread(values: list[float]) -> str:
    p50, p95, p99 = (percentile(values, percent) for percent in (50, 95, 99))
    return f"p50 {p50:.1f}  p95 {p95:.1f}  p99 {p99:.1f} ms"


def measure_recall(house: House, table: Table, what: str, target: str, key: str) -> None:
    """Recall as the daemon takes it, of the calls' own figures."""
    pid = settle(house)
    rng = random.Random(5)
    for _ in range(20):
        call(house, "call", "recall", {"query": question(rng)})
    cpu, took_ms = cpu_s(pid), []
    for _ in range(ROUNDS):
        _, answer = call(house, "call", "recall", {"query": question(rng)})
        took_ms.append(answer["execution_time_ms"])
    record(key, took_ms)
    each_ms = (cpu_s(pid) - cpu) / ROUNDS * 1000
    table.add(what, f"p99 {target} ms", f"{spread(took_ms)}; processor {each_ms:.1f} ms a call")


@pytest.mark.parametrize(("count", "target"), [(1_000, "3"), (10_000, "6")])
def test_recall_of_some(tmp_path: Path, table: Table, count: int, target: str) -> None:
    with filled(tmp_path, count) as house:
        what = f"recall, {count:,} memories in one scope"
        measure_recall(house, table, what, target, f"recall.{count}")


def test_recall_of_very_many(large: House, table: Table) -> None:
    what = f"recall, {MEMORIES:,} memories in one scope"
    measure_recall(large, table, what, "15", f"recall.{MEMORIES}")


@pytest.mark.skipif(not MILLION, reason="takes minutes: SUBCOG_TEST_MILLION=1")
def test_recall_of_some_among_a_million(tmp_path: Path, table: Table) -> None:
    began = time.perf_counter()
    with filled(tmp_path, IN_SCOPE, MILLION // IN_SCOPE - 1) as house:
        started = time.perf_counter()
        pid = house.start()
        while not status(house)["ready"]:
            time.sleep(0.2)
        ready = f"{time.perf_counter() - started:.1f} s; processor {cpu_s(pid):.1f} s"
        table.add(f"ready to recall, {MILLION:,} memories", "-", ready)
        table.add(f"resident, {MILLION:,} memories, when ready", "-", f"{resident_mb(pid)} MB")
        what = f"recall, {MILLION:,} memories, 10,000 in scope"
        measure_recall(house, table, what, "10", "recall.million")
        measured = f"{resident_mb(pid)} MB; all of this took {time.perf_counter() - began:.0f} s"
        table.add(f"resident, {MILLION:,} memories, topics built", "-", measured)


def test_prompts_and_captures(large: House, table: Table) -> None:
    pid = settle(large)
    rng = random.Random(3)
    prompts_ms, captures_ms, cpu = [], [], 0.0
    for number in range(ROUNDS):
        payload = {"session_id": f"s{number}", "prompt": question(rng)}
        prompts_ms.append(call(large, "hook", "UserPromptSubmit", payload)[0])
        before = cpu_s(pid)
        captures_ms.append(call(large, "call", "capture", {"text": sentence(rng)})[0])
        cpu += cpu_s(pid) - before
    table.add(f"prompt, socket in → out, {MEMORIES:,}", "-", spread(prompts_ms))
    record(f"capture.{MEMORIES}", captures_ms)
    record(f"resident.{MEMORIES}", [resident_mb(pid)])
    processor = f"processor {cpu / ROUNDS * 1000:.1f} ms each"
    target, what = "p50 5, p99 25 ms", f"capture acknowledged, {MEMORIES:,}"
    table.add(what, target, f"{spread(captures_ms)}; {processor}")
    table.add(f"resident, {MEMORIES:,}, after all that", "420 MB", f"{resident_mb(pid)} MB")


def test_bulk_import(tmp_path: Path, table: Table) -> None:
    house = House(tmp_path, installed=True)
    file = tmp_path / "memories.jsonl"
    with file.open("w", encoding="utf-8") as lines:
        for memory in memories(IMPORTED, Scope("project", "any")):
            fields = {"content": memory.content, "namespace": memory.namespace}
            lines.write(json.dumps(fields | {"tags": memory.tags}) + "\n")
    patience, houses.PATIENCE_S = houses.PATIENCE_S, PATIENCE_S
    try:
        pid = settle(house)
        cpu, started = cpu_s(pid), time.perf_counter()
        done = house.run("import", str(file), "--json")
        took_s = time.perf_counter() - started
        assert json.loads(done.stdout)["stored"] == IMPORTED
        record("import", [IMPORTED / took_s])
        each_ms = (cpu_s(pid) - cpu) / IMPORTED * 1000
        measured = f"{IMPORTED / took_s:,.0f}/s; processor of the daemon {each_ms:.2f} ms each"
        table.add("subcog import, with embeddings", "2,000/s", measured)
    finally:
        house.close()
        houses.PATIENCE_S = patience


@pytest.mark.parametrize(("count", "target"), [(1_000, "50 ms"), (MEMORIES, "5,000 ms")])
def test_the_topic_index_is_built(table: Table, count: int, target: str) -> None:
    scope = Scope("project", "topics")
    kept = list(memories(count, scope))
    index = TopicIndex()
    gc.disable()  # as the daemon builds it
    started = time.process_time()
    index.build(kept)
    took_ms = (time.process_time() - started) * 1000
    gc.enable()
    record(f"topics.{count}", [took_ms])
    table.add(f"topic index of {count:,}, processor", target, f"{took_ms:,.0f} ms")
    add_ms = []
    for memory in memories(200, scope, seed=9):
        started = time.process_time()
        index.add(memory)
        add_ms.append((time.process_time() - started) * 1000)
    record("topics.add", add_ms)
    table.add(f"  add one to {count:,}, processor", "1 ms", f"p99 {percentile(add_ms, 99):.2f} ms")


def test_it_is_ready_soon(large: House, table: Table) -> None:
    settle(large)
    large.run("daemon", "stop")
    started = time.perf_counter()
    pid = large.start()
    listening_s = time.perf_counter() - started
    while not status(large)["ready"]:
        time.sleep(0.05)
    ready_s, used_s = time.perf_counter() - started, cpu_s(pid)
    record("ready.hooks", [listening_s * 1000])
    record("ready.recall", [ready_s * 1000])
    table.add(f"ready to answer hooks, {MEMORIES:,}", "at once", f"{listening_s:.2f} s")
    measured = f"{ready_s:.2f} s; processor {used_s:.2f} s"
    table.add(f"ready to recall, {MEMORIES:,}", "3 s", measured)
    table.add(f"resident, {MEMORIES:,}, when ready", "420 MB", f"{resident_mb(pid)} MB")
    settle(large)
    table.add(f"resident, {MEMORIES:,}, topics built", "420 MB", f"{resident_mb(pid)} MB")
    topics_s = cpu_s(pid) - used_s
    table.add(f"topics of {MEMORIES:,} in the daemon, processor", "-", f"{topics_s:.1f} s")


def test_an_empty_daemon_is_small(tmp_path: Path, table: Table) -> None:
    house = House(tmp_path, installed=True)
    try:
        house.capture("one memory")
        house.prompt("how do I deploy?")
        house.metrics()  # it is all there as soon as that is served, a moment after the start
        resident = resident_mb(house.pid())
        record("resident.empty", [resident])
        table.add("resident, empty", "160 MB", f"{resident} MB")
    finally:
        house.close()
