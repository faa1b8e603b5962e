"""What the metrics read at the moment of a scrape: sizes, depths, ages and states."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec

from ...bus.results import IndexStatus
from ...bus.values import Scope
from ...config.paths import Paths
from ..app.app import INDEXING, App

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from ...sinks.telemetry.metrics import Gauge

SCOPES = ("project", "user", "org")


class Gauges:
    """Reads one daemon: its parts in ``app``, its files in ``paths``, and how many talk to it."""

    def __init__(
        self, app: App, paths: Paths, *, clients: Callable[[], int], mcp_sessions: Callable[[], int]
    ) -> None:
        self._app = app
        self._paths = paths
        self._clients = clients
        self._mcp_sessions = mcp_sessions
        self._topics: Mapping[str, float] = {}
        self._counted: tuple[int, datetime | None] | None = None

    def read(self) -> dict[str, Gauge]:
        """Each gauge by its name; no label carries text."""
        return {
            **self._memory(self._app.archive.loaded),
            **self._said(),
            **self._work(),
            **self._files(),
            **(self._app.llm.gauges() if self._app.llm else {}),
            **self._app.team.gauges(),
        }

    def _memory(self, archive: Archive | None) -> dict[str, Gauge]:
        stats = archive.index.stats if archive else None
        counts = stats.memories if stats else {}
        newest = archive.topics.last_indexed if archive else None
        return {
            "subcog_ready": ("1 when memories can be searched.", archive is not None),
            "subcog_memories": ("Memories in the search index.", _by_kind(counts), "scope"),
            "subcog_scopes": (
                "Scopes with memories, by kind.",
                _by_kind({scope: count > 0 for scope, count in counts.items()}),
                "scope",
            ),
            "subcog_topics": ("Topics in the topic index.", self._count_topics(archive), "scope"),
            "subcog_index_bytes": (
                "Estimated size of the search index in memory.",
                stats.bytes if stats else 0,
            ),
            "subcog_index_newest_timestamp_seconds": (
                "Modification time of the newest memory in the topic index; 0 if empty.",
                newest.timestamp() if newest else 0,
            ),
        }

    def _said(self) -> dict[str, Gauge]:
        passages = self._app.passages.loaded
        return {
            "subcog_sessions": (
                "Sessions of which passages are kept.",
                passages.sessions if passages else 0,
            ),
            "subcog_passages": (
                "Passages of sessions in the search index.",
                passages.count if passages else 0,
            ),
            "subcog_passages_bytes": (
                "Estimated size of the index of passages in memory.",
                passages.nbytes if passages else 0,
            ),
        }

    def _work(self) -> dict[str, Gauge]:
        depths = self._app.bus.depths()
        return {
            "subcog_index_waiting": (
                "Committed changes not yet indexed.",
                sum(depths[stage] for stage in INDEXING),
            ),
            "subcog_inbox_depth": ("Events queued in a stage's inbox.", depths, "stage"),
            "subcog_clients": ("Open client connections.", self._clients()),
            "subcog_mcp_sessions": ("Open MCP sessions.", self._mcp_sessions()),
            "subcog_threads": ("Threads of the daemon.", threading.active_count()),
            "subcog_tasks": ("Tasks of the daemon's event loop.", len(anyio.get_running_tasks())),
        }

    def _files(self) -> dict[str, Gauge]:
        database = self._paths.database
        log = database.with_name(f"{database.name}.wal")
        return {
            "subcog_database_bytes": (
                "Size of the database file and of its write-ahead log.",
                {"database": _size(database), "log": _size(log)},
                "file",
            ),
            "subcog_spool_entries": (
                "Prompts spooled while no daemon was running.",
                _spooled(self._paths.spool),
                "state",
            ),
        }

    def _count_topics(self, archive: Archive | None) -> Mapping[str, float]:
        """Topics by kind of scope; counted anew only after the index has changed."""
        if archive is None:
            return _by_kind({})
        state = (archive.count, archive.topics.last_indexed)
        if state != self._counted:
            self._counted = state
            self._topics = _by_kind(
                {
                    name: archive.topics.count((_scope(name),))
                    for name in archive.index.stats.memories
                }
            )
        return self._topics


def _scope(name: str) -> Scope:
    kind, _, identity = name.partition(":")
    return msgspec.convert({"kind": kind, "id": identity}, Scope)


def _by_kind(counts: Mapping[str, float]) -> dict[str, float]:
    """``counts`` by scope (``project:x``), added up by its kind; the label's values are few."""
    kinds = dict.fromkeys(SCOPES, 0.0)
    for scope, count in counts.items():
        kinds[scope.partition(":")[0]] += count
    return kinds


def _spooled(folder: Path) -> dict[str, float]:
    try:
        names = [entry.name for entry in folder.iterdir()]
    except OSError:
        names = []
    return {
        "waiting": sum(name.endswith(".json") for name in names),
        "unreadable": sum(name.endswith(".bad") for name in names),
    }


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError:
        return 0


def index_status(archive: Archive) -> IndexStatus:
    """What ``archive`` holds in memory, for ``subcog status``."""
    stats = archive.index.stats
    return IndexStatus(
        bytes=stats.bytes,
        scopes=len(stats.memories),
        without_vectors=stats.unencoded,
        in_topics=archive.topics.memories,
    )
