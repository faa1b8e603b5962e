"""Which build of subcog this is: those of one version may differ, as before and after a pull."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from zlib import crc32

PACKAGE = Path(__file__).parents[1]
# Of a checkout, the folders that are installed; beside them are tests and tools.
ROOMS = ("bus", "config", "hooks", "pipeline", "sinks", "stages")


def read_build(package: Path = PACKAGE) -> str:
    """8 hexadecimal digits that change with every module and word list below ``package``.

    A checksum of their names, sizes and modification times, without reading them: a command can
    wait for that, while hashlib alone takes longer to import.
    """
    modules = sorted(module for room in ROOMS for module in _modules(package / room, room))
    return f"{crc32(''.join(modules).encode()):08x}"


def _modules(folder: Path | str, name: str) -> Iterator[str]:
    """A line for each file in ``folder`` that counts, also where some vanish meanwhile."""
    try:
        entries = list(os.scandir(folder))
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith((".py", ".toml")):
            try:
                seen = entry.stat()
            except OSError:
                continue
            yield f"{name}/{entry.name} {seen.st_size} {seen.st_mtime_ns}\n"
        elif "." not in entry.name and entry.name != "__pycache__" and entry.is_dir():
            yield from _modules(entry.path, f"{name}/{entry.name}")
