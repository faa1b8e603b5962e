"""The daemon: one process, one event loop. Owns what is slow to start or exclusive."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import resource
import signal
import sys
import time
from itertools import chain
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec
from anyio.abc import TaskGroup
from msgspec import convert

from ...bus.service_results import (
    NO_HTTP,
    HookActivity,
    ModelStatus,
    PageResult,
    StatusResult,
    StopResult,
    TeamSummary,
)
from ...config.build import read_build
from ...config.load import Loaded
from ...config.paths import Paths
from ...config.patterns import compile_pending
from ...hooks.client import VERSION
from ...sinks.mcp.lazy_app import LazyApp
from ...sinks.page.visits import INVITATION_S, Visits
from ..api.dispatch import Calls
from ..api.mcp import SessionOpener
from ..api.page import PageCalls
from ..api.params import reason_of
from ..app.app import App
from ..entrance.handler import HookHandler
from ..entrance.set_aside import DurableHooks
from . import spool
from .backups import Backups
from .http_endpoint import Gauges, HttpEndpoint, SignalBuffer, index_status
from .server import Listener, Server
from .sockets import Lock, is_reachable, listen, only_one, socket_path, unlisten
from .upkeep import compact_when_idle, keep_open, trim_daily

if TYPE_CHECKING:
    from ...sinks.http.server import Application
    from ...sinks.memories.repository import Archive

_COUNT_S = 1.0
_log = logging.getLogger(__name__)
IDLE_CHECK_S = 5.0
LISTEN_CHECK_S = 1.0
REPLACED_CHECK_S = 5.0
SPOOL_CHECK_S = 5.0
ACTIVITY_SAVE_S = 10.0
# Before the first pattern: the agent is starting as well, and needs the processor more.
COMPILE_AFTER_S = 5.0
# Between two patterns: whoever asks meanwhile is answered first.
COMPILE_PAUSE_S = 0.005
WARNINGS_CHECK_S = 2.0


class Daemon:
    """One daemon. ``run`` returns after a request to exit, or after the idle timeout.

    Or after another daemon can take its place, since the data directory with ``lock`` is gone.
    """

    def __init__(self, loaded: Loaded, paths: Paths, lock: Lock) -> None:
        self._paths = paths
        self._lock = lock
        self._settings = loaded.settings.daemon
        self._app = App(loaded.settings, paths)
        self._build = self._app.build
        self._entrance = HookHandler(self._app)
        self._calls = Calls(self._app, self._entrance, self.status)
        self._started = time.time()
        self._leaving = anyio.Event()
        self._backups = Backups(loaded.settings.backup, paths, self._app.clock)
        self._signals = SignalBuffer()
        self._mcp = SessionOpener(self._app, self._calls, self._entrance)
        self._mcp_http = LazyApp(
            self._mcp.load,
            self._mcp.opened_over_http,
            is_directory=self._entrance.places.is_directory,
            seen=self._note_client,
        )
        self._server = Server(
            version=VERSION,
            build=self._build,
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
        self._visits = Visits()
        self._http = HttpEndpoint(
            loaded.settings.http,
            paths,
            gauges=self._gauges.read,
            ready=lambda: self._app.archive.loaded is not None,
            mcp=self._mcp_http,
            page=self._page,
            hook=DurableHooks(self._entrance).answer,
            seen=self._note_client,
        )

    async def run(self) -> None:
        """Listen first, load behind it, serve until leaving, then drain and close."""
        self._listener = self._listen()
        _log.info("listening", extra={"pid": os.getpid(), "version": VERSION, "build": self._build})
        try:
            async with self._app.running(), anyio.create_task_group() as tasks:
                tasks.start_soon(self._listener.serve, self._server.serve, tasks)
                tasks.start_soon(self._keep_listening, tasks)
                tasks.start_soon(keep_open, self._app, self._lock)
                tasks.start_soon(self._entrance.damage.watch)
                tasks.start_soon(self._load)
                tasks.start_soon(self._http.serve, self._signals)
                tasks.start_soon(self._mcp_http.run)
                tasks.start_soon(self._drain_spool)
                tasks.start_soon(self._app.team.run)
                tasks.start_soon(self._save_activity)
                tasks.start_soon(compact_when_idle, self._app.archive, self._quiet_s, self._backups)
                tasks.start_soon(self._backups.run, self._app.archive, self._quiet_s)
                tasks.start_soon(trim_daily, self._app.passages)
                tasks.start_soon(self._leave_on_signal)
                tasks.start_soon(self._leave_when_idle)
                tasks.start_soon(self._leave_for_another)
                await self._leaving.wait()
                await self._finish(tasks)
        finally:
            self._note_activity()
            await self._app.unload()
            self._unlisten()
            self._listener.close()
            _log.info("exited")

    def _listen(self) -> Listener:
        listener = Listener(listen(self._paths), socket_path(self._paths))
        with contextlib.suppress(OSError):
            self._paths.late.unlink(missing_ok=True)
        return listener

    def _unlisten(self) -> None:
        """Remove what clients connect to, but not what is another daemon's."""
        if self._lock.is_in_place():
            unlisten(self._paths)

    async def _load(self) -> None:
        await self._app.load()
        await self._app.build_topics()
        gc.freeze()
        gc.enable()
        await self._compile_patterns()
        while True:  # another database may be opened, and what failed is tried again
            await self._app.read_warnings()
            await anyio.sleep(WARNINGS_CHECK_S)

    async def _compile_patterns(self) -> None:
        """Compile what nothing has used yet, so that no later request waits for it.

        Raises ``BadRule``, which ends the daemon.
        """
        await anyio.sleep(COMPILE_AFTER_S)
        for _ in chain(self._app.redactor.compile_pending(), compile_pending()):
            await anyio.sleep(COMPILE_PAUSE_S)

    async def _drain_spool(self) -> None:
        """Drain at once, and whenever a hook has spooled something since."""
        while True:
            if self._app.archive.loaded is not None:
                await spool.drain(self._paths.spool, self._app, self._entrance)
            await anyio.sleep(SPOOL_CHECK_S if self._app.archive.settled else 0.1)

    async def _save_activity(self) -> None:
        """Save now and then which hooks came; losing the last seconds of that does no harm."""
        while True:
            await anyio.sleep(ACTIVITY_SAVE_S)
            await anyio.to_thread.run_sync(self._note_activity)

    def _note_activity(self) -> None:
        """Save it, unless home was moved away: what is written then would make the old one anew."""
        if self._lock.is_in_place():
            self._entrance.activity.save()

    async def _keep_listening(self, tasks: TaskGroup) -> None:
        """Make the socket again where it was removed, and the directory that it was in.

        Leave where the lock is gone: the next client starts a daemon that has its place.
        """
        while not self._leaving.is_set():
            await anyio.sleep(LISTEN_CHECK_S)
            if not await anyio.to_thread.run_sync(self._lock.is_in_place):
                _log.error("exiting, as the data directory was deleted, moved or replaced")
                self.leave()
            elif not await anyio.to_thread.run_sync(is_reachable, self._paths):
                self._listen_again(tasks)

    def _listen_again(self, tasks: TaskGroup) -> None:
        """Make the socket again, unless it is missing since the daemon leaves."""
        if self._leaving.is_set():
            return
        with contextlib.suppress(OSError):  # tried again
            fresh = self._listen()
            self._listener.close()
            self._listener = fresh
            tasks.start_soon(fresh.serve, self._server.serve, tasks)
            _log.warning("the socket was removed, and is made again")

    async def _finish(self, tasks: TaskGroup) -> None:
        """Accept nothing new, let work in progress end, then stop serving."""
        self._unlisten()
        self._listener.close()
        self._mcp_http.close()
        self._app.activity.close()
        self._http.stop()
        until = anyio.current_time() + self._settings.drain_s
        with anyio.CancelScope(deadline=until):
            await self._server.finish()
        await self._app.bus.drain(max(0.0, until - anyio.current_time()))
        tasks.cancel_scope.cancel()

    def _note_client(self) -> None:
        """A client came over HTTP: the daemon is not idle."""
        self._server.last_seen = anyio.current_time()

    def _quiet_s(self) -> float:
        return anyio.current_time() - self._server.last_seen

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
        idle_s = self._settings.idle_exit_minutes * 60
        while True:
            await anyio.sleep(min(IDLE_CHECK_S, idle_s))
            quiet_s = self._quiet_s()
            clients = (self._server.connections, self._mcp_http.in_flight)
            open_now = sum((*clients, self._app.activity.watchers))
            if open_now == 0 and quiet_s >= idle_s:
                _log.info("exiting after the idle timeout", extra={"idle_s": round(quiet_s)})
                self.leave()
                return

    async def _leave_for_another(self) -> None:
        """Leave where another version or build called, and is what would be started then.

        A newer command line starts its own. A plugin starts what is installed, older as that may
        be; and whoever has two builds of a version installed in two places would have each end the
        other's daemon.
        """
        await self._server.other_client.wait()
        while await anyio.to_thread.run_sync(read_build) == self._build:
            with anyio.move_on_after(REPLACED_CHECK_S):
                await self._server.newer_command.wait()
                break
        _log.info("exiting in favour of another version or build")
        self.leave()

    # --- calls -----------------------------------------------------------------------------------

    async def _answer_call(
        self, name: str, fields: dict[str, str], body: bytes
    ) -> tuple[bool, bytes]:
        if name == "stop":
            self.leave()
            return True, msgspec.json.encode(StopResult(pid=os.getpid(), stopping=True))
        if name == "open_page":
            return await self._open_page(fields)
        return await self._calls.handle(name, fields, body)

    async def _open_page(self, fields: dict[str, str]) -> tuple[bool, bytes]:
        url = self._http.url("ui/")
        if url is None:
            return False, msgspec.json.encode({"error": NO_HTTP})
        try:
            place = await self._entrance.places.find(fields)
        except TimeoutError as error:
            return False, msgspec.json.encode({"error": reason_of(error)})
        invited = f"{url}#code={self._visits.invite(fields | {'project': place.root})}"
        return True, msgspec.json.encode(PageResult(url=invited, valid_s=INVITATION_S))

    def _page(self) -> Application:
        from ...sinks.page.app import Page

        port = PageCalls(self._app, self._calls, self._entrance)
        return Page(port, self._visits, self._app.activity, seen=self._note_client).app()

    async def status(self) -> StatusResult:
        """What ``subcog status`` shows."""
        archive = self._app.archive.loaded
        passages = self._app.passages.loaded
        settled = self._app.archive.settled
        llm, usage = self._app.llm, resource.getrusage(resource.RUSAGE_SELF)
        return StatusResult(
            pid=os.getpid(),
            version=VERSION,
            build=self._build,
            socket=str(socket_path(self._paths)),
            database=str(self._paths.database),
            memories=await _holding(archive) if archive else None,
            index=index_status(archive) if archive else None,
            sessions=passages.sessions if passages else None,
            passages=passages.count if passages else None,
            ready=archive is not None,
            problem=self._app.archive.problem or None,
            metrics_url=self._http.url("metrics"),
            mcp_url=self._http.url("mcp") if self._http.token else None,
            uptime_s=round(time.time() - self._started, 1),
            clients=self._server.connections,
            mcp_sessions=self._mcp.sessions,
            inboxes=self._app.bus.depths(),
            late_prompts=self._entrance.late_prompts,
            max_rss_mb=usage.ru_maxrss // 1024,
            llm=convert(llm.status(), ModelStatus) if llm else None,
            team=convert(self._app.team.status(), TeamSummary | None),
            backup=await self._backups.summary() if settled else None,
            damage=self._damage_seen() if settled else (),
            log=str(self._paths.log),
            heard=convert(
                self._entrance.activity.list(), tuple[HookActivity, ...], from_attributes=True
            ),
        )

    def _damage_seen(self) -> tuple[str, ...]:
        from ...sinks.repair.kept_copies import damage_seen

        return damage_seen(self._paths.database)


async def _holding(archive: Archive) -> int:
    """How many memories hold now; where the store does not say so soon, how many are indexed."""
    with anyio.move_on_after(_COUNT_S), contextlib.suppress(ConnectionError):
        return sum((await archive.store.holding()).values())
    return archive.count


def run_daemon(loaded: Loaded, paths: Paths) -> None:
    """Run the daemon in this process until it leaves. Raises ``AlreadyRunning``."""
    # Before numpy is imported: a second BLAS thread makes small products slower, not faster.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    os.umask(0o077)
    # What is imported and loaded now stays for good: collecting garbage meanwhile is a waste.
    gc.disable()
    # The loop must not wait 5 ms (the default) for a search thread to release the GIL.
    sys.setswitchinterval(0.0005)
    with only_one(paths.lock) as lock:
        anyio.run(_run, loaded, paths, lock)


async def _run(loaded: Loaded, paths: Paths, lock: Lock) -> None:
    await Daemon(loaded, paths, lock).run()
