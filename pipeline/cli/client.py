"""A client of the daemon: connects, starts it if necessary, and makes calls."""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ...bus.frames import BadFrame, read_reply_head, request_frame
from ...config.build import read_build
from ...config.paths import Paths
from ...hooks.client import VERSION

START_S = 10.0
CALL_S = 60.0
LONG_S = 3600.0
"""For what rewrites or copies the whole database, or every copy of it."""
# A daemon that has said nothing for so long is asked whether it lives, and has as long to say it.
HUNG_S = 5.0
POLL_S = 0.02
# Before the next start, where another daemon holds the lock and nobody listens: it is leaving.
AGAIN_S = 0.25
_DIFFERS = (
    "{} is of another build of subcog than this command. `subcog daemon stop` ends it, and the "
    "next command starts this one"
)
_UNKNOWN_BUILD = _DIFFERS.format("the daemon")
# Held by the thread for which the process is in another directory: it has one for all threads.
_ELSEWHERE = threading.Lock()
T = TypeVar("T")


class DaemonUnreachable(ConnectionError):
    """No daemon is running, and none could be started."""


class DaemonHung(DaemonUnreachable):
    """A daemon holds the socket and does not answer."""

    def __init__(self, process: int | None, log: Path) -> None:
        named = f"process {process}" if process else "the process that holds the socket"
        end = (
            f"`kill -CONT {process}` wakes it, `kill -9 {process}` ends it" if process else "end it"
        )
        super().__init__(
            f"the daemon ({named}) does not answer: it is suspended or hangs. {end}; "
            f"nothing acknowledged is lost, and the next command starts a new one. See {log}"
        )


class DaemonLate(DaemonUnreachable):
    """The answer did not come in time; the daemon goes on with the call."""


class DaemonDiffers(DaemonUnreachable):
    """A daemon of another version or build answered with what this one cannot read."""

    def __init__(self, daemon: str) -> None:
        super().__init__(f"the answer cannot be read: {daemon}")


class CallFailed(RuntimeError):
    """The daemon refused a call; the message is the daemon's."""


class _About(Struct):
    """What ``status`` has told in every version, and the build, which is newer."""

    pid: int
    version: str
    build: str = ""


class Client:
    """One connection to the daemon. ``fields`` say which project asks."""

    def __init__(self, paths: Paths, fields: Mapping[str, str]) -> None:
        self._paths = paths
        self._build = read_build()
        self._fields = {"version": VERSION, "build": self._build, **fields}
        self._connection: socket.socket | None = None

    def call(
        self,
        name: str,
        kind: type[T],
        params: object = None,
        *,
        start: bool = True,
        within_s: float = CALL_S,
    ) -> T:
        """Ask the daemon; its answer as ``kind``. Raises ``DaemonUnreachable`` and ``CallFailed``.

        An answer that cannot be read comes from a daemon of another build: ``DaemonDiffers``.

        ``start`` says whether a daemon is started where none runs, ``within_s`` how long to wait
        for the answer.
        """
        body = msgspec.json.encode(params if params is not None else {})
        status, answer = self._exchange(name, body, start=start, within_s=within_s)
        if status != "ok":
            error = msgspec.json.decode(answer, type=dict[str, str])["error"]
            raise CallFailed("; ".join(filter(None, [error, self._difference()])))
        try:
            return msgspec.json.decode(answer, type=kind)
        except msgspec.DecodeError as error:
            raise DaemonDiffers(self._difference() or _UNKNOWN_BUILD) from error

    def _exchange(
        self, name: str, body: bytes, *, start: bool, within_s: float
    ) -> tuple[str, bytes]:
        """The status of the daemon's reply, and its body."""
        if self._connection is not None and select.select([self._connection], [], [], 0)[0]:
            self.close()  # the daemon has closed it meanwhile: it says nothing unasked
        if self._connection is None:
            self._connection = self._connect(start=start)
        try:
            self._connection.settimeout(within_s)
            self._connection.sendall(request_frame("call", name, self._fields, body))
            self._await_reply(self._connection, within_s)
            return self._reply(self._connection, within_s)
        except (OSError, BadFrame) as error:
            self.close()
            if isinstance(error, DaemonUnreachable):
                raise
            raise DaemonUnreachable(
                f"the daemon closed the connection ({type(error).__name__}); see {self._paths.log}"
            ) from error

    def _difference(self) -> str:
        """What to do where the daemon is of another version or build than this; else ""."""
        try:
            _, answer = self._exchange("status", b"{}", start=False, within_s=HUNG_S)
            about = msgspec.json.decode(answer, type=_About)
        except (DaemonUnreachable, msgspec.DecodeError):
            return ""
        if (about.version, about.build) == (VERSION, self._build):
            return ""
        return _DIFFERS.format(f"the daemon (process {about.pid}, version {about.version})")

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _await_reply(self, connection: socket.socket, within_s: float) -> None:
        """Return when the reply begins, or is late while the daemon lives. Raises DaemonHung."""
        if within_s <= HUNG_S or select.select([connection], [], [], HUNG_S)[0]:
            return
        another = connect(self._paths.link)
        if another is None:  # it lets nobody in while it leaves, and finishes what it has begun
            return
        with another:
            another.settimeout(HUNG_S)
            another.sendall(request_frame("call", "status", self._fields, b"{}"))
            if not select.select([another, connection], [], [], HUNG_S)[0]:
                raise DaemonHung(_process_of(connection), self._paths.log)

    def _reply(self, connection: socket.socket, within_s: float) -> tuple[str, bytes]:
        try:
            with connection.makefile("rb") as stream:
                head = read_reply_head(stream.readline(256))
                body = stream.read(head.body)
        except TimeoutError:
            raise DaemonLate(
                f"not finished within {within_s:g} s; the daemon goes on. See {self._paths.log}"
            ) from None
        if len(body) < head.body:
            raise ConnectionResetError
        return head.status, body

    # --- connecting ------------------------------------------------------------------------------

    def _connect(self, *, start: bool) -> socket.socket:
        try:
            connection = connect(self._paths.link)
        except TimeoutError:  # so many wait for it that nobody more can
            raise DaemonHung(None, self._paths.log) from None
        if connection is not None:
            return connection
        if not start:
            raise DaemonUnreachable("no daemon is running; `subcog daemon start` starts it")
        return self._start()

    def _start(self) -> socket.socket:
        daemon = spawn(self._paths)
        deadline, again_at = time.monotonic() + START_S, 0.0
        while (now := time.monotonic()) < deadline:
            if (connection := connect(self._paths.link)) is not None:
                return connection
            match daemon.poll():
                case None:
                    again_at = now + AGAIN_S
                case 0 if now >= again_at:
                    daemon = spawn(self._paths)
                case 0:
                    pass
                case _:
                    break
            time.sleep(POLL_S)
        raise DaemonUnreachable(
            _last_words(daemon) or f"the daemon does not start; see {self._paths.log}"
        )


def connect(link: Path) -> socket.socket | None:
    """A connection to the socket at ``link``, or None if nobody listens there.

    Connected by its bare name from within its directory: a socket's name must be short. One thread
    does that at a time; what others open meanwhile needs an absolute path.
    """
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.settimeout(HUNG_S)
    with _ELSEWHERE:
        before = os.open(".", os.O_RDONLY)
        try:
            os.chdir(link.parent)
            connection.connect(link.name)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            connection.close()
            return None
        finally:
            os.fchdir(before)
            os.close(before)
    return connection


def _process_of(connection: socket.socket) -> int | None:
    """Who listens at the other end, where the system tells it."""
    if not hasattr(socket, "SO_PEERCRED"):
        return None
    told = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    return int(struct.unpack("3i", told)[0]) or None


def _last_words(daemon: subprocess.Popen[bytes]) -> str:
    """What a daemon that refused to start said about it."""
    if daemon.poll() in {None, 0} or daemon.stderr is None:
        return ""
    lines = daemon.stderr.read().decode(errors="replace").splitlines()
    told = [line.removeprefix("subcog: ") for line in lines if line.startswith("subcog: ")]
    return told[-1] if told else ""


def spawn(paths: Paths) -> subprocess.Popen[bytes]:
    """Start a daemon that outlives this process; its complaints, if it refuses, are on stderr."""
    from ...hooks.starter import daemon_environment  # not needed where one runs

    paths.state.mkdir(parents=True, exist_ok=True, mode=0o700)
    return subprocess.Popen(
        [sys.executable, "-m", "subcog.pipeline.cli.main", "daemon", "run"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
        cwd="/",
        env=daemon_environment(os.environb, bytes(Path.cwd())),
    )
