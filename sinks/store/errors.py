"""The errors of the store, in sentences that say what to do."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal, cast

import duckdb

from ...config.patterns import regex

Reason = Literal[
    "held",
    "newer",
    "foreign",
    "busy",
    "full",
    "read_only",
    "other_log",
    "damaged",
    "gone",
    "closed",
    "failed",
]

_HOLDER = regex(r"Conflicting lock is held in (.+?) \(PID (\d+)\)")
_LOCKED = "lock on file"
_TWICE = "is already attached"
_BUSY = ("Cannot CHECKPOINT",)
_NEWER = ("with version number",)
_FULL = ("No space left on device", "File too large", "Disk quota exceeded")
_READ_ONLY = ("Permission denied", "Read-only file system", "Operation not permitted")
_OTHER_LOG = ("WAL checkpoint iteration does not match", "WAL does not match database file")
_DAMAGED = (
    "Corrupt database file",
    "not a valid DuckDB database file",
    "replaying WAL",
    "Could not read enough bytes",
)


class StoreUnavailable(ConnectionError):
    """The store cannot do this now. The message says why and what to do.

    ``reason`` is the same for programs. The message never holds the text of a memory.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


_MESSAGES = {
    "held": (
        "{path} is in use by process {pid} ({program}). Only one process may have it open: "
        "close that program, or end process {pid}, and try again."
    ),
    "newer": (
        "{path} was written by a newer subcog: its tables have version {found}, this one knows "
        "versions up to {known}. Update subcog, or restore a backup made with this version."
    ),
    "newer_format": (
        f"{{path}} was written by a newer DuckDB than the {duckdb.__version__} installed here. "
        "Update the package duckdb, or restore a backup made with this version."
    ),
    "foreign": (
        "{path} is a DuckDB database, but not one of subcog. Nothing was changed in it. Move it "
        "away, or point subcog to another data directory."
    ),
    "busy": (
        "{path} cannot be compacted while a long read is under way. Nothing is lost: try again "
        "when it is done."
    ),
    "full": (
        "the disk of {path.parent} is full. Everything acknowledged so far is kept; what was just "
        "asked was not done. Free some space and try again."
    ),
    "read_only": (
        "{path} cannot be written. Give your user write permission to the file and to the "
        "directory {path.parent}, or point subcog to another data directory."
    ),
    "other_log": (
        "{path} cannot be opened with {path}.wal, the log of another state of it: one of the two "
        "was replaced. Nothing was changed in them. Move the log away to open the file as it was "
        "written last; or restore a backup."
    ),
    "damaged": (
        "{path} is damaged and cannot be read. Nothing was changed in it. `subcog doctor "
        "--repair` saves what can be read and keeps the damaged file; or restore a backup."
    ),
    "emptied": (
        "{path} is empty: another program, or a full disk, took away what was in it. Nothing is "
        "changed in it, and nothing stored meanwhile. `subcog doctor --repair` brings back the "
        "newest backup and what the log holds, or begins a new database where there is neither; "
        "`subcog restore latest` brings back the backup alone."
    ),
    "missing": (
        "{path} was deleted or moved away, and files beside it are left of it. Nothing is begun in "
        "its place, and nothing stored meanwhile. `subcog doctor --repair` brings back the newest "
        "backup and what the log holds, or begins a new database where there is neither; `subcog "
        "restore latest` brings back the backup alone; or put the file back if you moved it."
    ),
    "gone": (
        "{path} was deleted or moved while it was open. What was just asked was not done. The "
        "daemon opens what lies there now; `subcog restore latest` brings back the newest backup."
    ),
    # Of an unexpected error only the class is named, for its message may hold a memory's text.
    "failed": (
        "the database {path} failed ({error}). Restart subcog; if that does not help, keep the "
        "file in another place and restore a backup."
    ),
}
# The reason of each kind that is not one itself.
_REASONS: dict[str, Reason] = {"newer_format": "newer", "emptied": "damaged", "missing": "damaged"}
_KINDS = (
    (_FULL, "full"),
    (_READ_ONLY, "read_only"),
    (_BUSY, "busy"),
    (_NEWER, "newer_format"),
    (_OTHER_LOG, "other_log"),
    (_DAMAGED, "damaged"),
)


def closed() -> StoreUnavailable:
    """The store is not open."""
    return StoreUnavailable("closed", "the store is closed")


def unavailable(kind: str, path: Path, **facts: object) -> StoreUnavailable:
    """The error of ``kind``, a key of the messages above, about the file at ``path``."""
    reason = _REASONS.get(kind, cast(Reason, kind))
    return StoreUnavailable(reason, _MESSAGES[kind].format(path=path, **facts))


def invalidates_database(error: BaseException) -> bool:
    """Whether DuckDB answers nothing more after ``error`` until the file is reopened."""
    return isinstance(error, duckdb.FatalException) or (
        isinstance(error, duckdb.Error) and "has been invalidated" in str(error)
    )


def explain(path: Path, error: BaseException) -> StoreUnavailable:
    """The StoreUnavailable for an error that DuckDB or the system raised about ``path``."""
    if isinstance(error, duckdb.InterruptException):
        return closed()
    text = str(error)
    if _LOCKED in text:
        holder = _HOLDER.search(text)
        program, pid = holder.groups() if holder else ("unknown", "unknown")
        return unavailable("held", path, program=program, pid=pid)
    if _TWICE in text:
        return unavailable("held", path, program="this program itself", pid=os.getpid())
    for words, kind in _KINDS:
        if any(word in text for word in words):
            return unavailable(kind, path)
    return unavailable("failed", path, error=type(error).__name__)


def refusal(error: BaseException) -> ValueError:
    """The error for a row that the database refuses, without its text."""
    return ValueError(f"the database refused a memory ({type(error).__name__})")
