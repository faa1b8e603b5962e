"""Files that only their owner can read, and files that are replaced in one step."""

from __future__ import annotations

import os
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
