"""The team's part of a daemon: nothing of it is imported before a team was joined."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from datetime import datetime
from functools import partial
from importlib.util import find_spec
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.bus import BusClosed, raised_at
from ...bus.events import Event, MemoriesStored, MemoryForgotten
from ...bus.values import Memory
from ...stages.ports import RecallUnavailable
from ...stages.redaction.redact import Redactor, release
from .archives import LazyArchive

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from ...sinks.team.postgres.store import PostgresStore
    from ...sinks.team.protocol import Applied, Membership
    from ...sinks.team.replica import Replica
    from ...sinks.team.sync import Sync
    from ...sinks.team.sync_state import SyncState
    from ...sinks.telemetry.metrics import Gauge

MISSING = "a team's memory needs psycopg: pip install 'subcog[team]'"
NO_URL = "no [team] url is set: `subcog team join URL` sets it"
BROKE = "something broke that nobody expected, and is tried again within a minute: see the log"
# After something broke that nobody expected.
AGAIN_S = 60.0
_log = logging.getLogger(__name__)


class NoServer(ConnectionError):
    """There is no way to a server; the message says what to do."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


class Team:
    """Runs the synchronisation while a team is joined. ``publish`` lets the indexes follow."""

    def __init__(
        self,
        url: str,
        *,
        archive: LazyArchive,
        publish: Callable[[Event], Awaitable[None]],
        redactor: Redactor,
        new_id: Callable[[], str],
        clock: Callable[[], datetime],
    ) -> None:
        self.url = url
        self._archive = archive
        self._publish = publish
        self._redactor = redactor
        self._new_id = new_id
        self._clock = clock
        self._replica: Replica | None = None
        self._sync: Sync | None = None
        self._membership: Membership | None = None
        self._problem: ConnectionError | None = None
        self._changed = anyio.Event()
        self._busy = anyio.Lock()

    # --- life ------------------------------------------------------------------------------------

    async def run(self) -> None:
        """Keep in step with the team, whenever there is one. Never returns."""
        while True:
            self._changed = anyio.Event()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_in_step)
                await self._changed.wait()
                tasks.cancel_scope.cancel()

    def attach(self, replica: Replica) -> None:
        """Use ``replica``, which is that of the archive about to be loaded."""
        self._replica = replica

    async def replica(self) -> Replica:
        """The loaded archive's replica. Raises ``RecallUnavailable`` when time runs out."""
        await self._archive.get()
        if self._replica is None:
            raise RecallUnavailable("the memories are still being loaded")
        return self._replica

    def restart(self) -> None:
        """Another archive is there, or another membership."""
        self._changed.set()

    @asynccontextmanager
    async def paused(self) -> AsyncIterator[None]:
        """Meanwhile nothing is sent or received; after that it begins anew."""
        self.restart()  # whoever runs lets go of the turn, and whoever comes next waits for it
        async with self._busy:
            yield

    async def _keep_in_step(self) -> None:
        async with self._busy:
            while (archive := self._archive.loaded) is not None:
                try:
                    replica = await self.replica()
                    self._membership = await replica.membership()
                except (ConnectionError, ValueError) as error:
                    extra = {"error": type(error).__name__}
                    _log.warning("cannot read the team membership", extra=extra)
                else:
                    if self._membership is None:
                        return
                    await self._run_sync(archive, replica, self._membership)
                await anyio.sleep(AGAIN_S)

    async def _run_sync(self, archive: Archive, replica: Replica, membership: Membership) -> None:
        """Run it; what breaks in there that nobody expected ends it, and not the daemon."""
        self._problem = None
        try:
            build = partial(self._build_sync, archive, replica, membership)
            self._sync = await anyio.to_thread.run_sync(build)
        except ConnectionError as error:
            self._problem = error
            return
        running = asyncio.create_task(self._sync.run())
        try:
            await asyncio.wait([running])
        finally:
            self._sync = None
            running.cancel()
            with anyio.CancelScope(shield=True):
                await asyncio.wait([running])
        if broke := running.exception():
            self._problem = NoServer("failed", BROKE)
            broke = _innermost(broke)
            extra = {"error": type(broke).__name__, "at": raised_at(broke.__traceback__)}
            _log.error("the team synchronisation failed", extra=extra)

    def _build_sync(self, archive: Archive, replica: Replica, membership: Membership) -> Sync:
        server = self.server(self.url, membership)
        from ...sinks.team.sync import Sync
        from ...sinks.team.sync_state import SyncContext

        return Sync(
            SyncContext(replica, archive.encoder, archive.lifecycle.write_lock, self.tell),
            membership,
            lambda: server,
            clean=self._released,
            clock=self._clock,
            random=random.random,
        )

    def server(self, url: str, joined: Membership | None = None) -> PostgresStore:
        """The server at ``url``, not connected yet. Imports: in a thread.

        It does nothing where that is not the team ``joined``.

        Raises ``NoServer``, or another ``ConnectionError`` where the address is none.
        """
        if not url:
            raise NoServer("no_url", NO_URL)
        if find_spec("psycopg") is None:
            raise NoServer("no_psycopg", MISSING)
        try:
            from ...sinks.team.postgres.store import PostgresStore
        except ImportError:  # psycopg is there, and the library that it needs is not
            raise NoServer("no_psycopg", MISSING) from None

        return PostgresStore(url, clock=self._clock, joined=joined)

    def _released(self, memory: Memory) -> Memory | None:
        from ...sinks.store.rows import content_hash

        clean = release(memory, redactor=self._redactor)
        if clean is None or clean.content == memory.content:
            return clean
        return replace(clean, content_hash=content_hash(clean.content))

    # --- what happens ----------------------------------------------------------------------------

    def nudge(self, _: Event) -> None:
        """Something was stored or forgotten here."""
        if self._sync is not None:
            self._sync.nudge()

    def refresh(self) -> None:
        """What is shared has changed."""
        if self._sync is not None:
            self._sync.refresh()

    async def tell(self, applied: Applied) -> None:
        """Let the indexes, and who watches, follow what was committed."""
        trace, stored = self._new_id(), tuple((r.memory, r.encoding) for r in applied.stored)
        with suppress(BusClosed):  # the daemon leaves; the next one reads it all anew
            if stored:
                await self._publish(MemoriesStored(trace=trace, stored=stored))
            for memory_id, scope in applied.forgotten:
                await self._publish(MemoryForgotten(trace=trace, id=memory_id, scope=scope))

    # --- telling ---------------------------------------------------------------------------------

    @property
    def state(self) -> SyncState | None:
        """How it goes; None where it does not run."""
        return self._sync.state() if self._sync is not None else None

    @property
    def problem(self) -> tuple[str, str] | None:
        """Why it does not go on: a constant, and what to do."""
        if (problem := self._problem) is not None:
            return str(getattr(problem, "reason", "failed")), str(problem)
        state = self.state
        if state is not None and state.problem is not None:
            return state.problem.reason, state.problem.message
        return None

    def status(self) -> dict[str, object] | None:
        """What ``subcog status`` and the doctor are told; None where no team was joined."""
        if self._membership is None:
            return None
        state, problem = self.state, self.problem
        return {
            "team": self._membership.team,
            "member": self._membership.member,
            "server": self._membership.server,
            "connected": state is not None and state.connected,
            "lag_s": round(state.lag_s, 1) if state else None,
            "outbox": state.outbox if state else None,
            "problem": {"reason": problem[0], "message": problem[1]} if problem else None,
        }

    def gauges(self) -> dict[str, Gauge]:
        """What the metrics read at each scrape; 0 where no team was joined."""
        state = self.state
        return {
            "subcog_team_connected": (
                "1 while the team's server is reachable.",
                state is not None and state.connected,
            ),
            "subcog_team_lag_seconds": (
                "Time since this machine was last in sync with its team; 0 while in sync.",
                state.lag_s if state else 0,
            ),
            "subcog_team_outbox": (
                "Versions and deletions queued for the team.",
                state.outbox if state else 0,
            ),
        }


def _innermost(error: BaseException) -> BaseException:
    """What a task group was ended by."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
