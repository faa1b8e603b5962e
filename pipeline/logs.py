"""The daemon's log: a constant sentence and fields, one JSON object a line, rotated."""

from __future__ import annotations

import logging
from datetime import UTC, datetime
from logging.handlers import RotatingFileHandler
from pathlib import Path

import msgspec

MAX_BYTES = 2_000_000
BACKUPS = 3
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonLines(logging.Formatter):
    """A record as JSON: time, level, where, what, and the fields given in ``extra``.

    The text of an exception is left out on purpose: it may quote what somebody typed.
    """

    def format(self, record: logging.LogRecord) -> str:
        entry: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC),
            "level": record.levelname.lower(),
            "where": record.name.removeprefix("subcog."),
            "what": record.msg if record.name.startswith("subcog") else "a library said something",
        }
        entry |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
        if record.exc_info and record.exc_info[0]:
            entry["error"] = record.exc_info[0].__name__
        return msgspec.json.encode(entry, enc_hook=str).decode()


def log_to(file: Path, level: str) -> logging.Handler:
    """Send every log record of the process to ``file``, readable by its owner only."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    file.touch(mode=0o600)
    handler = RotatingFileHandler(file, maxBytes=MAX_BYTES, backupCount=BACKUPS, encoding="utf-8")
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    return handler
