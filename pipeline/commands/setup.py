"""``install`` and ``uninstall``: add subcog to an agent's settings, and remove it."""

from __future__ import annotations

import difflib
import os
import sys
from pathlib import Path

import click
from msgspec import Struct

from ...bus.service_results import NO_HTTP, StatusResult
from ...config.patterns import regex
from ..agents.agent import Agent, Place
from ..agents.install import (
    AGENTS,
    Change,
    FoundAgent,
    Http,
    Mcp,
    SettingsUnreadable,
    Transport,
    find_agent,
    http_of,
    install,
    our_parts,
    plugin_enabled,
    uninstall,
    why_not,
    wired_in,
)
from ..agents.transcripts import count_transcripts
from .shared import call, is_json, json_option, our_paths, our_settings, printed_as_json

_TOKEN = regex(r"Bearer [\w-]+")

dry_run_option = click.option("--dry-run", is_flag=True, help="Print the change; change nothing.")
client_argument = click.argument(
    "client", type=click.Choice(list(AGENTS)), default="claude", required=False
)
project_option = click.option(
    "--project",
    "project",
    is_flag=False,
    flag_value=".",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="Change only the settings of the project in DIRECTORY, else in the current directory.",
)
user_option = click.option(
    "--user", is_flag=True, help="Change your settings for all projects (so without either option)."
)


FIRST_STEPS = """To see it work, start {agent} anew in a project of yours and type
  [remember:decisions] We deploy with ArgoCD, never with kubectl
and in the session after that one
  how do we deploy here?"""


@click.command()
@client_argument
@user_option
@project_option
@click.option(
    "--transport",
    "way",
    type=click.Choice(["command", "http", "mcp"]),
    default="command",
    show_default=True,
    help="How hooks reach the daemon, if the agent's version supports it.",
)
@click.option("--no-mcp", is_flag=True, help="Do not add the MCP server.")
@click.option(
    "--list", "list_all", is_flag=True, help="List the agents found here, and what is installed."
)
@dry_run_option
@json_option
def install_command(
    client: str,
    user: bool,
    project: Path | None,
    way: str,
    no_mcp: bool,
    list_all: bool,
    dry_run: bool,
) -> None:
    """Add subcog to the settings of an agent [default: claude].

    That is its hooks and its MCP server. Only subcog's own entries are changed; each file is backed
    up beside itself. Can be repeated.
    """
    if list_all:
        _list()
        return
    agent, place = AGENTS[client], _project(user, project)
    found_agent = find_agent(agent, os.environ)
    transport, notes = _transport(way, agent, found_agent, no_mcp)
    try:
        changes = install(
            agent,
            our_parts(),
            os.environ,
            project=place,
            version=found_agent.version,
            transport=transport,
            server=not no_mcp,
            dry_run=dry_run,
        )
    except SettingsUnreadable as error:
        raise click.ClickException(str(error)) from None
    notes += [
        f"{change.file} has another MCP server called subcog, which stays: take it out and install "
        "again to have this one"
        for change in changes
        if change.is_name_taken
    ]
    notes += [agent.advice] if agent.advice else []
    if agent.name == "claude" and plugin_enabled(os.environ, place or Path.cwd()):
        notes.append(
            "subcog is also installed as a plugin, so every hook would run twice. "
            "Keep one: `subcog uninstall`, or `claude plugin uninstall subcog`."
        )
    if is_temporary(Path(sys.prefix)):
        notes.append(
            "This runs out of a cache, as `uvx` and `pipx run` do, and stops working when that is "
            "cleaned. Install it where it stays: `uv tool install subcog`, then `subcog install`."
        )
    if not is_json() and not dry_run:
        notes += _learnable() if sys.stdout.isatty() else []
        notes.append(FIRST_STEPS.format(agent=agent.title))
    _report(changes, notes, dry_run)


def is_temporary(prefix: Path) -> bool:
    """Whether an environment lies where `uvx` and `pipx run` make theirs."""
    parts = prefix.resolve().parts
    return (
        "archive-v0" in parts
        or "environments-v2" in parts
        or (".cache" in parts and "pipx" in parts)
    )


def _learnable() -> list[str]:
    """The offer to read what agents have left on the disk, where there is anything."""
    count, size = count_transcripts(os.environ)
    if not count:
        return []
    return [
        f"{count} transcripts of earlier sessions ({size / 1e6:.0f} MB) are on this disk: "
        "`subcog learn --all` reads them. What was said stays on this machine."
    ]


@click.command()
@client_argument
@user_option
@project_option
@dry_run_option
@json_option
def uninstall_command(client: str, user: bool, project: Path | None, dry_run: bool) -> None:
    """Remove subcog from the settings of an agent [default: claude]. Memories are kept."""
    try:
        changes = uninstall(
            AGENTS[client], os.environ, project=_project(user, project), dry_run=dry_run
        )
    except SettingsUnreadable as error:
        raise click.ClickException(str(error)) from None
    _report(changes, [], dry_run)


def _project(user: bool, project: Path | None) -> Path | None:
    if user and project is not None:
        raise click.UsageError("--user or --project, not both")
    return project.resolve() if project is not None else None


def _transport(
    way: str, agent: Agent, found_agent: FoundAgent, no_mcp: bool
) -> tuple[Transport | None, list[str]]:
    """The way that was asked for, or none and the reason why commands it is."""
    if way == "command":
        return None, []
    if reason := why_not(agent, found_agent.version):
        return None, [f"hooks are commands: {reason}"]
    if way == "mcp":
        if no_mcp:
            return None, ["hooks are commands: --no-mcp leaves out the server that they would use"]
        return Mcp(client=agent.name), []
    if not our_settings().settings.http.enabled:
        return None, ["hooks are commands: http.enabled is false"]
    return _http(agent), ["the settings hold the token of the daemon, and are yours alone (0600)"]


def _http(agent: Agent) -> Http:
    """The daemon's port and token, which it keeps over restarts; it is started for that."""
    call("status", StatusResult)
    way = http_of(agent.name, our_paths(), os.environ)
    if way is None:
        raise click.ClickException(NO_HTTP)
    return way


def _report(changes: list[Change], notes: list[str], dry_run: bool) -> None:
    files = [
        {"file": str(change.file), "action": change.action, "backup": change.backup}
        for change in changes
    ]
    if printed_as_json({"files": files, "notes": notes}):
        return
    for change in changes:
        would = "would be " if dry_run and change.action != "unchanged" else ""
        what = "subcog's entries " if change.action == "removed" else ""
        click.echo(f"{change.file}: {what}{would}{change.action}")
        if change.backup is not None:
            click.echo(f"  backup: {change.backup}")
        if dry_run:
            click.echo(_difference(change), nl=False)
    for note in notes:
        click.echo(note)


def _difference(change: Change) -> str:
    """What would be written, without the token that may be in it."""
    before, after = ((text or "").splitlines(True) for text in (change.before, change.after))
    lines = difflib.unified_diff(before, after, n=1)
    told = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    return _TOKEN.sub("Bearer …", told)


# --- what is here ---------------------------------------------------------------------------------


class SettingsFile(Struct, frozen=True, kw_only=True):
    """A settings file of an agent, and what of subcog is in it."""

    file: str
    exists: bool
    wired: list[str]
    problem: str | None


class Seen(Struct, frozen=True, kw_only=True):
    """An agent, whether it is here, and what is installed in it."""

    client: str
    title: str
    program: str | None
    version: str | None
    files: list[SettingsFile]
    plugin: bool


def _list() -> None:
    found = [_seen(agent) for agent in AGENTS.values()]
    if printed_as_json(found):
        return
    for each in found:
        version = each.version or ("of unknown version" if each.program else "not found")
        click.echo(f"{each.title}: {version}{'  ' + each.program if each.program else ''}")
        for file in each.files:
            what = file.problem or ", ".join(file.wired) or "subcog is not installed"
            click.echo(f"  {file.file}: {what}")
        if each.plugin:
            click.echo("  subcog is enabled as a plugin")


def _seen(agent: Agent) -> Seen:
    found_agent = find_agent(agent, os.environ)
    return Seen(
        client=agent.name,
        title=agent.title,
        program=found_agent.program,
        version=".".join(map(str, found_agent.version)) or None,
        files=[
            *map(_wired_in, agent.places(os.environ, None)),
            *(_wired_in(place) for place in agent.places(os.environ, Path.cwd()) if place.hooks),
        ],
        plugin=agent.name == "claude" and plugin_enabled(os.environ, Path.cwd()),
    )


def _wired_in(place: Place) -> SettingsFile:
    problem, names = None, []
    try:
        wiring = wired_in(place)
        names = [*wiring.events, *(["MCP"] if wiring.server is not None else [])]
    except SettingsUnreadable as error:
        problem = str(error)
    exists = problem is not None or place.file.exists()
    return SettingsFile(file=str(place.file), exists=exists, wired=names, problem=problem)
