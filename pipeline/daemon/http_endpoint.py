"""The daemon's HTTP endpoint: its port and token, the routes that are served there, and the gauges.

Gauges are what the metrics read at the moment of a scrape: sizes, depths, ages and states.
"""

from __future__ import annotations

import logging
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
import msgspec

from ...bus import signals
from ...bus.bus import raised_at
from ...bus.service_results import IndexStatus
from ...bus.signals import NamedSignal, emit
from ...bus.values import Scope
from ...config.paths import Paths
from ...config.settings import HttpSettings
from ...hooks.client import VERSION
from ...sinks.http.credentials import http_token
from ...sinks.mcp.lazy_app import LazyApp
from ..app.app import INDEXING, App
from ..app.routes import ROUTES
from ..entrance.events import HOOK_EVENTS
from .sockets import listen_on_the_same

if TYPE_CHECKING:
    from ...sinks.http.server import Application, Hook, Http, Routes
    from ...sinks.memories.repository import Archive
    from ...sinks.telemetry.metrics import Gauge, Metrics

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
        used = _by_kind({scope: count > 0 for scope, count in counts.items()})
        size = stats.bytes if stats else 0
        newest = archive.topics.last_indexed if archive else None
        return {
            "subcog_ready": ("1 when memories can be searched.", archive is not None),
            "subcog_memories": ("Memories in the search index.", _by_kind(counts), "scope"),
            "subcog_scopes": ("Scopes with memories, by kind.", used, "scope"),
            "subcog_topics": ("Topics in the topic index.", self._count_topics(archive), "scope"),
            "subcog_index_bytes": ("Estimated size of the search index in memory.", size),
            "subcog_index_newest_timestamp_seconds": (
                "Modification time of the newest memory in the topic index; 0 if empty.",
                newest.timestamp() if newest else 0,
            ),
        }

    def _said(self) -> dict[str, Gauge]:
        kept = self._app.passages.loaded
        sessions, passages, size = (kept.sessions, kept.count, kept.nbytes) if kept else (0, 0, 0)
        return {
            "subcog_sessions": ("Sessions of which passages are kept.", sessions),
            "subcog_passages": ("Passages of sessions in the search index.", passages),
            "subcog_passages_bytes": ("Estimated size of the index of passages in memory.", size),
        }

    def _work(self) -> dict[str, Gauge]:
        depths = self._app.bus.depths()
        waiting = sum(depths[stage] for stage in INDEXING)
        return {
            "subcog_index_waiting": ("Committed changes not yet indexed.", waiting),
            "subcog_inbox_depth": ("Events queued in a stage's inbox.", depths, "stage"),
            "subcog_clients": ("Open client connections.", self._clients()),
            "subcog_mcp_sessions": ("Open MCP sessions.", self._mcp_sessions()),
            "subcog_threads": ("Threads of the daemon.", threading.active_count()),
            "subcog_tasks": ("Tasks of the daemon's event loop.", len(anyio.get_running_tasks())),
        }

    def _files(self) -> dict[str, Gauge]:
        database = self._paths.database
        log = database.with_name(f"{database.name}.wal")
        sizes = {"database": _size(database), "log": _size(log)}
        spooled = _spooled(self._paths.spool)
        return {
            "subcog_database_bytes": (
                "Size of the database file and of its write-ahead log.",
                sizes,
                "file",
            ),
            "subcog_spool_entries": (
                "Prompts that no daemon took, and captures that were late: set aside to be stored.",
                spooled,
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
            names = archive.index.stats.memories
            self._topics = _by_kind({name: archive.topics.count((_scope(name),)) for name in names})
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
        reranks_cut=archive.search.cut,
        searched_by_sql=archive.searched_by_sql,
        missing=archive.without_index,
    )


# --- the endpoint -------------------------------------------------------------------------------

MAX_BUFFERED = 100_000
START_DELAY_S = 1.0
# A port that another program has, or an earlier daemon for a moment, is tried again after so long.
RETRY_S = 5.0
# What failed otherwise too, twice as long after each failure, up to so long.
MOST_RETRY_S = 300.0
_log = logging.getLogger(__name__)


class SignalBuffer:
    """Buffers every signal from its creation on, but ``redacted``.

    The audit log receives that one from the start, and would receive it twice.
    """

    def __init__(self) -> None:
        self._buffered: list[tuple[NamedSignal, str, dict[str, Any]]] = []
        self._watchers = {
            signal: self._watcher(signal)
            for signal in signals.ALL
            if signal is not signals.redacted
        }
        for signal, watcher in self._watchers.items():
            signal.connect(watcher)

    def _watcher(self, signal: NamedSignal) -> Callable[..., None]:
        def watch(sender: str, **facts: Any) -> None:
            if len(self._buffered) < MAX_BUFFERED:
                self._buffered.append((signal, sender, facts))

        return watch

    def hand_over(self, watch: Callable[[], None]) -> None:
        """Stop buffering, let ``watch`` connect the receivers, and emit what was buffered."""
        for signal, watcher in self._watchers.items():
            signal.disconnect(watcher)
        watch()
        for signal, sender, facts in self._buffered:
            emit(signal, sender, **facts)
        self._buffered.clear()


def _pauses() -> Iterator[float]:
    """After how many seconds it is tried again each time."""
    pause_s = RETRY_S
    while True:
        yield pause_s
        pause_s = min(2 * pause_s, MOST_RETRY_S)


class HttpEndpoint:
    """Listens as soon as it is made, and answers from the first connection on.

    A port that is in use is tried again until it is free. ``token`` is "" where none can be kept.

    ``page`` makes the page, which looks itself after who comes in.
    ``hook`` answers a hook; ``seen`` is called for each request of a client.
    """

    def __init__(
        self,
        settings: HttpSettings,
        paths: Paths,
        *,
        gauges: Callable[[], Mapping[str, Gauge]],
        ready: Callable[[], bool],
        mcp: LazyApp,
        page: Callable[[], Application],
        hook: Hook,
        seen: Callable[[], None],
    ) -> None:
        self._gauges = gauges
        self._ready = ready
        self._mcp = mcp
        self._page = page
        self._hook = hook
        self._seen = seen
        self._counting: Metrics | None = None
        self._http: Http | None = None
        self._settings = settings
        self._paths = paths
        self._stopped = False
        self.token = ""
        self._listening = self._listen() if settings.enabled else None

    def _listen(self) -> socket.socket | None:
        listening = _listen(self._settings, self._paths)
        if listening is not None:
            self._address = listening.getsockname()
            self.token = _token(self._paths)
        return listening

    def url(self, path: str) -> str | None:
        """The address of ``path``; None where HTTP is not served."""
        if self._listening is None:
            return None
        host, port = self._address
        return f"http://{host}:{port}/{path}"

    async def serve(self, signals: SignalBuffer) -> None:
        """Serve until ``stop``, and count what ``signals`` has buffered.

        The metrics come a moment later, and the server when somebody connects: what they import
        would hold up the first prompts, and most daemons are asked nothing over HTTP. Whatever
        fails here ends HTTP alone, which is tried again after a pause that grows.
        """
        if not self._settings.enabled:
            signals.hand_over(lambda: None)
            return
        await anyio.sleep(START_DELAY_S)
        pauses = _pauses()
        while True:
            began_at = anyio.current_time()
            try:
                await self._serve(signals)
                return
            except Exception as error:  # noqa: BLE001 - hooks and commands are served without HTTP
                if anyio.current_time() - began_at > MOST_RETRY_S:  # it had been well meanwhile
                    pauses = _pauses()
                pause_s = next(pauses)
                facts = {"error": type(error).__name__, "at": raised_at(error.__traceback__)}
                _log.error("HTTP failed, and is tried again", extra=facts | {"after_s": pause_s})
                self._give_up()
            await anyio.sleep(pause_s)
            if self._stopped:
                return
            self._listening = self._listen()

    async def _serve(self, signals: SignalBuffer) -> None:
        if self._counting is None:
            self._counting = await anyio.to_thread.run_sync(self._metrics)
            signals.hand_over(self._counting.watch)
        try:
            listening = await self._wait_until_listening()
            await anyio.wait_readable(listening)
        except (anyio.ClosedResourceError, ValueError):  # stopped, now or before
            return
        self._http = await anyio.to_thread.run_sync(self._server, listening, self._counting)
        await self._http.serve()

    async def _wait_until_listening(self) -> socket.socket:
        while self._listening is None:
            await anyio.sleep(RETRY_S)
            if self._stopped:
                raise anyio.ClosedResourceError
            self._listening = self._listen()
        return self._listening

    def stop(self) -> None:
        """Accept no request any more."""
        self._stopped = True
        if self._http is not None:
            self._http.stop()
        elif self._listening is not None:
            anyio.notify_closing(self._listening)
            self._listening.close()

    def _give_up(self) -> None:
        if self._listening is not None:
            self._listening.close()
        self._http = self._listening = None

    def _metrics(self) -> Metrics:
        from ...sinks.telemetry.metrics import Metrics

        return Metrics(
            version=VERSION,
            gauges=self._gauges,
            stages=[route.stage for route in ROUTES],
            events=tuple(HOOK_EVENTS),
        )

    def _server(self, listening: socket.socket, metrics: Metrics) -> Http:
        from ...sinks.http.server import Http, made_late, open_routes
        from ...sinks.telemetry.metrics import CONTENT_TYPE

        unguarded = open_routes(
            metrics=metrics.expose, metrics_type=CONTENT_TYPE, ready=self._ready
        )
        page = made_late("/ui", self._page)
        return Http(listening, routes=[*unguarded, *self._guarded_routes(), page])

    def _guarded_routes(self) -> Routes:
        """The routes that need the token; none where it cannot be kept."""
        from ...sinks.http.server import guard, hook_route, route

        if not self.token:
            return []
        with_token = guard(self.token)
        return [
            route("/mcp", self._mcp, with_token),
            hook_route(self._hook, self._seen, with_token),
        ]


def _listen(settings: HttpSettings, paths: Paths) -> socket.socket | None:
    try:
        return listen_on_the_same(settings.port, paths.http_port)
    except OSError as error:
        facts = {"error": type(error).__name__, "port": settings.port}
        _log.error("cannot listen on the HTTP port", extra=facts)
        return None


def _token(paths: Paths) -> str:
    try:
        return http_token(paths.http_token)
    except OSError as error:
        _log.error("cannot write the HTTP token file", extra={"error": type(error).__name__})
        return ""
