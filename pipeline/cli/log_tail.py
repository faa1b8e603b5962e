"""Reads the daemon's log: the end of it, and as it grows, whatever it is rotated to."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from ..daemon.log_setup import BACKUPS

LEVELS = ("debug", "info", "warning", "error", "critical")
MAX_LINE = 100_000
POLL_S = 0.2

Identity = tuple[int, int]


class Tail:
    """Reads ``file`` and its rotations, each line once, as far as they are whole."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._seen: Identity | None = None
        self._place = 0

    def last(self, count: int, wanted: Callable[[str], bool]) -> list[str]:
        """Read all that there is; the last ``count`` lines of it that are ``wanted``."""
        return list(deque((line for line in self._new() if wanted(line)), maxlen=count))

    def more(self, pause: Callable[[float], None]) -> Iterator[str]:
        """Each line that is new, and every one that comes; never ends.

        ``pause`` is called with seconds whenever there is nothing new. A log that is not there yet
        is waited for.
        """
        while True:
            yield from self._new()
            pause(POLL_S)

    def _new(self) -> Iterator[str]:
        for path, identity in self._unread():
            with path.open("rb") as stream:
                status = os.fstat(stream.fileno())
                if (status.st_dev, status.st_ino) != identity:
                    return  # it was rotated in this very moment: the next look finds it again
                if identity != self._seen or status.st_size < self._place:
                    self._seen, self._place = identity, 0
                stream.seek(self._place)
                for line in _whole_lines(stream):
                    self._place = stream.tell()
                    yield line

    def _unread(self) -> list[tuple[Path, Identity]]:
        """The file that was read last, under its present name, and all newer ones, oldest first."""
        older = [self._file.with_name(f"{self._file.name}.{n}") for n in range(BACKUPS, 0, -1)]
        found = [(path, found) for path in [*older, self._file] if (found := _identity(path))]
        names = [identity for _, identity in found]
        return found[names.index(self._seen) :] if self._seen in names else found


def _identity(file: Path) -> Identity | None:
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino


def _whole_lines(stream: BinaryIO) -> Iterator[str]:
    """The lines up to the last line break; one that is far too long comes in parts."""
    while line := stream.readline(MAX_LINE):
        if not line.endswith(b"\n") and len(line) < MAX_LINE:
            return
        yield line.decode("utf-8", "replace").rstrip("\n")


def read_entry(line: str) -> dict[str, Any] | None:
    """The fields of a JSON line; None for a line of another kind."""
    try:
        entry = msgspec.json.decode(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def level_of(line: str) -> str:
    """The level of a line in either format; what is in none of them counts as an error.

    Such a line did not come from the log: something wrote to the daemon's standard error.
    """
    entry = read_entry(line)
    level = str(entry.get("level", "")) if entry else line.partition(" ")[2].partition(" ")[0]
    return level if level in LEVELS else "error"
