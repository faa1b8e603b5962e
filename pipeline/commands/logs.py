"""``logs``: what the daemon noted."""

from __future__ import annotations

import time

import click
import msgspec

from .shared import our_paths


@click.command()
@click.option("-f", "--follow", is_flag=True, help="Go on as more is written, until Ctrl-C.")
@click.option(
    "-n", "--lines", type=click.IntRange(0), default=50, show_default=True, help="How many lines."
)
@click.option(
    "--level",
    type=click.Choice(("debug", "info", "warning", "error")),
    default="debug",
    show_default=True,
    help="Leave out what matters less.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def logs_command(follow: bool, lines: int, level: str, as_json: bool) -> None:
    """Show the daemon's log. No daemon is started for this.

    The log holds no text of prompts or memories.
    """
    from ..cli.log_tail import LEVELS, Tail, level_of

    least = LEVELS.index(level)

    def is_wanted(line: str) -> bool:
        return LEVELS.index(level_of(line)) >= least

    show = _as_json if as_json else _for_reading
    tail = Tail(our_paths().log)
    try:
        for line in tail.last(lines, is_wanted):
            click.echo(show(line))
        for line in filter(is_wanted, tail.more(time.sleep) if follow else ()):
            click.echo(show(line))
    except KeyboardInterrupt:  # the way to end it
        return


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
