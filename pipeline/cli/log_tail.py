"""Reads the end of the daemon's log, back into the files that it was rotated to."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

LEVELS = ("debug", "info", "warning", "error", "critical")


def last_lines(files: Sequence[Path], count: int, wanted: Callable[[str], bool]) -> list[str]:
    """The last ``count`` lines of ``files`` (oldest file first) for which ``wanted`` holds.

    A file that does not exist is skipped, and so is a last line that is still being written.
    """
    return list(deque(filter(wanted, _lines(files)), maxlen=count))


def _lines(files: Sequence[Path]) -> Iterator[str]:
    for file in files:
        try:
            with file.open("rb") as stream:
                for line in stream:
                    if line.endswith(b"\n"):
                        yield line.decode("utf-8", "replace").rstrip("\n")
        except FileNotFoundError:
            continue


def read_entry(line: str) -> dict[str, Any] | None:
    """The fields of a JSON line; None for a line of another kind."""
    try:
        entry = msgspec.json.decode(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def level_of(line: str) -> str:
    """The level of a line in either format; a line in neither format counts as an error.

    Such a line did not come from the log: something wrote to the daemon's standard error.
    """
    entry = read_entry(line)
    level = str(entry.get("level", "")) if entry else line.partition(" ")[2].partition(" ")[0]
    return level if level in LEVELS else "error"
