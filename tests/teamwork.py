"""Members of a team at its server, for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio

from subcog.bus.values import Scope
from subcog.sinks.team.protocol import Change, Cursor

from .postgres import PATIENCE_S, Database
from .stores import ALL, HERE, FakeClock
from .team_store import ReadableStore

SCOPES = (HERE, ALL)


@asynccontextmanager
async def member_of(
    team: Database, role: str = "alice", clock: FakeClock | None = None
) -> AsyncIterator[ReadableStore]:
    """The store as ``role`` has it; closed at the end."""
    store = ReadableStore(team.url(role), clock=clock or FakeClock())
    await store.open()
    try:
        yield store
    finally:
        await store.close()


async def whole_feed(store: ReadableStore, scopes: tuple[Scope, ...] = SCOPES) -> list[Change]:
    """Every change of ``scopes`` from the beginning, read in small pieces."""
    cursor, found, behind = Cursor((await store.about()).epoch), [], True
    with anyio.fail_after(PATIENCE_S):
        while behind:
            part = await store.changes(cursor, scopes, limit=3)
            cursor, behind = part.cursor, part.behind
            found += part.changes
    return found
