"""A private home with the installed entry points, as real processes."""

from __future__ import annotations

import io
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from subcog.bus.frames import read_reply_head, request_frame
from subcog.config.load import SettingsError
from subcog.config.paths import Paths, find_paths
from subcog.hooks import client as pipe
from subcog.pipeline.cli.client import CallFailed, DaemonUnreachable, connect
from subcog.pipeline.cli.command_line import cli
from tests.prefork import INSTALLED as SUBCOG
from tests.prefork import program
from tests.waiting import PATIENCE_S

PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
# A busy machine may hold a process up far beyond any budget of ours; the budgets themselves are
# measured in perf/. Tests that are about something else give the hook all the time it needs.
GENEROUS = {"SUBCOG_HOOK_TOTAL_MS": "10000", "SUBCOG_HOOK_START_MS": "10000"}


class House:
    """``root`` holds the home and the projects; ``env`` is what every process here gets.

    ``installed``: every command starts the installed program, and not a fork that stands for it.
    """

    def __init__(self, root: Path, *, installed: bool = False) -> None:
        self.program = SUBCOG if installed else program()
        self.root = root
        self.project = root / "project"
        self.project.mkdir(parents=True)
        self.env = {
            "PATH": os.environ["PATH"],
            "HOME": str(root),
            "SUBCOG_HOME": str(root / "home"),
            "CLAUDECODE": "1",
            "CLAUDE_PROJECT_DIR": str(self.project),
            "SUBCOG_CAPTURE_FIND_CONTRADICTIONS": "false",  # a quarter of a second each daemon
            **GENEROUS,
        }

    @cached_property
    def mcp_url(self) -> str:
        """Where the daemon serves MCP over HTTP, about the user alone; it is started for this."""
        return str(self.ask("mcp", "--http")["url_of_the_user"])

    @property
    def paths(self) -> Paths:
        return find_paths(self.env)

    # --- the command line ------------------------------------------------------------------------

    def run(self, *args: str, stdin: str = "", **env: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.program, *args],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.env | env,
            cwd=self.project,
            timeout=PATIENCE_S,
            check=False,
        )

    def ask(self, *args: str, **env: str) -> Any:
        """The JSON that a command prints; it must succeed.

        Where a daemon runs already the command runs in this process, which spares the start of an
        interpreter. ``run`` always starts the installed program.
        """
        if threading.current_thread() is threading.main_thread() and self._is_served(env):
            return json.loads(self._run_here(*args, "--json", **env))
        done = self.run(*args, "--json", **env)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def _is_served(self, env: Mapping[str, str]) -> bool:
        """Whether a daemon listens, so that no command needs to start one."""
        connection = connect(find_paths(self.env | env).link)
        if connection is None:
            return False
        connection.close()
        return True

    def _run_here(self, *args: str, **env: str) -> str:
        printed = io.BytesIO()
        out = io.TextIOWrapper(printed, "utf-8", write_through=True)
        with _surroundings(self.env | env, self.project), redirect_stdout(out):
            try:
                code = cli.main(args, standalone_mode=False, prog_name="subcog")
            except click.ClickException as error:
                raise AssertionError(error.format_message()) from error
            except (CallFailed, DaemonUnreachable, SettingsError) as error:
                raise AssertionError(str(error)) from error
        said = printed.getvalue().decode()
        assert not code, said
        return said

    def capture(self, text: str, *args: str, **env: str) -> Any:
        return self.ask("capture", text, *args, **env)

    # --- the hook --------------------------------------------------------------------------------

    def start_hook(self, event: str, **env: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [PYTHON, "-I", "-S", pipe.__file__, event, self.program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self.env | env,
            cwd=self.project,
        )

    def hook(self, event: str, payload: Any, **env: str) -> Any:
        """What the hook printed, decoded; None for nothing. It must have exited 0."""
        body = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
        with self.start_hook(event, **env) as process:
            out, _ = process.communicate(body, timeout=PATIENCE_S)
        assert process.returncode == 0
        return json.loads(out) if out else None

    def prompt(self, text: str, session: str = "s1", **env: str) -> Any:
        payload = {
            "session_id": session,
            "cwd": str(self.project),
            "hook_event_name": "UserPromptSubmit",
            "prompt": text,
        }
        return self.hook("UserPromptSubmit", payload, **env)

    def context(self, text: str, session: str = "s1") -> str:
        """What a prompt adds to the model's context."""
        answer = self.prompt(text, session) or {}
        return answer.get("hookSpecificOutput", {}).get("additionalContext", "")

    # --- the daemon ------------------------------------------------------------------------------

    def start(self, **env: str) -> int:
        self.run("daemon", "start", **env)
        return self.pid()

    def pid(self) -> int:
        return int(self.ask("status")["pid"])

    def kill(self, number: int = signal.SIGKILL) -> None:
        os.kill(self.pid(), number)

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(PATIENCE_S)
        connection.connect(str(self.paths.link.resolve()))
        return connection

    def exchange(self, kind: str, name: str, body: bytes, **fields: str) -> tuple[str, bytes]:
        """One frame to the daemon: the status of its reply, and the body."""
        with self.connect() as connection, connection.makefile("rwb") as stream:
            stream.write(request_frame(kind, name, fields, body))
            stream.flush()
            head = read_reply_head(stream.readline())
            while head.status == "wait":
                head = read_reply_head(stream.readline())
            return head.status, stream.read(head.body)

    def log(self) -> list[dict[str, Any]]:
        lines = self.paths.log.read_text().splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def metrics(self) -> str:
        """What a scrape gives; it is served a moment after the start, and waited for."""
        url = self.ask("status")["metrics_url"]
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
            return str(answer.read().decode())

    def wait_until_gone(self, pid: int) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while _alive(pid):
            assert time.monotonic() < deadline, f"process {pid} is still there"
            time.sleep(0.02)

    def close(self) -> None:
        """Leave nothing running, whatever the test did."""
        if self._is_served({}):
            self._run_here("daemon", "stop")


@contextmanager
def _surroundings(env: Mapping[str, str], directory: Path) -> Iterator[None]:
    """This process with another environment and working directory."""
    before, place = dict(os.environ), os.open(".", os.O_RDONLY)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(directory)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)
        os.fchdir(place)
        os.close(place)


def _alive(pid: int) -> bool:
    """Whether any thread is: the files of a process are closed when the last one has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
        threads = os.listdir(f"/proc/{pid}/task")
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z" or len(threads) > 1
