"""What an MCP session costs: from its start to the handshake, a call, and the pipe's memory.

Pipe and bare interpreter are run in turn, so that the machine's mood falls on both. The ratio of
the medians, the pipe's memory and the daemon's processor time for a call gate; the milliseconds
are reported.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from .report import record, say

CHECKOUT = Path(__file__).parents[1]
SUBCOG = Path(sys.executable).parent / "subcog"
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
BARE = [PYTHON, "-I", "-S", "-c", "pass"]
PIPE = [PYTHON, "-I", "-S", str(CHECKOUT / "hooks" / "mcp_pipe.py"), str(SUBCOG)]
INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "perf", "version": "1"},
}
MEMORIES = 10_000
PAIRS = 40
CALLS = 300
MAX_RATIO = 3.0
MAX_RSS_MB = 15.0
# A call that takes the processor for so long cannot be answered within 15 ms by a busy machine.
MAX_CPU_MS = 15.0
SESSIONS = 20
ROUNDS = 15


class Session:
    """One session; ``handshake_ms`` is from its start to the answer to ``initialize``."""

    def __init__(self, env: dict[str, str]) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen(
            PIPE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=env, cwd="/"
        )
        self.ask("initialize", INITIALIZE)
        self.handshake_ms = (time.perf_counter() - began) * 1000
        self.write({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def write(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self.write({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        assert self.process.stdout
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer["result"]  # type: ignore[no-any-return]

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        return self.ask("tools/call", {"name": tool, "arguments": arguments})

    def rss_mb(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(status.partition("VmRSS:")[2].split()[0]) / 1024

    def close(self) -> None:
        with self.process:
            assert self.process.stdin
            self.process.stdin.close()
            assert self.process.wait(10) == 0


def bare_ms() -> float:
    began = time.perf_counter()
    subprocess.run(BARE, check=True)
    return (time.perf_counter() - began) * 1000


def notes() -> Iterator[str]:
    """Notes that differ enough to be kept apart."""
    things = "passwords sessions tokens migrations caches queues invoices uploads reports users"
    verbs = "hash rotate expire validate batch retry encrypt paginate index archive"
    pairs = [(verb, thing) for verb in verbs.split() for thing in things.split()]
    for number in range(MEMORIES):
        verb, thing = pairs[number % len(pairs)]
        detail = f"module {number:05d}x{number * 7919 % 100_003} in release {number // 10}"
        content = f"We {verb} {thing} with strategy {number}: {detail} depends on it."
        yield json.dumps({"content": content, "namespace": "decisions"}) + "\n"


@pytest.fixture(scope="module")
def env() -> Iterator[dict[str, str]]:
    """A warm daemon with many memories, which has served MCP before."""
    with tempfile.TemporaryDirectory(prefix="sc") as folder:
        home = Path(folder)
        (home / "notes.jsonl").write_text("".join(notes()))
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": folder,
            "SUBCOG_HOME": str(home / "h"),
            "CLAUDE_PROJECT_DIR": folder,
        }
        try:
            for command in (["import", str(home / "notes.jsonl")], ["recall", "anything"]):
                subprocess.run(
                    [str(SUBCOG), *command, "--project", folder],
                    env=env,
                    check=True,
                    capture_output=True,
                    timeout=300,
                )
            Session(env).close()
            yield env
        finally:
            subprocess.run([str(SUBCOG), "daemon", "stop"], env=env, check=False, timeout=60)


def test_handshake_costs_at_most_three_bare_interpreters(env: dict[str, str]) -> None:
    bare, pipe = [], []
    for _ in range(PAIRS):
        bare.append(bare_ms())
        session = Session(env)
        pipe.append(session.handshake_ms)
        session.close()

    ratio = statistics.median(pipe) / statistics.median(bare)
    say("bare interpreter", bare, target="none")
    target = f"{MAX_RATIO} × bare: {ratio:.2f}"
    what = "MCP, from the start to the handshake"
    say(what, pipe, target=target, key="mcp.handshake", baseline=bare)
    assert ratio <= MAX_RATIO


def test_recall_and_the_pipes_memory(env: dict[str, str]) -> None:
    session = Session(env)
    took_ms = []
    began_ms = daemon_cpu_ms(env)
    for number in range(CALLS):
        began = time.perf_counter()
        answer = session.call("recall", query=question(number))
        took_ms.append((time.perf_counter() - began) * 1000)
        assert answer["structuredContent"]["memories"]
    cpu_ms = (daemon_cpu_ms(env) - began_ms) / CALLS
    rss_mb = session.rss_mb()
    session.close()

    say(f"recall over MCP, {MEMORIES} memories", took_ms, target="p99 15 ms", key="mcp.recall")
    record("mcp.resident", [rss_mb])
    print(f"the daemon's processor time for each: {cpu_ms:.1f} ms; at most {MAX_CPU_MS}")
    print(f"the pipe's memory: {rss_mb:.1f} MB; at most {MAX_RSS_MB}")
    assert rss_mb <= MAX_RSS_MB
    assert cpu_ms <= MAX_CPU_MS


def test_twenty_sessions_at_once(env: dict[str, str]) -> None:
    sessions = [Session(env) for _ in range(SESSIONS)]
    took_ms = []
    with ThreadPoolExecutor(SESSIONS) as clients:
        for number in range(ROUNDS):
            began = time.perf_counter()
            asked = partial(Session.call, tool="recall", query=question(number))
            answers = clients.map(asked, sessions)
            assert all(answer["structuredContent"]["memories"] for answer in answers)
            took_ms.append((time.perf_counter() - began) * 1000)
    for session in sessions:
        session.close()

    say(f"recall in {SESSIONS} sessions at once, all of them", took_ms, target="all answered")


def question(number: int) -> str:
    return f"how do we retry uploads in module {number}"


def daemon_cpu_ms(env: dict[str, str]) -> float:
    """The processor time that the daemon has taken so far."""
    command = [str(SUBCOG), "status", "--json"]
    status = subprocess.run(command, env=env, check=True, capture_output=True, timeout=60)
    stat = Path(f"/proc/{json.loads(status.stdout)['pid']}/stat").read_text()
    user, system = stat.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) * 1000 / os.sysconf("SC_CLK_TCK")
