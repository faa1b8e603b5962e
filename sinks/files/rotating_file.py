"""Files of lines that never grow beyond a bound: full, one becomes ``NAME.1``, and so on."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from io import TextIOWrapper
from logging.handlers import RotatingFileHandler
from pathlib import Path

from .private import FOLDER_MODE, private_opener


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
