"""What a daemon does unasked: compact the database while idle, and let old passages go.

Compacting makes forgotten texts leave the disk.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

import anyio

from ..app.conversations import Conversations
from ..app.lazy_archive import LazyArchive

# Compacting holds up writes, so it waits until nobody has asked anything for so long.
QUIET_S = 20.0
CHECK_S = 5.0
TRIM_S = 24 * 3600.0
_log = logging.getLogger(__name__)


async def compact_when_idle(archive: LazyArchive, *, quiet_s: Callable[[], float]) -> None:
    """Compact after something was forgotten, also by an earlier daemon. Never returns.

    ``quiet_s`` says for how many seconds nobody has asked anything.
    """
    while True:
        await anyio.sleep(CHECK_S)
        if quiet_s() >= QUIET_S:
            await compact_if_needed(archive)


async def compact_if_needed(archive: LazyArchive) -> bool:
    """Compact if the file holds what was forgotten; what fails is tried again at the next time."""
    loaded = archive.loaded
    if loaded is None or not loaded.needs_compaction:
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
