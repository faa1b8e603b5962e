"""The daemon's side of a prompt, and a cold start. Times are reported, never gated."""

import json
import os
import random
import time
from pathlib import Path

import pytest

from subcog.sinks.project.identity import Projects
from tests.integration.house import House

from .corpus import fill, question
from .report import say

PROMPTS = 300
ACTIONS = 60
FIRST = 40


@pytest.fixture(scope="module", params=[1_000, 10_000])
def filled(request, tmp_path_factory):
    """A house whose project has many memories, with a daemon that is up, and a session begun."""
    house = House(tmp_path_factory.mktemp("filled"), installed=True)
    place = Projects().place(project_dir=str(house.project), cwd="", user="x")
    house.paths.data.mkdir(parents=True, mode=0o700)
    fill(house.paths.database, place.project, request.param)
    del house.env["SUBCOG_HOOK_TOTAL_MS"]
    house.start()
    until_at_rest(house)
    house.metrics()
    house.hook("SessionStart", {"session_id": "s", "source": "startup"})
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
    say(
        f"prompt, socket in → out, {count:,} memories",
        took_ms,
        target="p50 5, p99 15 at 10,000",
        key=f"prompt.{count}",
    )
    print(f"  {contexts} of {PROMPTS} prompts got a context")


@pytest.mark.parametrize("event", ["PreToolUse", "PostToolUse", "PostToolUseFailure"])
def test_a_tool_in_the_daemon(filled, event):
    count, house = filled
    rng, pid = random.Random(3), house.pid()
    took_ms, contexts, spent_s = [], 0, cpu_s(pid)
    for number in range(PROMPTS):
        body = json.dumps(tool_use(event, f"t{number}", question(rng))).encode()
        started = time.perf_counter()
        status, answer = house.exchange(
            "hook", event, body, project=str(house.project), client="claude"
        )
        took_ms.append((time.perf_counter() - started) * 1000)
        assert status == "ok"
        contexts += b"additionalContext" in answer
    each_ms = (cpu_s(pid) - spent_s) / PROMPTS * 1000
    say(
        f"{event}, socket in → out, {count:,} memories",
        took_ms,
        target="p99 10 at 10,000",
        key=f"{event}.{count}",
    )
    print(f"  {contexts} of {PROMPTS} got a context; {each_ms:.1f} ms of processor time each")


def tool_use(event: str, session: str, words: str) -> dict[str, object]:
    """What the agent sends for an edit of 200 lines, or for a command that failed."""
    given: dict[str, object] = {"session_id": session, "tool_name": "Edit"}
    if event == "PostToolUseFailure":
        return given | {"tool_name": "Bash", "error": f"Exit code 1\nError: cannot {words}"}
    name = "_".join(words.split()[3:6])
    text = f"def {name}(value):\n    return {words.split()[3]}.find(value)\n" * 100
    return given | {"tool_input": {"file_path": f"src/{name}.py", "new_string": text}}


def test_a_harmless_action_as_a_process(filled):
    """The whole hook before a command, beside one that the daemon passes without a look."""
    count, house = filled
    commands = ("npm run build", "git commit -am wip", "make test", "docker compose up -d db")
    run, passed = [], []
    for number in range(ACTIONS):
        for tool, took_ms in (("Bash", run), ("Read", passed)):
            told = {"command": commands[number % len(commands)], "file_path": "a.py"}
            payload = {"session_id": "p", "tool_name": tool, "tool_input": told}
            started = time.perf_counter()
            assert house.hook("PreToolUse", payload) == {}
            took_ms.append((time.perf_counter() - started) * 1000)
    say(
        f"PreToolUse, whole hook, {count:,} memories",
        run,
        target="+3",
        key=f"PreToolUse.process.{count}",
    )
    say("  passed without a look", passed, target="–", key=f"PreToolUse.passed.{count}")
    above = sorted(run)[len(run) // 2] - sorted(passed)[len(passed) // 2]
    print(f"  {above:.1f} ms above it in the median (target 3)")


def test_a_restart_with_memories(filled):
    """What a start costs with a store that an earlier one has read, and prompts meanwhile."""
    count, house = filled
    house.run("daemon", "stop")
    house.start()
    rng, pid, took_ms = random.Random(4), house.pid(), []
    for number in range(FIRST):
        body = json.dumps({"session_id": f"r{number}", "prompt": question(rng)}).encode()
        started = time.perf_counter()
        house.exchange(
            "hook", "UserPromptSubmit", body, project=str(house.project), client="claude"
        )
        took_ms.append((time.perf_counter() - started) * 1000)
        time.sleep(0.2)
    until_at_rest(house)
    what = f"prompt right after a restart, {count:,} memories"
    say(what, took_ms, target="–", key=f"prompt.restarted.{count}")
    spent = cpu_s(pid)
    say("  processor time of that start", [spent], target="–", unit="s", key=f"restart.{count}")


def until_at_rest(house: House) -> None:
    """Wait until the daemon is ready, has read what memories warn of, and does nothing more."""
    while not (now := house.ask("status"))["ready"] or now["index"]["in_topics"] < now["memories"]:
        time.sleep(0.1)
    while not house.paths.warning_keys.exists():
        time.sleep(0.1)
    pid, spent = house.pid(), -1.0
    while cpu_s(pid) - spent > 0.05:
        spent = cpu_s(pid)
        time.sleep(1.0)


def cpu_s(pid: int) -> float:
    """The processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_a_cold_start(tmp_path):
    took_ms = []
    house = House(tmp_path, installed=True)
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
    target = "1,000, and never above the budget"
    say("first hook, no daemon running", took_ms, target=target, key="cold")
    print(f"  {answered} of 10 got their memory on that first prompt")


def test_the_end_of_a_turn_with_a_transcript_of_50_mb(tmp_path):
    house = House(tmp_path, installed=True)
    try:
        house.start()
        transcript = tmp_path / "transcript.jsonl"
        result = {"type": "tool_result", "tool_use_id": "t", "content": "word " * 20_000}
        line = json.dumps({"type": "user", "message": {"content": [result]}}) + "\n"
        transcript.write_text(line * 520)
        took_ms = []
        for number in range(5):
            payload = {"session_id": f"s{number}", "transcript_path": str(transcript)}
            started = time.perf_counter()
            assert house.hook("Stop", payload) == {}
            took_ms.append((time.perf_counter() - started) * 1000)
    finally:
        house.close()
    say("turn ends, transcript of 50 MB, whole hook", took_ms, target="300", key="stop.50mb")
