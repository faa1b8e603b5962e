"""What the metrics read at the moment of a scrape: sizes, depths, ages and states."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

import anyio
import msgspec

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
        self,
        app: App,
        paths: Paths,
        *,
        clients: Callable[[], int],
        mcp_sessions: Callable[[], int],
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
            **self._work(),
            **self._files(),
            **(self._app.asking.gauges() if self._app.asking else {}),
            **self._app.team.gauges(),
        }

    def _memory(self, archive: Archive | None) -> dict[str, Gauge]:
        stats = archive.index.stats if archive else None
        counts = stats.memories if stats else {}
        newest = archive.topics.last_indexed if archive else None
        return {
            "subcog_ready": ("1 when memories can be searched.", archive is not None),
            "subcog_memories": ("Memories that can be found.", _by_kind(counts), "scope"),
            "subcog_scopes": (
                "Scopes that have memories, by their kind.",
                _by_kind({scope: count > 0 for scope, count in counts.items()}),
                "scope",
            ),
            "subcog_topics": ("Topics of memories.", self._count_topics(archive), "scope"),
            "subcog_index_bytes": (
                "Memory that the search index takes, as estimated.",
                stats.bytes if stats else 0,
            ),
            "subcog_index_newest_timestamp_seconds": (
                "When the newest memory in the topic index was changed; 0 for none.",
                newest.timestamp() if newest else 0,
            ),
        }

    def _work(self) -> dict[str, Gauge]:
        depths = self._app.bus.depths()
        return {
            "subcog_index_waiting": (
                "Changes that are committed and not yet in the indexes.",
                sum(depths[stage] for stage in INDEXING),
            ),
            "subcog_inbox_depth": ("Letters that wait.", depths, "stage"),
            "subcog_clients": ("Connections open.", self._clients()),
            "subcog_mcp_sessions": ("MCP sessions open.", self._mcp_sessions()),
            "subcog_threads": ("Threads of the daemon.", threading.active_count()),
            "subcog_tasks": ("Tasks of its event loop.", len(anyio.get_running_tasks())),
        }

    def _files(self) -> dict[str, Gauge]:
        database = self._paths.database
        log = database.with_name(f"{database.name}.wal")
        return {
            "subcog_database_bytes": (
                "Size of the database: its file, and the log of what is not in it yet.",
                {"database": _size(database), "log": _size(log)},
                "file",
            ),
            "subcog_spool_entries": (
                "What hooks set aside while no daemon took it.",
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
