"""MCP on a pipe: what the client's process says of itself, and the daemon's life behind it."""

import os
import signal
from functools import partial

import anyio
import pytest
from anyio import to_thread

from .mcp_client import ERAS, Heard, call, read, session

ARGON = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"

# The test's client warns that the older era has been superseded; both are served.
pytestmark = pytest.mark.filterwarnings("ignore:resources/subscribe is removed")

slow = partial(pytest.param, marks=pytest.mark.slow)
in_both_eras = pytest.mark.parametrize("era", ERAS)
# The daemon's start is dear, and the same in the other era.
in_one_era_or_both = pytest.mark.parametrize("era", [slow(ERAS[0]), ERAS[1]])


@in_both_eras
async def test_the_session_tells_what_it_was_shown(fresh, era):
    fresh.capture(ARGON, "--namespace", "decisions")
    name = f"shown-{era}"  # both eras are served by one daemon, and a text is shown once a session
    assert ARGON in fresh.context("how do I hash passwords here?", session=name)

    async with session(fresh, era, CLAUDE_CODE_SESSION_ID=name) as client:
        told = await read(client, "subcog://session")

    assert told["session"] == name
    (memory,) = told["injected"]
    assert memory["summary"] == ARGON
    assert 0.5 < memory["score"] <= 1
    assert memory["why"]


@in_both_eras
@pytest.mark.parametrize("number", [signal.SIGKILL, slow(signal.SIGTERM)])
async def test_a_session_does_not_notice_that_the_daemon_was_restarted(fresh, era, number):
    fresh.capture(ARGON)
    heard = Heard()
    async with (
        session(fresh, era, heard=heard.of_legacy if era.startswith("legacy") else None) as client,
        anyio.create_task_group() as tasks,
    ):
        await heard.watch(client, ["subcog://topics"], era, tasks)
        before = (await call(client, "recall", query="password hashing"))["memories"]
        killed = fresh.pid()
        os.kill(killed, number)
        await anyio.to_thread.run_sync(fresh.wait_until_gone, killed)

        after = (await call(client, "recall", query="password hashing"))["memories"]
        await call(client, "capture", text="Something new to tell whoever watches")
        await heard.until(lambda: "subcog://topics" in heard.uris and heard.lists)
        tasks.cancel_scope.cancel()

    assert [hit["id"] for hit in after] == [hit["id"] for hit in before]
    assert fresh.pid() != killed


@in_one_era_or_both
async def test_a_session_starts_the_daemon(installed, era):
    async with session(installed, era) as client:
        assert (await call(client, "status"))["ready"] in {True, False}


@in_one_era_or_both
async def test_a_session_starts_the_daemon_again_and_so_may_a_hook(house, era):
    async with session(house, era) as client:
        in_session = partial(call, client, "status")
        for again in (in_session, partial(to_thread.run_sync, house.prompt, "hi")):
            await in_session()
            started = house.pid()
            os.kill(started, signal.SIGTERM)
            await to_thread.run_sync(house.wait_until_gone, started)
            await again()
            assert house.pid() != started


@in_both_eras
async def test_the_tool_for_hooks_reads_no_other_project(fresh, era):
    elsewhere = fresh.root / "elsewhere"
    elsewhere.mkdir()
    fresh.capture(ARGON, "--namespace", "decisions", "--project", str(elsewhere))
    payload = {"session_id": era, "prompt": "how do I hash passwords here?", "cwd": str(elsewhere)}
    asked = {"event": "UserPromptSubmit", "payload": payload}

    for env, found in (
        ({"CLAUDE_PROJECT_DIR": ""}, False),
        ({"CLAUDE_PROJECT_DIR": str(elsewhere)}, True),
    ):
        async with session(fresh, era, **env) as client:
            (text,) = (await client.call_tool("hook", asked)).content
        assert (ARGON in text.text) is found
