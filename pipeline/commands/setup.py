"""``install`` and ``uninstall``: wire subcog into an agent, and take it out again."""

from __future__ import annotations

import os

import click

from ..install import (
    Change,
    SettingsUnreadable,
    claude_settings_file,
    install_claude,
    our_client_script,
    our_launcher,
    real_interpreter,
    uninstall_claude,
)
from .shared import json_option, show_json

dry_run_option = click.option("--dry-run", is_flag=True, help="Show the change; change nothing.")
client_argument = click.argument(
    "client", type=click.Choice(["claude"]), default="claude", required=False
)


@click.command()
@client_argument
@dry_run_option
@json_option
def install_command(client: str, dry_run: bool, as_json: bool) -> None:
    """Add subcog's hooks to the user settings of CLIENT (Claude Code).

    Only its own entries are written; a copy of the file is kept beside it. Can be repeated.
    """
    file = claude_settings_file(os.environ)
    try:
        change = install_claude(
            file,
            interpreter=real_interpreter(),
            client_script=our_client_script(),
            launcher=our_launcher(),
            dry_run=dry_run,
        )
    except SettingsUnreadable as error:
        raise click.ClickException(str(error)) from None
    _report(change, as_json, dry_run)


@click.command()
@client_argument
@dry_run_option
@json_option
def uninstall_command(client: str, dry_run: bool, as_json: bool) -> None:
    """Take subcog's hooks out of the user settings of CLIENT; memories stay where they are."""
    try:
        change = uninstall_claude(claude_settings_file(os.environ), dry_run=dry_run)
    except SettingsUnreadable as error:
        raise click.ClickException(str(error)) from None
    _report(change, as_json, dry_run)


def _report(change: Change, as_json: bool, dry_run: bool) -> None:
    if as_json:
        show_json({"file": str(change.file), "action": change.action, "backup": change.backup})
        return
    would = "would be " if dry_run and change.action != "unchanged" else ""
    click.echo(f"{change.file}: {would}{change.action}")
    if change.backup is not None:
        click.echo(f"  the file as it was: {change.backup}")
    if dry_run and change.after is not None and change.after != change.before:
        click.echo(change.after)
