"""The real agent in a terminal of its own, for what it only does where somebody types."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time
from collections.abc import Callable
from pathlib import Path

from tests.waiting import PATIENCE_S

from .claude import Agent

ROWS, COLUMNS = 50, 160
_ESCAPES = re.compile(
    r"\x1b(?:\][^\x07\x1b]*(?:\x07|\x1b\\)|\[[0-9;?<>=]*[ -/]*[@-~]|[()][A-Z0-9]|.)"
)


class Terminal:
    """One session of ``agent`` in ``project``; its screen is read only to wait for something."""

    def __init__(self, agent: Agent, project: Path, *arguments: str) -> None:
        _introduce(agent, project)
        self._screen, far = pty.openpty()
        fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [str(agent.binary), "--model", "claude-sonnet-4-5", *arguments],
            cwd=project,
            env=agent.env | {"TERM": "xterm-256color"},
            stdin=far,
            stdout=far,
            stderr=far,
            start_new_session=True,
        )
        os.close(far)
        self._seen = b""

    def wait(self, until: Callable[[], object]) -> None:
        """Keep the terminal going until something is true."""
        deadline = time.monotonic() + PATIENCE_S
        while not until():
            assert time.monotonic() < deadline, self.text[-3000:]
            self._read()

    def wait_for(self, shown: str) -> None:
        """Wait for a text, however it is spaced."""
        self.wait(lambda: _dense(shown) in _dense(self.text))

    def type(self, text: str) -> None:
        """Type, and wait for it to stand there."""
        self._seen = b""
        os.write(self._screen, text.encode())
        self.wait_for(text)

    def press_enter(self) -> None:
        os.write(self._screen, b"\r")

    @property
    def text(self) -> str:
        """What was written since something was typed last."""
        return _ESCAPES.sub(" ", self._seen.decode(errors="replace"))

    def close(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self._screen)

    def _read(self) -> None:
        if select.select([self._screen], [], [], 0.1)[0]:
            try:
                self._seen += os.read(self._screen, 1 << 16)
            except OSError:
                raise AssertionError(f"the agent has ended: {self.text[-3000:]}") from None


def _dense(text: str) -> str:
    return "".join(text.split())


def _introduce(agent: Agent, project: Path) -> None:
    """Have the agent know its user and trust the project, so that it asks nothing at first."""
    home = Path(agent.env["HOME"])
    trusted = {"hasTrustDialogAccepted": True, "hasCompletedProjectOnboarding": True}
    known = {
        "hasCompletedOnboarding": True,
        "lastOnboardingVersion": "99.0.0",
        "theme": "dark",
        "customApiKeyResponses": {"approved": [agent.env["ANTHROPIC_API_KEY"]], "rejected": []},
        "projects": {str(project): trusted},
    }
    (home / ".claude.json").write_text(json.dumps(known))
