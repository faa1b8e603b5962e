"""Rows and stores for tests."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from subcog.bus.values import Encoding, Memory, Scope
from subcog.sinks.store.rows import Row
from subcog.sinks.store.store import Store
from subcog.sinks.team.outbox import Outbox
from subcog.sinks.team.replica import Replica

START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)
HERE = Scope("project", "here:with/colon")
ELSEWHERE = Scope("project", "elsewhere")
ME = Scope("user", "me")
ALL = Scope("org", "local")


def make_row(number: int = 1, **fields: object) -> Row:
    """Row ``number``, one second younger than the one before."""
    made = START + timedelta(seconds=number)
    known: dict[str, object] = {
        "id": f"mem_{number:026}",
        "scope": HERE,
        "namespace": "decisions",
        "content": f"the content of number {number}",
        "summary": f"number {number}",
        "created_at": made,
        "updated_at": made,
        "content_hash": f"hash-{number}",
    }
    memory = Memory(**(known | fields))  # type: ignore[arg-type]
    return Row(memory, Encoding("some-model", b"\0\x3c" * 8, b"\1\0", b"\1\0", b"\7\0\0\0"))


class FakeClock:
    """A clock that stands still until it is moved."""

    def __init__(self, now: datetime = START + timedelta(days=30)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


class ReplicatedStore(Store):
    """A store and its part in a team's memory, connected as the app does it."""

    def __init__(self, path: Path, *, clock: FakeClock) -> None:
        outbox = Outbox()
        super().__init__(path, memory_limit_mb=256, clock=clock, queue=outbox)
        self.replica = Replica(self, outbox, clock=clock)


def make_store(path: Path, clock: FakeClock | None = None) -> ReplicatedStore:
    """A store that is not open yet."""
    return ReplicatedStore(path, clock=clock or FakeClock())


@asynccontextmanager
async def opened(path: Path, clock: FakeClock | None = None) -> AsyncIterator[ReplicatedStore]:
    """A store, open, and closed at the end."""
    store = make_store(path, clock)
    await store.open()
    try:
        yield store
    finally:
        await store.close()


def versions_of(row: Row, *changes: dict[str, object]) -> list[Row]:
    """``row``, and one version more of it for each of ``changes``."""
    rows = [row]
    for number, change in enumerate(changes, 2):
        rows.append(make_row(1, **({"id": row.memory.id, "version": number} | change)))
    return rows


async def everything(store: Store) -> list[Row]:
    """What ``load`` gives."""
    return [row async for batch in store.load() for row in batch]
