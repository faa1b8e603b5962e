"""Disks that take nothing more: full ones, and such as may only be read."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def mount(*args: object) -> int:
    """The exit code, 0 where it is mounted."""
    return subprocess.run(["mount", *map(str, args)], check=False, capture_output=True).returncode


def unmount(place: Path) -> None:
    subprocess.run(["umount", str(place)], check=True)


@contextmanager
def full(place: Path) -> Iterator[None]:
    """No byte more can be written to the file system of ``place``."""
    ballast = place / "ballast"
    with ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(bytes(4096))
    yield
    ballast.unlink()


@contextmanager
def read_only(place: Path) -> Iterator[None]:
    """Nothing below ``place`` can be opened for writing, by root either."""
    assert not mount("--bind", place, place)
    assert not mount("-o", "remount,bind,ro", place)
    try:
        yield
    finally:
        unmount(place)
