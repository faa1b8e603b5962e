"""What several commands share: options, the way to the daemon, and output."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec

from ...config.load import Loaded, load_settings
from ...config.paths import Paths, find_paths
from ..cli.client import Client

F = TypeVar("F", bound=Callable[..., Any])


def json_option(command: F) -> F:
    """``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for machines.")(command)


def project_option(command: F) -> F:
    """``--project DIR``."""
    return click.option(
        "--project",
        type=click.Path(file_okay=False, path_type=Path),
        help="The project's directory [default: CLAUDE_PROJECT_DIR, else the current directory].",
    )(command)


def our_paths() -> Paths:
    """The directories of whoever runs this process."""
    return find_paths(os.environ)


def our_settings(*, lenient: bool = False) -> Loaded:
    """The settings in force here. Raises ``SettingsError``."""
    return load_settings(our_paths().config_file, os.environ, lenient=lenient)


@contextmanager
def daemon(project: Path | None = None) -> Iterator[Client]:
    """A client of the daemon on behalf of ``project``; the settings are checked first."""
    our_settings()
    if project is not None and not project.is_dir():
        raise click.BadParameter(f"{project} is not a directory", param_hint="--project")
    chosen = str(project or os.environ.get("CLAUDE_PROJECT_DIR") or "")
    client = Client(
        our_paths(),
        {
            "project": str(Path(chosen).absolute()) if chosen else "",
            "cwd": str(Path.cwd()),
            "client": "cli",
        },
    )
    try:
        yield client
    finally:
        client.close()


def show_json(value: object) -> None:
    """Print ``value`` as indented JSON."""
    click.echo(msgspec.json.format(msgspec.json.encode(value, enc_hook=str), indent=2))


def by(author: str) -> str:
    """Who of the team wrote a memory, to be put behind it; nothing where it was written here."""
    return f"  by {author}" if author else ""


def when(time: datetime) -> str:
    """``time`` in UTC as RFC 3339."""
    return time.isoformat().replace("+00:00", "Z")


def shorten(text: str, width: int) -> str:
    """One line of at most ``width`` characters."""
    line = " ".join(text.split())
    return line if len(line) <= width else f"{line[: width - 1].rstrip()}…"
