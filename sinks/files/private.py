"""Files that only their owner can read: replaced in one step, or rotated at a bound."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator
from io import TextIOWrapper
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
    fresh = file.with_name(f"{file.name}.new")
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
