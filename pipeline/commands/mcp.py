"""``mcp``: what an MCP client runs, and how one reaches the daemon over HTTP."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from urllib.parse import quote

import click
from msgspec import Struct

from ...bus.service_results import StatusResult
from ...hooks import client
from .shared import (
    call,
    daemon_options,
    is_json,
    our_paths,
    printed_as_json,
    project_folder,
    project_option,
    show_json,
)

TOKEN_VARIABLE = "SUBCOG_HTTP_TOKEN"  # noqa: S105 - its name


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
    script = Path(client.__file__).absolute().with_name(name)
    python = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    os.execv(python, [python, "-I", "-S", str(script), *words])  # noqa: S606 - our own pipe


def _say_http() -> None:
    url = call("status", StatusResult).mcp_url
    if url is None:
        raise click.ClickException("the daemon serves no HTTP; set http.enabled = true")
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
