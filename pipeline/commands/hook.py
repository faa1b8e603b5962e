"""``hook``: what the installed hook does, from the command line."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ...hooks import client


@click.command()
@click.argument("event")
@click.option("--explain", is_flag=True, help="Add what led to the answer, under metadata.")
def hook_command(event: str, explain: bool) -> None:
    """Answer the hook EVENT, with its payload on standard input, exactly as in the agent.

    Always exits 0, and prints valid hook output or nothing.
    """
    script = Path(client.__file__).absolute()
    launcher = Path(sys.argv[0]).absolute()
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    if explain:
        os.environ["SUBCOG_HOOK_DETAILED"] = "1"
    os.execv(python, [python, "-I", "-S", str(script), event, str(launcher)])  # noqa: S606
