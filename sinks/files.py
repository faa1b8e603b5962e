"""Files: private ones of the user's own, and small, untrusted ones of a project.

Private files are readable by their owner only, and replaced in one step or rotated at a bound.

A project's files may be hostile: pipes that never answer, devices, circular links, gigabytes.
Nothing here raises for them; what cannot be read counts as missing. A ``Look`` notices when they
change.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Iterator, Mapping
from io import TextIOWrapper
from itertools import islice
from logging.handlers import RotatingFileHandler
from pathlib import Path

FILE_MODE = 0o600
FOLDER_MODE = 0o700


def private_opener(path: str, flags: int) -> int:
    """The ``opener`` of ``open`` for a file that only its owner can read."""
    return os.open(path, flags, FILE_MODE)


def replace_file(file: Path, data: bytes, *, durable: bool = False) -> None:
    """Write ``file`` in one step; a crash leaves the old content or the new. Raises ``OSError``.

    ``durable`` flushes it to the disk first, so that this holds in a power failure as well.
    """
    file.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
    fresh = unfinished(file)
    fresh.unlink(missing_ok=True)
    try:
        with open(fresh, "xb", opener=private_opener) as out:
            out.write(data)
            if durable:
                out.flush()
                os.fsync(out.fileno())
        fresh.replace(file)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def unfinished(file: Path) -> Path:
    """Where ``replace_file`` writes first: what was killed meanwhile leaves it."""
    return file.with_name(f"{file.name}.new")


def sync_directory(directory: Path) -> None:
    """Flush a directory to disk, so that a rename in it survives a crash."""
    handle = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def free_name(path: Path) -> Path:
    """``path``, or ``path`` with the first number that is not taken: ``NAME-1``, ``NAME-2``."""
    target, number = path, 1
    while target.exists():
        target, number = path.with_name(f"{path.name}-{number}"), number + 1
    return target


class PrivateFileHandler(RotatingFileHandler):
    """Each file that it makes is readable by its owner only, whatever the process's umask is."""

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding=self.encoding, opener=private_opener)


class _RaisingHandler(PrivateFileHandler):
    """Passes its errors on instead of printing them."""

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - the library's name
        raise  # noqa: PLE0704 - called while the error is being handled


class RotatingFile:
    """Appends lines to ``file``, readable by its owner only. Safe to use from several threads.

    Before a line would exceed ``max_bytes`` the file becomes ``NAME.1``, that one ``NAME.2``, up
    to ``backups``.
    """

    def __init__(self, file: Path, *, max_bytes: int, backups: int) -> None:
        self._file = file
        self._backups = backups
        self._handler = _RaisingHandler(
            file, maxBytes=max_bytes, backupCount=backups, encoding="utf-8", delay=True
        )

    def append(self, line: bytes) -> None:
        """Add ``line``, UTF-8 without a line end of its own. Raises ``OSError``."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=FOLDER_MODE)
        try:
            self._handler.handle(logging.makeLogRecord({"msg": line.decode()}))
        finally:
            self._handler.close()  # the next line opens it again, also where it was deleted

    def lines(self) -> Iterator[bytes]:
        """Every complete line, the newest first."""
        numbered = [f"{self._file.name}.{number + 1}" for number in range(self._backups)]
        for name in (self._file.name, *numbered):
            try:
                data = self._file.with_name(name).read_bytes()
            except OSError:
                continue
            yield from reversed(data[: data.rfind(b"\n") + 1].splitlines())


# --- untrusted ----------------------------------------------------------------------------------

Stamp = tuple[int, int, int, int, int] | None
"""Type and mode, owner, inode, size and mtime in ns; None for what is not there."""

_MOST_NAMES = 2000
_UNUSABLE = (OSError, ValueError)  # ValueError: a NUL, or characters that no file name can have


class Look:
    """One look at a project. Every path asked about is remembered with its stamp.

    ``stamps`` stays true for as long as ``unchanged(stamps)`` says so.
    """

    def __init__(self) -> None:
        self.stamps: dict[Path, Stamp] = {}

    def exists(self, path: Path) -> bool:
        return self._stamp(path) is not None

    def is_directory(self, path: Path) -> bool:
        stamp = self._stamp(path)
        return stamp is not None and stat.S_ISDIR(stamp[0])

    def owner(self, path: Path) -> int | None:
        stamp = self._stamp(path)
        return None if stamp is None else stamp[1]

    def children(self, path: Path, limit: int) -> tuple[Path, ...]:
        """The first ``limit`` of what a directory holds, by name; none of what is no directory."""
        return tuple(path / name for name in sorted(self.names(path))[:limit])

    def names(self, path: Path) -> frozenset[str]:
        """What a directory holds; of a very large one a part, of what is no directory nothing."""
        if not self.is_directory(path):
            return frozenset()
        try:
            with os.scandir(path) as entries:
                return frozenset(entry.name for entry in islice(entries, _MOST_NAMES))
        except _UNUSABLE:
            return frozenset()

    def size(self, path: Path) -> int:
        """In bytes; 0 where there is nothing."""
        stamp = self._stamp(path)
        return 0 if stamp is None else stamp[3]

    def text(self, path: Path, max_bytes: int) -> str | None:
        """The whole of a regular UTF-8 file of at most ``max_bytes``, or None."""
        stamp = self._stamp(path)
        if stamp is None or not stat.S_ISREG(stamp[0]):
            return None
        try:
            data = _read(path, max_bytes + 1)
            return data.decode() if len(data) <= max_bytes and b"\0" not in data else None
        except _UNUSABLE:
            return None

    def _stamp(self, path: Path) -> Stamp:
        if path not in self.stamps:
            self.stamps[path] = stamp(path)
        return self.stamps[path]


def stamp(path: Path) -> Stamp:
    """What ``path`` is at this moment; links are followed."""
    try:
        found = path.stat()
    except _UNUSABLE:
        return None
    return (found.st_mode, found.st_uid, found.st_ino, found.st_size, found.st_mtime_ns)


def unchanged(stamps: Mapping[Path, Stamp]) -> bool:
    """Whether every path still has the stamp that was seen."""
    return all(stamp(path) == seen for path, seen in stamps.items())


def _read(path: Path, max_bytes: int) -> bytes:
    # Not blocking: between the look and the opening a file may have become a pipe.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b""
        return _read_up_to(descriptor, max_bytes)
    finally:
        os.close(descriptor)


def _read_up_to(descriptor: int, max_bytes: int) -> bytes:
    parts = []
    while max_bytes > 0 and (part := os.read(descriptor, max_bytes)):
        parts.append(part)
        max_bytes -= len(part)
    return b"".join(parts)
