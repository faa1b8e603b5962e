"""Rows and stores for tests."""

from __future__ import annotations

import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import anyio.to_thread

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


@cache
def _empty_file() -> bytes:
    """The file of a store that was opened once, and holds nothing."""
    with tempfile.TemporaryDirectory() as folder:
        store = make_store(Path(folder) / "s.duckdb")
        store.database.open()
        store.database.close()
        return store.database.path.read_bytes()


def put_empty_file(path: Path) -> None:
    """Let an empty store lie at ``path``, unless there is one: its tables need not be made anew.

    Where the file was taken away, and its log is left, nothing is put there.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not any(path.parent.glob(f"{path.name}*")):
        path.write_bytes(_empty_file())


@asynccontextmanager
async def opened(path: Path, clock: FakeClock | None = None) -> AsyncIterator[ReplicatedStore]:
    """A store, open, and closed at the end; where there is none, it begins with an empty one."""
    await anyio.to_thread.run_sync(put_empty_file, path)
    async with new(path, clock) as store:
        yield store


@asynccontextmanager
async def new(path: Path, clock: FakeClock | None = None) -> AsyncIterator[ReplicatedStore]:
    """The same, where the store itself makes its file."""
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
