"""``daemon``, ``logs``, ``mcp``, ``hook``: the daemon, its log, and what connects agents to it."""

from __future__ import annotations

import errno
import os
import shlex
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
import msgspec
from msgspec import Struct

from ...bus.service_results import NO_HTTP, StatusResult, StopResult
from ...config.load import Loaded, SettingsError
from ...config.paths import Paths
from ...hooks import client as pipe
from ..cli.wording import fitted
from .shared import (
    call,
    call_if_running,
    daemon_options,
    is_json,
    json_option,
    our_paths,
    our_settings,
    printed_as_json,
    project_folder,
    project_option,
    show,
    show_json,
)

STOP_S = 30.0
UNWRITABLE = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}
TOKEN_VARIABLE = "SUBCOG_HTTP_TOKEN"  # noqa: S105 - its name
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
    answer = call_if_running("stop", StopResult, strict=False)
    answer = answer or StopResult(pid=None, stopping=False)
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
    from ..daemon.sockets import AlreadyRunning

    paths = our_paths()
    loaded = _settings_or_refusal(paths)
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
        _note_refusal(paths)
        if error.errno not in UNWRITABLE:
            raise
        place = error.filename or paths.data
        # Its client reads this, and tells it.
        click.echo(
            f"subcog: {place} cannot be written ({error.strerror}). Check "
            f"the permissions of {place} and the free disk space, or set "
            "SUBCOG_HOME to another directory.",
            err=True,
        )
        sys.exit(1)


def _settings_or_refusal(paths: Paths) -> Loaded:
    """The settings. Raises ``SettingsError``, of which the hooks find a note."""
    try:
        loaded = our_settings(warn=False)
    except SettingsError:
        _note_refusal(paths)
        raise
    with suppress(OSError):
        paths.refusal.unlink(missing_ok=True)
    return loaded


def _note_refusal(paths: Paths) -> None:
    """Have the next hooks tell why there is no daemon, though they wait less than this took."""
    with suppress(OSError):
        paths.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        paths.refusal.touch(0o600)


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
        click.echo(form(line) if as_json else fitted(form(line), 2))


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


# --- what agents run ------------------------------------------------------------------------------


@click.command()
@click.option("--http", "over_http", is_flag=True, help="Only print how to connect over HTTP.")
@daemon_options
def mcp_command(over_http: bool) -> None:
    """Serve MCP on standard input and output.

    An MCP client runs this command in the directory of its project; it connects to the daemon and
    starts it if necessary. With --http it serves nothing, but prints how to reach the same server
    over HTTP.
    """
    if over_http:
        _say_http()
    elif project_option() is not None or is_json():
        raise click.UsageError("--project and --json go with --http")
    else:
        _become_the_pipe("mcp_pipe.py", str(Path(sys.argv[0]).absolute()))


def _become_the_pipe(name: str, *words: str) -> None:
    """Replace this process by the pipe in the file ``name``."""
    script = Path(pipe.__file__).absolute().with_name(name)
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    os.execv(python, [python, "-I", "-S", str(script), *words])  # noqa: S606 - our own pipe


def _say_http() -> None:
    url = call("status", StatusResult).mcp_url
    if url is None:
        raise click.ClickException(NO_HTTP)
    answer = _reach(url, project_folder(), our_paths().http_token)
    if printed_as_json(answer):
        return
    click.echo(f"""\
{answer.url}
  for this project; without ?project=… only the user's own memories are available
{answer.token_file}
  contains the token; each request must send `Authorization: Bearer TOKEN`

For a client with an mcpServers setting and the token in its environment
({answer.environment}):
""")
    show_json(answer.config)


class Reach(Struct, frozen=True, kw_only=True):
    """How a client connects. The token itself is not in it."""

    url: str
    url_of_the_user: str
    project: str
    token_file: str
    environment: str
    config: dict[str, object]


def _reach(url: str, project: Path, token_file: Path) -> Reach:
    with_project = f"{url}?project={quote(str(project), safe='/')}"
    header = f"Bearer ${{{TOKEN_VARIABLE}}}"
    server = {"type": "http", "url": with_project, "headers": {"Authorization": header}}
    return Reach(
        url=with_project,
        url_of_the_user=url,
        project=str(project),
        token_file=str(token_file),
        environment=f'export {TOKEN_VARIABLE}="$(cat {shlex.quote(str(token_file))})"',
        config={"mcpServers": {"subcog": server}},
    )


@click.command()
@click.argument("event")
@click.option("--explain", is_flag=True, help="Add metadata, even inside an agent.")
def hook_command(event: str, explain: bool) -> None:
    """Run the hook EVENT as an agent does.

    The payload is read from standard input. Outside an agent, the answer explains itself under
    "metadata". Always exits 0, and prints valid hook output or nothing.
    """
    detailed = ("detailed",) if explain or "CLAUDECODE" not in os.environ else ()
    _become_the_pipe("client.py", event, str(Path(sys.argv[0]).absolute()), *detailed)
