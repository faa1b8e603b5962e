"""``import`` and ``export``: memories, many at a time."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from ...bus.results import ExportPage, ImportResult
from ...bus.service_results import StatusResult
from ...bus.values import ImportedItem, Memory
from ...stages.text.envelope import author_name
from ..cli.client import CallFailed, Client, DaemonUnreachable
from ..imports.formats import Source, recognise
from ..imports.item import BadImport, Item
from ..imports.markdown import write_memory
from .shared import (
    Failure,
    ask,
    daemon,
    daemon_options,
    fail_midway,
    is_json,
    printed_as_json,
    project_folder,
    scope_option,
    shorten,
    until_interrupted,
)

BATCH = 500
# One batch is redacted while another is stored and a third is on its way.
CONNECTIONS = 3
# Of one batch as it is sent, and of one memory, which may be a batch; a frame has 16 MB.
BATCH_BYTES = 2_000_000
MEMORY_BYTES = 8_000_000
PAGE = 500
_MOST_AUTHORS = 5
_WAITS = "interrupted: waiting until the memories that were sent are stored"


@click.command()
@click.argument("path", type=click.Path(exists=True, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Print what would become of each; import nothing.")
@scope_option("Import into this scope; with --as-exported, what names no scope of its own.")
@click.option(
    "--as-exported",
    is_flag=True,
    help="PATH is an export of your own: keep its ids, scopes and authors, and let newer versions "
    "replace older ones. Says first what would change, and asks.",
)
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--all-projects", is_flag=True, help="Of claude-mem: the memories of every project.")
@daemon_options
def import_command(
    path: Path, dry_run: bool, scope: str, as_exported: bool, yes: bool, all_projects: bool
) -> None:
    """Import memories from PATH into the project, as new ones of yours.

    PATH is the output of `subcog export` (importing it again adds no duplicates), any JSONL with a
    "content" or "text" on each line, Markdown notes (a file or a folder, one memory per heading),
    notes of Basic Memory, CLAUDE.md, AGENTS.md or GEMINI.md, the folder in which Claude Code keeps
    its own memory, a JSON file of mem0, or the SQLite file of claude-mem. The whole file is checked
    before anything is stored. No memory that is there is changed, unless with --as-exported.
    Secrets are removed. Transcripts of sessions are read by `subcog learn`.
    """
    how = {"scope": scope, "dry_run": dry_run, "as_exported": as_exported}
    try:
        # A thread that connects anew is in another directory for that moment.
        source = recognise(path.absolute(), project=None if all_projects else project_folder().name)
        kinds: Counter[str] = Counter()
        authors: Counter[str] = Counter()
        for item, _ in _sized(path, source):
            kinds[item.scope.kind if item.scope else ""] += 1
            authors[author_name(item.provenance.author)] += 1
        found = kinds.total()
        if as_exported and not dry_run and not yes:
            would = _send(path, source, found, how | {"dry_run": True}, quiet=True)
            if would.interrupted:
                raise KeyboardInterrupt
            if would.failure is not None:
                raise would.failure
            ask(_preview(path, kinds, authors, would.counts), "Import it?", yes=False)
    except BadImport as error:
        raise click.ClickException(str(error)) from None
    except KeyboardInterrupt:
        click.echo("interrupted: nothing was imported", err=True)
        raise click.Abort from None
    try:
        sent = _send(path, source, found, how, quiet=is_json())
    except BadImport as error:  # the file was changed meanwhile
        raise click.ClickException(str(error)) from None
    report = {"file": str(path), "format": source.format, "found": found}
    _report(report, source, sent, dry_run=dry_run)
    _end(sent)


def _preview(
    path: Path, kinds: Counter[str], authors: Counter[str], would: Counter[str]
) -> Iterator[str]:
    """What an import of ``path`` as it was exported would change, and whose its memories are."""
    yield f"{path}: found {kinds.total()}; would be {_ends(would)}"
    whose = {"project": "this project's", "user": "yours in every project", "org": "the team's"}
    for kind, count in sorted(kinds.items()):
        if kind in whose:
            yield f"  {count} are {whose[kind]} (scope {kind})"
    for author, count in authors.most_common(_MOST_AUTHORS):
        if author:
            yield f"  {count} are said to be written by {author}"
    if would["updated"]:
        yield f"  {would['updated']} replace what is here now"


class _Sent(NamedTuple):
    """How many memories came to which end, and in how many something was taken out.

    ``items`` says of a dry run what would become of each. ``interrupted``: the rest was not sent.
    ``failure`` is what ended it before the end.
    """

    counts: Counter[str]
    items: Sequence[ImportedItem]
    interrupted: bool
    failure: Failure | None


def _send(path: Path, source: Source, found: int, how: dict[str, object], *, quiet: bool) -> _Sent:
    """Send what ``source`` has. Ctrl-C, or a failure, ends it once what was sent is settled."""
    counts: Counter[str] = Counter()
    items: list[ImportedItem] = []
    failure: Failure | None = None
    done = 0
    with (
        until_interrupted(_WAITS) as is_interrupted,
        ExitStack() as connections,
        click.progressbar(length=found, label="importing", hidden=quiet, file=sys.stderr) as bar,
    ):
        clients = [connections.enter_context(daemon()) for _ in range(CONNECTIONS)]
        batches = takewhile(
            lambda _: not (failure or is_interrupted()), _batches(_sized(path, source))
        )
        for size, future in _calls(clients, batches, how):
            try:
                answer = future.result()
            except (CallFailed, DaemonUnreachable) as error:
                failure = failure or error
                continue
            counts.update(answer.outcomes)
            counts["redacted"] += answer.redacted
            done += size
            items += answer.items
            bar.update(size)
        return _Sent(counts, items, is_interrupted() and done < found, failure)


def _calls(
    clients: Sequence[Client], batches: Iterable[list[Item]], how: dict[str, object]
) -> Iterator[tuple[int, Future[ImportResult]]]:
    """The size and the answer of each batch. While the daemon stores one it reads the next."""
    for client in clients:  # a daemon that has to be started first is started once
        client.call("status", StatusResult)
    waiting: deque[tuple[int, Future[ImportResult]]] = deque()
    with ThreadPoolExecutor(len(clients)) as pool:
        for number, batch in enumerate(batches):
            if len(waiting) == len(clients):
                yield waiting.popleft()
            client = clients[number % len(clients)]
            future = pool.submit(client.call, "import", ImportResult, how | {"items": batch})
            waiting.append((len(batch), future))
        yield from waiting


def _sized(path: Path, source: Source) -> Iterator[tuple[Item, int]]:
    """Each memory of ``source``, at ``path``, with its size as it is sent. Raises ``BadImport``."""
    for item in source.read():
        size = len(msgspec.json.encode(item))
        if size > MEMORY_BYTES:
            begins = shorten(item.content[:100], 40)
            raise BadImport(path, f"a memory of {size:,} bytes is too large; it begins: {begins}")
        yield item, size


def _batches(items: Iterable[tuple[Item, int]]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    filled = 0
    for item, size in items:
        if batch and (len(batch) >= BATCH or filled + size > BATCH_BYTES):
            yield batch
            batch, filled = [], 0
        batch.append(item)
        filled += size
    if batch:
        yield batch


def _end(sent: _Sent) -> None:
    """End the command as ``sent`` did, whose report was printed and says why."""
    if sent.interrupted:
        click.echo("interrupted: the rest was not imported", err=True)
        raise click.Abort
    if sent.failure is not None:
        fail_midway(sent.failure)


def _report(
    report: dict[str, object],
    source: Source,
    sent: _Sent,
    *,
    dry_run: bool,
) -> None:
    counts, items = sent.counts, sent.items
    redacted = counts.pop("redacted", 0)
    imported = 0 if dry_run else counts["stored"] + counts["updated"]
    outcomes = {name: count for name, count in counts.items() if count}
    told = {"would": outcomes, "items": items} if dry_run else outcomes
    more = {"redacted": redacted, "left_out": source.left_out}
    more |= {"interrupted": True} if sent.interrupted else {}
    more |= {"error": str(sent.failure)} if sent.failure is not None else {}
    if printed_as_json(report | {"imported": imported} | told | more):
        return
    for item in items:
        click.echo(f"  {item.outcome:<10} {item.namespace:<12} {shorten(item.summary, 100)}")
    would = "would be " if dry_run else ""
    click.echo("{file} ({format}): found {found}; ".format(**report) + would + _ends(outcomes))
    if counts["differs"]:
        click.echo(
            "differs: another text is here, under that id or but for case and white space,"
            " and stays; see --as-exported"
        )
    if redacted:
        click.echo(f"redacted {redacted} of them")
    if source.left_out:
        click.echo(f"skipped: {source.left_out}")


def _ends(outcomes: Mapping[str, int]) -> str:
    ends = (f"{name} {count}" for name, count in outcomes.items() if count and name != "redacted")
    return ", ".join(ends) or "nothing"


@click.command()
@click.option(
    "--format", "form", type=click.Choice(["jsonl", "markdown"]), default="jsonl", show_default=True
)
@daemon_options
def export_command(form: str) -> None:
    """Print every memory that this project may read.

    Superseded ones are included. `subcog import` reads both formats. Older versions of a memory are
    not exported; `subcog backup` contains them.
    """
    with daemon() as client:
        for memory in _every(client):
            if form == "jsonl" or is_json():
                click.echo(msgspec.json.encode(memory))
            else:
                click.echo(write_memory(memory))


def _every(client: Client) -> Iterator[Memory]:
    after: str | None = ""
    while after is not None:
        answer = client.call("export", ExportPage, {"after": after, "limit": PAGE})
        yield from answer.memories
        after = answer.next
