"""A file of lines that never grows beyond its bound: full, it becomes ``NAME.1``, and so on."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path


class Journal:
    """Appends to ``file``, readable by its owner only. Safe to use from several threads.

    Beyond ``max_bytes`` the file becomes ``NAME.1``, that one ``NAME.2``, up to ``backups``.
    """

    def __init__(self, file: Path, *, max_bytes: int, backups: int) -> None:
        self._file = file
        self._max_bytes = max_bytes
        self._backups = backups
        self._lock = threading.Lock()

    def append(self, line: bytes) -> None:
        """Add ``line``, which has no line end of its own. Raises ``OSError``."""
        with self._lock:
            if self._write(line + b"\n"):
                self._rotate()

    def lines(self) -> Iterator[bytes]:
        """Every line that is there, the newest first; half a line at the end is left out."""
        for file in (self._file, *map(self._numbered, range(1, self._backups + 1))):
            try:
                data = file.read_bytes()
            except OSError:
                continue
            yield from reversed(data[: data.rfind(b"\n") + 1].splitlines())

    def _write(self, data: bytes) -> bool:
        """Append ``data``; whether the file is full now."""
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(target, data)
            return os.fstat(target).st_size >= self._max_bytes
        finally:
            os.close(target)

    def _rotate(self) -> None:
        for number in range(self._backups - 1, 0, -1):
            if (older := self._numbered(number)).exists():
                older.replace(self._numbered(number + 1))
        self._file.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._file.with_name(f"{self._file.name}.{number}")
