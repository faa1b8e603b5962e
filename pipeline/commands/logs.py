"""``logs``: the end of the daemon's log."""

from __future__ import annotations

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
    from ..cli.log_tail import LEVELS, last_lines, level_of

    paths = our_paths()
    if only_path:
        click.echo(paths.log)
        return
    least = LEVELS.index(level)
    show = _as_json if as_json else _for_reading
    for line in last_lines(paths.logs, lines, lambda line: LEVELS.index(level_of(line)) >= least):
        click.echo(show(line))


def _for_reading(line: str) -> str:
    from ..cli.log_tail import read_entry
    from ..daemon.log_setup import line_of, printable

    entry = read_entry(line)
    return line_of(entry) if entry else printable(line)


def _as_json(line: str) -> str:
    from ..cli.log_tail import level_of, read_entry

    if read_entry(line) is not None:
        return line
    return msgspec.json.encode({"level": level_of(line), "what": line}).decode()
