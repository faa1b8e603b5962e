from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
import tomllib
from contextlib import contextmanager
from pathlib import Path

import pytest

from subcog.bus.frames import reply_frame
from subcog.config.paths import find_paths
from subcog.hooks import client
from subcog.pipeline.agents.install import LATE_EVENTS
from subcog.pipeline.entrance.events import HOOK_EVENTS

from .conftest import PYTHON

CHECKOUT = Path(__file__).parents[3]
PAYLOAD = b'{"session_id": "s", "prompt": "how do I hash passwords here?"}'
ANSWER = b'{"hookSpecificOutput": {"hookEventName": "UserPromptSubmit"}}'
OK = reply_frame("ok", "0.1.0", ANSWER)


def test_answer_of_the_daemon_is_printed_as_it_came(workshop):
    daemon = workshop.daemon(OK)

    done = workshop.hook(PAYLOAD)

    assert (done.stdout, done.stderr, done.returncode) == (ANSWER, b"", 0)
    head, _, body = daemon.requests[0]
    assert (head.kind, head.name, body) == ("hook", "UserPromptSubmit", PAYLOAD)


def test_answer_that_arrives_in_small_pieces_is_put_together(workshop):
    def drip(connection: socket.socket) -> None:
        for start in range(0, len(OK), 7):
            connection.sendall(OK[start : start + 7])

    workshop.daemon(drip)

    assert workshop.hook(PAYLOAD).stdout == ANSWER


def test_fields_tell_who_asks_from_where(workshop):
    daemon = workshop.daemon(OK)

    workshop.hook(
        PAYLOAD,
        CLAUDECODE="1",
        CLAUDE_PROJECT_DIR="/the project",
        CLAUDE_CODE_SESSION_ID="abc",
        cwd=workshop.root,
    )

    fields = daemon.requests[0][1]
    assert 100 < int(fields.pop("budget_ms")) <= 300
    assert len(bytes.fromhex(fields.pop("id"))) == 16
    assert fields == {
        "version": "0.1.0",
        "project": "/the project",
        "cwd": os.path.realpath(workshop.root),
        "client": "claude",
        "session": "abc",
    }


@pytest.mark.parametrize(
    ("env", "project", "agent"),
    [
        ({}, "", "other"),
        ({"GEMINI_PROJECT_DIR": "/g"}, "/g", "gemini"),
        ({"GEMINI_PROJECT_DIR": "/g", "CLAUDE_PROJECT_DIR": "/c"}, "/c", "gemini"),
        ({"CLAUDE_PROJECT_DIR": "/" + "x" * 5000}, "", "other"),
    ],
)
def test_project_and_client_come_from_the_environment(workshop, env, project, agent):
    daemon = workshop.daemon(OK)

    workshop.hook(PAYLOAD, **env)

    fields = daemon.requests[0][1]
    assert (fields["project"], fields["client"]) == (project, agent)


def test_metadata_is_sent_for_only_when_asked(workshop):
    daemon = workshop.daemon(OK)
    asked = [*workshop.command("UserPromptSubmit", "/no/subcog"), "detailed"]

    workshop.hook(PAYLOAD)
    subprocess.run(asked, env=workshop.env(), stdin=subprocess.DEVNULL, check=True, timeout=10)

    plain, detailed = (fields for _, fields, _ in daemon.requests)
    assert "detailed" not in plain
    assert detailed["detailed"] == "1"


BAD_PAYLOADS = {
    "nothing": b"",
    "not JSON": b"this is not JSON {",
    "wrong shape": b'["prompt", 7, null]',
    "NUL bytes": b'{"prompt": "a\0b"}\0\0',
    "lone surrogate": b'{"prompt": "\\ud800 \xed\xa0\x80"}',
    "not UTF-8": b'{"prompt": "\xff\xfe"}',
    "empty prompt": b'{"prompt": ""}',
    "ten megabytes": b'{"prompt": "' + b"x" * 10_000_000 + b'"}',
}


@pytest.mark.parametrize("payload", BAD_PAYLOADS.values(), ids=BAD_PAYLOADS.keys())
def test_bad_payload_reaches_the_daemon_byte_for_byte(workshop, payload):
    daemon = workshop.daemon(OK)

    done = workshop.hook(payload, SUBCOG_HOOK_TOTAL_MS="5000")

    assert (done.stdout, done.returncode) == (ANSWER, 0)
    assert daemon.requests[0][2] == payload


def test_payload_beyond_the_limit_of_a_frame_is_not_sent(workshop):
    daemon = workshop.daemon(OK)

    done = workshop.hook(b"x" * (client.MAX_BODY + 1), SUBCOG_HOOK_TOTAL_MS="5000")

    assert (done.stdout, done.returncode, daemon.requests) == (b"", 0, [])


def test_unknown_event_is_for_the_daemon_to_judge(workshop):
    daemon = workshop.daemon(reply_frame("ok", "0.1.0"))

    done = workshop.hook(PAYLOAD, "SomethingNew")

    assert (done.stdout, done.returncode) == (b"", 0)
    assert daemon.requests[0][0].name == "SomethingNew"


@pytest.mark.parametrize("event", ["", "a b", "a\nb", "x" * 65, "é"])
def test_event_that_is_no_word_is_not_sent(workshop, event):
    daemon = workshop.daemon(OK)

    done = workshop.hook(PAYLOAD, event)

    assert (done.stdout, done.returncode, daemon.requests) == (b"", 0, [])


@pytest.mark.parametrize(
    "answer",
    [
        reply_frame("error", "0.1.0", b"what went wrong"),
        b"HTTP/1.1 400 Bad Request\r\n\r\n",
        b"subcog/1 ok 0.1.0 -5\nhello",
        b"subcog/1 ok 0.1.0 99999999999\nhello",
        b"subcog/1 ok 0.1.0\nhello",
        b"x" * 5000,
        b"\xff\0\n",
    ],
)
def test_reply_that_is_no_answer_prints_nothing(workshop, answer):
    workshop.daemon(answer)

    done = workshop.hook(PAYLOAD)

    assert (done.stdout, done.stderr, done.returncode) == (b"", b"", 0)


def test_half_an_answer_is_never_printed(workshop):
    workshop.daemon(OK[:-1])

    done = workshop.hook(PAYLOAD)

    assert (done.stdout, done.returncode) == (b"", 0)


def test_request_is_sent_once_more_after_the_daemon_hung_up(workshop):
    daemon = workshop.daemon(OK[:-1], OK)

    done = workshop.hook(PAYLOAD)

    assert done.stdout == ANSWER
    first, second = (fields["id"] for _, fields, _ in daemon.requests)
    assert first == second, "the daemon could not tell that both are one capture"


def test_request_is_not_sent_a_third_time(workshop):
    daemon = workshop.daemon(b"")

    done = workshop.hook(PAYLOAD)

    assert (done.stdout, done.returncode, len(daemon.requests)) == (b"", 0, 2)


def test_silent_daemon_holds_the_agent_no_longer_than_the_budget(workshop):
    daemon = workshop.daemon(b"")
    daemon.answers = (daemon.silence,)

    began = time.monotonic()
    done = workshop.hook(PAYLOAD)  # it is waited for, and the daemon stays silent for ever

    assert (done.stdout, done.returncode) == (b"", 0)
    assert time.monotonic() - began >= 0.3


def test_budget_follows_the_setting(workshop):
    daemon = workshop.daemon(OK)

    workshop.hook(PAYLOAD, SUBCOG_HOOK_TOTAL_MS="900")
    workshop.hook(PAYLOAD, SUBCOG_HOOK_TOTAL_MS="soon")

    first, second = (int(fields["budget_ms"]) for _, fields, _ in daemon.requests)
    assert 800 < first <= 1000
    assert 100 < second <= 300


def test_who_asks_to_keep_something_waits_longer_to_be_told(workshop):
    daemon = workshop.daemon(OK)
    workshop.hook(b'{"session_id": "s", "prompt": "[remember] we deploy on Mondays"}')
    [(_, fields, _)] = daemon.requests
    assert 800 < int(fields["budget_ms"]) <= 1100


def test_daemon_may_ask_for_more_time(workshop):
    def later(connection: socket.socket) -> None:
        connection.sendall(reply_frame("wait", "3000"))
        threading.Event().wait(0.4)  # longer than the hook would wait unasked
        connection.sendall(OK)

    workshop.daemon(later)

    assert workshop.hook(PAYLOAD).stdout == ANSWER


def test_time_asked_for_ends_too(workshop):
    daemon = workshop.daemon(b"")

    def later(connection: socket.socket) -> None:
        connection.sendall(reply_frame("wait", "1"))
        daemon.silence(connection)

    daemon.answers = (later,)
    done = workshop.hook(PAYLOAD, SUBCOG_HOOK_TOTAL_MS="600000")  # it is not waited for so long

    assert (done.stdout, done.returncode) == (b"", 0)


def test_who_asks_for_more_time_again_and_again_is_not_waited_for(workshop):
    pipe = workshop.root / "hooks" / "client.py"
    assert "MAX_WAIT_MS = 5000" in pipe.read_text()
    pipe.write_text(pipe.read_text().replace("MAX_WAIT_MS = 5000", "MAX_WAIT_MS = 500"))
    ended = threading.Event()

    def again(connection: socket.socket) -> None:
        for _ in range(600):
            try:
                connection.sendall(reply_frame("wait", "400"))
            except ConnectionError:
                ended.set()
                return
            threading.Event().wait(0.05)

    workshop.daemon(again)

    assert workshop.hook(PAYLOAD).stdout == b""
    assert ended.wait(30), "it went on waiting"


@contextmanager
def begun(workshop, *, stdin=subprocess.DEVNULL, by=()):
    """A hook that runs, started ``by`` another program if one is named; killed at the end."""
    command = [*by, *workshop.command("UserPromptSubmit")]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=stdin, stdout=pipe, env=workshop.env()) as hook:
        try:
            yield hook
        finally:
            hook.kill()


def test_half_a_payload_then_silence_ends_soon_too(workshop):
    daemon = workshop.daemon(OK)
    with begun(workshop, stdin=subprocess.PIPE) as hook:
        hook.stdin.write(b'{"prompt": "half of')
        hook.stdin.flush()
        assert hook.wait(5) == 0
        assert hook.stdout.read() == b""
    assert daemon.requests == []


def test_a_whole_payload_whose_writer_keeps_its_end_open_is_not_lost(workshop):
    with begun(workshop, stdin=subprocess.PIPE) as hook:
        hook.stdin.write(b'{"session_id": "s", "prompt": "[remember] we use tabs"}')
        hook.stdin.flush()
        assert hook.wait(8) == 0
        assert b"systemMessage" in hook.stdout.read()
    (entry,) = (workshop.data / "spool").iterdir()
    assert "we use tabs" in entry.read_text()


def test_limits_hold_where_the_signal_was_blocked_by_who_started_the_hook(workshop):
    daemon = workshop.daemon(b"")
    daemon.answers = (daemon.silence,)
    block = "import os, signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})"
    by = [PYTHON, "-c", f"{block}; os.execv(sys.argv[1], sys.argv[1:])"]
    with begun(workshop, by=by) as hook:
        assert hook.wait(8) == 0
    assert daemon.requests


def test_an_answer_that_nobody_reads_holds_no_hook(workshop):
    workshop.daemon(reply_frame("ok", "", b"{" + b" " * 300_000 + b"}"))
    with begun(workshop) as hook:
        assert hook.wait(8) == 0


def test_a_user_without_a_home_is_told_that_nothing_is_kept(workshop, monkeypatch):
    def unknown(_uid):
        raise KeyError

    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert client.data_folder({}) == b"/nonexistent/.local/share/subcog"


def test_an_interrupted_hook_says_nothing_and_does_not_fail(tmp_path):
    code = (
        "import signal; from subcog.hooks import client\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "client.read_all = lambda source, parts: signal.raise_signal(signal.SIGINT)\n"
        "client.main(['client.py', 'Stop'])"
    )
    env = {"SUBCOG_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", code], check=False, env=env, capture_output=True)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_agent_whose_pipes_do_not_block_is_read_and_answered(workshop):
    daemon = workshop.daemon(OK)
    read, write = os.pipe()
    os.set_blocking(read, False)
    with subprocess.Popen(
        workshop.command("UserPromptSubmit"),
        stdin=read,
        stdout=subprocess.PIPE,
        env=workshop.env(SUBCOG_HOOK_TOTAL_MS="5000"),
    ) as hook:
        threading.Event().wait(0.2)  # until it has found the pipe empty
        os.write(write, PAYLOAD)
        os.close(write)
        assert hook.stdout.read() == ANSWER
    os.close(read)
    assert daemon.requests[0][2] == PAYLOAD


def test_agent_that_closed_its_ends_is_no_trouble(workshop):
    workshop.daemon(OK)
    read, write = os.pipe()
    os.close(read)

    done = subprocess.run(
        ["/bin/sh", "-c", 'exec "$@" <&-', "sh", *workshop.command("UserPromptSubmit")],
        stdout=write,
        env=workshop.env(),
        timeout=10,
        check=False,
    )

    os.close(write)
    assert done.returncode == 0


def test_socket_may_be_a_link_from_a_path_too_long_for_a_socket(workshop):
    daemon = workshop.daemon(OK)
    workshop.home = workshop.root / ("deep" * 30)
    (workshop.home / "data").mkdir(parents=True)
    (workshop.home / "data" / "daemon.sock").symlink_to(workshop.root / "h/data/daemon.sock")

    assert workshop.hook(PAYLOAD).stdout == ANSWER
    assert len(daemon.requests) == 1


def test_relative_home_is_taken_from_the_working_directory(workshop):
    workshop.daemon(OK)

    assert workshop.hook(PAYLOAD, cwd=workshop.root, SUBCOG_HOME="h").stdout == ANSWER


@pytest.mark.parametrize(
    "env",
    [
        {"SUBCOG_HOME": "/moved"},
        {"SUBCOG_HOME": "moved"},
        {"SUBCOG_HOME": "", "HOME": "/home/u"},
        {"HOME": "/home/u", "XDG_DATA_HOME": "/d", "XDG_STATE_HOME": "/s"},
        {"HOME": "/home/u", "XDG_DATA_HOME": "d", "XDG_STATE_HOME": "s"},
        {"XDG_DATA_HOME": "", "HOME": ""},
        {"HOME": "relative"},
        {},
    ],
)
def test_pipe_finds_the_folders_that_the_daemon_finds(env):
    paths = find_paths(env)
    if not env.get("HOME") and "SUBCOG_HOME" not in env:
        env = {**env, "HOME": str(Path.home())}
    packed = {key.encode(): value.encode() for key, value in env.items()}

    assert Path(os.fsdecode(client.data_folder(packed))) == paths.data
    assert Path(os.fsdecode(client.state_folder(packed))) == paths.state
    assert paths.link == paths.data / "daemon.sock"


def test_version_is_that_of_the_package():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]

    assert project["version"] == client.VERSION


def test_plugin_runs_the_pipe_for_the_events_that_are_answered():
    hooks = json.loads((CHECKOUT / "hooks" / "hooks.json").read_text())["hooks"]
    plugin = json.loads((CHECKOUT / "hooks/.claude-plugin/plugin.json").read_text())

    assert plugin["version"] == client.VERSION
    assert set(hooks) == set(HOOK_EVENTS) - set(LATE_EVENTS)
    for event, groups in hooks.items():
        (entry,) = groups[0]["hooks"]
        expected = f'python3 -I -S "${{CLAUDE_PLUGIN_ROOT}}/client.py" {event} || true'
        assert (entry["type"], entry["command"]) == ("command", expected)
