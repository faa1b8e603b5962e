"""``import``, ``export``, ``backup``, its restoring, and ``copies``: memories, many at a time."""

from __future__ import annotations

import sys
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import click
import msgspec

from ...bus.results import CopiesResult, CopyResult, ExportPage, ImportResult, RemovedCopies
from ...bus.service_results import BackupResult, ForgottenSince, RestoreResult, StatusResult
from ...bus.values import ImportedItem, Memory
from ...stages.text.envelope import author_name
from ..cli.client import LONG_S, CallFailed, Client, DaemonUnreachable
from ..imports.formats import Source, recognise
from ..imports.item import BadImport, Item
from ..imports.markdown import write_memory
from .shared import (
    Failure,
    ask,
    call,
    confirm,
    daemon,
    daemon_options,
    fail_midway,
    is_json,
    json_option,
    local_time,
    printed_as_json,
    project_folder,
    scope_option,
    shorten,
    show,
    somebody_is_there,
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
        until_interrupted() as is_interrupted,
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
        click.echo("differs: another text is here under that id, and stays; see --as-exported")
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


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@daemon_options
def backup_command(file: Path) -> None:
    """Write the whole database, every scope and version, to FILE.

    FILE must not exist yet. The daemon keeps serving meanwhile. `subcog restore FILE` restores it.
    """
    answer = call("backup", BackupResult, {"file": str(file.absolute())}, within_s=LONG_S)
    show(answer, [f"{answer.memories} memories, {answer.bytes:,} bytes: {answer.file}"])


def restore_backup(backup: Path, bring_back: bool | None, *, yes: bool) -> None:
    """Replace the database by ``backup``; in a terminal somebody is asked, unless ``yes``.

    And where ``bring_back`` is None, what is to become of the forgotten.
    """
    file = {"file": str(backup.absolute())}
    with daemon() as client:
        if not yes and not is_json() and somebody_is_there():
            since = client.call("forgotten_since", ForgottenSince, file, within_s=LONG_S)
            click.echo(_would_go(since, file["file"]), err=True)
            confirm("Replace it?")
            if bring_back is None:
                bring_back = _asked_to_bring_back(since)
        params = file | {"bring_back": bool(bring_back)}
        answer = client.call("restore_backup", RestoreResult, params, within_s=LONG_S)
    if printed_as_json(answer):
        return
    click.echo(f"restored {answer.memories} memories from {answer.file}")
    if answer.kept_aside:
        click.echo(f"the former database is kept as {answer.kept_aside}")
    _show_forgotten_since(answer)


def _would_go(since: ForgottenSince, backup: str) -> str:
    """What a restore of ``backup`` replaces."""
    here, newer = ("unknown" if n is None else f"{n:,}" for n in (since.here, since.newer))
    return (
        f"{backup} would replace the database of all projects, which is set aside as a file.\n"
        f"Memories in it now: {here}; newer than the backup, and gone then: {newer}."
    )


def _asked_to_bring_back(since: ForgottenSince) -> bool:
    """Whether the user wants back what was forgotten since; not asked where there is nothing."""
    if not (since.memories or since.passages):
        return False
    what, _ = _forgotten(since.memories or 0, since.passages or 0)
    return click.confirm(f"Since this backup was made you forgot {what} of it. Bring them back?")


def _show_forgotten_since(answer: RestoreResult) -> None:
    if answer.forgotten is None:
        click.echo(
            "subcog: what was forgotten since could not be read from the former database, "
            "so it is back",
            err=True,
        )
    elif answer.forgotten or answer.forgotten_passages:
        what, is_one = _forgotten(answer.forgotten, answer.forgotten_passages or 0)
        if answer.brought_back:
            are = "is" if is_one else "are"
            click.echo(f"{what} that you forgot since the backup was made {are} back")
        else:
            click.echo(
                f"{what} that you forgot since the backup was made "
                f"{'stays' if is_one else 'stay'} forgotten; --bring-back-forgotten restores "
                f"{'it' if is_one else 'them'}"
            )


def _forgotten(memories: int, passages: int) -> tuple[str, bool]:
    """``1 memory and 3 passages``, without what there is none of, and whether that is just one."""
    parts = [
        f"{count} {one if count == 1 else many}"
        for count, one, many in (
            (memories, "memory", "memories"),
            (passages, "passage of sessions", "passages of sessions"),
        )
        if count
    ]
    return " and ".join(parts), memories + passages == 1


@click.command()
@click.option(
    "--remove",
    "removed",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Delete this copy; may be repeated.",
)
@click.option("--remove-all", is_flag=True, help="Delete all copies, including backups.")
@click.option("--yes", is_flag=True, help="Do not ask before deleting.")
@json_option
def copies_command(removed: tuple[Path, ...], remove_all: bool, yes: bool) -> None:
    """List copies of the database: they may contain deleted text.

    They are backups written by `subcog backup`, databases replaced by a restore, and files moved
    aside by a repair. Deleting a memory does not change them.
    `subcog forget ID --everywhere` removes one memory from them; --remove and --remove-all delete
    whole copies.
    """
    with daemon() as client:
        copies = client.call("copies", CopiesResult).copies
        every = [copy.file for copy in copies]
        files = every if remove_all else [str(file.absolute()) for file in removed]
        if not files:
            show({"copies": copies}, _listed(copies))
            return
        if not yes:
            confirm(f"Delete {', '.join(files)}?")
        answer = client.call("remove_copies", RemovedCopies, {"files": files})
    show(answer, (f"deleted: {copy.file}" for copy in answer.removed))


def _listed(copies: Sequence[CopyResult]) -> Iterator[str]:
    for copy in copies:
        at = local_time(datetime.fromisoformat(copy.at))
        yield f"{at}  {copy.kind:<16}  {copy.bytes:>13,}  {copy.file}"
    if not copies:
        yield "no copies of the database"
