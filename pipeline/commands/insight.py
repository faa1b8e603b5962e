"""``classify``, ``explain``, ``status``, ``config``, ``project``, ``sql``: what there is, why."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import TYPE_CHECKING, TextIO

import click
from msgspec import UNSET, ValidationError, convert
from msgspec.structs import astuple, replace

from ...bus.results import ProjectResult
from ...bus.service_results import (
    NoDaemon,
    SqlResult,
    SqlViewsResult,
    StatusResult,
)
from ...config.load import Origin
from ..cli.wording import counted, fitted, local_time, memories
from .shared import (
    MAX_LISTED,
    call,
    call_if_running,
    daemon,
    daemon_options,
    is_json,
    json_option,
    limit_option,
    our_paths,
    our_settings,
    printed_as_json,
    shorten,
    show,
    show_json,
)

if TYPE_CHECKING:
    from ...bus.prompt_results import Trace, TracedInjection


@click.command()
@click.argument("text")
@daemon_options
def classify_command(text: str) -> None:
    """Classify the search intent of TEXT, with its confidence."""
    from ...bus.prompt_results import ClassifyResult

    answer = call("classify", ClassifyResult, {"text": text})
    if printed_as_json(answer):
        return
    if answer.topics is not UNSET:
        click.echo(f"{answer.intent_type}, {answer.confidence:.0%} ({answer.source})")
        click.echo(f"  topics: {', '.join(answer.topics) or 'none'}")
    else:
        click.echo("no search intent")


@click.command()
@click.argument("prompt")
@click.option("--full", is_flag=True, help="Show what each stage found and decided, and took.")
@daemon_options
def explain_command(prompt: str, full: bool) -> None:
    """Show what would be injected for PROMPT, and why.

    Nothing is stored, and no session is affected.
    """
    from ...bus.prompt_results import ExplainResult

    answer = call("explain", ExplainResult, {"text": prompt})
    if printed_as_json(answer):
        return
    from ..cli.explain_view import show_explanation

    show_explanation(answer, full=full)


@click.command()
@click.option("--no-browser", is_flag=True, help="Only print the address.")
@daemon_options
def ui_command(no_browser: bool) -> None:
    """Open the page of this project in the browser.

    It shows what is remembered, kept and injected, and why, and lets you edit, forget and undo. The
    address that is printed lets one browser in, once, within a minute.
    """
    from ...bus.service_results import PageResult

    answer = call("open_page", PageResult)
    if printed_as_json(answer):
        return
    if no_browser or not _open_in_browser(answer.url):
        click.echo(answer.url)
        click.echo(f"open it within {answer.valid_s:.0f} s; it lets one browser in", err=True)
    else:
        click.echo("the page is in your browser; `subcog ui --no-browser` prints its address")


def _open_in_browser(url: str) -> bool:
    """Whether a browser that can show a page took it: none does on a server, or over SSH."""
    import webbrowser

    if sys.platform != "darwin" and not {"DISPLAY", "WAYLAND_DISPLAY"} & {*os.environ}:
        return False
    return webbrowser.open(url)


@click.command()
@json_option
def routes_command() -> None:
    """Show the stages and their events, as a Mermaid flowchart."""
    from ..app.routes import ROUTES, diagram

    routes = [
        {
            "stage": route.stage,
            "consumes": route.consumes.__name__,
            "produces": [event.__name__ for event in route.produces],
            "publishes_during": [event.__name__ for event in route.publishes_during],
            "about": route.about,
        }
        for route in ROUTES
    ]
    show(routes, [diagram()])


@click.command()
@json_option
def status_command() -> None:
    """Show the state of the daemon, without starting it."""
    answer = call_if_running("status", StatusResult)
    if answer is None:
        _show_no_daemon()
        sys.exit(3)
    answer = replace(answer, running=True)
    if not printed_as_json(answer):
        _show_status(answer)


def _show_no_daemon() -> None:
    from ...hooks.client import VERSION

    paths = our_paths()
    none = NoDaemon(version=VERSION, database=str(paths.database), log=str(paths.log))
    show(none, ["no daemon is running; the next prompt, or `subcog daemon start`, starts it"])


def _show_status(answer: StatusResult) -> None:
    state = "ready" if answer.ready else answer.problem or "loading"
    click.echo(f"daemon {answer.pid}, version {answer.version}, {state}")
    from ..cli.status_view import lines_of

    for name, told in lines_of(answer):
        click.echo(fitted(f"  {name:<12} {told}", 15))


@click.command()
@json_option
def config_command() -> None:
    """Show each setting, its value, and where the value came from."""
    origins = [_shown(origin) for origin in our_settings().origins]
    width = max(len(origin.key) for origin in origins)
    show(
        {origin.key: {"value": origin.value, "source": origin.source} for origin in origins},
        (
            fitted(f"{one.key:<{width}}  {one.value!r:<12}  {one.source}", width + 2)
            for one in origins
        ),
    )


@click.group(invoke_without_command=True)
@daemon_options
@click.pass_context
def project_command(ctx: click.Context) -> None:
    """Show which project this directory is, or say so yourself.

    A project is known by its git remote. A directory that names the remote of a known project, and
    shares no commit with it, has a memory of its own.
    """
    if ctx.invoked_subcommand is None:
        _tell_project("project")


@project_command.command("alias")
@daemon_options
def project_alias() -> None:
    """Join the project that the remote names: the directory is that project."""
    _tell_project("project-alias")


@project_command.command("split")
@daemon_options
def project_split() -> None:
    """Give the directory a memory of its own: it is not the project that its remote names."""
    _tell_project("project-split")


def _tell_project(name: str) -> None:
    answer = call(name, ProjectResult)
    if printed_as_json(answer):
        return
    click.echo(f"{answer.project}  {answer.directory}")
    if answer.claimed:
        click.echo(f"It has the remote or the name of {answer.claimed}, and is not it.")
        click.echo("If it is: subcog project alias")


def _shown(origin: Origin) -> Origin:
    """``origin`` without the password that an address may hold."""
    from ...config.load import without_password

    if not isinstance(origin.value, str):
        return origin
    return replace(origin, value=without_password(origin.value))


@click.command()
@click.argument("id", required=False)
@click.option(
    "-n",
    "--limit",
    default=20,
    show_default=True,
    type=click.IntRange(1, 10_000),
    help="Maximum number of prompts.",
)
@click.option("--all", "with_tests", is_flag=True, help="Also show the test prompts of doctor.")
@json_option
def trace_command(id: str | None, limit: int, with_tests: bool) -> None:  # noqa: A002 - what it is
    """Show how past prompts were processed, newest first.

    With ID, or its beginning, the details of that prompt are shown. The text of prompts is not kept
    unless trace.keep_text is set.
    """
    from ...sinks.telemetry.logs import read_traces
    from ..doctor.agents import PROJECT

    traces = read_traces(our_paths().traces)
    if id is None:
        shown = (t for t in traces if with_tests or not str(t.get("project")).startswith(PROJECT))
        _list(shown, limit)
        return
    found = next((trace for trace in traces if trace["id"].startswith(id.lower())), None)
    if found is None:
        raise click.ClickException(f"no trace {id}; old traces are deleted")
    if not printed_as_json(found):
        from ..cli.explain_view import show_trace

        if not (read := list(_read([found]))):
            told = f"trace {found['id']} is of another version of subcog; --json prints it"
            raise click.ClickException(told)
        show_trace(*read)


def _read(found: Iterable[object]) -> Iterator[Trace]:
    """Those of ``found`` that are of this version."""
    from ...bus.prompt_results import Trace

    for one in found:
        try:
            yield convert(one, Trace)
        except ValidationError:
            continue


def _list(found: Iterable[object], limit: int) -> None:
    if is_json():
        show_json({"traces": list(islice(found, limit))})
        return
    traces = list(islice(_read(found), limit))
    if not traces:
        click.echo("no prompts traced yet")
    for trace in traces:
        kind = trace.classify.intent_type or "–"
        click.echo(f"{trace.id}  {local_time(trace.time)}  {trace.took_ms:>7.1f} ms  {kind}")
        click.echo(f"      {_outcome(trace.inject)}")


def _outcome(inject: TracedInjection) -> str:
    if inject.abstained:
        from ...bus.prompt_results import why_nothing

        return f"nothing injected: {why_nothing(inject.abstained)}"
    return f"{memories(len(inject.memories))}, {counted(inject.tokens, 'token')}"


@click.command()
@click.option(
    "--days",
    default=14,
    show_default=True,
    type=click.IntRange(1, 366),
    help="Number of days, today among them.",
)
@daemon_options
def stats_command(days: int) -> None:
    """Show what was shown, used and kept, by day of this machine's clock.

    prompts were answered, served ones got memories, tokens is how much. shown are memories that
    were injected; used those seen to help (what they name was taken up, or what they warn of was
    heeded); corrected those that you contradicted. asked are new memories that somebody asked for
    or imported, automatic the others. Prompts and tokens are known as far back as the trace of
    prompts goes.
    """
    from ...bus.service_results import StatsResult

    answer = call("stats", StatsResult, {"days": days})
    if printed_as_json(answer):
        return
    busy = [day for day in answer.days if any(count for count in astuple(day)[1:])]
    click.echo(_COLUMNS.format("day", *_COUNTED))
    for day in busy:
        counts = ("–" if count is None else f"{count:,}" for count in astuple(day)[1:])
        click.echo(_COLUMNS.format(day.day, *counts))
    if not busy:
        click.echo(f"nothing in {days} days")
    click.echo(f"\n{memories(answer.memories)}, {answer.unused:,} of them never shown")
    for memory in answer.most_used:
        times = "once" if memory.used == 1 else f"{memory.used} times"
        click.echo(f"  used {times}: {memory.id}  {shorten(memory.summary, 70)}")


# The names of the fields of DayStats after the day, as people read them.
_COUNTED = ("prompts", "served", "tokens", "shown", "used", "corrected", "asked", "automatic")
_COLUMNS = "{:<10}" + "".join(f"{{:>{max(8, len(name) + 1)}}}" for name in _COUNTED)


@click.command()
@click.argument("query", required=False)
@click.option(
    "--file", type=click.File("r", encoding="utf-8"), help="Read QUERY from a file; `-` is stdin."
)
@click.option("--text", help="Words to search for: what $text, $terms and $vector are made of.")
@click.option("--all", "everywhere", is_flag=True, help="What every project holds.")
@limit_option(100, MAX_LISTED, "Rows at most.")
@daemon_options
def sql_command(
    query: str | None,
    file: TextIO | None,
    text: str | None,
    everywhere: bool,
    limit: int,
) -> None:
    """Ask the memories QUERY, a SELECT in the SQL of DuckDB.

    Nothing can be changed, and nothing but the views be read; without QUERY they are listed, with
    their columns. They hold what this project may read. A question is interrupted after 5 seconds.
    To search by words give them as --text: QUERY then has the parameters $terms, for
    memory_bm25($terms), and $vector, for memory_cosine($vector). Quote QUERY with ''.
    """
    if query is not None and file is not None:
        raise click.UsageError("give QUERY or --file, not both")
    asked = file.read() if file is not None else query
    with daemon() as client:
        if asked is None:
            answer: SqlResult | SqlViewsResult = client.call("sql_views", SqlViewsResult)
        else:
            params = {"query": asked, "text": text, "limit": limit, "everywhere": everywhere}
            answer = client.call("sql", SqlResult, params)
    if printed_as_json(answer):
        return
    from ..cli.sql_view import show_rows, show_views

    show_rows(answer) if isinstance(answer, SqlResult) else show_views(answer)
