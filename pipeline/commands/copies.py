"""``copies``: what may still hold a memory that was forgotten."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from .shared import daemon, json_option, show_json


@click.command()
@click.option(
    "--remove",
    "removed",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Delete this one; may be given several times.",
)
@click.option("--remove-all", is_flag=True, help="Delete all of them, backups too.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting.")
@json_option
def copies_command(removed: tuple[Path, ...], remove_all: bool, yes: bool, as_json: bool) -> None:
    """List the copies of the database that may hold what was forgotten since.

    They are backups that `subcog backup` made, the database that a restore replaced, and what was
    kept aside before a repair. What is forgotten leaves the database, not these.
    `subcog forget ID --everywhere` takes one memory out of them; --remove and --remove-all delete
    whole copies.
    """
    with daemon() as client:
        copies = client.call("copies")["copies"]
        files = [copy["file"] for copy in copies] if remove_all else _absolute(removed)
        if not files:
            _show(copies, as_json)
            return
        if not yes:
            click.confirm(f"Delete {', '.join(files)}?", abort=True, err=True)
        answer = client.call("remove_copies", {"files": files})
    if as_json:
        show_json(answer)
    else:
        for copy in answer["removed"]:
            click.echo(f"deleted: {copy['file']}")


def _absolute(files: tuple[Path, ...]) -> list[str]:
    return [str(file.absolute()) for file in files]


def _show(copies: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        show_json({"copies": copies})
        return
    for copy in copies:
        click.echo(describe(copy))
    if not copies:
        click.echo("there are no copies of the database")


def describe(copy: dict[str, Any]) -> str:
    """One line about a copy."""
    return f"{copy['at'][:16]}  {copy['kind']:<16}  {copy['bytes']:>13,}  {copy['file']}"
