"""How much is held in memory to search in, for ``subcog status``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...bus.results import IndexStatus

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive


def index_status(archive: Archive) -> IndexStatus:
    """What ``archive`` holds in memory."""
    stats = archive.index.stats
    return IndexStatus(
        bytes=stats.bytes,
        scopes=len(stats.memories),
        without_vectors=stats.unencoded,
        in_topics=archive.topics.memories,
    )


def describe_index(index: IndexStatus) -> str:
    """One line of the above."""
    size = f"{index.bytes / 1e6:,.1f} MB in memory, scopes {index.scopes}"
    alone = f", by text alone {index.without_vectors}" if index.without_vectors else ""
    return f"{size}{alone}, in topics {index.in_topics}"
