"""``daemon``: start, stop, look at or be the daemon."""

from __future__ import annotations

import errno
import os
import sys
import time
from pathlib import Path

import click

from ...bus.results import StatusResult, StopResult
from ..cli.client import DaemonUnreachable
from .shared import daemon, json_option, our_paths, our_settings, show_json

STOP_S = 30.0
UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}


@click.group()
def daemon_command() -> None:
    """Start, stop or inspect the daemon. Hooks start it when they need it."""


@daemon_command.command()
@json_option
def start(as_json: bool) -> None:
    """Start the daemon, if none is running."""
    with daemon() as client:
        answer = client.call("status", StatusResult)
    if as_json:
        show_json(answer)
    else:
        click.echo(f"daemon {answer.pid} is running")


@daemon_command.command()
@json_option
def stop(as_json: bool) -> None:
    """Let the daemon finish its work and exit."""
    try:
        with daemon() as client:
            answer = client.call("stop", StopResult, start=False)
    except DaemonUnreachable:
        answer = StopResult(pid=None, stopping=False)
    if answer.pid is not None:
        _wait_for_exit(answer.pid)
    if as_json:
        show_json(answer)
    else:
        click.echo("stopped" if answer.stopping else "no daemon is running")


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
def status(ctx: click.Context, as_json: bool) -> None:
    """The same as `subcog status`."""
    from .insight import status_command

    ctx.invoke(status_command, as_json=as_json)


@daemon_command.command()
def run() -> None:
    """Run the daemon in this process until it is stopped."""
    import logging

    from ..daemon.log_setup import log_to, log_uncaught
    from ..daemon.server import AlreadyRunning

    paths = our_paths()
    loaded = our_settings(lenient=True)
    log = loaded.settings.log
    log_to(paths.log, log.level, log.format)
    log_uncaught()
    for warning in loaded.warnings:
        logging.getLogger("subcog.config").warning(warning)
    from ..daemon.daemon import run_daemon

    try:
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
