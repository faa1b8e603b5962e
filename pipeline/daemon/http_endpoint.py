"""The daemon's HTTP endpoint: its port and token, and the routes that are served there."""

from __future__ import annotations

import logging
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

from ...bus import signals
from ...bus.signals import NamedSignal, emit
from ...config.paths import Paths
from ...config.settings import HttpSettings
from ...hooks.client import VERSION
from ...sinks.http.credentials import http_token
from ...sinks.mcp.lazy_app import LazyApp
from ..app.routes import ROUTES
from ..entrance.events import HOOK_EVENTS
from .server import listen_on_the_same

if TYPE_CHECKING:
    from ...sinks.http.server import Http, Routes
    from ...sinks.telemetry.metrics import Gauge, Metrics

MAX_BUFFERED = 100_000
START_DELAY_S = 1.0
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


class HttpEndpoint:
    """Listens as soon as it is made; ``serve`` answers. ``token`` is "" where none can be kept.

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
        hook: Callable[[str, dict[str, str], bytes], Awaitable[bytes]],
        seen: Callable[[], None],
    ) -> None:
        self._gauges = gauges
        self._ready = ready
        self._mcp = mcp
        self._hook = hook
        self._seen = seen
        self._http: Http | None = None
        self._listening = _listen(settings, paths)
        self.token = _token(paths) if self._listening else ""

    def url(self, path: str) -> str | None:
        """The address of ``path``; None where HTTP is not served."""
        if self._listening is None:
            return None
        host, port = self._listening.getsockname()
        return f"http://{host}:{port}/{path}"

    async def serve(self, signals: SignalBuffer) -> None:
        """Serve until ``stop``, and count what ``signals`` has buffered.

        It begins a moment later: what it imports would hold up the first prompts.
        """
        if self._listening is None:
            signals.hand_over(lambda: None)
            return
        await anyio.sleep(START_DELAY_S)
        http, metrics = await anyio.to_thread.run_sync(self._build, self._listening)
        self._http = http
        signals.hand_over(metrics.watch)
        await http.serve()

    def stop(self) -> None:
        """Accept no request any more."""
        if self._http is not None:
            self._http.stop()

    def _build(self, listening: socket.socket) -> tuple[Http, Metrics]:
        from ...sinks.http.server import Http, open_routes
        from ...sinks.telemetry.metrics import CONTENT_TYPE, Metrics

        metrics = Metrics(
            version=VERSION,
            gauges=self._gauges,
            stages=[route.stage for route in ROUTES],
            events=tuple(HOOK_EVENTS),
        )
        unguarded = open_routes(
            metrics=metrics.expose, metrics_type=CONTENT_TYPE, ready=self._ready
        )
        return Http(listening, routes=[*unguarded, *self._guarded_routes()]), metrics

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
    if not settings.enabled:
        return None
    try:
        return listen_on_the_same(settings.port, paths.http_port)
    except OSError as error:
        _log.error("cannot listen on the HTTP port", extra={"error": type(error).__name__})
        return None


def _token(paths: Paths) -> str:
    try:
        return http_token(paths.http_token)
    except OSError as error:
        _log.error("cannot write the HTTP token file", extra={"error": type(error).__name__})
        return ""
