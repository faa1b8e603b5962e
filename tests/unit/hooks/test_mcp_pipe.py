"""The MCP pipe against a daemon that the test plays: what it hears again, and what it does not."""

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from subcog.bus.frames import read_fields, read_head
from subcog.hooks import mcp_pipe
from subcog.hooks.mcp_pipe import DOWN, UP, Memory, split

ROOM = Path(mcp_pipe.__file__).parent
PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
PATIENCE_S = 20


def line(**message):
    return json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n"


INITIALIZE = line(id=1, method="initialize", params={})
INITIALIZED = line(method="notifications/initialized")


def ask(identity, method="tools/call", **params):
    return line(id=identity, method=method, params=params)


def answer(identity):
    return line(id=identity, result={})


def remember(*heard):
    memory = Memory()
    memory.heard += heard
    memory.digest()
    return memory


# --- what a new daemon has to hear ---------------------------------------------------------------


def test_handshake_and_open_requests_are_said_again_in_order():
    memory = remember(
        (UP, INITIALIZE), (DOWN, answer(1)), (UP, INITIALIZED), (UP, ask(2)), (UP, ask("3"))
    )
    assert memory.again() == ([INITIALIZE, INITIALIZED, ask(2), ask("3")], {1})


def test_a_handshake_without_an_answer_is_itself_an_open_request():
    assert remember((UP, INITIALIZE)).again() == ([INITIALIZE], set())


def test_what_was_answered_or_cancelled_is_not_said_again():
    cancelled = line(method="notifications/cancelled", params={"requestId": 3})
    memory = remember((UP, ask(2)), (UP, ask(3)), (DOWN, answer(2)), (UP, cancelled))
    assert memory.again() == ([], set())


def test_what_is_watched_is_watched_again_and_its_answer_not_told_twice():
    one, two = ask(2, "resources/subscribe", uri="a"), ask(3, "resources/subscribe", uri="b")
    memory = remember(
        (UP, one),
        (UP, two),
        (DOWN, answer(2)),
        (DOWN, answer(3)),
        (UP, ask(4, "resources/unsubscribe", uri="a")),
        (DOWN, answer(4)),
    )
    assert memory.again() == ([two], {3})


def test_listening_lasts_and_does_not_count_as_waiting():
    memory = remember((UP, ask(2, "subscriptions/listen")))
    assert not memory.waits
    assert memory.again()[0] == [ask(2, "subscriptions/listen")]
    assert memory.worn_out(1) == []


def test_what_outlived_daemon_after_daemon_is_given_up():
    memory = remember((UP, ask(2)))
    memory.again()
    memory.again()
    assert memory.worn_out(3) == [2]
    assert not memory.waits


@pytest.mark.parametrize("nonsense", [b"\xff\n", b"[]\n", b"7\n", b"{\n", b"[" * 99_999 + b"\n"])
def test_nonsense_is_nothing_to_remember(nonsense):
    assert remember((UP, nonsense), (DOWN, nonsense)).again() == ([], set())


def test_a_carriage_return_ends_no_line():
    assert split(b"a\rb\nc\n") == [b"a\rb\n", b"c\n"]


# --- the process ---------------------------------------------------------------------------------


class Daemon:
    """Listens where the pipe looks."""

    def __init__(self, home):
        self._socket = home / "data" / "daemon.sock"
        self._socket.parent.mkdir(parents=True)
        self.listen()

    def listen(self):
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.settimeout(PATIENCE_S)
        self._listener.bind(str(self._socket))
        self._listener.listen()

    def accept(self):
        """The stream of the next connection, after its head, and the fields in that."""
        connection, _ = self._listener.accept()
        connection.settimeout(PATIENCE_S)
        with connection:
            stream = connection.makefile("rwb", buffering=0)
        head = read_head(stream.readline())
        assert (head.kind, head.body) == ("mcp", 0)
        return stream, read_fields(stream.read(head.fields))

    def refuse_status(self):
        """Take a question whether it lives, and hang up, which is a sign of life."""
        connection, _ = self._listener.accept()
        with connection, connection.makefile("rb") as asked:
            assert read_head(asked.readline()).name == "status"

    def leave(self):
        self._listener.close()
        with contextlib.suppress(FileNotFoundError):
            self._socket.unlink()


@pytest.fixture
def daemon(tmp_path_factory):
    daemon = Daemon(tmp_path_factory.mktemp("h"))
    yield daemon
    daemon.leave()


@pytest.fixture
def hung_s():
    """How long the pipe waits before it asks whether the daemon lives."""
    return PATIENCE_S


@pytest.fixture
def script(tmp_path, hung_s):
    """A copy of the pipe in a folder where no `subcog` is near, which it would start."""
    shutil.copytree(ROOM, tmp_path / "hooks", ignore=shutil.ignore_patterns("__py*"))
    source = tmp_path / "hooks" / "mcp_pipe.py"
    assert "HUNG_S = 5.0" in source.read_text()
    source.write_text(source.read_text().replace("HUNG_S = 5.0", f"HUNG_S = {hung_s}"))
    return str(tmp_path / "hooks" / "mcp_pipe.py")


@pytest.fixture
def pipe(daemon, script, tmp_path):
    env = {
        "SUBCOG_HOME": str(daemon._socket.parents[1]),
        "CLAUDE_PROJECT_DIR": "/the/project",
        "CLAUDE_CODE_SESSION_ID": "s1",
        "HOME": str(tmp_path),
        "PATH": "/nowhere",
    }
    with subprocess.Popen(
        [PYTHON, "-I", "-S", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=env,
        bufsize=0,
    ) as process:
        yield process
        process.kill()


def test_lines_go_both_ways_unchanged_and_the_head_says_who_asks(daemon, pipe):
    stream, fields = daemon.accept()
    with stream:
        assert (fields["project"], fields["session"]) == ("/the/project", "s1")
        odd = (
            '{"jsonrpc":"2.0",  "id":1,"method":"x","params":{"text":"пароль \\ud800"}}\n'.encode()
        )
        pipe.stdin.write(odd[:20])
        pipe.stdin.write(odd[20:])
        assert stream.readline() == odd
        stream.write(answer(1)[:5])
        stream.write(answer(1)[5:])
        assert pipe.stdout.readline() == answer(1)
        pipe.stdin.close()
        assert stream.readline() == b""
    assert pipe.wait(PATIENCE_S) == 0


def test_a_new_daemon_takes_the_place_of_the_old_one(daemon, pipe):
    stream, _ = daemon.accept()
    with stream:
        pipe.stdin.write(INITIALIZE)
        stream.readline()
        stream.write(answer(1))
        pipe.stdout.readline()
        pipe.stdin.write(INITIALIZED + ask(2))
        stream.readline()
        stream.readline()
        stream.write(b'{"cut off')
    stream, _ = daemon.accept()
    with stream:
        assert [stream.readline() for _ in range(3)] == [INITIALIZE, INITIALIZED, ask(2)]
        stream.write(answer(1) + answer(2))
        assert pipe.stdout.readline() == answer(2)
        pipe.stdin.close()
        assert stream.readline() == b""


def test_who_asks_nothing_lets_a_daemon_leave_and_finds_it_again_when_asking(daemon, pipe):
    stream, _ = daemon.accept()
    stream.close()
    daemon.leave()
    daemon.listen()
    pipe.stdin.write(ask(1))
    stream, _ = daemon.accept()
    with stream:
        assert stream.readline() == ask(1)
        stream.write(answer(1))
        assert pipe.stdout.readline() == answer(1)


def test_a_listener_finds_the_next_daemon_by_itself(daemon, pipe):
    listening = ask(1, "subscriptions/listen")
    stream, _ = daemon.accept()
    with stream:
        pipe.stdin.write(listening)
        assert stream.readline() == listening
    stream, _ = daemon.accept()
    with stream:
        assert stream.readline() == listening


def test_who_watches_finds_the_next_daemon_and_reads_again_what_may_have_changed(daemon, pipe):
    watching = ask(1, "resources/subscribe", uri="subcog://status")
    stream, _ = daemon.accept()
    with stream:
        pipe.stdin.write(watching)
        assert stream.readline() == watching
        stream.write(answer(1))
        assert pipe.stdout.readline() == answer(1)
    stream, _ = daemon.accept()
    with stream:
        assert stream.readline() == watching
        told = json.loads(pipe.stdout.readline())
        assert told["method"] == "notifications/resources/updated"
        assert told["params"] == {"uri": "subcog://status"}


def test_a_request_that_kills_every_daemon_is_answered_with_an_error(daemon, pipe):
    pipe.stdin.write(ask(7))
    for _ in range(mcp_pipe.MAX_TRIES):
        stream, _ = daemon.accept()
        with stream:
            assert stream.readline() == ask(7)
    told = json.loads(pipe.stdout.readline())
    assert (told["id"], told["error"]["code"]) == (7, -32603)


@pytest.mark.parametrize("hung_s", [0.5])
def test_a_request_to_a_daemon_that_hangs_is_answered_with_what_to_do(daemon, pipe):
    stream, _ = daemon.accept()
    with stream:
        pipe.stdin.write(INITIALIZE)
        stream.readline()
        stream.write(answer(1))
        assert pipe.stdout.readline() == answer(1)
        pipe.stdin.write(ask(2))
        told = json.loads(pipe.stdout.readline())
        assert (told["id"], told["error"]["code"]) == (2, -32603)
        assert f"kill -9 {os.getpid()}" in told["error"]["message"]
    daemon.refuse_status()
    pipe.stdin.write(ask(3))
    stream, _ = daemon.accept()
    with stream:
        assert [stream.readline() for _ in range(2)] == [INITIALIZE, ask(3)]
        stream.write(answer(1) + answer(3))
        assert pipe.stdout.readline() == answer(3)


@pytest.mark.parametrize("hung_s", [0.5])
def test_a_daemon_that_takes_long_is_waited_for_as_long_as_it_lives(daemon, pipe):
    stream, _ = daemon.accept()
    with stream:
        pipe.stdin.write(ask(2))
        assert stream.readline() == ask(2)
        for _ in range(3):
            daemon.refuse_status()
        stream.write(answer(2))
        assert pipe.stdout.readline() == answer(2)


def test_without_a_daemon_there_is_an_error_and_an_exit_code(daemon, pipe, script):
    stream, _ = daemon.accept()
    daemon.leave()
    stream.close()
    pipe.stdin.write(ask(7))  # nothing is installed that could be started
    assert (
        "does not start (not_installed)" in json.loads(pipe.stdout.readline())["error"]["message"]
    )

    env = {"SUBCOG_HOME": str(daemon._socket.parents[1]), "HOME": "/nowhere", "PATH": "/nowhere"}
    done = subprocess.run(
        [PYTHON, "-I", "-S", script],
        env=env,
        capture_output=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 1
    assert b"no daemon (not_installed)" in done.stderr
