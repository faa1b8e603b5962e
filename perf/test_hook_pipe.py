"""What the hook pipe costs as a whole process, beside a bare interpreter in the same run.

The two are run in turn, so that the machine's mood falls on both. The ratio of the medians gates;
the milliseconds are reported.
"""

from __future__ import annotations

import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog.bus.frames import reply_frame

from .report import record

CHECKOUT = Path(__file__).parents[1]
CLIENT = CHECKOUT / "hooks" / "client.py"
SUBCOG = Path(sys.executable).parent / "subcog"
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
BARE = [PYTHON, "-I", "-S", "-c", "pass"]
PIPE = [PYTHON, "-I", "-S", str(CLIENT), "UserPromptSubmit"]
PAYLOAD = json.dumps({"session_id": "perf", "prompt": "how do I hash passwords here?"}).encode()
ANSWER = json.dumps({"hookSpecificOutput": {"additionalContext": "x" * 4000}}).encode()
PAIRS = 100
MAX_RATIO = 2.0
MAX_ABOVE_MS = 15.0
# Everything that the pipe may load beyond what a bare interpreter loads.
MAY_LOAD = {"_socket"}


def measure_ms(command: list[str], env: dict[str, str], payload: Path) -> float:
    """The wall time of one process, from its start to its end, in milliseconds."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, str(payload), os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
    ]
    began = time.perf_counter()
    pid = os.posix_spawn(command[0], command, env, file_actions=actions)
    _, status = os.waitpid(pid, 0)
    took_ms = (time.perf_counter() - began) * 1000
    assert status == 0
    return took_ms


def compare(env: dict[str, str], payload: Path, what: str, key: str) -> float:
    """Run both in turn, report, and return the ratio of the medians."""
    for command in (BARE, PIPE):
        measure_ms(command, env, payload)
    pairs = [(measure_ms(BARE, env, payload), measure_ms(PIPE, env, payload)) for _ in range(PAIRS)]
    bare, pipe = (sorted(side) for side in zip(*pairs, strict=True))
    record(key, pipe, bare)
    ratio = statistics.median(pipe) / statistics.median(bare)
    print(f"\nhook pipe, {what} ({PAIRS} pairs)         p50 ms   p99 ms")
    for name, side in (("bare interpreter", bare), ("hook pipe", pipe)):
        print(f"  {name:40} {statistics.median(side):8.2f} {p99(side):8.2f}")
    above_ms = p99(pipe) - p99(bare)
    print(f"  ratio of the medians {ratio:.2f} (at most {MAX_RATIO}); ", end="")
    print(f"above it at p99 {above_ms:.1f} ms (target {MAX_ABOVE_MS} ms, reported only)")
    return ratio


def p99(ordered: list[float]) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]


@pytest.fixture
def home() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sc") as folder:
        yield Path(folder)


@pytest.fixture
def payload(home: Path) -> Path:
    file = home / "payload.json"
    file.write_bytes(PAYLOAD)
    return file


@pytest.fixture
def env(home: Path) -> dict[str, str]:
    return {"PATH": "/usr/bin:/bin", "HOME": str(home), "SUBCOG_HOME": str(home / "h")}


@pytest.fixture
def scripted(home: Path) -> Iterator[None]:
    """A daemon that answers at once, so that the pipe alone is measured."""
    import socket

    (home / "h" / "data").mkdir(parents=True)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(home / "h" / "data" / "daemon.sock"))
    listener.listen(64)
    answer = reply_frame("ok", "0.1.0", ANSWER)

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(1 << 20)
                connection.sendall(answer)

    thread = threading.Thread(target=serve)
    thread.start()
    yield
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.fixture
def real(home: Path, env: dict[str, str]) -> Iterator[dict[str, str]]:
    """The daemon itself, with 1,000 memories of one project."""
    notes = home / "notes.jsonl"
    notes.write_text("".join(json.dumps(note) + "\n" for note in memories(1000)))
    project = home / "project"
    project.mkdir()

    def subcog(*arguments: str) -> dict[str, object]:
        done = subprocess.run(
            [str(SUBCOG), *arguments, "--json"],
            env=env,
            check=True,
            capture_output=True,
            timeout=120,
        )
        answer: dict[str, object] = json.loads(done.stdout)
        return answer

    try:
        subcog("import", str(notes), "--project", str(project))
        subcog("recall", "anything", "--project", str(project))  # is answered once all are loaded
        assert subcog("status")["memories"] == 1000
        yield {**env, "CLAUDE_PROJECT_DIR": str(project)}
    finally:
        subcog("daemon", "stop")


def memories(count: int) -> Iterator[dict[str, object]]:
    """Notes that differ enough to be kept apart."""
    things = "passwords sessions tokens migrations caches queues invoices uploads reports users"
    verbs = "hash rotate expire validate batch retry encrypt paginate index archive"
    pairs = [(verb, thing) for verb in verbs.split() for thing in things.split()]
    for number in range(count):
        verb, thing = pairs[number % len(pairs)]
        detail = f"module {number:04d}x{number * 7919 % 10007} in release {number // 10}"
        content = f"We {verb} {thing} with strategy {number}: {detail} depends on it."
        yield {"content": content, "namespace": "decisions"}


def test_pipe_costs_at_most_twice_a_bare_interpreter(scripted, env, payload):
    assert run_pipe(env, payload) == ANSWER
    assert compare(env, payload, "scripted daemon", "pipe.scripted") <= MAX_RATIO


def test_pipe_with_the_daemon_and_1000_memories_costs_at_most_twice_a_bare_one(real, payload):
    assert b"additionalContext" in run_pipe(real, payload)
    assert compare(real, payload, "daemon with 1,000 memories", "pipe.1000") <= MAX_RATIO


def test_pipe_loads_nothing_that_it_does_not_need(scripted, env, payload):
    beyond = loaded(PIPE, env, payload) - loaded(BARE, env, payload)

    print(f"\nhook pipe loads beyond a bare interpreter: {', '.join(sorted(beyond))}")
    assert beyond <= MAY_LOAD


def run_pipe(env: dict[str, str], payload: Path) -> bytes:
    with payload.open("rb") as source:
        done = subprocess.run(
            PIPE, stdin=source, env=env, capture_output=True, check=True, timeout=10
        )
    return done.stdout


def loaded(command: list[str], env: dict[str, str], payload: Path) -> set[str]:
    """The modules that a run imports, as the interpreter itself tells."""
    told = [command[0], "-X", "importtime", *command[1:]]
    with payload.open("rb") as source:
        done = subprocess.run(told, stdin=source, env=env, capture_output=True, check=True)
    return set(re.findall(r"\| +([\w.]+)$", done.stderr.decode(), re.MULTILINE)) - {"package"}
