"""When each hook of each agent came last, over restarts, so that a missing one can be found."""

from __future__ import annotations

import contextlib
from datetime import datetime
from pathlib import Path

import msgspec
from cachetools import FIFOCache
from msgspec import Struct

from ..files import replace_file

MAX_PAIRS = 64
_MAX_BYTES = 65_536
_MAX_NAME = 64


class LastHook(Struct, frozen=True, kw_only=True):
    """One hook of one agent, by Claude Code's name for the event."""

    client: str
    event: str
    at: datetime
    count: int = 1


class HookActivity:
    """Keeps the pairs that were heard lately in ``file``. Losing it loses nothing else."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._pairs: FIFOCache[tuple[str, str], LastHook] = FIFOCache(MAX_PAIRS)
        self._pairs.update({(each.client, each.event): each for each in _read(file)})
        self._changed = False

    def note(self, client: str, event: str, at: datetime) -> None:
        """Note that ``event`` was heard. Names that no agent has are not noted."""
        if not all(name.isalnum() and len(name) <= _MAX_NAME for name in (client, event)):
            return
        before = self._pairs.pop((client, event), None)
        count = before.count + 1 if before else 1
        self._pairs[client, event] = LastHook(client=client, event=event, at=at, count=count)
        self._changed = True

    def list(self) -> tuple[LastHook, ...]:
        """All of them, the latest last."""
        return tuple(self._pairs.values())

    def save(self) -> None:
        """Write what is new into the file; a disk that takes nothing costs no more than that."""
        if self._changed:
            self._changed = False
            with contextlib.suppress(OSError):
                replace_file(self._file, msgspec.json.encode(self.list()))


def _read(file: Path) -> tuple[LastHook, ...]:
    try:
        with file.open("rb") as opened:
            return msgspec.json.decode(opened.read(_MAX_BYTES), type=tuple[LastHook, ...])
    except (OSError, ValueError, RecursionError):
        return ()
