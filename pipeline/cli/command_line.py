"""The commands of ``subcog``. Each is imported only when it is used, to start fast."""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import signal
import sys
from typing import Any

import click
import msgspec

from ...config.load import SettingsError
from ...hooks.client import VERSION
from .client import CallFailed, DaemonUnreachable

# command → the module of ``commands`` that has it
COMMANDS = {
    "capture": "memory",
    "recall": "memory",
    "list": "memory",
    "get": "memory",
    "forget": "memory",
    "topics": "memory",
    "sessions": "sessions",
    "learn": "sessions",
    "update": "lifecycle",
    "supersede": "lifecycle",
    "expire": "lifecycle",
    "restore": "lifecycle",
    "history": "lifecycle",
    "why": "lifecycle",
    "stale": "lifecycle",
    "bury": "lifecycle",
    "keep": "lifecycle",
    "undo": "lifecycle",
    "sql": "insight",
    "project": "insight",
    "import": "transfer",
    "export": "transfer",
    "backup": "backups",
    "copies": "backups",
    "team": "team",
    "classify": "insight",
    "explain": "insight",
    "ui": "insight",
    "trace": "insight",
    "stats": "insight",
    "routes": "insight",
    "status": "insight",
    "config": "insight",
    "logs": "daemon",
    "doctor": "doctor",
    "daemon": "daemon",
    "hook": "daemon",
    "mcp": "daemon",
    "install": "setup",
    "uninstall": "setup",
    "eval": "evaluate",
    "help": "help",
}


class Commands(click.Group):
    """A group that imports a command when it is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(f"..commands.{COMMANDS[cmd_name]}", __package__)
        command: Any = getattr(module, f"{cmd_name}_command")
        return command if isinstance(command, click.Command) else None

    def invoke(self, ctx: click.Context) -> Any:
        """As click does it; where the reader has left, with the exit code that programs have then.

        click and rich exit with 1, which means refused.
        """
        try:
            return super().invoke(ctx)
        except (BrokenPipeError, SystemExit) as ended:
            if not any(isinstance(one, BrokenPipeError) for one in (ended, ended.__context__)):
                raise
            _discard_output()
            ctx.exit(128 + signal.SIGPIPE)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does it, and names the nearest command where there is none of that name."""
        try:
            found = super().resolve_command(ctx, args)
        except click.UsageError as error:
            import difflib

            if near := difflib.get_close_matches(args[0].lower(), COMMANDS, n=1, cutoff=0.7):
                raise click.UsageError(f"{error.message} Did you mean {near[0]}?", ctx) from None
            raise
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            # From here on there may be something to end, and to say.
            signal.signal(signal.SIGINT, signal.default_int_handler)
        return found


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(VERSION, prog_name="subcog")
def cli() -> None:
    """Memory for a coding agent: recalls what was decided, learned and tried."""


def run() -> None:
    """Run the command line, and exit; errors that a user can fix are one line, no traceback."""
    _take_any_text()
    try:
        code = cli.main(standalone_mode=False, prog_name="subcog")
    except click.UsageError as error:
        click.UsageError(_harmless(error.format_message()), error.ctx).show()
        sys.exit(error.exit_code)
    except click.ClickException as error:
        _complain(error.format_message())
        sys.exit(error.exit_code)
    except click.Abort:
        sys.exit(128 + signal.SIGINT)
    except (CallFailed, DaemonUnreachable, SettingsError) as error:
        _complain(str(error))
        sys.exit(3 if isinstance(error, DaemonUnreachable) else 1)
    except OSError as error:  # no room, no permission
        where = f"{error.filename}: " if error.filename else ""
        _complain(f"{where}{error.strerror or error}")
        _discard_output()
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _take_any_text() -> None:
    """Read and print texts that are not of the encoding: a sign stands where a byte cannot."""
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    arguments = [argument.encode(errors="surrogateescape") for argument in sys.argv]
    sys.argv[:] = [argument.decode(errors="replace") for argument in arguments]


def _discard_output() -> None:
    """Have nothing printed that is still to be: the interpreter would fail on it as well."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(message: str) -> None:
    message = message.encode(errors="replace").decode()  # it may name a file that is not UTF-8
    if "--json" in sys.argv:
        try:
            click.echo(msgspec.json.encode({"error": message}))
        except OSError:  # no room for that either
            _discard_output()
    click.echo(f"subcog: {_harmless(message)}", err=True)


def _harmless(message: str) -> str:
    """``message``, which may repeat an argument, without what would move a terminal's cursor."""
    from ...stages.text.unicode import visible

    return visible(message)
