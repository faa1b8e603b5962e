"""What Linux tells of processes."""

from __future__ import annotations

import contextlib
from pathlib import Path


def children_of(pid: int | str = "self") -> list[int]:
    """The processes that ``pid`` has started and that are not reaped yet."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError):  # a thread that has ended meanwhile
            found += map(int, (task / "children").read_text().split())
    return found
