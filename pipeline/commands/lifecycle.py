"""``update``, ``supersede``, ``expire``, ``restore``, ``history``, ``why``, ``stale``: lives.

And the user's votes on them: ``bury`` and ``keep``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path

import click
from msgspec import UNSET

from ...bus.results import (
    CaptureResult,
    CodePlace,
    CopiesResult,
    HistoryResult,
    MemoryResult,
    SaidAround,
    StalePage,
    StaleResult,
    UndoResult,
    UseResult,
    VotesResult,
    WhyResult,
)
from ...bus.service_results import StatusResult
from ...bus.triggers import Trigger
from ...config.patterns import regex
from ..cli.client import Client
from ..cli.wording import local_time, memories
from .memory import namespace_option, show_capture
from .shared import (
    by,
    call,
    cue_options,
    daemon,
    daemon_options,
    is_json,
    printed_as_json,
    shorten,
    show,
    standard_input,
)

_SPAN = regex(r"\+?(?P<count>\d{1,5})\s*(?P<unit>[mhdw])")
_UNITS = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
# The fields of a provenance that are shown without their names.
_BARE = ("author", "hook")
MAX_VERSION = 2**53 - 1
# A ULID without its prefix begins with 01 until the year 2102.
_MEMORY = regex(r"(?:subcog://memory/)?(?:mem_[0-9a-z]+|01[0-9a-hjkmnp-tv-z]{2,24})")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.argument("text", required=False)
@namespace_option("The new kind.")
@click.option("--tags", help="Comma-separated; they replace its tags.")
@cue_options(" They replace those that it has.")
@daemon_options
def update_command(
    memory_id: str,
    text: str | None,
    namespace: str | None,
    tags: str | None,
    questions: tuple[str, ...],
    triggers: tuple[Trigger, ...],
) -> None:
    """Change the text, namespace, tags, questions or triggers of a memory.

    With - as TEXT standard input is read. A text that says another thing needs its questions and
    triggers anew. Older versions are kept: see `subcog history`.
    """
    params = {
        "id": memory_id,
        "text": standard_input() if text == "-" else text,
        "namespace": namespace,
        "tags": None if tags is None else [t.strip() for t in tags.split(",") if t.strip()],
        "questions": questions or None,
        "triggers": triggers or None,
    }
    _show_version(call("update", CaptureResult, params), "updated")


@click.command()
@click.argument("old", metavar="OLD")
@click.argument("new", metavar="[NEW]", required=False)
@click.option("--text", help="The text of the new memory.")
@daemon_options
def supersede_command(old: str, new: str | None, text: str | None) -> None:
    """Replace memory OLD by memory NEW, or by a new one with --text.

    OLD is kept and marked as superseded; it is no longer found or injected.
    """
    if (new is None) == (text is None):
        raise click.UsageError("give either NEW or --text")
    params = {"old": old, "new": new, "text": text}
    if text is not None:
        answer = call("supersede", CaptureResult, params)
        is_done = answer.supersedes is not UNSET
        _show_version(answer, f"supersedes {old}" if is_done else answer.outcome)
    else:
        changed = call("supersede", MemoryResult, params)
        _show_change(changed, f"superseded by {changed.superseded_by}")


@click.command()
@click.argument("memory_id", metavar="ID")
@click.option("--at", "until", help="The last day, a time, or a span such as 30d  [default: now]")
@daemon_options
def expire_command(memory_id: str, until: str | None) -> None:
    """Set until when a memory is valid. After that it is no longer found."""
    at = None if until is None else _moment(until, datetime.now(UTC))
    answer = call("expire", MemoryResult, {"id": memory_id, "at": at})
    _show_change(answer, f"valid until {answer.valid_to and local_time(answer.valid_to)}")


def _moment(text: str, now: datetime) -> datetime:
    """A moment in UTC, of one in the user's own zone, or as far in the future as a span says.

    A date without a time is the end of that day. Raises ``click.BadParameter``, also where there
    is no such moment in UTC.
    """
    try:
        if span := _SPAN.fullmatch(text.strip()):
            return now + timedelta(**{_UNITS[span["unit"]]: int(span["count"])})
        return _named(text.strip()).astimezone(UTC)
    except (ValueError, OverflowError):
        raise click.BadParameter(
            f"{text!r} is neither a date (2027-01-31), a time (2027-01-31T18:00) nor a span "
            "(12h, 30d, 4w)",
            param_hint="--at",
        ) from None


def _named(text: str) -> datetime:
    with suppress(ValueError):
        return datetime.combine(date.fromisoformat(text), time.max)
    return datetime.fromisoformat(text)


@click.command()
@click.argument("what", metavar="ID|FILE|latest")
@click.option(
    "--version", type=click.IntRange(1, MAX_VERSION), help="With an ID: restore this version."
)
@click.option(
    "--bring-back-forgotten/--keep-forgotten",
    "bring_back",
    default=None,
    help="With a FILE: also restore what was forgotten since the backup was made, or not."
    "  [default: ask in a terminal, else not]",
)
@click.option("--yes", is_flag=True, help="With a FILE: do not ask.")
@daemon_options
def restore_command(what: str, version: int | None, bring_back: bool | None, yes: bool) -> None:
    """Restore a memory, or the whole database from a backup.

    A superseded or expired memory is found again; with --version it gets that version's content.
    With a FILE written by `subcog backup`, the current database is first moved aside, and its path
    is printed. In a terminal it says first what would go, and asks. What was forgotten since the
    backup was made stays forgotten unless you bring it back. `latest` is the newest backup, made by
    subcog itself or by `subcog backup`.
    """
    if _MEMORY.fullmatch(what.strip()) and not Path(what).is_file():
        memory = call("restore", MemoryResult, {"id": what, "version": version})
        _show_change(memory, f"restored as version {memory.version}")
        return
    if version is not None:
        raise click.UsageError("--version goes with an ID")
    if what == "latest":
        what = _newest_backup()
    if not Path(what).is_file():
        raise click.UsageError(f"{what} is neither the id of a memory nor a file")
    from .backups import restore_backup

    restore_backup(Path(what), bring_back, yes=yes)


def _newest_backup() -> str:
    """Of the copies; their list may be lost with the database, but not the folder of backups."""
    with daemon() as client:
        copies = client.call("copies", CopiesResult).copies
        files = [copy.file for copy in copies if copy.kind == "backup"]
        if not files and (seen := client.call("status", StatusResult).backup) and seen.newest:
            files = [seen.newest]
    if not files:
        raise click.ClickException("there is no backup yet; `subcog backup FILE` makes one")
    return files[-1]


@click.command()
@click.argument("memory_id", metavar="ID")
@daemon_options
def history_command(memory_id: str) -> None:
    """Show every version of a memory, oldest first."""
    answer = call("history", HistoryResult, {"id": memory_id})
    if printed_as_json(answer):
        return
    for version in answer.versions:
        reason = version.reason or _first(version.provenance)
        author = by(version.provenance.get("author", ""))
        click.echo(f"{version.version:>3}  {local_time(version.updated_at)}  {reason}{author}")
        click.echo(f"     {version.namespace}: {shorten(version.content, 100)}")


@click.command()
@click.argument("memory_id", metavar="ID")
@daemon_options
def why_command(memory_id: str) -> None:
    """Show where a memory came from, and what became of it.

    Why it was kept, its versions, and how often it was injected and used.
    """
    answer = call("why", WhyResult, {"id": memory_id})
    if printed_as_json(answer):
        return
    click.echo(f"{answer.id} · {answer.namespace} · {answer.scope}")
    click.echo(f"  {answer.summary}")
    is_said = answer.said_by and answer.captured_by.get("hook") != "import"
    said = f", said by {answer.said_by}" if is_said else ""
    done = f"{_first(answer.captured_by):<9} {local_time(answer.captured_at)}"
    click.echo(f"{done} by {_source(answer.captured_by)}{said}")
    if said_in := answer.said_in:
        click.echo(
            f"said      {local_time(said_in.said_at)} by the {said_in.speaker}: {_quoted(said_in)}"
        )
        click.echo(f"          `subcog sessions show {said_in.session}` has all of it")
    if answer.decision:
        click.echo(f"decision  {answer.decision}")
    for source in answer.also_said_by:
        click.echo(f"also captured by {_source(source)}")
    for version in answer.versions[1:]:
        told = f"{local_time(version.updated_at)} {version.reason}{by(version.author)}"
        click.echo(f"version {version.version:<3} {told}")
    if answer.contradicts:
        click.echo(f"contradicts {answer.contradicts}")
    click.echo(f"confidence {answer.confidence:.0%}")
    last = f", last {local_time(answer.last_used)}" if answer.last_used else ""
    click.echo(f"injected  {answer.times_injected} times{last}")
    _show_use(answer.use)
    click.echo(f"search    {answer.hidden_because or 'found'}")


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@daemon_options
def bury_command(memory_ids: tuple[str, ...]) -> None:
    """Do not show memories any more unless they are asked for.

    `subcog recall` still finds them; `subcog keep` shows them again.
    """
    _vote("bury", memory_ids)


@click.command()
@click.argument("memory_ids", metavar="ID...", nargs=-1, required=True)
@daemon_options
def keep_command(memory_ids: tuple[str, ...]) -> None:
    """Say that memories are worth showing. What was hidden with `subcog bury` is shown again."""
    _vote("keep", memory_ids)


def _vote(name: str, memory_ids: tuple[str, ...]) -> None:
    answer = call(name, VotesResult, {"ids": memory_ids})
    if printed_as_json(answer):
        return
    for use in answer.memories:
        click.echo(f"{use.id}: {use.vote}")


def _quoted(said: SaidAround) -> str:
    """What was said, in one line, the statement marked where there is more."""
    statement = " ".join(said.statement.split())
    return " ".join(filter(None, (said.before, f"»{statement}«", said.after)))


def _show_use(use: UseResult) -> None:
    for seen in use.last:
        detail = f": {seen.detail}" if seen.detail else ""
        where = f" at {seen.moment}" if seen.moment else ""
        click.echo(f"{seen.kind.replace('_', ' '):<9} {local_time(seen.at)}{where}{detail}")
    if use.buried:
        click.echo("vote      buried: it is shown only where it is asked for")
    elif use.vote:
        click.echo(f"vote      {use.vote}")
    from ..cli.explain_view import use_in_a_line

    click.echo(f"use       {use_in_a_line(use)}")


def _first(provenance: dict[str, str]) -> str:
    """How the first version of a memory came about, where no reason was noted."""
    return "imported" if provenance.get("hook") == "import" else "captured"


def _source(provenance: dict[str, str]) -> str:
    if not provenance:
        return "unknown"
    bare = [provenance[name] for name in _BARE if name in provenance]
    told = [f"{name} {value}" for name, value in provenance.items() if name not in _BARE]
    return ", ".join([*bare, *told])


def _show_version(answer: CaptureResult, done: str) -> None:
    lines = [
        f"{done}: {answer.namespace} · {answer.id}, version {answer.version}",
        f"  {answer.summary}",
        *([f"  redacted: {', '.join(answer.redactions)}"] if answer.redactions else []),
        *([f"  {answer.reason}"] if answer.reason else []),
    ]
    show_capture(answer, lines, "done")


def _show_change(answer: MemoryResult, done: str) -> None:
    show(answer, [f"{answer.id} · {answer.namespace}: {done}"])


# --- undo ----------------------------------------------------------------------------------------


@click.command()
@click.argument("ids", metavar="[ID]...", nargs=-1)
@daemon_options
def undo_command(ids: tuple[str, ...]) -> None:
    """Take back what the last command changed, or the last change of each ID, within a minute.

    A change is a forget, update, supersede, expire, restore, keep or bury. A forgotten memory comes
    back under a new id and without its older versions; `forget --now` cannot be undone.
    """
    answer = call("undo", UndoResult, {"ids": ids})
    if not printed_as_json(answer):
        for one in answer.undone:
            back = f", now {one.now}" if one.now != one.id else ""
            click.echo(f"undone: {one.what} {one.id}{back}")
            if one.kept is not UNSET:
                click.echo(f"  {one.kept} is kept as well: it was said again or changed since")
        for failed in answer.failed:
            click.echo(f"not undone: {failed.what} {failed.id}: {failed.reason}", err=True)
    if answer.failed:
        sys.exit(1)


# --- code that changed ---------------------------------------------------------------------------


@click.command()
@daemon_options
def stale_command() -> None:
    """List the memories whose code has changed or is gone.

    These are memories of the project that name a file or a symbol, the oldest first.
    """
    with daemon() as client, _counter() as count:
        pages = []
        for page in _pages(client):
            pages.append(page)
            count(sum(each.looked_at for each in pages))
    found = [memory for page in pages for memory in page.memories]
    answer = StaleResult(
        memories=tuple(sorted(found, key=lambda memory: (memory.created_at, memory.id))),
        looked_at=sum(page.looked_at for page in pages),
        compared=sum(page.compared for page in pages),
        unknown=sum(page.unknown for page in pages),
    )
    if not printed_as_json(answer):
        _show(answer)


def _pages(client: Client) -> Iterator[StalePage]:
    after: str | None = ""
    while after is not None:
        page = client.call("stale", StalePage, {"after": after})
        yield page
        after = page.next


@contextmanager
def _counter() -> Iterator[Callable[[int], None]]:
    """Tells a person who waits how far it is."""
    shown = not is_json() and sys.stderr.isatty()

    def count(number: int) -> None:
        if shown:
            click.echo(f"\r{memories(number)}", err=True, nl=False)

    yield count
    if shown:
        click.echo("\r\x1b[K", err=True, nl=False)


def _show(answer: StaleResult) -> None:
    for memory in answer.memories:
        day = f"{memory.created_at.astimezone():%Y-%m-%d}"
        state = memory.code.state or "unknown"
        click.echo(f"{state:<7}  {day}  {memory.namespace:<11} {memory.id}{by(memory.author)}")
        click.echo(f"      {shorten(memory.content, 100)}")
        places = (_place(one) for one in memory.code.anchors if one.state != "unchanged")
        click.echo(f"      {shorten(', '.join(places), 160)}")
    of_all = f"{answer.compared:,} of {memories(answer.looked_at)}"
    click.echo(f"{of_all} name code of this project; that of {len(answer.memories):,} has changed")
    if answer.unknown:
        click.echo(f"that of {answer.unknown:,} was not compared in time; ask again", err=True)


def _place(one: CodePlace) -> str:
    name = f"{one.path} ({one.symbol})" if one.symbol else one.path
    return f"{name}: {one.state or 'unknown'}{f', now in {one.now}' if one.now else ''}"
