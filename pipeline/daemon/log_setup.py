"""The daemon's log: a constant sentence and fields, as JSON or for reading, rotated.

No text of prompts or memories is in it: what libraries say is left out, and of what was raised
there is the kind and the place alone.
"""

from __future__ import annotations

import atexit
import contextlib
import logging
import os
import sys
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal

import msgspec
from cachetools import LRUCache

from ...bus.bus import raised_at
from ...config.paths import LOG_BACKUPS
from ...sinks.files import PrivateFileHandler

MAX_BYTES = 2_000_000
MOST_OF_A_CAUSE = 50
"""Lines that one cause may write in ``CAUSE_S``: who can provoke one must not rotate the log."""
CAUSE_S = 60.0
_MAX_CAUSES = 512
OURS = "subcog"
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}
_CONSTANT = frozenset({"Exceeded concurrency limit.", "Invalid HTTP request received."})
"""What uvicorn says of too many connections, and of what is not HTTP: it quotes nothing."""
_log = logging.getLogger(__name__)

Format = Literal["json", "console"]


def entry_of(record: logging.LogRecord) -> dict[str, Any]:
    """What is told of a record: time, level, where, what, and the fields given in ``extra``.

    Of a record that is not ours there is only that a library said something, unless it is one of
    ``_CONSTANT``: a sentence and its fields may quote what somebody typed, and so may the text of
    an exception. ``left_out`` counts those of the same cause that ``RateLimit`` did not let pass
    before.
    """
    ours, is_constant = _is_ours(record), str(record.msg) in _CONSTANT
    entry: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC),
        "level": record.levelname.lower(),
        "where": record.name.removeprefix(f"{OURS}."),
        "what": record.msg if ours or is_constant else "a library logged a message",
    }
    if ours:
        entry |= {key: value for key, value in vars(record).items() if key not in _STANDARD}
    elif hasattr(record, "left_out"):
        entry["left_out"] = record.left_out
    if record.exc_info and record.exc_info[0]:
        entry["error"] = record.exc_info[0].__name__
        entry["at"] = raised_at(record.exc_info[2])
    return entry


def _is_ours(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] == OURS


def line_of(entry: dict[str, Any]) -> str:
    """An entry as one line for reading: time to the second, level, where, what, fields."""
    head = {key: str(entry.get(key, "")) for key in ("time", "level", "where", "what")}
    fields = (f"{key}={_value(value)}" for key, value in entry.items() if key not in head)
    time = head["time"][:19].replace(" ", "T")
    start = f"{time}Z {head['level']:<7} {head['where']}: {head['what']}"
    return printable("  ".join([start, *fields]))


def _value(value: object) -> str:
    text = str(value)
    return repr(text) if any(sign.isspace() for sign in text) else text


def printable(text: str) -> str:
    """``text`` without what would steer a terminal or break the line."""
    return "".join(sign if sign.isprintable() else "\ufffd" for sign in text)


class RateLimit(logging.Filter):
    """Lets ``MOST_OF_A_CAUSE`` records of one cause pass in ``CAUSE_S``; the next one counts more.

    A cause is what a logger says, or, since their sentences vary, a library's logger. What we
    tell of the usual course of things (below a warning) has no limit, and what libraries do is left
    out.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._seen: LRUCache[tuple[str, str], tuple[float, int]] = LRUCache(_MAX_CAUSES)
        self._lock = threading.Lock()  # a handler filters before it takes its own

    def filter(self, record: logging.LogRecord) -> bool:
        ours = _is_ours(record)
        if record.levelno < logging.WARNING:
            return ours  # that a library said something that is no warning tells nobody anything
        cause, now = (record.name, str(record.msg) if ours else ""), self._now()
        with self._lock:
            since, count = self._seen.get(cause, (now, 0))
            if now - since >= CAUSE_S:
                if count > MOST_OF_A_CAUSE:
                    record.left_out = count - MOST_OF_A_CAUSE
                since, count = now, 0
            self._seen[cause] = since, count + 1
        return count < MOST_OF_A_CAUSE


class JsonLines(logging.Formatter):
    """A record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        return msgspec.json.encode(entry_of(record), enc_hook=str).decode()


class ConsoleLines(logging.Formatter):
    """A record as one line for reading."""

    def format(self, record: logging.LogRecord) -> str:
        return line_of(entry_of(record))


def log_to(file: Path, level: str, form: Format = "json") -> logging.Handler:
    """Send every log record of the process to ``file``, readable by its owner only."""
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    _end_last_line(file)
    handler = PrivateFileHandler(
        file, maxBytes=MAX_BYTES, backupCount=LOG_BACKUPS, encoding="utf-8"
    )
    handler.setFormatter(JsonLines() if form == "json" else ConsoleLines())
    handler.addFilter(RateLimit())
    root = logging.getLogger()
    root.addHandler(handler)
    root.setLevel(level.upper())
    return handler


def _end_last_line(file: Path) -> None:
    """End the last line of ``file``: a daemon that was killed, or a library, may have not."""
    try:
        with os.fdopen(os.open(file, os.O_RDWR | os.O_APPEND), "rb+", buffering=0) as log:
            if log.seek(0, os.SEEK_END) == 0:
                return
            log.seek(-1, os.SEEK_END)
            if log.read(1) != b"\n":
                log.write(b"\n")
    except FileNotFoundError:
        return


def silence_exit() -> None:
    """Have what libraries print while the interpreter ends go nowhere.

    The standard streams of a daemon are its log, and DuckDB's binding may report there what it
    leaked: thirty lines, the last of them without an end.
    """
    atexit.register(_close_streams)


def _close_streams() -> None:
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)


def log_uncaught() -> None:
    """Log what nobody caught by its kind and place, instead of a traceback with its text.

    Standard error gets as much, for whoever started the process.
    """
    sys.excepthook = _on_uncaught
    threading.excepthook = lambda hooked: _on_uncaught(
        hooked.exc_type, hooked.exc_value, hooked.exc_traceback
    )


def _on_uncaught(
    kind: type[BaseException], error: BaseException | None, traceback: TracebackType | None
) -> None:
    place = raised_at(traceback)
    _log.critical("uncaught exception", extra={"error": kind.__name__, "at": place})
    if sys.stderr is not None:
        sys.stderr.write(f"subcog: {kind.__name__} at {place} was not caught\n")
