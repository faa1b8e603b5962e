"""What the daemon looks after by itself: its database, and what is to leave that."""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio
import anyio.to_thread

from ..app.app import App
from ..app.archives import LazyArchive
from ..app.conversations import Conversations
from .backups import Backups
from .sockets import Lock

_log = logging.getLogger(__name__)
# A database that cannot be opened is tried again after so long, and then after twice as long, up to
# the last.
REOPEN_S, LATEST_REOPEN_S = 2.0, 60.0
# Compacting holds up writes, so it waits until nobody has asked anything for so long.
QUIET_S = 20.0
TRIM_S = 24 * 3600.0
CHECK_S = 5.0


async def keep_open(app: App, lock: Lock) -> None:
    """Open the database again where what held it is gone, or another file lies there now.

    Returns where ``lock`` is gone too: what lies there is another daemon's then.
    """
    pause_s = REOPEN_S
    while True:
        await anyio.sleep(pause_s)
        if not await anyio.to_thread.run_sync(lock.is_in_place):
            return
        archive = app.archive.loaded
        if archive is not None and await anyio.to_thread.run_sync(
            archive.store.database.is_in_place
        ):
            pause_s = REOPEN_S
        elif archive is not None or app.archive.problem:
            if archive is not None:
                _log.error("the database was deleted, moved or emptied while it was open")
            await app.reopen()
            pause_s = min(2 * pause_s, LATEST_REOPEN_S)


async def compact_when_idle(
    archive: LazyArchive, quiet_s: Callable[[], float], backups: Backups | None = None
) -> None:
    """Compact after something was forgotten, also by an earlier daemon, and the backups with it.

    A model that is loaded for captures alone is let go. Never returns.

    ``quiet_s`` says for how many seconds nobody has asked anything.
    """
    while True:
        await anyio.sleep(CHECK_S)
        if quiet_s() >= QUIET_S:
            await compact_if_needed(archive, backups)
            if archive.loaded is not None:
                await anyio.to_thread.run_sync(archive.loaded.contradictions.let_go)


async def compact_if_needed(archive: LazyArchive, backups: Backups | None = None) -> bool:
    """Compact if the file holds what was forgotten; what fails is tried again at the next time.

    The backups are purged also where a call has compacted the file already.
    """
    loaded = archive.loaded
    if loaded is None:
        return False
    if backups is not None:
        await backups.purge(loaded)
    if not loaded.store.database.needs_compaction:
        return False
    try:
        await loaded.compact()
    except (OSError, TimeoutError) as error:
        _log.warning(
            "compaction failed; it is retried later", extra={"error": type(error).__name__}
        )
        return False
    _log.info("compacted the database; forgotten texts are gone from disk")
    return True


async def trim_daily(conversations: Conversations) -> None:
    """Let passages go that have become too old, though nothing new is said. Never returns."""
    while True:
        await anyio.sleep(TRIM_S)
        await trim(conversations)


async def trim(conversations: Conversations) -> int:
    """Delete what is beyond the bounds; how many passages. What fails is tried again tomorrow."""
    if (passages := conversations.loaded) is None:
        return 0
    try:
        gone = await passages.trim()
    except (OSError, TimeoutError) as error:
        extra = {"error": type(error).__name__}
        _log.warning("trimming the sessions failed; it is retried later", extra=extra)
        return 0
    if gone:
        _log.info("old passages were deleted", extra={"passages": gone})
    return gone
