"""``mcp``: what an MCP client runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from ...hooks import client


@click.command()
def mcp_command() -> None:
    """Serve MCP on standard input and output, for the project of the current directory.

    This is a pipe to the daemon, which it starts if need be; an MCP client runs it.
    """
    script = Path(client.__file__).absolute().with_name("mcp_pipe.py")
    launcher = Path(sys.argv[0]).absolute()
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    os.execv(python, [python, "-I", "-S", str(script), str(launcher)])  # noqa: S606 - our own pipe
