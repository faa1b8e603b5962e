"""The daemon's Unix socket: where it stands, who may use it, and that there is one daemon."""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path

from ...config.paths import Paths


class AlreadyRunning(RuntimeError):
    """Another daemon of this user and data directory holds the lock."""


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[None]:
    """Hold the lock of the daemon. Raises ``AlreadyRunning``."""
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning("a daemon runs already") from None
        yield
    finally:
        os.close(descriptor)


def socket_path(paths: Paths) -> Path:
    """Where the socket is: named for the data directory, since two may share a runtime one."""
    if paths.runtime == paths.data:
        return paths.link
    return paths.runtime / f"daemon-{paths.data.stat().st_ino}.sock"


def listen(paths: Paths) -> socket.socket:
    """A listening socket that its owner alone can connect to. Call it holding the lock.

    The name of a Unix socket may have about a hundred bytes, and a path can be longer: so it is
    bound by its bare name from within its directory. That changes the working directory for a
    moment, which nothing else of a starting daemon minds.
    """
    path = socket_path(paths)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before, umask = Path.cwd(), os.umask(0o177)
    try:
        os.chdir(path.parent)
        listener.bind(path.name)
    finally:
        os.chdir(before)
        os.umask(umask)
    listener.listen(512)
    listener.setblocking(False)
    if path != paths.link:
        _point(paths.link, path)
    return listener


def _point(link: Path, target: Path) -> None:
    """Make ``link`` a symbolic link to ``target``, in one step."""
    fresh = link.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def listen_on_loopback(port: int) -> socket.socket:
    """A listening TCP socket that this machine alone can reach; port 0 picks a free one."""
    # Its protocol is named: the event loop sends small answers at once only where it is.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except OSError:
        listener.close()
        raise
    listener.listen(64)
    return listener


def unlisten(paths: Paths) -> None:
    """Remove the socket and the link to it."""
    socket_path(paths).unlink(missing_ok=True)
    paths.link.unlink(missing_ok=True)
