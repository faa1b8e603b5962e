"""Runs the real agent against the fake API: private home, clean environment, loopback only."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.prefork import INSTALLED, program

from .messages_api import MessagesApi

CHECKOUT = Path(__file__).parents[2]
PLUGIN = CHECKOUT / "hooks"
SUBCOG = Path(INSTALLED)
# Nobody listens there: what would leave the machine fails at once.
DEAD_PROXY = "http://127.0.0.1:9"
RUN_S = 60
# What writes its own place into an agent's settings is always the installed program.
WIRE = {"install", "uninstall"}


class Session:
    """One session of the agent, which stays open between prompts."""

    def __init__(self, command: list[str], project: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            command,
            cwd=project,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self.events: list[dict[str, Any]] = []

    def prompt(self, text: str) -> dict[str, Any]:
        """Type a prompt and wait for the agent's result."""
        message = {"type": "user", "message": {"role": "user", "content": text}}
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            event = json.loads(line)
            self.events.append(event)
            if event["type"] == "result":
                return event
        raise AssertionError(f"the agent ended with {self.process.wait()} before it answered")

    def told(self) -> list[str]:
        """What the hooks showed to the user."""
        return [
            json.dumps(event)
            for event in self.events
            if event["type"] == "system" and event.get("subtype") == "informational"
        ]

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()


@contextmanager
def a_home_of(binary: Path) -> Iterator[Agent]:
    """The agent with a home and a fake model of its own."""
    api = MessagesApi()
    with tempfile.TemporaryDirectory(prefix="sc", ignore_cleanup_errors=True) as root:
        agent = Agent(binary, Path(root), api)
        yield agent
        agent.close()
        api.close()


class Agent:
    """The agent with subcog, on a machine of its own: ``root`` holds its home and its projects.

    Hooks and servers are those that the agent is wired with. What a test asks of subcog beside
    them goes to ``program``: a fork that stands for the installed one, unless a test sets that.
    """

    def __init__(self, binary: Path, root: Path, api: MessagesApi) -> None:
        self.binary = binary
        self.root = root
        self.api = api
        self.program = program()
        self.sessions: list[Session] = []
        self.projects: set[Path] = set()
        self.settings: dict[str, str] = {}
        (root / "home").mkdir()
        (root / "tmp").mkdir()

    @property
    def env(self) -> dict[str, str]:
        return {
            "PATH": f"{Path(os.path.realpath(sys.executable)).parent}:/usr/bin:/bin",
            "HOME": str(self.root / "home"),
            "TMPDIR": str(self.root / "tmp"),
            "SUBCOG_HOME": str(self.root / "s"),
            "LANG": "C.UTF-8",
            "TERM": "dumb",
            "IS_SANDBOX": "1",
            "ANTHROPIC_BASE_URL": self.api.url,
            "ANTHROPIC_API_KEY": "no-key",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "DISABLE_TELEMETRY": "1",
            "DISABLE_ERROR_REPORTING": "1",
            "HTTP_PROXY": DEAD_PROXY,
            "HTTPS_PROXY": DEAD_PROXY,
            "NO_PROXY": "127.0.0.1,localhost",
            # The budget has tests of its own; here a busy machine must not fail what is shown.
            "SUBCOG_HOOK_TOTAL_MS": "2000",
            **self.settings,
        }

    def project(self, name: str) -> Path:
        folder = self.root / name
        folder.mkdir(exist_ok=True)
        self.projects.add(folder)
        return folder

    def remembering(self, *memories: tuple[str, str]) -> Path:
        """A project of its own in which these memories are known, a text and its namespace each.

        What the agent said before is forgotten.
        """
        here = self.project(f"P{len(self.projects)}")
        for text, namespace in memories:
            self.subcog("capture", text, "--namespace", namespace, "--project", str(here))
        self.api.forget()
        return here

    def start(
        self, project: Path, *, plugin: Path | None = PLUGIN, more: tuple[str, ...] = ()
    ) -> Session:
        """Begin a session in ``project``, with subcog as a plugin unless told otherwise."""
        command = [str(self.binary), "-p", "--verbose", "--permission-mode", "bypassPermissions"]
        command += ["--input-format", "stream-json", "--output-format", "stream-json"]
        command += ["--model", "claude-sonnet-4-5"]
        if plugin:
            command += ["--plugin-dir", str(plugin)]
        command += more
        session = Session(command, project, self.env)
        self.sessions.append(session)
        return session

    def ask(self, project: Path, text: str, **how: Any) -> dict[str, Any]:
        """One prompt in a session of its own; returns the request body that it led to."""
        before = len(self.api.prompts)
        session = self.start(project, **how)
        session.prompt(text)
        session.close()
        return self.api.prompts[before]

    def subcog(self, *arguments: str) -> Any:
        """Run a command of subcog and return its JSON."""
        done = subprocess.run(
            [INSTALLED if arguments[0] in WIRE else self.program, *arguments, "--json"],
            env=self.env,
            cwd=self.root,
            capture_output=True,
            check=False,
            timeout=RUN_S,
        )
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def close(self) -> None:
        for session in self.sessions:
            if session.process.poll() is None:
                session.close()
        subprocess.run(
            [self.program, "daemon", "stop"],
            env=self.env,
            capture_output=True,
            timeout=RUN_S,
            check=False,
        )
