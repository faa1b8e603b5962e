"""The greeting of a session whose start also starts the daemon: real processes, a stocked store."""

import json
import os
import socket
import subprocess

import pytest

from subcog.bus.frames import request_frame
from tests import thorough
from tests.waiting import eventually

NOTE = "Blocked until the certificate for the payment gateway arrives"
START = {"session_id": "s", "hook_event_name": "SessionStart", "source": "startup"}


@pytest.fixture
def cold(house):
    """A house whose store knows something, and whose daemon has left."""
    house.capture(NOTE, "--namespace", "blockers")
    leave(house)
    return house


def leave(house):
    pid = house.pid()
    house.ask("daemon", "stop")
    house.wait_until_gone(pid)


def context(answer):
    return (answer or {}).get("hookSpecificOutput", {}).get("additionalContext", "")


def wait_until_ready(house):
    house.start()  # where the hook's time was over before it had started one
    eventually(lambda: house.ask("status")["ready"])


# Too little, enough, and in a thorough run what may be either.
@pytest.mark.parametrize("start_ms", ["1", "1000", "400"][: thorough.times(2, 3)])
def test_a_cold_start_brings_the_greeting_once_with_the_start_or_the_prompt(cold, start_ms):
    start = START | {"cwd": str(cold.project)}
    at_start = context(cold.hook("SessionStart", start, SUBCOG_HOOK_START_MS=start_ms))
    wait_until_ready(cold)
    with_prompt = cold.context("rename the variable in the parser", "s")
    assert (at_start + with_prompt).count(NOTE) == 1
    assert (at_start + with_prompt).count("<response_guidance") <= 1
    assert NOTE not in cold.context("and the other one as well", "s")
    assert not list(cold.paths.missed_starts.glob("*"))


def test_a_session_that_starts_while_the_memories_load_is_greeted_with_its_prompt(cold):
    command = [cold.program, "daemon", "run"]
    with subprocess.Popen(command, env=cold.env, cwd=cold.root) as daemon:
        eventually(lambda: cold._is_served({}))
        body = json.dumps(START).encode()
        _, answer = cold.exchange(
            "hook", "SessionStart", body, project=str(cold.project), budget_ms="40"
        )
        assert json.loads(answer) == {}
        wait_until_ready(cold)
        assert NOTE in cold.context("rename the variable in the parser", "s")
        cold.ask("daemon", "stop")
        assert daemon.wait() == 0


def test_a_hung_daemon_leaves_a_note_that_is_its_owners_alone(cold):
    pid = cold.start()
    os.kill(pid, 19)
    try:
        assert cold.hook("SessionStart", START, SUBCOG_HOOK_TOTAL_MS="500") is None
        (note,) = cold.paths.missed_starts.iterdir()
        assert note.stat().st_mode & 0o777 == 0o600
        assert sorted(json.loads(note.read_text())) == ["id", "session_id", "source"]
    finally:
        os.kill(pid, 18)
    assert NOTE in cold.context("rename the variable in the parser", "s")


def test_a_greeting_that_the_caller_did_not_take_comes_with_the_next_prompt(cold):
    cold.start(SUBCOG_HOOK_TOTAL_MS="200")  # with more, a first frame would say so
    wait_until_ready(cold)
    fields = {"client": "gemini", "project": str(cold.project)}
    cold.exchange("hook", "SessionStart", json.dumps(START).encode(), **fields)
    prompt = json.dumps({"session_id": "s", "prompt": "rename the variable"}).encode()
    with cold.connect() as deaf:
        deaf.shutdown(socket.SHUT_RD)  # what is sent to it fails, and it has not hung up
        deaf.sendall(request_frame("hook", "UserPromptSubmit", fields, prompt))
        eventually(lambda: has_hung_up(deaf))
    eventually(lambda: NOTE in cold.context("rename the variable in the parser", "s"))


def has_hung_up(connection):
    try:
        connection.sendall(b" ")
    except BrokenPipeError:
        return True
    return False
