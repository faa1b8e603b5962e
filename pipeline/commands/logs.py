"""``logs``: the end of the daemon's log."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from .shared import our_paths


@click.command()
@click.option(
    "-n", "--lines", type=click.IntRange(0), default=50, show_default=True, help="How many lines."
)
@click.option(
    "--level",
    type=click.Choice(("debug", "info", "warning", "error")),
    default="debug",
    show_default=True,
    help="Show this level and the more severe ones.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.option("--path", "only_path", is_flag=True, help="Print the path of the log file only.")
def logs_command(lines: int, level: str, as_json: bool, only_path: bool) -> None:
    """Show the end of the daemon's log. No daemon is started for this.

    The log holds no text of prompts or memories. To follow it as it grows:
    tail -F "$(subcog logs --path)".
    """
    paths = our_paths()
    if only_path:
        click.echo(paths.log)
        return
    least = LEVELS.index(level)
    show = _as_json if as_json else _for_reading
    for line in last_lines(paths.logs, lines, lambda line: LEVELS.index(level_of(line)) >= least):
        click.echo(show(line))


def _for_reading(line: str) -> str:
    from ..daemon.log_setup import line_of, printable

    entry = read_entry(line)
    return line_of(entry) if entry else printable(line)


def _as_json(line: str) -> str:

    if read_entry(line) is not None:
        return line
    return msgspec.json.encode({"level": level_of(line), "what": line}).decode()


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
