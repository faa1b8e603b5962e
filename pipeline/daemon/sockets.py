"""The lock of the one daemon, its Unix socket and its loopback port.

Light to import: the doctor asks with these as well.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

from ...config.paths import Paths
from ...sinks.http.credentials import keep_port, last_port


class AlreadyRunning(RuntimeError):
    """Another daemon of this user and data directory holds the lock."""


class Lock:
    """The lock of the one daemon, held by this process: its file, open as ``descriptor``."""

    def __init__(self, file: Path, descriptor: int) -> None:
        self._file = file
        self._descriptor = descriptor

    def is_in_place(self) -> bool:
        """Whether its file is still where others look for it.

        Else another daemon can start: the data directory was deleted, moved or replaced.
        """
        try:
            return os.path.samestat(os.fstat(self._descriptor), self._file.stat())
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError:  # it cannot be looked at, which says nothing
            return True


@contextlib.contextmanager
def only_one(lock: Path) -> Iterator[Lock]:
    """Hold the lock of the daemon. Raises ``AlreadyRunning``."""
    lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyRunning("a daemon runs already") from None
        yield Lock(lock, descriptor)
    finally:
        os.close(descriptor)


def socket_path(paths: Paths) -> Path:
    """Where the socket is: named for the data directory, since two may share a runtime one.

    It is in the data directory where the runtime one is not ours alone, as in a shared ``/tmp``.
    """
    if paths.runtime == paths.data or not _is_ours(paths.runtime):
        return paths.link
    return paths.runtime / f"daemon-{paths.data.stat().st_ino}.sock"


def _is_ours(folder: Path) -> bool:
    """Whether ``folder`` is there, and nobody else can put anything into it."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    is_folder = stat.S_ISDIR(found.st_mode)
    return is_folder and found.st_uid == os.getuid() and not found.st_mode & 0o022


def listen(paths: Paths) -> socket.socket:
    """A listening socket that its owner alone can connect to. Call it holding the lock.

    The name of a Unix socket may have about a hundred bytes, and a path can be longer: so it is
    bound by its bare name from within its directory. That changes the working directory for a
    moment, which nothing else of a starting daemon minds.
    """
    with contextlib.suppress(OSError):  # the data directory will do
        paths.runtime.mkdir(parents=True, exist_ok=True, mode=0o700)
    path = socket_path(paths)
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    path.unlink(missing_ok=True)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before, umask = Path.cwd(), os.umask(0o177)
    try:
        os.chdir(path.parent)
        listening.bind(path.name)
    finally:
        os.chdir(before)
        os.umask(umask)
    listening.listen(512)
    listening.setblocking(False)
    if path != paths.link:
        _point(paths.link, path)
    return listening


def _point(link: Path, target: Path) -> None:
    """Make ``link`` a symbolic link to ``target``, in one step."""
    fresh = link.with_suffix(".new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(link)


def listen_on_loopback(port: int) -> socket.socket:
    """A listening TCP socket that this machine alone can reach; port 0 picks a free one."""
    # Its protocol is named: the event loop sends small answers at once only where it is.
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind(("127.0.0.1", port))
    except OSError:
        listening.close()
        raise
    listening.listen(64)
    return listening


def listen_on_the_same(port: int, file: Path) -> socket.socket:
    """A listening socket on ``port``; where that is 0, on the port noted in ``file`` if it is free.

    Clients are told the port in their settings, so one that is picked anew is noted in ``file``.
    Raises ``OSError``.
    """
    if port:
        return listen_on_loopback(port)
    if before := last_port(file):
        with contextlib.suppress(OSError):
            return listen_on_loopback(before)
    listening = listen_on_loopback(0)
    with contextlib.suppress(OSError):  # it serves as well where it cannot be noted
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        keep_port(file, listening.getsockname()[1])
    return listening


def unlisten(paths: Paths) -> None:
    """Remove the socket and the link to it."""
    with contextlib.suppress(FileNotFoundError):  # the data directory itself is gone
        socket_path(paths).unlink(missing_ok=True)
    paths.link.unlink(missing_ok=True)


def is_reachable(paths: Paths) -> bool:
    """Whether a socket is where clients connect; a runtime directory may vanish at a logout."""
    try:
        return paths.link.is_socket()
    except OSError:
        return False
