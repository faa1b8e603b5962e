"""The backups that subcog makes by itself: whole, checked, bounded, and without what was forgotten.

Nothing here may be called on an event loop.
"""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

from msgspec import Struct

from ..files import FOLDER_MODE
from ..store.database import Database
from ..store.errors import StoreUnavailable, unavailable
from ..store.wal import wal_of
from .carry_over import Buried, carry_over
from .kept_copies import note_backup
from .repair import read_everything

_STEM, _TIME = "subcog-", "%Y%m%dT%H%M%SZ"
_ROOM_BYTES = 64_000_000


class Bounds(Struct, frozen=True):
    """How many backups are kept, of how many bytes together, and how old the newest may become."""

    keep: int
    bytes: int
    every: timedelta


class AutomaticBackups:
    """The backups in ``folder`` of the database at ``database``, oldest first in ``files``."""

    def __init__(self, database: Path, folder: Path, bounds: Bounds) -> None:
        self.folder = folder
        self._database = database
        self._bounds = bounds

    @property
    def files(self) -> tuple[Path, ...]:
        found = self.folder.glob(f"{_STEM}*.duckdb")
        return tuple(sorted(file for file in found if _made_at(file)))

    @property
    def newest_at(self) -> datetime | None:
        """When the newest was made."""
        return _made_at(self.files[-1]) if self.files else None

    def is_due(self, now: datetime) -> bool:
        """Whether it is time for the next, and something was written since the last."""
        newest = self.newest_at
        if newest is None:
            return True
        return now - newest >= self._bounds.every and _written_at(self._database) > newest

    def make(self, database: Database, now: datetime) -> Path:
        """Write one, read every block of it, and delete the oldest beyond the bounds.

        Writes go on meanwhile. Raises ``OSError``; the earlier backups are left as they are then.
        """
        self.folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        for unfinished in self.folder.glob(f"{_STEM}*.unchecked*"):
            unfinished.unlink()
        file = self.folder / f"{_STEM}{now.astimezone(UTC).strftime(_TIME)}.duckdb"
        size = self._database.stat().st_size + database.wal_bytes()
        if shutil.disk_usage(self.folder).free < 2 * size + _ROOM_BYTES:
            raise unavailable("full", file)
        unchecked = file.with_suffix(".unchecked")
        database.backup(unchecked)
        try:
            read_everything(unchecked)
        except BaseException:
            unchecked.unlink()
            raise
        unchecked.rename(file)
        note_backup(self._database, file)
        self._thin_out()
        return file

    def _thin_out(self) -> None:
        """Delete the oldest beyond the bounds; the newest stays, however large it is."""
        taken = 0
        for number, file in enumerate(reversed(self.files)):
            taken += file.stat().st_size
            if number and (number >= self._bounds.keep or taken > self._bounds.bytes):
                file.unlink()
                wal_of(file).unlink(missing_ok=True)

    def purge(self, buried: Buried, now: datetime) -> None:
        """Forget in each what was forgotten since. One that cannot be changed is deleted."""
        for file in self.files:
            try:
                carry_over(file, buried, now, bring_back=False)
            except StoreUnavailable:
                file.unlink()
                wal_of(file).unlink(missing_ok=True)


def _made_at(file: Path) -> datetime | None:
    try:
        return datetime.strptime(file.stem.removeprefix(_STEM), _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _written_at(database: Path) -> datetime:
    files = [file for file in (database, wal_of(database)) if file.exists()]
    return datetime.fromtimestamp(max(file.stat().st_mtime for file in files), UTC)
