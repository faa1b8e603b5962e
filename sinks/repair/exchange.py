"""Puts the copy of a backup where the database is, and that aside; a kill at any point loses none.

The former file is moved first, then its log, and then the copy, which has no log. As long as the
copy lies under its own name and no database in its place, what was set aside is the database: who
starts, restores or repairs next puts it back. Nothing here may be called on an event loop.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime
from errno import EIO, ENOENT
from pathlib import Path

from ..files import free_name, sync_directory
from ..store.wal import replacement_of, tally_of, wal_of

_ASIDE = "before-restore-"


def aside_of(database: Path, now: datetime) -> Path:
    """A name that is free for the database that is replaced ``now``."""
    return free_name(database.with_name(f"{database.name}.{_ASIDE}{now:%Y%m%dT%H%M%S}"))


def exchange(database: Path, aside: Path) -> None:
    """Move ``database`` to ``aside``, and its replacement in. Raises ``OSError``.

    Where that is raised, ``put_back`` brings back what there was.
    """
    copy = replacement_of(database)
    if not copy.exists():  # whoever clears up may have taken it for a leftover
        raise FileNotFoundError(ENOENT, "the copy of the backup has gone")
    with suppress(FileNotFoundError):
        if wal_of(copy).stat().st_size:
            raise OSError(EIO, "the log of the backup cannot be written into its copy")
    with suppress(FileNotFoundError):
        database.replace(aside)
    with suppress(FileNotFoundError):
        wal_of(database).replace(wal_of(aside))
    copy.replace(database)
    sync_directory(database.parent)
    _uncompacted(database).unlink(missing_ok=True)
    tally_of(database).unlink(missing_ok=True)  # the former one's


def put_back(database: Path, aside: Path) -> None:
    """Make what lies in ``aside`` the database again; what took its place becomes the copy again.

    Nothing happens where nothing was set aside. Raises ``OSError``.
    """
    if aside.exists() and database.exists():
        copy = replacement_of(database)
        with suppress(FileNotFoundError):  # first, so that it is not taken for the other's
            wal_of(database).replace(wal_of(copy))
        database.replace(copy)
        _uncompacted(database).unlink(missing_ok=True)
    if not database.exists():
        with suppress(FileNotFoundError):
            wal_of(aside).replace(wal_of(database))
        with suppress(FileNotFoundError):
            aside.replace(database)


def interrupted(database: Path) -> Path | None:
    """What a process set aside that was killed before the copy was in; None where none was."""
    if database.exists() or not replacement_of(database).exists():
        return None
    found = database.parent.glob(f"{database.name}.{_ASIDE}*")
    return max((file for file in found if file.suffix != ".wal"), default=None)


def finish(database: Path) -> Path | None:
    """Put back what ``interrupted`` finds, and delete the copy; from where it was put back.

    Only for whoever holds the daemon's lock, and restores nothing now. Raises ``OSError``.
    """
    if (aside := interrupted(database)) is not None:
        put_back(database, aside)
        sync_directory(database.parent)
    discard(replacement_of(database))
    return aside


def discard(copy: Path) -> None:
    """Delete a copy that was made here, and what its opening kept of the log: that is not lost."""
    for file in (_uncompacted(copy), copy, wal_of(copy)):
        file.unlink(missing_ok=True)
    for kept in copy.parent.glob(f"{wal_of(copy).name}.damaged-*"):
        kept.unlink(missing_ok=True)


def _uncompacted(database: Path) -> Path:
    return database.with_name(f"{database.name}.uncompacted")
