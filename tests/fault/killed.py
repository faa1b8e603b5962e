"""A program that is killed while it works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def said_until_killed(program: str, *arguments: object, lines: int) -> list[str]:
    """The whole lines that a Python ``program`` said; it is killed after so many of them."""
    process = subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with process:
        said = [process.stdout.readline() for _ in range(lines)]
        process.kill()
        said += process.stdout.readlines()
    return [line for line in said if line.endswith("\n")]
