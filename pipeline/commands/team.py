"""``team``: share memories with colleagues, through a PostgreSQL server of the team's."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from pathlib import Path

import click
from msgspec.structs import replace

from ...bus.service_results import (
    JoinResult,
    LeaveResult,
    NotJoined,
    ShareResult,
    TeamRecallResult,
    TeamStatusResult,
    UnshareResult,
)
from ...config.load import load_settings, variable
from ..agents.settings_file import SettingsUnreadable
from ..agents.toml_settings import remove_setting, write_setting
from ..cli import team_view as view
from ..cli.client import Client
from ..cli.wording import memories
from .memory import namespace_option
from .shared import (
    ask,
    call,
    daemon,
    is_json,
    json_option,
    limit_option,
    our_paths,
    our_settings,
    show,
    somebody_is_there,
)

URL = variable("team.url")

yes_option = click.option("--yes", is_flag=True, help="Do not ask.")
dry_run_option = click.option(
    "--dry-run", is_flag=True, help="Print what would happen; do nothing."
)
project_argument = click.argument("project", metavar="[PROJECT]", default="")


@click.group()
def team_command() -> None:
    """Share memories with a team through PostgreSQL.

    See `subcog help team`. `join` and `share` show what would leave this machine, and ask before
    sending.
    """


@team_command.command()
@click.argument("url", metavar="URL")
@click.option("--team", required=True, help="The name of the team.")
@click.option("--member", "members", multiple=True, help="Add this member; may be repeated.")
@json_option
def init(url: str, team: str, members: tuple[str, ...]) -> None:
    """Create or upgrade a team's database at URL, and add members.

    URL is an administrator's (postgresql://admin@host/database; - reads it from standard input).
    It is used once and not stored. Each new member gets its own login, whose URL is shown only
    once. Can be repeated.
    """
    try:
        from ...sinks.team.postgres import admin
    except ImportError as error:
        raise without_psycopg(error) from None
    try:
        done = admin.init(_typed(url), team, members)
    except (ConnectionError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    show(done, view.prepared(done))


@team_command.command()
@click.argument("url", metavar="[URL]", default="")
@yes_option
@dry_run_option
@json_option
def join(url: str, yes: bool, dry_run: bool) -> None:
    """Join the team whose server is at URL [default: the setting team.url].

    Shows first what would leave this machine and who would read it, and asks. - reads the URL from
    standard input, which keeps its password out of the shell's history.
    """
    url = _server(_typed(url))
    with daemon() as client:
        preview = client.call("team-join", JoinResult, {"url": url, "yes": False})
        if dry_run:
            show(preview, view.joining(preview))
            return
        ask(view.joining(preview), "Join the team?", yes)
        shown = [project.scope for project in preview.projects]
        answer = client.call("team-join", JoinResult, {"url": url, "yes": True, "scopes": shown})
        _note(url)
        show(answer, view.joined(answer))
        if not is_json() and sys.stderr.isatty():
            view.follow(client)


@team_command.command()
@json_option
def status() -> None:
    """Show the state of the synchronisation with the team, and what is shared."""
    answer = call("team-status", TeamStatusResult)
    shown = answer if answer.joined else NotJoined(url=answer.url)
    show(shown, view.standing(answer, datetime.now(UTC)))


@team_command.command()
@click.argument("query")
@click.option(
    "--project",
    default="all",
    show_default=True,
    help="Search only this project: its name or scope.",
)
@limit_option(10, 100, "Maximum number of memories.")
@namespace_option("Only memories of this kind.")
@json_option
def recall(query: str, project: str, limit: int, namespace: str | None) -> None:
    """Search on the team's server, including projects that this machine does not receive.

    QUERY is sent to the server after its secrets were removed. The memories of the organisation
    and of all projects that the team shares are searched, best first.
    """
    asked = {"query": query, "project": project, "limit": limit, "namespace": namespace}
    answer = call("team-recall", TeamRecallResult, asked)
    show(answer, view.found(answer))


@team_command.command()
@project_argument
@yes_option
@dry_run_option
@json_option
def share(project: str, yes: bool, dry_run: bool) -> None:
    """Share PROJECT with the team: a directory [default: this one], or a name.

    `subcog team status` shows the names. Shows first how many memories would leave this machine,
    and asks.
    """
    with daemon(_directory(project)) as client:
        asked = {"scope": _scope(client, project)}
        preview = client.call("team-share", ShareResult, asked | {"yes": False})
        if dry_run:
            show(preview, view.sharing(preview))
            return
        ask(view.sharing(preview), "Share it?", yes)
        answer = client.call("team-share", ShareResult, asked | {"yes": True})
    show(answer, [f"shared; {memories(answer.leaves)}"])


@team_command.command()
@project_argument
@json_option
def unshare(project: str) -> None:
    """Stop sending and receiving PROJECT: a directory [default: this one], or a name.

    What others wrote is removed from this machine. What was sent stays on the team's server.
    """
    with daemon(_directory(project)) as client:
        answer = client.call("team-unshare", UnshareResult, {"scope": _scope(client, project)})
    show(answer, view.unshared(answer))


@team_command.command()
@yes_option
@dry_run_option
@json_option
def leave(yes: bool, dry_run: bool) -> None:
    """Leave the team: what others wrote is removed from this machine, what you wrote stays.

    The address of its server, with its password, is removed from the settings' file.
    """
    with daemon() as client:
        preview = client.call("team-leave", LeaveResult, {"yes": False})
        file = our_paths().config_file if _is_noted() else None
        if dry_run:
            show(preview, view.leaving(preview, file))
            return
        ask(view.leaving(preview, file), "Leave the team?", yes)
        asked = {"yes": True} | ({"forget_url": True} if file else {})
        answer = client.call("team-leave", LeaveResult, asked)
    if file is not None and not answer.url_of_another:
        answer = replace(answer, url_removed=_forget_url(file))
    show(answer, view.left(answer, file))
    if URL in os.environ:
        click.echo(f"{URL} is still set here: unset it wherever your agent is started", err=True)


# --- where the server is --------------------------------------------------------------------------


def _typed(url: str) -> str:
    """``url``, or for - what is typed without being shown, or piped in."""
    if url != "-":
        return url
    if somebody_is_there():
        return str(click.prompt("URL", hide_input=True, err=True))
    return sys.stdin.readline().strip()


def _server(url: str) -> str:
    """The URL to join by: ``url``, else the setting."""
    found = url or our_settings().settings.team.url
    if not found:
        raise click.UsageError("give the URL of the team's server, or set team.url")
    if url and os.environ.get(URL, url) != url:
        raise click.UsageError(f"{URL} is set to another server, and would win; unset it first")
    return found


def _note(url: str) -> None:
    """Keep ``url`` for the daemons to come, unless it is kept already."""
    if our_settings().settings.team.url == url:
        if URL in os.environ:
            click.echo(f"{URL} must be set wherever your agent is started, too", err=True)
        return
    try:
        write_setting(our_paths().config_file, "team", "url", url)
    except (OSError, SettingsUnreadable) as error:
        why = error.strerror if isinstance(error, OSError) else error
        click.echo(f"subcog: set team.url yourself, or the next daemon misses it: {why}", err=True)


def _is_noted() -> bool:
    """Whether the file of the settings has an address of a team's server."""
    return bool(load_settings(our_paths().config_file, {}).settings.team.url)


def _forget_url(file: Path) -> bool:
    """Take the address, and its password, out of ``file``; whether it is out."""
    try:
        return remove_setting(file, "team", "url")
    except (OSError, SettingsUnreadable) as error:
        why = error.strerror if isinstance(error, OSError) else error
        click.echo(f"subcog: remove team.url from {file} yourself: {why}", err=True)
        return False


def without_psycopg(error: ImportError) -> click.ClickException | ImportError:
    """What to say of ``error``, where it is psycopg that is not there."""
    from ..app.team import MISSING

    ours = (error.name or "").startswith("psycopg") or "libpq" in str(error)
    return click.ClickException(MISSING) if ours else error


# --- which project --------------------------------------------------------------------------------


def _directory(project: str) -> Path | None:
    """The directory that ``project`` names, or None where it is this one, or a name."""
    return Path(project) if project and Path(project).is_dir() else None


def _scope(client: Client, project: str) -> str:
    """The scope that ``project`` names; nothing where a directory says which it is."""
    if not project or Path(project).is_dir():
        return ""
    known = client.call("team-status", TeamStatusResult).projects
    found = [one.scope for one in known if project in {one.name, one.scope}]
    if len(found) != 1:
        many = "names several projects; name one by its scope" if found else "is no project here"
        raise click.BadParameter(f"{project} {many}: see `subcog team status --json`")
    return found[0]
