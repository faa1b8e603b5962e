"""One member's machine, without a daemon: a real store, and what keeps it in step with the team."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

import anyio
from msgspec.structs import replace

from subcog.bus.values import Memory, Scope
from subcog.sinks.models.embedder import Encoder
from subcog.sinks.store.rows import Row
from subcog.sinks.store.store import Store
from subcog.sinks.team.protocol import Applied, Membership, TeamServer
from subcog.sinks.team.sync import Sync
from subcog.sinks.team.sync_state import SyncContext
from tests.stores import HERE, FakeClock, make_row, opened
from tests.waiting import until

JOINED = datetime(2026, 1, 1, tzinfo=UTC)


class Machine:
    """``member``'s, with the team at ``server``.

    ``applied`` is what the indexes would hear, and ``remaining`` what was to come then.
    """

    def __init__(
        self,
        store: Store,
        server: TeamServer,
        member: str,
        *,
        clean: Callable[[Memory], Memory | None],
        clock: FakeClock,
    ) -> None:
        self.store, self.server, self.member = store, server, member
        self.replica = store.replica
        self.applied: list[Applied] = []
        self.remaining: list[int | None] = []
        self.clock = clock
        self._clean = clean
        self._turn = anyio.Lock()
        self.sync: Sync

    async def join(self, *scopes: Scope) -> None:
        """Join the team, and share ``scopes``."""
        about = await self.server.about()
        membership = Membership(
            about.team, self.member, about.epoch, JOINED, "db:5432/memory", about.founded
        )
        await self.replica.join(membership)
        for scope in scopes:
            await self.replica.share(scope, scope.id, sends=True)
        self.sync = Sync(
            SyncContext(self.replica, Encoder(), self._turn, self._apply),
            membership,
            lambda: self.server,
            clean=self._clean,
            clock=self.clock,
            random=lambda: 0.0,
        )

    async def _apply(self, applied: Applied) -> None:
        self.applied.append(applied)
        self.remaining.append(self.sync.state().remaining)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Meanwhile it sends and receives."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.sync.run)
            yield
            tasks.cancel_scope.cancel()

    # --- what a test does and asks ---------------------------------------------------------------

    async def put(self, *rows: Row) -> tuple[bool, ...]:
        taken = await self.store.put(rows)
        self.sync.nudge()
        return taken

    async def change(self, memory_id: str, **fields: object) -> Memory | None:
        """Write the next version of a memory, as a command would; None where there is none."""
        async with self._turn:
            found = await self.store.get([memory_id], [HERE])
            if not found:
                return None
            [old] = found
            changed = replace(old, version=old.version + 1, updated_at=self.clock(), **fields)
            await self.put(replace(make_row(), memory=changed))
        return changed

    async def forget(self, memory_id: str) -> bool:
        gone = await self.store.forget(memory_id, [HERE])
        self.sync.nudge()
        return gone

    async def current(self) -> dict[str, Memory]:
        """The current version of each memory here."""
        return {memory.id: memory for memory in await self.store.page([HERE], limit=10_000)}

    async def has(self, *rows: Row, scope: Scope = HERE) -> bool:
        """Whether the current versions here are those of ``rows``."""
        found = await self.store.get([row.memory.id for row in rows], [scope])
        wanted = [(row.memory.version, row.memory.content) for row in rows]
        return [(memory.version, memory.content) for memory in found] == wanted

    async def in_step(self) -> None:
        """Wait until it has sent and received everything, as far as it knows."""
        await until(self._is_in_step)

    def _is_in_step(self) -> bool:
        state = self.sync.state()
        looked = state.last_push and state.last_pull and state.connected
        return bool(looked and not state.outbox and not state.remaining)


@asynccontextmanager
async def machine(
    folder: Path,
    server: TeamServer,
    member: str,
    *scopes: Scope,
    clean: Callable[[Memory], Memory | None] = lambda memory: memory,
    clock: FakeClock | None = None,
) -> AsyncIterator[Machine]:
    """A machine that has joined the team and shares ``scopes``, not running yet."""
    clock = clock or FakeClock()
    async with opened(folder / f"{member}.duckdb", clock) as store:
        made = Machine(store, server, member, clean=clean, clock=clock)
        await made.join(*scopes)
        yield made
