"""What a memory, a change, a query and a wake-up cost the team's server: bytes and milliseconds.

    python -m perf.team_costs --memories 100000

``docs/scale.md`` carries these figures on. The server's processor time is that of all its
processes together, so each cost is measured alone, one caller, on loopback.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import psycopg
from msgspec.structs import replace

from subcog.bus.values import Query
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.store.rows import Row
from subcog.sinks.team.postgres.store import PostgresStore
from subcog.sinks.team.protocol import Cursor
from tests.postgres import Database
from tests.proxy import HOST, Proxy

from .prose import ORGANISATION, memories, projects, question
from .report import percentile
from .team_server import backends, cpu_s, relations, team_server, wal_bytes

SCOPES = (ORGANISATION, *projects(39))
BATCH = 500
ROUNDS = 200
LISTENERS = (0, 25, 100)


@dataclass
class Cost:
    """What one of something takes: wall and processor milliseconds, bytes of WAL and of network."""

    what: str
    wall_ms: float
    server_ms: float
    client_ms: float
    wal_bytes: float
    sent_bytes: float
    received_bytes: float

    HEAD = (
        f"{'':<36}{'wall ms':>9}{'server ms':>11}{'client ms':>11}"
        f"{'WAL bytes':>11}{'sent':>11}{'received':>11}"
    )

    def __str__(self) -> str:
        times = f"{self.wall_ms:>9.2f}{self.server_ms:>11.2f}{self.client_ms:>11.2f}"
        sizes = (self.wal_bytes, self.sent_bytes, self.received_bytes)
        return f"{self.what:<36}{times}" + "".join(f"{size:>11,.0f}" for size in sizes)


class Meter:
    """Counts what happens between ``start`` and ``stop``; ``proxy`` is what the store goes by."""

    def __init__(self, database: Database, owner: psycopg.Connection, proxy: Proxy) -> None:
        self._server, self._owner, self._proxy = database.server, owner, proxy

    def _now(self) -> tuple[float, ...]:
        carried = (self._proxy.sent_bytes, self._proxy.received_bytes)
        return (cpu_s(self._server), time.process_time(), wal_bytes(self._owner), *carried)

    async def measure(self, what: str, rounds: int, work: Callable[[], Awaitable[object]]) -> Cost:
        """The cost of one ``work``, of so many rounds; wall is the median."""
        wall_ms, before = [], self._now()
        for _ in range(rounds):
            began = time.perf_counter()
            await work()
            wall_ms.append((time.perf_counter() - began) * 1000)
        # What the server does behind (its writers) belongs to it.
        server, client, wal, sent, received = (
            (b - a) / rounds for a, b in zip(before, self._now(), strict=True)
        )
        wall = percentile(wall_ms, 50)
        return Cost(what, wall, server * 1000, client * 1000, wal, sent, received)


class Rows:
    """Rows to write, made and encoded in batches, each with an id of its own."""

    def __init__(self, count: int) -> None:
        self._memories = memories(count, SCOPES)
        self._embedder = Embedder.load(None)
        self._ready: list[Row] = []

    def batch(self, size: int) -> list[Row]:
        while len(self._ready) < size:
            part = [one for _, one in zip(range(BATCH), self._memories, strict=False)]
            if not part:
                break
            encodings = self._embedder.encode_many([searchable(one) for one in part])
            self._ready += [Row(m, e) for m, e in zip(part, encodings, strict=True)]
        taken, self._ready = self._ready[:size], self._ready[size:]
        return taken


async def fill(store: PostgresStore, rows: Rows, count: int) -> float:
    """Put ``count`` memories in batches; the seconds that the server took for them."""
    took_s = 0.0
    for start in range(0, count, BATCH):
        batch = rows.batch(min(BATCH, count - start))
        began = time.perf_counter()
        await store.put(batch)
        took_s += time.perf_counter() - began
    return took_s


def graph(owner: psycopg.Connection) -> float:
    """Put all vectors into the graph, as after a large import; the seconds that took.

    Building it takes a quarter of the time of adding one vector after the other.
    """
    began = time.perf_counter()
    owner.execute("SET maintenance_work_mem = '512MB'; SET search_path = subcog, public")
    [index] = owner.execute(
        "SELECT indexdef FROM pg_indexes WHERE indexname = 'vectors_graph'"
    ).fetchone() or ("",)
    owner.execute("DROP INDEX vectors_graph; UPDATE vectors SET graphed = true")
    owner.execute(index.encode())
    owner.execute("VACUUM ANALYZE")
    return time.perf_counter() - began


@asynccontextmanager
async def listening(url: str, count: int) -> AsyncIterator[None]:
    """``count`` machines wait for the team's wake-ups, each by a connection of its own."""
    stores = [PostgresStore(url, clock=now) for _ in range(count)]
    ready = [asyncio.Event() for _ in stores]

    async def listen(store: PostgresStore, connected: asyncio.Event) -> None:
        async for _ in store.listen():
            connected.set()

    tasks = [asyncio.create_task(listen(*both)) for both in zip(stores, ready, strict=True)]
    try:
        await asyncio.gather(*(one.wait() for one in ready))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for store in stores:
            await store.close()


async def costs(database: Database, proxy: Proxy, memories_: int) -> AsyncIterator[Cost]:
    """Each of the costs, at so many memories."""
    with psycopg.connect(database.owner_url, autocommit=True) as owner:
        store = PostgresStore(through(database.url(), database, proxy), clock=now)
        rows = Rows(memories_ + 20 * BATCH)
        try:
            filled_s = await fill(store, rows, memories_)
            graphed_s = graph(owner)
            print(f"{memories_:,} memories: put in {filled_s:.1f} s, graph in {graphed_s:.1f} s")
            print("\n".join(disk(owner, memories_)))
            meter = Meter(database, owner, proxy)
            async for cost in _operations(store, rows, meter):
                yield cost
            async for cost in _wake_ups(database, store, rows, meter):
                yield cost
        finally:
            await store.close()


async def _operations(store: PostgresStore, rows: Rows, meter: Meter) -> AsyncIterator[Cost]:
    yield await _puts(store, rows, meter, "put of one", ROUNDS, 1)
    yield await _puts(store, rows, meter, f"put of {BATCH}", 8, BATCH)
    yield await meter.measure("200 vectors into the graph", 20, store.tidy)
    yield await meter.measure("who is there, what is shared", ROUNDS, store.about)
    end = await _end(store)
    yield await meter.measure("pull, nothing new", ROUNDS, lambda: store.changes(end, SCOPES))
    before = replace(end, seq=end.seq - 1)
    yield await meter.measure("pull of one", ROUNDS, lambda: store.changes(before, SCOPES))
    first = Cursor(end.epoch, 0, 0)
    yield await meter.measure(f"pull of {BATCH}", 20, lambda: store.changes(first, SCOPES))
    rng, ask = random.Random(3), Embedder.load(None).encode_query
    texts = [question(rng, one.content) for one in memories(ROUNDS, SCOPES, seed=5)]
    for what, scopes in (("large", SCOPES[:2]), ("rare", SCOPES[-1:]), ("all 40", SCOPES)):
        asked = iter([(Query(text=text, scopes=scopes), ask(text).vector) for text in texts])
        yield await meter.measure(
            f"hybrid query, {what} scopes", ROUNDS, lambda asked=asked: store.search(*next(asked))
        )


async def _puts(
    store: PostgresStore, rows: Rows, meter: Meter, what: str, rounds: int, size: int
) -> Cost:
    batches = iter([rows.batch(size) for _ in range(rounds)])  # made before it is measured
    return await meter.measure(what, rounds, lambda: store.put(next(batches)))


async def _wake_ups(
    database: Database, store: PostgresStore, rows: Rows, meter: Meter
) -> AsyncIterator[Cost]:
    for count in LISTENERS:
        async with listening(database.url(), count):
            what = f"put of one, {count} listening"
            yield await _puts(store, rows, meter, what, ROUNDS, 1)
            if count:
                print(f"a connection that listens: {resident_kb(database):,.0f} kB")


async def _end(store: PostgresStore) -> Cursor:
    cursor = Cursor()
    while (found := await store.changes(cursor, SCOPES)).behind:
        cursor = found.cursor
    return found.cursor


def disk(owner: psycopg.Connection, count: int) -> Iterator[str]:
    """What each table and index takes, a memory."""
    total = 0
    for one in relations(owner):
        total += one.total_bytes
        if one.total_bytes >= 10 * count:
            yield f"  {one.kind:<6}{one.name:<32}{one.total_bytes / count:>8,.0f} bytes a memory"
    yield f"  {'':<6}{'all':<32}{total / count:>8,.0f} bytes a memory"


def resident_kb(database: Database) -> float:
    """What one connection takes of memory, shared pages divided among those who share them."""
    sizes = []
    for pid in backends(database.server):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        sizes.append(next(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon")))
    return percentile(sizes, 50)


def through(url: str, database: Database, proxy: Proxy) -> str:
    return url.replace(f"{HOST}:{database.server.port}", f"{HOST}:{proxy.port}")


def now() -> datetime:
    return datetime.now(UTC)


async def _report(database: Database, proxy: Proxy, count: int) -> None:
    print(Cost.HEAD)
    async for cost in costs(database, proxy, count):
        print(cost)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--memories", type=int, default=100_000)
    count = parser.parse_args().memories
    with team_server() as database, Proxy((HOST, database.server.port)) as proxy:
        asyncio.run(_report(database, proxy, count))


if __name__ == "__main__":
    main()
