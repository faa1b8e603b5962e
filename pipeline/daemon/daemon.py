"""The daemon: one process, one event loop; owns whatever is slow to start or only one may hold."""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
import socket
import sys
import time
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup
from msgspec import convert

from ...bus.results import HookActivity, ModelStatus, StatusResult, StopResult, TeamSummary
from ...config.load import Loaded
from ...config.paths import Paths
from ...hooks.client import VERSION
from ...sinks.http.credentials import http_token
from ...sinks.mcp.lazy_app import LazyApp
from ..api.dispatch import Calls
from ..api.mcp import SessionOpener
from ..app.app import App
from ..app.routes import ROUTES
from ..entrance.events import HOOK_EVENTS
from ..entrance.handler import HookHandler
from . import spool
from .gauges import Gauges
from .housekeeping import compact_when_idle
from .server import Server
from .signal_buffer import SignalBuffer
from .sockets import Listener, listen, listen_on_the_same, only_one, socket_path, unlisten
from .status import index_status

if TYPE_CHECKING:
    from ...sinks.http.server import Http, Routes
    from ...sinks.telemetry.metrics import Metrics

_log = logging.getLogger(__name__)
IDLE_CHECK_S = 5.0
SPOOL_CHECK_S = 5.0
HTTP_DELAY_S = 1.0
ACTIVITY_SAVE_S = 10.0


class Daemon:
    """One daemon. ``run`` returns when it was told to leave, or nobody needed it for long."""

    def __init__(self, loaded: Loaded, paths: Paths) -> None:
        self._paths = paths
        self._settings = loaded.settings
        self._app = App(loaded.settings, paths)
        self._entrance = HookHandler(self._app)
        self._calls = Calls(self._app, self._entrance, self.status)
        self._started = time.time()
        self._leaving = anyio.Event()
        self._early = SignalBuffer()
        self._http: Http | None = None
        self._http_socket = self._listen_http()
        self._http_token = self._make_token()
        self._mcp = SessionOpener(self._app, self._calls, self._entrance)
        self._mcp_http = LazyApp(self._mcp.load, self._mcp.opened_over_http, seen=self._was_seen)
        self._server = Server(
            version=VERSION,
            hook=self._entrance.answer,
            call=self._answer_call,
            mcp=self._mcp.serve,
            more_time_ms=self._entrance.more_time_ms,
        )
        self._gauges = Gauges(
            self._app,
            paths,
            clients=lambda: self._server.connections,
            mcp_sessions=lambda: self._mcp.sessions,
        )

    async def run(self) -> None:
        """Listen first, load behind it, serve until leaving, then drain and close."""
        listener = Listener(listen(self._paths))
        _log.info("listening", extra={"pid": os.getpid(), "version": VERSION})
        try:
            async with self._app.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(listener.serve, self._server.serve, tasks)
                tasks.start_soon(self._load)
                if self._http_socket is not None:
                    tasks.start_soon(self._serve_http, self._http_socket)
                else:
                    self._early.hand_over(lambda: None)
                tasks.start_soon(self._mcp_http.run)
                tasks.start_soon(self._drain_spool)
                tasks.start_soon(self._app.team.run)
                tasks.start_soon(self._save_activity)
                tasks.start_soon(self._compact)
                tasks.start_soon(self._leave_on_signal)
                tasks.start_soon(self._leave_when_idle)
                tasks.start_soon(self._leave_for_newer)
                await self._leaving.wait()
                await self._finish(listener, tasks)
        finally:
            self._entrance.activity.save()
            await self._app.unload()
            unlisten(self._paths)
            _log.info("left")

    async def _load(self) -> None:
        await self._app.load()
        await self._app.build_topics()
        gc.freeze()
        gc.enable()

    async def _drain_spool(self) -> None:
        """Now, and whenever a hook has set something aside since."""
        while True:
            if self._app.archive.loaded is not None:
                await spool.drain(self._paths.spool, self._app, self._entrance)
            await anyio.sleep(SPOOL_CHECK_S if self._app.archive.settled else 0.1)

    async def _save_activity(self) -> None:
        """Write down when hooks were heard; losing the last seconds of that does no harm."""
        while True:
            await anyio.sleep(ACTIVITY_SAVE_S)
            await anyio.to_thread.run_sync(self._entrance.activity.save)

    async def _compact(self) -> None:
        await compact_when_idle(
            self._app.archive, quiet_s=lambda: anyio.current_time() - self._server.last_seen
        )

    # --- http ------------------------------------------------------------------------------------

    def _listen_http(self) -> socket.socket | None:
        if not self._settings.http.enabled:
            return None
        try:
            return listen_on_the_same(self._settings.http.port, self._paths.http_port)
        except OSError as error:
            _log.error("cannot listen on the HTTP port", extra={"error": type(error).__name__})
            return None

    def _make_token(self) -> str:
        """The token; empty where nothing that needs one is served."""
        if self._http_socket is None:
            return ""
        try:
            return http_token(self._paths.http_token)
        except OSError as error:
            _log.error("cannot write the HTTP token file", extra={"error": type(error).__name__})
            return ""

    async def _serve_http(self, listener: socket.socket) -> None:
        """Serve HTTP a moment later: what it imports would hold up the first prompts."""
        await anyio.sleep(HTTP_DELAY_S)
        http, metrics = await anyio.to_thread.run_sync(self._build_http, listener)
        self._http = http
        self._early.hand_over(metrics.watch)
        await http.serve()

    def _build_http(self, listener: socket.socket) -> tuple[Http, Metrics]:
        from ...sinks.http.server import Http, open_routes
        from ...sinks.telemetry.metrics import CONTENT_TYPE, Metrics

        metrics = Metrics(
            version=VERSION,
            gauges=self._gauges.read,
            stages=[route.stage for route in ROUTES],
            events=tuple(HOOK_EVENTS),
        )
        for_everybody = open_routes(
            metrics=metrics.expose,
            metrics_type=CONTENT_TYPE,
            ready=lambda: self._app.archive.loaded is not None,
        )
        return Http(listener, routes=[*for_everybody, *self._guarded_routes()]), metrics

    def _guarded_routes(self) -> Routes:
        """What HTTP answers to whoever has the token; none where it cannot be kept."""
        from ...sinks.http.hooks import hook_route
        from ...sinks.http.server import guard, route

        if not self._http_token:
            return []
        with_token = guard(self._http_token)
        return [
            route("/mcp", self._mcp_http, with_token),
            hook_route(self._entrance.answer, self._was_seen, with_token),
        ]

    def _http_url(self, path: str) -> str | None:
        if self._http_socket is None:
            return None
        host, port = self._http_socket.getsockname()
        return f"http://{host}:{port}/{path}"

    def _was_seen(self) -> None:
        """Somebody came over HTTP who is a client, as one on the socket is."""
        self._server.last_seen = anyio.current_time()

    async def _finish(self, listener: Listener, tasks: TaskGroup) -> None:
        """Close the entrance, let work in progress end, then stop serving."""
        unlisten(self._paths)
        listener.close()
        self._mcp_http.close()
        if self._http is not None:
            self._http.stop()
        await self._app.bus.drain(self._settings.daemon.drain_s)
        tasks.cancel_scope.cancel()

    # --- leaving ---------------------------------------------------------------------------------

    def leave(self) -> None:
        self._leaving.set()

    async def _leave_on_signal(self) -> None:
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for number in signals:
                _log.info(
                    "received a signal to exit", extra={"signal": signal.Signals(number).name}
                )
                self.leave()

    async def _leave_when_idle(self) -> None:
        idle_s = self._settings.daemon.idle_exit_minutes * 60
        while True:
            await anyio.sleep(min(IDLE_CHECK_S, idle_s))
            quiet_s = anyio.current_time() - self._server.last_seen
            open_now = self._server.connections + self._mcp_http.in_flight
            if open_now == 0 and quiet_s >= idle_s:
                _log.info("exiting after the idle timeout", extra={"idle_s": round(quiet_s)})
                self.leave()
                return

    async def _leave_for_newer(self) -> None:
        await self._server.newer_client.wait()
        _log.info("exiting in favour of a newer version")
        self.leave()

    # --- calls -----------------------------------------------------------------------------------

    async def _answer_call(
        self, name: str, fields: dict[str, str], body: bytes
    ) -> tuple[bool, bytes]:
        if name == "stop":
            self.leave()
            return True, msgspec.json.encode(StopResult(pid=os.getpid(), stopping=True))
        return await self._calls.handle(name, fields, body)

    def status(self) -> StatusResult:
        """What ``subcog status`` shows."""
        archive = self._app.archive.loaded
        llm, usage = self._app.llm, resource.getrusage(resource.RUSAGE_SELF)
        return StatusResult(
            pid=os.getpid(),
            version=VERSION,
            socket=str(socket_path(self._paths)),
            database=str(self._paths.database),
            memories=archive.count if archive else None,
            index=index_status(archive) if archive else None,
            ready=archive is not None,
            problem=self._app.archive.problem or None,
            metrics_url=self._http_url("metrics"),
            mcp_url=self._http_url("mcp") if self._http_token else None,
            uptime_s=round(time.time() - self._started, 1),
            clients=self._server.connections,
            mcp_sessions=self._mcp.sessions,
            inboxes=self._app.bus.depths(),
            max_rss_mb=usage.ru_maxrss // 1024,
            llm=convert(llm.status(), ModelStatus) if llm else None,
            team=convert(self._app.team.status(), TeamSummary | None),
            log=str(self._paths.log),
            heard=convert(
                self._entrance.activity.list(), tuple[HookActivity, ...], from_attributes=True
            ),
        )


def run_daemon(loaded: Loaded, paths: Paths) -> None:
    """Run the daemon in this process until it leaves. Raises ``AlreadyRunning``."""
    # Before numpy is imported: a second BLAS thread makes small products slower, not faster.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.umask(0o077)
    # Everything that is imported and loaded now stays; looking through it for garbage is waste.
    gc.disable()
    # The loop must not wait 5 ms, Python's default, for a search thread to let go.
    sys.setswitchinterval(0.0005)
    with only_one(paths.lock):
        anyio.run(_run, loaded, paths)


async def _run(loaded: Loaded, paths: Paths) -> None:
    await Daemon(loaded, paths).run()
