"""The calls that move many memories: export, import, backup, restoring one, and its copies."""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from msgspec import UNSET
from msgspec.structs import asdict, replace

from ...bus.events import Draft, ImportRequested, ImportSettled
from ...bus.results import CopiesResult, CopyResult, ExportPage, ImportResult, RemovedCopies
from ...bus.service_results import BackupResult, ForgottenSince, RestoreResult
from ...bus.values import Memory, Place
from ...sinks.files import private_opener
from ..app.app import App
from ..imports.item import Item
from .params import (
    CallRefused,
    FileParams,
    FilesParams,
    ImportParams,
    NoParams,
    PageParams,
    RestoreBackupParams,
    Table,
    scope_of,
)

if TYPE_CHECKING:
    from ...sinks.repair.kept_copies import Copy

IMPORT_S = 50.0
# Of the texts of one page of an export, in characters; a frame has 16 MB.
PAGE_CHARS = 2_000_000
_log = logging.getLogger(__name__)
_NO_BACKUP = ("damaged", "foreign")


class TransferCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.table: Table = {
            "export": (PageParams, self.export),
            "import": (ImportParams, self.import_items),
            "backup": (FileParams, self.backup),
            "forgotten_since": (FileParams, self.forgotten_since),
            "restore_backup": (RestoreBackupParams, self.restore_backup),
            "copies": (NoParams, self.copies),
            "remove_copies": (FilesParams, self.remove_copies),
        }

    async def export(self, params: PageParams, place: Place) -> ExportPage:
        """One page by id, and the id to go on after, or None at the end."""
        archive = await self._app.archive.get()
        found = await archive.store.page(place.readable, after=params.after, limit=params.limit)
        page = _bounded(found)
        return ExportPage(memories=tuple(page), next=page[-1].id if page else None)

    async def import_items(self, params: ImportParams, place: Place) -> ImportResult:
        drafts = tuple(self._draft(item, params, place) for item in params.items)
        event = ImportRequested(trace=self._app.new_id(), drafts=drafts, rehearsal=params.dry_run)
        settled = await self._app.bus.request(event, ImportSettled, within_s=IMPORT_S)
        return ImportResult(
            outcomes=dict(settled.outcomes), redacted=settled.redacted, items=settled.items
        )

    def _draft(self, item: Item, params: ImportParams, place: Place) -> Draft:
        # What says it comes from the future would win against all that is said until then.
        now = self._app.clock()
        created = min(item.created_at or now, now)
        kind = item.scope.kind if params.as_exported and item.scope else params.scope
        settled = {
            "id": item.id or f"mem_{self._app.new_id()}",
            "scope": scope_of(kind, place),
            "created_at": created,
            "updated_at": min(item.updated_at or created, now),
        }
        if not params.as_exported:
            origin = replace(item.provenance, hook="import", gate="", author="")
            settled |= {"version": 1, "provenance": origin, "sources": ()}
        memory = Memory(**(asdict(item) | settled))
        return Draft(
            memory=memory,
            before=place.before if memory.scope == place.project else (),
            known_by_id=item.id is not None,
            as_new=not params.as_exported,
        )

    async def backup(self, params: FileParams, place: Place) -> BackupResult:
        archive = await self._app.archive.get()
        file = Path(params.file)
        try:
            await archive.store.backup(file)
            size = await anyio.to_thread.run_sync(self._note_backup, file)
        except FileExistsError as error:
            raise CallRefused(str(error)) from None
        except OSError as error:
            if isinstance(error, ConnectionError):
                raise
            raise CallRefused(f"{file} cannot be written ({error.strerror})") from None
        return BackupResult(file=str(file), memories=archive.count, bytes=size)

    def _note_backup(self, file: Path) -> int:
        """Remember where it is, for what is forgotten later may be in it; its size."""
        from ...sinks.repair.kept_copies import note_backup

        note_backup(self._app.paths.database, file)
        return file.stat().st_size

    async def forgotten_since(self, params: FileParams, place: Place) -> ForgottenSince:
        """How much of a backup was forgotten since it was made, or is newer. Changes nothing."""
        return await count_forgotten(self._app, Path(params.file))

    async def restore_backup(self, params: RestoreBackupParams, place: Place) -> RestoreResult:
        return await restore(self._app, Path(params.file), bring_back=params.bring_back)

    async def copies(self, params: NoParams, place: Place) -> CopiesResult:
        """The copies of the database that subcog keeps or has made."""
        copies, unread = await look_for_copies(self._app)
        return CopiesResult(copies=tuple(map(copy_answer, copies)), unread=unread or UNSET)

    async def remove_copies(self, params: FilesParams, place: Place) -> RemovedCopies:
        """Delete copies by their names, all of them or none."""
        copies, _ = await look_for_copies(self._app)
        known = {str(copy.file): copy for copy in copies}
        if strangers := [file for file in params.files if file not in known]:
            raise CallRefused(f"{strangers[0]} is no copy that subcog keeps or has made")
        chosen = [known[file] for file in params.files]
        try:
            await anyio.to_thread.run_sync(_remove_all, chosen)
        except OSError as error:
            raise CallRefused(f"{error.filename} cannot be deleted ({error.strerror})") from None
        return RemovedCopies(removed=tuple(map(copy_answer, chosen)))


def _bounded(memories: Sequence[Memory]) -> Sequence[Memory]:
    """The first of ``memories``, at least one, that together are not too long for a frame."""
    chars = 0
    for number, memory in enumerate(memories):
        chars += len(memory.content)
        if number and chars > PAGE_CHARS:
            return memories[:number]
    return memories


class BadBackup(CallRefused):
    """The backup cannot be used. Nothing was changed."""


async def restore(app: App, backup: Path, *, bring_back: bool = False) -> RestoreResult:
    """Swap ``backup`` in. Raises ``BadBackup``. Who asks meanwhile waits until it is done.

    What was forgotten since it was made stays forgotten, unless it is to be brought back.
    """
    async with _checked(app, backup) as (copy, unread):
        restored = await _swap(app, copy, backup, bring_back)
        return replace(restored, unread_bytes=unread)


async def count_forgotten(app: App, backup: Path) -> ForgottenSince:
    """How much of ``backup`` was forgotten since it was made, or is newer. Raises ``BadBackup``."""
    from ...sinks.repair.backups import count_returning, read_buried, read_buried_file

    async with _checked(app, backup) as (copy, _):
        archive = app.archive.loaded
        if archive is not None:
            buried = await archive.store.read(read_buried)
        else:
            found = await anyio.to_thread.run_sync(read_buried_file, app.paths.database)
            if found is None:
                return ForgottenSince(memories=None, passages=None)
            buried = found
        count = partial(count_returning, copy, buried, app.clock())
        returning = await anyio.to_thread.run_sync(count)
        return ForgottenSince(
            memories=returning.memories,
            passages=returning.passages,
            there=returning.there,
            here=len(buried.alive),
            newer=returning.newer,
        )


@asynccontextmanager
async def _checked(app: App, backup: Path) -> AsyncIterator[tuple[Path, int]]:
    """A private copy of ``backup`` that opens; it is gone at the end. Raises ``BadBackup``.

    And how many bytes of the log beside it cannot be read. There is one at a time, since all have
    one name, by which ``doctor`` knows what is left of one.
    """
    from ...sinks.repair.exchange import discard

    async with app.opening:
        await app.archive.wait_until_settled()  # what is being opened cannot be replaced
        copy = await anyio.to_thread.run_sync(_copied, backup, app.paths.database)
        try:
            yield copy, await _check(app, copy, backup)
        finally:
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(discard, copy)


def _copied(backup: Path, database: Path) -> Path:
    """A private copy of ``backup`` beside ``database``, whole on disk, with the log beside it.

    In that is what a daemon that was killed had not written into the file. What a restore that was
    killed had set aside is back before anything else.
    """
    from ...sinks.repair.exchange import discard, finish
    from ...sinks.store.wal import replacement_of, wal_of

    copy = replacement_of(database)
    try:
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        finish(database)
        if database.exists() and backup.exists() and backup.samefile(database):
            raise BadBackup(f"{backup} is the database itself, not a backup of it")
        size = _copy_file(backup, copy)
        if wal_of(backup).exists():
            _copy_file(wal_of(backup), wal_of(copy))
    except OSError as error:
        discard(copy)
        raise BadBackup(f"{backup} cannot be copied ({error.strerror})") from None
    if not size:
        discard(copy)
        raise BadBackup(f"{backup} is empty")
    return copy


def _copy_file(source: Path, target: Path) -> int:
    """Copy ``source`` to a new private file, to the disk; its bytes. Raises ``OSError``."""
    with source.open("rb") as given, open(target, "xb", opener=private_opener) as copy:
        shutil.copyfileobj(given, copy, 1 << 20)
        copy.flush()
        os.fsync(copy.fileno())
        return copy.tell()


async def _check(app: App, copy: Path, backup: Path) -> int:
    """Open the copy as the store would, with all its memories; an older one is migrated.

    How many bytes of its log cannot be read: all of them where it belongs to another state of the
    file, which is taken alone then. Raises ``BadBackup``.
    """
    from ...sinks.store.errors import StoreUnavailable
    from ...sinks.store.wal import wal_of

    store = app.build_store(copy)
    try:
        await store.open()
        async for _ in store.load():
            pass
    except StoreUnavailable as error:
        if error.reason == "other_log":
            dropped = wal_of(copy).stat().st_size
            wal_of(copy).unlink()
            return dropped + await _check(app, copy, backup)
        if error.reason in _NO_BACKUP:
            raise BadBackup(
                f"{backup} is no backup of subcog, or damaged. Nothing was changed; "
                "`subcog copies` lists the backups"
            ) from None
        raise BadBackup(str(error).replace(str(copy), str(backup))) from None
    finally:
        await store.close()
    recovery = store.database.recovery
    return recovery.dropped_bytes if recovery else 0


async def _swap(app: App, copy: Path, backup: Path, bring_back: bool) -> RestoreResult:
    from ...sinks.repair.exchange import aside_of, exchange

    database = app.paths.database
    app.passages.depart()
    before = app.archive.depart()
    aside = aside_of(database, app.clock())
    try:
        if before is not None:
            await before.close()
        # Only now can nothing more be forgotten.
        carried = await _carry_over(app, copy, bring_back)
        await anyio.to_thread.run_sync(exchange, database, aside)
        await app.load()
        if (archive := app.archive.loaded) is None:
            raise BadBackup(f"the backup did not come up: {app.archive.problem}")
    except (OSError, BadBackup) as error:
        await _bring_back(app, aside)
        raise BadBackup(f"what was there is back: {error}") from None
    await app.build_topics()
    _log.info("a backup was restored", extra={"memories": archive.count})
    kept = str(aside) if aside.exists() else None
    return RestoreResult(
        file=str(backup),
        memories=archive.count,
        kept_aside=kept,
        forgotten=carried.memories,
        forgotten_passages=carried.passages,
        brought_back=bring_back and carried.memories is not None,
    )


async def _carry_over(app: App, copy: Path, bring_back: bool) -> ForgottenSince:
    """Note in ``copy`` what was forgotten since. Raises ``BadBackup``."""
    from ...sinks.repair.backups import carry_over, read_buried_file

    buried = await anyio.to_thread.run_sync(read_buried_file, app.paths.database)
    if buried is None:
        _log.warning("what was forgotten cannot be read from the database that is replaced")
        return ForgottenSince(memories=None, passages=None)
    work = partial(carry_over, copy, buried, app.clock(), bring_back=bring_back)
    try:
        carried = await anyio.to_thread.run_sync(work)
    except OSError as error:
        raise BadBackup(f"what was forgotten since cannot be noted in it: {error}") from None
    return ForgottenSince(memories=carried.memories, passages=carried.passages)


async def _bring_back(app: App, aside: Path) -> None:
    """Load what was there before again, from ``aside`` where it was moved there already."""
    from ...sinks.repair.exchange import put_back

    app.passages.depart()
    if (archive := app.archive.depart()) is not None:
        await archive.close()
    try:
        await anyio.to_thread.run_sync(put_back, app.paths.database, aside)
    except OSError as error:
        app.archive.fail(f"what was there before lies in {aside} ({error.strerror})")
        return
    await app.load()
    await app.build_topics()


async def look_for_copies(app: App) -> tuple[Sequence[Copy], str]:
    """The copies of the database that subcog keeps or has made, and why that may not be all.

    The reason is for the user; "" where all are found.
    """
    return await anyio.to_thread.run_sync(_look_for_copies, app.paths.database)


def _look_for_copies(database: Path) -> tuple[Sequence[Copy], str]:
    from ...sinks.repair import kept_copies

    try:
        unread = ", ".join(map(str, kept_copies.unread_lists(database)))
        copies = kept_copies.find_copies(database)
    except OSError as error:
        return (), f"the copies of the database could not be looked at ({error.strerror})"
    if unread:
        return copies, f"backups could not be looked at that are named in {unread} alone"
    return copies, ""


def copy_answer(copy: Copy) -> CopyResult:
    """A copy as it is listed."""
    return CopyResult(file=str(copy.file), kind=copy.kind, at=copy.at.isoformat(), bytes=copy.bytes)


def _remove_all(copies: Sequence[Copy]) -> None:
    from ...sinks.repair.kept_copies import remove_copy

    for copy in copies:
        remove_copy(copy)
