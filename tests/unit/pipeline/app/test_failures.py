"""Commands that fail and pass, as Claude Code tells of them, through a whole app."""

from __future__ import annotations

import threading
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime

import anyio
import msgspec
import pytest

from subcog.bus.events import ResponseReady, ToolUsed
from subcog.bus.values import Action
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.app import failures
from subcog.pipeline.app.app import App
from subcog.pipeline.app.failures import Watched
from subcog.pipeline.entrance.handler import HookHandler
from tests.stores import make_row, opened, put_empty_file
from tests.waiting import PATIENCE_S

PATIENT = {"SUBCOG_HOOK_TOTAL_MS": "30000"}
LOCKED = "Exit code 1\nE   OperationalError: database is locked"
SLOW = "pytest -n 8 tests/integration"
WORKS = "pytest -n0 tests/integration"
KEPT = (
    '`pytest -n 8 tests/integration` fails: "E OperationalError: database is locked". '
    "What works: `pytest -n0 tests/integration`.\nWhat differs: `-n 0` instead of `-n 8`."
)


class Desk:
    """An agent that uses its tools in one project."""

    def __init__(self, app, project):
        self.app = app
        self.hooks = HookHandler(app)
        self.project = str(project)

    async def hook(self, event, session, tool="Bash", **payload):
        fields = {"project": self.project, "cwd": self.project, "client": "claude"}
        body = {"session_id": session, "hook_event_name": event, "tool_name": tool, **payload}
        answer = await self.hooks.answer(event, fields, msgspec.json.encode(body))
        while self.app.bus._in_flight:  # noqa: ASYNC110 - what is awaited has no event
            await anyio.sleep(0.001)
        return msgspec.json.decode(answer.body)

    async def fails(self, command, error=LOCKED, session="s1", **more):
        answer = {"error": error, "is_interrupt": False, **more}
        asked = {"command": command, "description": "Run it"}
        return await self.hook("PostToolUseFailure", session, tool_input=asked, **answer)

    async def passes(self, command, session="s1", **more):
        response = {"stdout": "ok", "stderr": "", "interrupted": False, "isImage": False}
        asked = {"command": command, "description": "Run it"}
        answer = more.pop("tool_response", response)
        agent = {name: more.pop(name) for name in ("agent_id",) if name in more}
        return await self.hook(
            "PostToolUse", session, tool_input=asked | more, tool_response=answer, **agent
        )

    async def edits(self, path, old, new, session="s1"):
        asked = {"file_path": f"{self.project}/{path}", "old_string": old, "new_string": new}
        return await self.hook("PostToolUse", session, "Edit", tool_input=asked)

    async def proposes(self, command, session="s2", **more):
        asked = {"command": command, "description": "Run it"}
        answer = await self.hook("PreToolUse", session, tool_input=asked, **more)
        if not answer:
            return ""
        return answer["hookSpecificOutput"]["additionalContext"]

    async def kept(self):
        scopes = self.hooks.places.at({"project": self.project}).readable
        return await self.app.archive.latest(scopes, limit=20)


@asynccontextmanager
async def at_work(folder, **env):
    variables = {"HOME": str(folder), "SUBCOG_HOME": str(folder / "h")}
    paths = find_paths(variables)
    for place in (paths.data, paths.state):
        place.mkdir(parents=True, mode=0o700, exist_ok=True)
    project = folder / "project"
    project.mkdir(exist_ok=True)
    await anyio.to_thread.run_sync(put_empty_file, paths.database)
    settings = load_settings(paths.config_file, PATIENT | env).settings
    app = App(settings, paths)
    with anyio.fail_after(PATIENCE_S):
        async with app.running():
            await app.load()
            await app.build_topics()
            yield Desk(app, project)
        await app.unload()


async def test_a_failure_and_its_mend_are_known_to_the_next_session(tmp_path):
    async with at_work(tmp_path) as desk:
        assert await desk.fails(SLOW) == {}
        assert await desk.passes(WORKS) == {}
        (memory,) = await desk.kept()
        assert memory.content == KEPT
        assert (memory.namespace, memory.confidence_percent) == ("gotchas", 95)
        assert memory.tags == ("failed-command", "auto-captured")
        assert (memory.provenance.session, memory.provenance.client) == ("s1", "claude")
        assert await desk.proposes(SLOW, "s1") == "", "the session has seen it itself"
    async with at_work(tmp_path) as desk:  # another daemon
        warned = await desk.proposes("cd /src/shop && pytest -n 8 tests/integration/test_a.py -q")
        assert "`pytest -n0 tests/integration`" in warned
        assert await desk.proposes(SLOW) == "", "once in a context"
        assert await desk.proposes(SLOW, "s3", agent_id="a1")
        for harmless in (WORKS, "pytest -n0 tests/unit", "pytest -n 8", "npm test"):
            assert await desk.proposes(harmless, "s4") == ""


async def test_of_two_commands_at_once_one_is_no_answer_to_the_other(tmp_path):
    async with at_work(tmp_path) as desk:
        for command in (SLOW, WORKS):
            await desk.proposes(command, "s1")
        await desk.fails(SLOW)
        await desk.passes(WORKS)
        assert await desk.kept() == ()
        await desk.proposes(WORKS, "s1")
        await desk.passes(WORKS)
        assert len(await desk.kept()) == 1


async def test_the_reason_is_certain(tmp_path):
    async with at_work(tmp_path) as desk:
        await desk.fails("npm install", "npm error ERESOLVE unable to resolve dependency tree")
        await desk.passes("npm install --legacy-peer-deps")
        assert await desk.proposes("npm install")
        (memory,) = await desk.kept()
        reason = desk.app.sessions.reason("s2", memory.id)
        assert reason.score == pytest.approx(0.97)
        assert "repeats a command that failed" in reason.why


async def test_in_a_large_store_it_is_found_too(tmp_path):
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW)
        await desk.passes(WORKS)
        scope = desk.hooks.places.at({"project": desk.project}).project
        file = desk.app.paths.database
        ids = [f"mem_{desk.app.new_id()}" for _ in range(60)]  # several times what a search brings
    fields = {"scope": scope, "namespace": "learnings", "created_at": datetime.now(UTC)}
    rows = [
        make_row(n, id=newer, content=f"{SLOW} number {n} of suite x{n} ran in {n} s", **fields)
        for n, newer in enumerate(ids)
    ]
    async with opened(file) as store:
        await store.put(rows)
    async with at_work(tmp_path) as desk:
        assert desk.app.archive.loaded.count == 61
        assert "`pytest -n0 tests/integration`" in await desk.proposes(SLOW)


async def test_the_same_failure_again_is_one_memory_and_counts(tmp_path):
    async with at_work(tmp_path) as desk:
        for session in ("s1", "s2", "s3"):
            await desk.fails(f"{SLOW}/{session}", f"{LOCKED} in {session}", session)
            await desk.passes(f"{WORKS}/{session}", session)
        (memory,) = await desk.kept()
        assert memory.content == KEPT.replace("integration`", "integration/s1`").replace(
            'locked"', 'locked in s1"'
        )
        assert [source.session for source in memory.sources] == ["s2", "s3"]


async def test_distinct_failures_are_distinct_memories(tmp_path):
    async with at_work(tmp_path) as desk:
        error = "npm error ERESOLVE could not resolve dependency"
        for command in ("npm install", "npm ci", "npm update"):
            await desk.fails(command, error)
            await desk.passes(f"{command} --legacy-peer-deps")
        for command in ("npm install", "npm ci", "npm update"):
            assert f"`{command} --legacy-peer-deps`" in await desk.proposes(
                command, f"of {command}"
            )


async def test_a_changed_configuration_is_kept_with_its_file(tmp_path):
    async with at_work(tmp_path) as desk:
        await desk.fails("make serve", "KeyError: 'REDIS_URL'")
        await desk.edits(".env", "A=1", "A=1\nREDIS_URL=redis://localhost")
        await desk.passes("make serve")
        (memory,) = await desk.kept()
        assert memory.content.endswith("What works: the same after a change of `.env`.")
        assert memory.provenance.file == ".env"
        assert await desk.proposes("make serve") == ""


async def test_what_failed_in_a_subagent_is_not_mended_outside_of_it(tmp_path):
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW, agent_id="a1")
        await desk.passes(WORKS)
        await desk.passes(WORKS, session="s9")
        assert await desk.kept() == ()


async def test_what_a_subagent_did_may_have_made_the_difference(tmp_path):
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW)
        await desk.passes("pip install x", agent_id="a1")
        await desk.passes(WORKS)
        assert await desk.kept() == ()


@pytest.mark.parametrize(
    "passed",
    [
        {"run_in_background": True},
        {"tool_response": {"stdout": "", "interrupted": True}},
        {"tool_response": {"stdout": "", "backgroundTaskId": "b1"}},
    ],
)
async def test_what_has_not_come_to_its_end_has_not_passed(tmp_path, passed):
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW)
        await desk.passes(WORKS, **passed)
        assert await desk.kept() == ()


@pytest.mark.parametrize(("call", "kept"), [("c1", 1), ("another", 0)])
async def test_a_command_of_which_codex_tells_no_end_has_not_passed(tmp_path, call, kept):
    ended = {"type": "CommandExecution", "id": call, "exit_code": 0}
    transcript = tmp_path / "rollout-1.jsonl"
    transcript.write_bytes(msgspec.json.encode({"payload": {"item": ended}}) + b"\n")
    told = {"turn_id": "t", "tool_use_id": "c1", "transcript_path": str(transcript)}
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW)
        asked = {"command": WORKS}
        await desk.hook("PostToolUse", "s1", tool_input=asked, tool_response="ok", **told)
        assert len(await desk.kept()) == kept


async def test_what_somebody_stopped_has_not_failed(tmp_path):
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW, is_interrupt=True)
        await desk.passes(WORKS)
        assert await desk.kept() == ()


@pytest.mark.parametrize("failed", [{"is_interrupt": True}, {"agent_id": "a1"}])
async def test_what_was_stopped_or_failed_for_a_sub_agent_may_have_changed_something(
    tmp_path, failed
):
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW)
        await desk.fails("alembic upgrade head", **failed)
        await desk.passes(WORKS)
        assert await desk.kept() == ()


async def test_secrets_are_taken_out(tmp_path):
    async with at_work(tmp_path) as desk:
        key = "ghp_" + "a1B2c3D4e5F6" * 3
        await desk.fails(f"TOKEN={key} make dev", f"Error: bad credentials {key}")
        await desk.passes(f"TOKEN={key} make dev --local")
        (memory,) = await desk.kept()
        assert key not in memory.content
        assert "make dev --local" in memory.content


async def test_a_disk_that_hangs_is_left_behind(tmp_path, monkeypatch):
    answers = threading.Event()
    monkeypatch.setattr(failures, "head_commit", lambda root: answers.wait(PATIENCE_S))
    async with at_work(tmp_path) as desk:
        await desk.fails(SLOW)
        place = desk.hooks.places.at({"project": desk.project})
        action = Action(tool="Bash", command=WORKS)
        passed = ToolUsed(trace="t", session="s1", client="claude", place=place, action=action)
        try:
            with suppress(TimeoutError):
                await desk.app.bus.request(passed, ResponseReady, within_s=0.1)
            assert await desk.app.bus.settle(PATIENCE_S / 2)
        finally:
            answers.set()


async def test_it_can_be_switched_off(tmp_path):
    async with at_work(tmp_path, SUBCOG_CAPTURE_FAILURES_ENABLED="false") as desk:
        await desk.fails(SLOW)
        await desk.passes(WORKS)
        assert await desk.kept() == ()
        assert Watched not in desk.app.sessions.state("s1")._parts


@pytest.mark.parametrize("command", ["x" * 100_000, "\0", "'", "a" * 1500 + " '", "\ud800"])
async def test_any_command_is_answered(tmp_path, command):
    async with at_work(tmp_path) as desk:
        command = command.encode("utf-8", "replace").decode()
        assert await desk.fails(command) == {}
        assert await desk.passes(command) == {}
        assert await desk.proposes(command) == ""
