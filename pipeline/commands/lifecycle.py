"""``update``, ``supersede``, ``expire``, ``restore``, ``history``, ``why``: one memory's life."""

from __future__ import annotations

import re
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import click

from ...bus.results import CaptureResult, HistoryResult, MemoryResult, RestoreResult, WhyResult
from .memory import namespace_choice
from .shared import by, daemon, json_option, project_option, shorten, show_json, when

_SPAN = re.compile(r"\+?(?P<count>\d{1,5})\s*(?P<unit>[mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# The fields of a provenance that are shown without their names.
_BARE = ("author", "hook")
_MEMORY = re.compile(r"(?:subcog://memory/)?mem_[0-9a-z]+")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--namespace", type=namespace_choice, help="The new namespace.")
@click.option("--tags", help="Comma-separated; they replace its tags.")
@project_option
@json_option
def update_command(
    memory_id: str,
    text: str | None,
    namespace: str | None,
    tags: str | None,
    project: Path | None,
    as_json: bool,
) -> None:
    """Give a memory a new text (- reads standard input), namespace or tags.

    Older versions are kept: see `subcog history`.
    """
    params = {
        "id": memory_id,
        "text": sys.stdin.read() if text == "-" else text,
        "namespace": namespace,
        "tags": None if tags is None else [t.strip() for t in tags.split(",") if t.strip()],
    }
    with daemon(project) as client:
        _show_capture(client.call("update", CaptureResult, params), "updated", as_json)


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@click.option("--text", help="The text of the new memory.")
@project_option
@json_option
def supersede_command(
    old: str, new: str | None, text: str | None, project: Path | None, as_json: bool
) -> None:
    """Replace memory OLD by memory NEW, or by a new one with --text.

    OLD is kept and marked as superseded; it is no longer found or injected.
    """
    if (new is None) == (text is None):
        raise click.UsageError("give either NEW or --text")
    with daemon(project) as client:
        params = {"old": old, "new": new, "text": text}
        if text is not None:
            kept = client.call("supersede", CaptureResult, params)
            _show_capture(kept, f"supersedes {old}", as_json)
        else:
            answer = client.call("supersede", MemoryResult, params)
            _show_change(answer, f"superseded by {answer.superseded_by}", as_json)


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--at", "until", help="A date, a time, or a span such as 30d  [default: now]")
@project_option
@json_option
def expire_command(memory_id: str, until: str | None, project: Path | None, as_json: bool) -> None:
    """Set until when a memory is valid; after that it is no longer found."""
    at = None if until is None else _moment(until, datetime.now(UTC))
    with daemon(project) as client:
        answer = client.call("expire", MemoryResult, {"id": memory_id, "at": at})
    _show_change(answer, f"valid until {answer.valid_to and when(answer.valid_to)}", as_json)


def _moment(text: str, now: datetime) -> datetime:
    """A moment in the user's own zone, or as far in the future as a span says."""
    if span := _SPAN.fullmatch(text.strip()):
        return now + timedelta(**{_UNITS[span["unit"]]: int(span["count"])})
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise click.BadParameter(
            f"{text!r} is neither a date (2027-01-31), a time (2027-01-31T18:00) nor a span "
            "(12h, 30d, 4w)",
            param_hint="--at",
        ) from None
    return moment if moment.tzinfo else moment.astimezone()


@click.command()
@click.argument("what", metavar="ID|FILE")
@click.option("--version", type=int, help="With an ID: restore this version.")
@project_option
@json_option
def restore_command(what: str, version: int | None, project: Path | None, as_json: bool) -> None:
    """Restore a superseded or expired memory, or the whole database from a backup FILE.

    A restored memory is found again; with --version it gets that version's content. With a FILE
    written by `subcog backup`, the current database is first moved aside, and its path is printed.
    """
    if _MEMORY.fullmatch(what.strip()):
        with daemon(project) as client:
            memory = client.call("restore", MemoryResult, {"id": what, "version": version})
        _show_change(memory, f"restored as version {memory.version}", as_json)
        return
    if version is not None:
        raise click.UsageError("--version goes with an ID")
    if not Path(what).is_file():
        raise click.UsageError(f"{what} is neither the id of a memory nor a file")
    with daemon(project) as client:
        answer = client.call("restore_backup", RestoreResult, {"file": str(Path(what).absolute())})
    if as_json:
        show_json(answer)
        return
    click.echo(f"restored {answer.memories} memories from {answer.file}")
    if answer.kept_aside:
        click.echo(f"the former database is kept as {answer.kept_aside}")


@click.command()
@click.argument("memory_id", metavar="ID")
@project_option
@json_option
def history_command(memory_id: str, project: Path | None, as_json: bool) -> None:
    """Show every version of a memory, oldest first."""
    with daemon(project) as client:
        answer = client.call("history", HistoryResult, {"id": memory_id})
    if as_json:
        show_json(answer)
        return
    for version in answer.versions:
        reason = version.reason or "unknown"
        author = by(version.provenance.get("author", ""))
        click.echo(f"{version.version:>3}  {when(version.updated_at)}  {reason}{author}")
        click.echo(f"     {version.namespace}: {shorten(version.content, 100)}")


@click.command()
@click.argument("memory_id", metavar="ID")
@project_option
@json_option
def why_command(memory_id: str, project: Path | None, as_json: bool) -> None:
    """Show where a memory came from, why it was kept, and its changes since."""
    with daemon(project) as client:
        answer = client.call("why", WhyResult, {"id": memory_id})
    if as_json:
        show_json(answer)
        return
    click.echo(f"{answer.id} · {answer.namespace} · {answer.scope}")
    click.echo(f"  {answer.summary}")
    click.echo(f"captured  {when(answer.captured_at)} by {_source(answer.captured_by)}")
    click.echo(f"decision  {answer.decision or 'unknown'}")
    for source in answer.also_said_by:
        click.echo(f"also captured by {_source(source)}")
    for version in answer.versions[1:]:
        told = f"{when(version.updated_at)} {version.reason}{by(version.author)}"
        click.echo(f"version {version.version:<3} {told}")
    if answer.contradicts:
        click.echo(f"contradicts {answer.contradicts}")
    click.echo(f"confidence {answer.confidence:.0%}")
    click.echo(f"injected  {answer.times_injected} times{_last(answer.last_used)}")
    click.echo(f"search    {answer.hidden_because or 'found'}")


def _source(provenance: dict[str, str]) -> str:
    if not provenance:
        return "unknown"
    bare = [provenance[name] for name in _BARE if name in provenance]
    told = [f"{name} {value}" for name, value in provenance.items() if name not in _BARE]
    return ", ".join([*bare, *told])


def _last(used: datetime | None) -> str:
    return f", last {when(used)}" if used else ""


def _show_capture(answer: CaptureResult, done: str, as_json: bool) -> None:
    if as_json:
        show_json(answer)
    elif answer.id:
        click.echo(f"{done}: {answer.namespace} · {answer.id}, version {answer.version}")
        click.echo(f"  {answer.summary}")
        if answer.redactions:
            click.echo(f"  redacted: {', '.join(answer.redactions)}")
    if answer.outcome not in {"stored", "merged"}:
        if not as_json:
            click.echo(f"subcog: not done: {answer.reason}", err=True)
        sys.exit(1)


def _show_change(answer: MemoryResult, done: str, as_json: bool) -> None:
    if as_json:
        show_json(answer)
    else:
        click.echo(f"{answer.id} · {answer.namespace}: {done}")
