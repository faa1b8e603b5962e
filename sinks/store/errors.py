"""What keeps the store from working, in words that say what to do about it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import duckdb

Reason = Literal[
    "held", "newer", "foreign", "busy", "full", "read_only", "damaged", "closed", "failed"
]

_HOLDER = re.compile(r"Conflicting lock is held in (.+?) \(PID (\d+)\)")
_LOCKED = "lock on file"
_TWICE = "is already attached"
_BUSY = ("Cannot CHECKPOINT",)
_NEWER = ("with version number",)
_FULL = ("No space left on device", "File too large", "Disk quota exceeded")
_READ_ONLY = ("Permission denied", "Read-only file system", "Operation not permitted")
_DAMAGED = ("Corrupt database file", "not a valid DuckDB database file", "replaying WAL")


class StoreUnavailable(ConnectionError):
    """The store cannot do what was asked now. The message says why and what to do.

    ``reason`` is the same for programs. The message never holds text of a memory.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


def closed() -> StoreUnavailable:
    """The store is not open."""
    return StoreUnavailable("closed", "the store is closed")


def held(path: Path, program: str, pid: str) -> StoreUnavailable:
    """Another process has the file open."""
    return StoreUnavailable(
        "held",
        f"{path} is in use by process {pid} ({program}). Only one process may have it open: "
        f"close that program, or end process {pid}, and try again.",
    )


def newer(path: Path, found: int, known: int) -> StoreUnavailable:
    """The tables come from a later subcog."""
    return StoreUnavailable(
        "newer",
        f"{path} was written by a newer subcog: its tables have version {found}, this one knows "
        f"versions up to {known}. Update subcog, or restore a backup made with this version.",
    )


def newer_format(path: Path) -> StoreUnavailable:
    """The file comes from a later DuckDB."""
    return StoreUnavailable(
        "newer",
        f"{path} was written by a newer DuckDB than the {duckdb.__version__} installed here. "
        "Update the package duckdb, or restore a backup made with this version.",
    )


def foreign(path: Path) -> StoreUnavailable:
    """The file belongs to another program."""
    return StoreUnavailable(
        "foreign",
        f"{path} is a DuckDB database, but not one of subcog. Nothing was changed in it. Move it "
        "away, or point subcog to another data directory.",
    )


def busy(path: Path) -> StoreUnavailable:
    """A read that began before the last writes is still under way."""
    return StoreUnavailable(
        "busy",
        f"{path} cannot be tidied up while a long read is under way. Nothing is lost: try again "
        "when it is done.",
    )


def full(path: Path) -> StoreUnavailable:
    """There is no room to write."""
    return StoreUnavailable(
        "full",
        f"the disk of {path.parent} is full. Everything acknowledged so far is kept; what was just "
        "asked was not done. Free some space and try again.",
    )


def read_only(path: Path) -> StoreUnavailable:
    """Writing is not permitted."""
    return StoreUnavailable(
        "read_only",
        f"{path} cannot be written. Give your user write permission to the file and to the "
        f"directory {path.parent}, or point subcog to another data directory.",
    )


def damaged(path: Path) -> StoreUnavailable:
    """The file itself, not its log, cannot be read."""
    return StoreUnavailable(
        "damaged",
        f"{path} is damaged and cannot be read. Nothing was changed in it. `subcog doctor "
        "--repair` saves what can be read and keeps the damaged file aside; else restore a backup.",
    )


def failed(path: Path, error: BaseException) -> StoreUnavailable:
    """Something unexpected; only its kind is told, for the rest may hold text of a memory."""
    return StoreUnavailable(
        "failed",
        f"the database {path} failed ({type(error).__name__}). Restart subcog; if that does not "
        "help, keep the file in another place and restore a backup.",
    )


_KINDS: tuple[tuple[tuple[str, ...], Callable[[Path], StoreUnavailable]], ...] = (
    (_FULL, full),
    (_READ_ONLY, read_only),
    (_BUSY, busy),
    (_NEWER, newer_format),
    (_DAMAGED, damaged),
)


def gives_up(error: BaseException) -> bool:
    """Whether DuckDB answers nothing more after ``error`` until the file is opened anew."""
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
        return held(path, *holder.groups()) if holder else held(path, "unknown", "unknown")
    if _TWICE in text:
        return held(path, "this program itself", str(os.getpid()))
    for words, kind in _KINDS:
        if any(word in text for word in words):
            return kind(path)
    return failed(path, error)


def refusal(error: BaseException) -> ValueError:
    """What a row that the database does not take is answered with, without its text."""
    return ValueError(f"the database refused a memory ({type(error).__name__})")
