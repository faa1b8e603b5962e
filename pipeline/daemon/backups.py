"""Makes backups while the daemon runs, and says what there is of them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ...bus.service_results import BackupSummary
from ...config.paths import Paths
from ...config.settings import BackupSettings
from ...sinks.disk import Disk
from ..app.archives import LazyArchive

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from ...sinks.repair.backups import AutomaticBackups
    from ...sinks.store.store import Store

_log = logging.getLogger(__name__)
CHECK_S = 10.0
# A backup waits until nobody has asked anything for so long, at most for as long as it may be old.
QUIET_S = 15.0
# A backup that could not be changed is tried again after so long.
PURGE_AGAIN_S = 600.0
LOOK_S = 1.0
_NO_ANSWER = "the disk that the backups are on does not answer"


class Backups:
    """The automatic backups of one daemon. ``problem`` says why the last one failed."""

    def __init__(
        self, settings: BackupSettings, paths: Paths, clock: Callable[[], datetime]
    ) -> None:
        self._settings = settings
        self._paths = paths
        self._clock = clock
        self._files: AutomaticBackups | None = None
        self._purge_from = 0.0
        self._disk = Disk(1)
        # One that is being made is none of the files yet: what is forgotten meanwhile would stay.
        self._changing = anyio.Lock()
        self.problem = ""

    async def run(self, archive: LazyArchive, quiet_s: Callable[[], float]) -> None:
        """Look now and then whether one is due. Never returns."""
        while self._settings.enabled:
            await anyio.sleep(CHECK_S)
            if archive.loaded is not None and archive.loaded.count:
                await self.make_if_due(archive.loaded, is_quiet=quiet_s() >= QUIET_S)

    async def make_if_due(self, archive: Archive, *, is_quiet: bool = True) -> Path | None:
        """Make a backup if it is time for one; what fails is told, and tried again."""
        try:
            files, now = self.files, self._clock()
            if not await anyio.to_thread.run_sync(partial(files.is_due, now, is_quiet=is_quiet)):
                return None
            async with self._changing:
                made = await anyio.to_thread.run_sync(files.make, archive.store.database, now)
        except (OSError, ValueError) as error:
            if not self.problem:
                _log.error("no backup could be made", extra={"error": type(error).__name__})
            self.problem = str(error)
            return None
        self.problem = ""
        archive.store.shrink()
        _log.info("made a backup", extra={"file": made.name})
        return made

    async def purge(self, archive: Archive) -> None:
        """Take out of the backups what was forgotten since they were made.

        What fails, as on a full disk or while another program holds one, is tried again later.
        """
        if not archive.store.database.needs_purge or anyio.current_time() < self._purge_from:
            return
        try:
            async with self._changing:
                await self._purge(archive.store)
        except OSError as error:
            self._purge_from = anyio.current_time() + PURGE_AGAIN_S
            _log.warning(
                "the backups still hold what was forgotten; it is retried later",
                extra={"error": type(error).__name__},
            )

    async def _purge(self, store: Store) -> None:
        from ...sinks.repair.backups import read_buried

        deletions, now = await store.write(store.database.deletions), self._clock()
        if await anyio.to_thread.run_sync(self.files.files, now):
            buried = await store.read(read_buried)
            await anyio.to_thread.run_sync(self.files.purge, buried, now)
        await store.write(partial(store.database.note_purged, deletions))

    @property
    def files(self) -> AutomaticBackups:
        if self._files is None:
            from ...sinks.repair.backups import AutomaticBackups, Bounds

            chosen, settings = self._settings.folder, self._settings
            folder = Path(chosen) if chosen else self._paths.backups
            bounds = Bounds(settings.keep, settings.max_mb * 1_000_000, self._every)
            self._files = AutomaticBackups(self._paths.database, folder, bounds)
        return self._files

    @property
    def _every(self) -> timedelta:
        return timedelta(hours=self._settings.every_hours)

    async def summary(self) -> BackupSummary | None:
        """What ``status`` says of them; their disk has a second to answer."""
        if not self._settings.enabled:
            return None
        from ...sinks.repair.backups import Seen

        look = partial(self.files.look, self._clock())
        try:
            seen = await self._disk.look("backups", look, within_s=LOOK_S)
            problem = self.problem
        except TimeoutError:
            seen, problem = Seen(), _NO_ANSWER
        return BackupSummary(
            folder=str(self.files.folder),
            count=seen.count,
            newest=str(seen.newest) if seen.newest else None,
            newest_at=seen.newest_at,
            bytes=seen.bytes,
            problem=problem or None,
        )
