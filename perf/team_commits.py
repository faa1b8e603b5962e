"""What NOTIFY at commit costs: commits a second, by writers at once, with it and without.

    python -m perf.team_commits

A commit that notifies holds a lock of the whole cluster until it is on disk, so such commits do
not share one write to disk as others do; and each wakes every connection of the database that
listens, to whatever channel.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import psycopg

from tests.postgres import Database

from .team_server import cpu_s, team_server

SECONDS = 3.0
WRITERS = (1, 4, 16)
LISTENERS = (0, 50, 200)
INSERT = "INSERT INTO written (body) VALUES (repeat('x', 1000))"
TELLING = f"WITH row AS ({INSERT} RETURNING 1) SELECT pg_notify('told', '') FROM row"


async def commits(url: str, statement: str, writers: int) -> int:
    """How many transactions of one statement so many writers commit in ``SECONDS``."""

    async def write() -> int:
        done, end = 0, time.perf_counter() + SECONDS
        async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:
            while time.perf_counter() < end:
                await connection.execute(statement)
                done += 1
        return done

    return sum(await asyncio.gather(*(write() for _ in range(writers))))


@asynccontextmanager
async def listeners(url: str, count: int) -> AsyncIterator[None]:
    """``count`` connections that listen to a channel on which nothing is ever said."""
    opened = [await psycopg.AsyncConnection.connect(url, autocommit=True) for _ in range(count)]
    try:
        for connection in opened:
            await connection.execute("LISTEN elsewhere")
        yield
    finally:
        for connection in opened:
            await connection.close()


async def rows(database: Database) -> AsyncIterator[str]:
    url = database.owner_url
    for writers in WRITERS:
        silent = await commits(url, INSERT, writers) / SECONDS
        telling = await commits(url, TELLING, writers) / SECONDS
        yield f"{writers:>3} writers: {silent:>8,.0f}/s without NOTIFY, {telling:>8,.0f}/s with it"
    for count in LISTENERS:
        async with listeners(url, count):
            before = cpu_s(database.server)
            done = await commits(url, TELLING, 1)
            each_ms = (cpu_s(database.server) - before) / done * 1000
            yield (
                f"{count:>3} listen elsewhere: {done / SECONDS:>8,.0f}/s,"
                f" server {each_ms:.2f} ms of processor a commit"
            )


async def _report(database: Database) -> None:
    async for row in rows(database):
        print(row)


def main() -> None:
    with team_server() as database:
        with psycopg.connect(database.owner_url, autocommit=True) as owner:
            owner.execute("CREATE TABLE written (id bigserial PRIMARY KEY, body text)")
        asyncio.run(_report(database))


if __name__ == "__main__":
    main()
