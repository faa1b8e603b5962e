"""``backup``, its restoring, and ``copies``: the whole database, and what is left of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

import click

from ...bus.results import CopiesResult, CopyResult, RemovedCopies
from ...bus.service_results import BackupResult, ForgottenSince, RestoreResult
from ..cli.client import LONG_S
from ..cli.wording import counted, local_time, memories
from .shared import (
    call,
    confirm,
    daemon,
    daemon_options,
    is_json,
    json_option,
    printed_as_json,
    show,
    somebody_is_there,
    tell_unread,
)


@click.command()
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@daemon_options
def backup_command(file: Path) -> None:
    """Write the whole database, every scope and version, to FILE.

    FILE must not exist yet. The daemon keeps serving meanwhile. `subcog restore FILE` restores it.
    """
    answer = call("backup", BackupResult, {"file": str(file.absolute())}, within_s=LONG_S)
    show(answer, [f"{memories(answer.memories)}, {answer.bytes:,} bytes: {answer.file}"])


def restore_backup(backup: Path, bring_back: bool | None, *, yes: bool) -> None:
    """Replace the database by ``backup``; in a terminal somebody is asked, unless ``yes``.

    And where ``bring_back`` is None, what is to become of the forgotten. Where nobody can be asked,
    a backup with fewer memories than there are now is refused.
    """
    file = {"file": str(backup.absolute())}
    with daemon() as client:
        if not yes:
            since = client.call("forgotten_since", ForgottenSince, file, within_s=LONG_S)
            if is_json() or not somebody_is_there():
                _refuse_fewer(since, file["file"])
            else:
                click.echo(_would_go(since, file["file"]), err=True)
                confirm("Replace it?")
                if bring_back is None:
                    bring_back = _asked_to_bring_back(since)
        params = file | {"bring_back": bool(bring_back)}
        answer = client.call("restore_backup", RestoreResult, params, within_s=LONG_S)
    if printed_as_json(answer):
        return
    click.echo(f"restored {memories(answer.memories)} from {answer.file}")
    if answer.unread_bytes:
        click.echo(
            f"subcog: {answer.unread_bytes:,} bytes of the log beside it could not be read, or "
            "belong to another state of the file; what was written in them alone is missing",
            err=True,
        )
    if answer.kept_aside:
        click.echo(f"the former database is kept as {answer.kept_aside}")
    _show_forgotten_since(answer)


def _would_go(since: ForgottenSince, backup: str) -> str:
    """What a restore of ``backup`` replaces."""
    counts = (since.here, since.there, since.newer)
    here, there, newer = ("unknown" if n is None else f"{n:,}" for n in counts)
    return (
        f"{backup} would replace the database of all projects, which is set aside as a file.\n"
        f"Memories in it now: {here}; in the backup: {there}; newer than the backup, and gone "
        f"then: {newer}."
    )


def _refuse_fewer(since: ForgottenSince, backup: str) -> None:
    """Raise for a ``backup`` with fewer memories than there are now."""
    if since.here is not None and since.there is not None and since.there < since.here:
        raise click.ClickException(
            f"{backup} has {memories(since.there)}, and there {'is' if since.here == 1 else 'are'} "
            f"{since.here:,} now. Nothing was changed; --yes restores it all the same"
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
            "or there is none any more, so it is back",
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


def _forgotten(forgotten: int, passages: int) -> tuple[str, bool]:
    """``1 memory and 3 passages``, without what there is none of, and whether that is just one."""
    parts = [
        counted(count, one, many)
        for count, one, many in (
            (forgotten, "memory", "memories"),
            (passages, "passage of sessions", "passages of sessions"),
        )
        if count
    ]
    return " and ".join(parts), forgotten + passages == 1


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
        found = client.call("copies", CopiesResult)
        copies = found.copies
        every = [copy.file for copy in copies]
        files = every if remove_all else [str(file.absolute()) for file in removed]
        if not files:
            show(found, _listed(copies))
            if not is_json():
                tell_unread(found.unread)
            return
        if strangers := [file for file in files if file not in every]:
            raise click.UsageError(f"{strangers[0]} is no copy that subcog keeps or has made")
        if not yes:
            confirm(f"Delete {', '.join(files)}?")
        answer = client.call("remove_copies", RemovedCopies, {"files": files})
    show(answer, (f"deleted: {copy.file}" for copy in answer.removed))


def _listed(copies: Sequence[CopyResult]) -> Iterator[str]:
    for copy in copies:
        at = local_time(datetime.fromisoformat(copy.at))
        yield f"{at}  {copy.kind:<16}  {copy.bytes:>13,} bytes\n      {copy.file}"
    if not copies:
        yield "no copies of the database"
