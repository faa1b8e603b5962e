"""``hook``: what the installed hook does, from the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ...hooks import client


@click.command()
@click.argument("event")
@click.option("--explain", is_flag=True, help="Add metadata, also within an agent.")
def hook_command(event: str, explain: bool) -> None:
    """Answer the hook EVENT, with its payload on standard input, as the agent gets it.

    Outside an agent, what led to the answer is added under "metadata". Always exits 0, and prints
    valid hook output or nothing.
    """
    script = Path(client.__file__).absolute()
    launcher = Path(sys.argv[0]).absolute()
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    command = [python, "-I", "-S", str(script), event, str(launcher)]
    if explain or "CLAUDECODE" not in os.environ:
        command.append("detailed")
    os.execv(python, command)  # noqa: S606 - our own pipe
