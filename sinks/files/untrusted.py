"""Reads small, untrusted files of a project, and notices when they change.

A project's files may be hostile: pipes that never answer, devices, circular links, gigabytes.
Nothing here raises for them; what cannot be read counts as missing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from itertools import islice
from pathlib import Path

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
