"""The pipe as a real process, a scripted daemon that it meets, and a `subcog` that it can start."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from subcog.bus.frames import Head, read_fields, read_head, reply_frame
from tests.waiting import PATIENCE_S

PYTHON = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
CHECKOUT = Path(__file__).parents[3]
RULES = """
[[rule]]
name = "demo_token"
pattern = 'demo_[0-9a-f]{8}'

[[rule]]
name = "password"
pattern = '(?i)password\\s*=\\s*(?P<value>\\S+)'
group = "value"
"""
# Starts like the real one, as far as a hook can see: binds, listens, answers until it is killed.
LAUNCHER = """#!{python} -IS
import json, os, socket
data = os.environ["SUBCOG_HOME"] + "/data"
with open(os.environ["SUBCOG_HOME"] + "/starts", "a") as log:
    log.write(json.dumps({{"pid": os.getpid(), "session": os.getsid(0), "env": dict(os.environ),
        "argv": __import__("sys").argv, "stdin": os.readlink("/proc/self/fd/0")}}) + "\\n")
os.chdir(data)
if os.path.lexists("daemon.sock"):
    os.unlink("daemon.sock")
listener = socket.socket(socket.AF_UNIX)
listener.bind("daemon.sock")
__import__("time").sleep(float(os.environ.get("SUBCOG_TEST_DELAY_S", "0")))
listener.listen(64)
while True:
    connection, _ = listener.accept()
    connection.recv(1 << 20)
    body = b'{{"answered by": %d}}' % os.getpid()
    connection.sendall(b"subcog/1 ok 0.1.0 %d\\n" % len(body) + body)
    connection.close()
"""

Answer = bytes | Callable[[socket.socket], None]


class ScriptedDaemon:
    """Listens where the pipe looks; the n-th connection gets the n-th answer, then the last one."""

    def __init__(self, place: Path, *answers: Answer) -> None:
        self.answers = answers
        self.requests: list[tuple[Head, dict[str, str], bytes]] = []
        self.raw: list[bytes] = []
        self.released = threading.Event()
        place.parent.mkdir(parents=True, exist_ok=True)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(place))
        self.listener.listen(16)
        self.thread = threading.Thread(target=self._serve)
        self.thread.start()

    def _serve(self) -> None:
        for number in range(1_000_000):
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self._converse(connection, self.answers[min(number, len(self.answers) - 1)])

    def _converse(self, connection: socket.socket, answer: Answer) -> None:
        with connection.makefile("rb") as source:
            line = source.readline()
            if not line:
                return
            head = read_head(line)
            packed, body = source.read(head.fields), source.read(head.body)
        self.raw.append(line + packed + body)
        self.requests.append((head, read_fields(packed), body))
        with contextlib.suppress(ConnectionError):
            answer(connection) if callable(answer) else connection.sendall(answer)

    def silence(self, connection: socket.socket) -> None:
        """An answer that never comes, until the test is over."""
        self.released.wait(30)

    def close(self) -> None:
        self.released.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join(10)


class Workshop:
    """A copy of the hooks in a folder of its own, where no `subcog` is near."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.home = root / "h"
        self.daemons: list[ScriptedDaemon] = []
        shutil.copytree(CHECKOUT / "hooks", root / "hooks", ignore=shutil.ignore_patterns("__py*"))
        (root / "hooks" / "secrets.toml").write_text(RULES)

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def client(self) -> Path:
        return self.root / "hooks" / "client.py"

    def env(self, **changes: str) -> dict[str, str]:
        base = {"HOME": str(self.root / "user"), "SUBCOG_HOME": str(self.home)}
        return {**base, "PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", **changes}

    def command(self, event: str, launcher: str = "") -> list[str]:
        return [PYTHON, "-I", "-S", str(self.client), event, *([launcher] if launcher else [])]

    def hook(
        self,
        payload: bytes = b'{"prompt": "hello"}',
        event: str = "UserPromptSubmit",
        *,
        launcher: str = "",
        cwd: Path | None = None,
        **env: str,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run the pipe to its end."""
        return subprocess.run(
            self.command(event, launcher),
            input=payload,
            capture_output=True,
            env=self.env(**env),
            cwd=cwd or self.root,
            timeout=PATIENCE_S,
            check=False,
        )

    def daemon(self, *answers: Answer) -> ScriptedDaemon:
        daemon = ScriptedDaemon(self.data / "daemon.sock", *(answers or (reply(b"{}"),)))
        self.daemons.append(daemon)
        return daemon

    def launcher(self, place: Path, text: str = LAUNCHER) -> str:
        """Put a `subcog` at ``place``."""
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text.format(python=PYTHON))
        place.chmod(0o755)
        return str(place)

    @property
    def starts(self) -> list[dict[str, Any]]:
        """What each started `subcog` said about itself."""
        log = self.home / "starts"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def reply(body: bytes, status: str = "ok", detail: str = "0.1.0") -> bytes:
    return reply_frame(status, detail, body)


@pytest.fixture
def workshop() -> Iterator[Workshop]:
    # Short, because the path of a Unix socket has 108 bytes at most, and pytest's are long.
    with tempfile.TemporaryDirectory(prefix="sc") as root:
        workshop = Workshop(Path(root))
        yield workshop
        for daemon in workshop.daemons:
            daemon.close()
        for start in workshop.starts:
            with contextlib.suppress(ProcessLookupError):
                os.kill(start["pid"], signal.SIGKILL)
