"""Starting the daemon, and connecting to its socket."""

import os
import socket
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from threading import Event, Thread

import pytest
from click.testing import CliRunner

from subcog.bus.frames import reply_frame
from subcog.bus.service_results import StatusResult
from subcog.config.paths import find_paths
from subcog.pipeline.cli.client import CallFailed, Client, DaemonDiffers, DaemonLate, connect, spawn
from subcog.pipeline.cli.command_line import cli
from tests.waiting import PATIENCE_S


@pytest.fixture
def listening(tmp_path, monkeypatch):
    """A folder with a socket that somebody listens at; we are elsewhere."""
    folder = tmp_path / "there"
    folder.mkdir()
    monkeypatch.chdir(folder)
    with closing(socket.socket(socket.AF_UNIX)) as server:
        server.bind("daemon.sock")
        server.listen(1000)
        monkeypatch.chdir(tmp_path)
        yield folder


def test_threads_that_connect_at_once_reach_the_right_socket_and_come_back(listening, tmp_path):
    nobody = tmp_path / "nobody"
    nobody.mkdir()

    def reach(number):
        folder = listening if number % 2 else nobody
        connection = connect(folder / "daemon.sock")
        if connection is not None:
            connection.close()
        return connection is not None

    with ThreadPoolExecutor(8) as pool:
        reached = list(pool.map(reach, range(800)))

    assert reached == [bool(number % 2) for number in range(800)]
    assert os.path.realpath(os.getcwd()) == os.path.realpath(tmp_path)


def test_a_daemon_keeps_things_where_a_relative_home_was_for_whoever_started_it(
    tmp_path, monkeypatch
):
    program = tmp_path / "python"
    program.write_text('#!/bin/sh\necho "$SUBCOG_HOME $CLAUDE_CODE_SESSION_ID." >&2\n')
    program.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(program))
    monkeypatch.setenv("SUBCOG_HOME", "here")
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", "s1")
    monkeypatch.chdir(tmp_path)
    with spawn(find_paths({"SUBCOG_HOME": "here"})) as daemon:
        assert daemon.stderr.read().decode() == f"{tmp_path}/here .\n"


@pytest.fixture
def daemon(tmp_path, monkeypatch):
    """Where a daemon should listen, its socket, and a client of it."""
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    paths.link.parent.mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(paths.link.parent)
    with closing(socket.socket(socket.AF_UNIX)) as server, closing(Client(paths, {})) as client:
        server.bind(paths.link.name)
        server.listen()
        yield server, client


def test_a_connection_that_the_daemon_closed_meanwhile_is_made_anew(daemon):
    server, client = daemon
    closed = Event()

    def answer_once_each():
        for _ in range(2):
            with closing(server.accept()[0]) as connection:
                connection.recv(65536)
                connection.sendall(reply_frame("ok", "1", b"{}"))
            closed.set()

    thread = Thread(target=answer_once_each, daemon=True)
    thread.start()
    assert client.call("status", dict, start=False) == {}
    assert closed.wait(PATIENCE_S)
    assert client.call("status", dict, start=False) == {}
    thread.join(PATIENCE_S)


def test_a_call_that_takes_longer_than_is_waited_says_that_the_daemon_goes_on(daemon):
    _, client = daemon
    with pytest.raises(DaemonLate, match=r"not finished within 0\.01 s; the daemon goes on"):
        client.call("backup", dict, start=False, within_s=0.01)


def test_a_daemon_that_leaves_is_waited_for_while_it_finishes(daemon, monkeypatch):
    server, client = daemon
    monkeypatch.setattr("subcog.pipeline.cli.client.HUNG_S", 0.05)
    nobody_listens = Event()

    def noting(link):
        found = connect(link)
        if found is None:
            nobody_listens.set()
        return found

    monkeypatch.setattr("subcog.pipeline.cli.client.connect", noting)

    def leave():
        connection, _ = server.accept()
        os.unlink("daemon.sock")
        connection.recv(65536)
        assert nobody_listens.wait(PATIENCE_S), "the client asks whether the daemon lives"
        connection.sendall(reply_frame("ok", "1", b"{}"))
        connection.close()

    leaving = Thread(target=leave)
    leaving.start()
    assert client.call("backup", dict, start=False) == {}
    leaving.join()


@pytest.mark.parametrize(
    ("status", "answer", "raised"),
    [
        ("ok", b'{"pid": 7, "version": "0.1.0"}', DaemonDiffers),
        ("error", b'{"error": "unknown call stats"}', CallFailed),
    ],
)
def test_what_another_build_answers_says_what_to_do(daemon, status, answer, raised):
    server, client = daemon

    def answer_as_an_older_one():
        with closing(server.accept()[0]) as connection:
            connection.recv(65536)
            connection.sendall(reply_frame(status, "0.1.0", answer))
            connection.recv(65536)
            connection.sendall(reply_frame("ok", "0.1.0", b'{"pid": 7, "version": "0.1.0"}'))

    thread = Thread(target=answer_as_an_older_one, daemon=True)
    thread.start()
    with pytest.raises(raised, match=r"process 7, .* another build .* `subcog daemon stop`"):
        client.call("status", StatusResult, start=False)
    thread.join(PATIENCE_S)


def test_a_status_that_cannot_be_read_is_not_taken_for_no_daemon(daemon, tmp_path, monkeypatch):
    server, _ = daemon
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path))

    def answer_as_an_older_one():
        with closing(server.accept()[0]) as connection:
            for _ in range(2):
                connection.recv(65536)
                connection.sendall(reply_frame("ok", "0.1.0", b'{"pid": 7, "version": "0.1.0"}'))

    thread = Thread(target=answer_as_an_older_one, daemon=True)
    thread.start()
    done = CliRunner().invoke(cli, ["status"])
    assert isinstance(done.exception, DaemonDiffers)
    thread.join(PATIENCE_S)
