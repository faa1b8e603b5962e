"""``daemon`` and ``logs``: start, stop, look at or be the daemon; the end of its log."""

from __future__ import annotations

import errno
import os
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from ...bus.service_results import StatusResult, StopResult
from ..cli.client import DaemonHung, DaemonUnreachable
from .shared import call, daemon, json_option, our_paths, our_settings, show

STOP_S = 30.0
UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
LEVELS = ("debug", "info", "warning", "error", "critical")


@click.group()
def daemon_command() -> None:
    """Start, stop or inspect the daemon. Hooks start it when they need it."""


@daemon_command.command()
@json_option
def start() -> None:
    """Start the daemon, if none is running."""
    answer = call("status", StatusResult)
    show(answer, [f"daemon {answer.pid} is running"])


@daemon_command.command()
@json_option
def stop() -> None:
    """Let the daemon finish its work and exit."""
    try:
        with daemon() as client:
            answer = client.call("stop", StopResult, start=False)
    except DaemonHung:
        raise
    except DaemonUnreachable:
        answer = StopResult(pid=None, stopping=False)
    if answer.pid is not None:
        _wait_for_exit(answer.pid)
    show(answer, ["stopped" if answer.stopping else "no daemon is running"])


def _wait_for_exit(pid: int) -> None:
    deadline = time.monotonic() + STOP_S
    while _is_running(pid):
        if time.monotonic() > deadline:
            raise click.ClickException(f"the daemon {pid} did not exit within {STOP_S:.0f} s")
        time.sleep(0.02)


def _is_running(pid: int) -> bool:
    """Whether there is such a process; one that has ended is none, even if nobody reaped it yet."""
    try:
        os.kill(pid, 0)
        # In a container the first process may reap the others late, or never.
        stat = Path(f"/proc/{pid}/stat").read_bytes()
    except ProcessLookupError:
        return False
    except FileNotFoundError:
        return not Path("/proc/self").exists()
    return stat.rpartition(b") ")[2][:1] != b"Z"


@daemon_command.command()
@json_option
@click.pass_context
def status(ctx: click.Context) -> None:
    """The same as `subcog status`."""
    from .insight import status_command

    ctx.invoke(status_command)


@daemon_command.command()
def run() -> None:
    """Run the daemon in this process until it is stopped."""
    import logging

    from ..daemon.log_setup import log_to, log_uncaught, silence_exit
    from ..daemon.server import AlreadyRunning

    paths = our_paths()
    loaded = our_settings(warn=False)
    log = loaded.settings.log
    try:
        log_to(paths.log, log.level, log.format)
        log_uncaught()
        silence_exit()
        for warning in loaded.warnings:
            logging.getLogger("subcog.config").warning(warning)
        from ..daemon.daemon import run_daemon

        run_daemon(loaded, paths)
    except AlreadyRunning:
        # It may be about to listen, or about to leave: whoever needs a daemon looks again.
        click.echo("a daemon is already running", err=True)
    except OSError as error:
        if error.errno not in UNWRITABLE:
            raise
        # Its client reads this, and tells it.
        click.echo(
            f"subcog: {error.filename or paths.data} cannot be written ({error.strerror}). Check "
            f"the permissions of {paths.data} and the free disk space, or set "
            "SUBCOG_HOME to another directory.",
            err=True,
        )
        sys.exit(1)


@click.command()
@click.option(
    "-n",
    "--lines",
    type=click.IntRange(0, 10_000_000),
    default=50,
    show_default=True,
    help="How many lines.",
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
    form = _as_json if as_json else _for_reading
    for line in last_lines(paths.logs, lines, lambda line: LEVELS.index(level_of(line)) >= least):
        click.echo(form(line))


def _for_reading(line: str) -> str:
    from ..daemon.log_setup import line_of, printable

    entry = read_entry(line)
    return line_of(entry) if entry else printable(line)


def _as_json(line: str) -> str:
    if read_entry(line) is not None:
        return line
    return msgspec.json.encode({"level": level_of(line), "what": line}).decode()


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
