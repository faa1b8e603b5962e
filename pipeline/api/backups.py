"""Puts a backup in the place of the database while the daemon runs.

The backup is opened as a copy first; what is there now is kept aside, with everything that was
acknowledged; and where the backup does not come up in its place, the old database comes back.
"""

from __future__ import annotations

import logging
import os
import shutil
from contextlib import suppress
from datetime import datetime
from pathlib import Path

import anyio
import anyio.to_thread
from msgspec import Struct

from ..app.app import App

_log = logging.getLogger(__name__)


class BadBackup(ValueError):
    """The backup cannot be used; the message says why. Nothing was changed."""


class Restored(Struct, frozen=True):
    """What was restored, and where that is which was there before; None where nothing was."""

    file: str
    memories: int
    kept_aside: str | None


async def restore(app: App, backup: Path) -> Restored:
    """Swap ``backup`` in. Raises ``BadBackup``. Who asks meanwhile waits until it is done."""
    copy = await anyio.to_thread.run_sync(_copied, backup, app.paths.database)
    try:
        await _check(app, copy, backup)
        return await _swap(app, copy, backup)
    finally:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(_remove, copy)


def _copied(backup: Path, database: Path) -> Path:
    """A private copy of ``backup`` beside ``database``, whole on disk."""
    database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    copy = database.with_name(f"{database.name}.restoring")
    _remove(copy)
    try:
        with backup.open("rb") as source, open(copy, "xb", opener=_private) as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())
            size = target.tell()
    except OSError as error:
        _remove(copy)
        raise BadBackup(f"{backup} cannot be copied ({error.strerror})") from None
    if not size:
        _remove(copy)
        raise BadBackup(f"{backup} is empty")
    return copy


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _wal(database: Path) -> Path:
    return database.with_name(f"{database.name}.wal")


def _remove(database: Path) -> None:
    database.unlink(missing_ok=True)
    _wal(database).unlink(missing_ok=True)


async def _check(app: App, copy: Path, backup: Path) -> None:
    """Open the copy as the store would, with all its memories; an older one is migrated."""
    store = app.build_store(copy)
    try:
        await store.open()
        async for _ in store.load():
            pass
    except ConnectionError as error:
        raise BadBackup(str(error).replace(str(copy), str(backup))) from None
    finally:
        await store.close()


async def _swap(app: App, copy: Path, backup: Path) -> Restored:
    database = app.paths.database
    before = app.archive.depart()
    if before is not None:
        await before.close()
    aside = _aside(database, app.clock())
    await anyio.to_thread.run_sync(_move, database, aside)
    await anyio.to_thread.run_sync(_move, copy, database)
    _uncompacted(database).unlink(missing_ok=True)
    await app.load()
    archive = app.archive.loaded
    if archive is None:
        problem = app.archive.problem
        await anyio.to_thread.run_sync(_remove, database)  # and its log, which is not the old one's
        await anyio.to_thread.run_sync(_move, aside, database)
        app.archive.depart()
        await app.load()
        await app.build_topics()
        raise BadBackup(f"the backup did not come up, what was there is back: {problem}")
    await app.build_topics()
    _log.info("a backup was restored", extra={"memories": archive.count})
    kept = str(aside) if aside.exists() else None
    return Restored(file=str(backup), memories=archive.count, kept_aside=kept)


def _uncompacted(database: Path) -> Path:
    return database.with_name(f"{database.name}.uncompacted")


def _aside(database: Path, now: datetime) -> Path:
    stem = f"{database.name}.before-restore-{now:%Y%m%dT%H%M%S}"
    aside, number = database.with_name(stem), 1
    while aside.exists():
        aside, number = database.with_name(f"{stem}-{number}"), number + 1
    return aside


def _move(source: Path, target: Path) -> None:
    """Move a database and its log; nothing happens where there is none."""
    with suppress(FileNotFoundError):
        _wal(source).replace(_wal(target))
    with suppress(FileNotFoundError):
        source.replace(target)
