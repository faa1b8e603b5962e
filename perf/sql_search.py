"""What search by SQL takes, beside the index in memory: bytes on disk and milliseconds.

python -m perf.sql_search [1000 10000 100000]

Every memory is in scope. Medians and 99th percentiles of ``ROUNDS`` questions, in processor time of
one thread, without the cross-encoder, which costs both the same. Filling and loading go by the
clock.
"""

from __future__ import annotations

import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio
from duckdb import DuckDBPyConnection

from subcog.bus.values import Query, Scope
from subcog.sinks.memories.repository import Archive
from subcog.sinks.sql.views import show_scopes
from tests.archives import make_archive
from tests.stores import FakeClock

from .corpus import fill, question
from .report import percentile

ROUNDS = 60
SCOPE = Scope("project", "measured")


def main() -> None:
    """Measure each number of memories that is named."""
    counts = [int(word) for word in sys.argv[1:]] or [1_000, 10_000, 100_000]
    for count in counts:
        with tempfile.TemporaryDirectory() as folder:
            anyio.run(measure, Path(folder), count)


async def measure(folder: Path, count: int) -> None:
    """Print the figures of a store with ``count`` memories."""
    database = folder / "subcog.duckdb"
    await anyio.to_thread.run_sync(fill, database, SCOPE, count)
    print(f"\n{count:,} memories, {database.stat().st_size / 1e6:.1f} MB without the search tables")
    archive = make_archive(folder, FakeClock())
    began = time.perf_counter()
    await archive.open()
    print(f"  index in memory: loaded in {time.perf_counter() - began:.2f} s, ", end="")
    print(f"{archive.index.stats.bytes / 1e6:.0f} MB")
    began = time.perf_counter()
    await archive.sql_index.fill()
    took_s = time.perf_counter() - began
    await archive.store.checkpoint()
    print(
        f"  search tables: filled in {took_s:.1f} s, {database.stat().st_size / 1e6:.1f} MB in all"
    )
    began = time.perf_counter()
    assert await archive.sql_index.fill() == 0
    print(f"  search tables: found to be full in {time.perf_counter() - began:.2f} s")
    await compare(archive)
    await archive.close()


async def compare(archive: Archive) -> None:
    """Print what the same questions take by each way."""
    rng = random.Random(7)
    asked = [question(rng) for _ in range(ROUNDS)]
    for mode in ("text", "vector", "hybrid"):
        queries = [Query(text=text, scopes=(SCOPE,), mode=mode) for text in asked]
        warm = await anyio.to_thread.run_sync(warm_ms, archive, queries)
        by_sql = await archive.store.read(partial(sql_ms, archive=archive, queries=queries))
        print(f"  {mode:<7} in memory {shown(warm)}   by SQL {shown(by_sql)}")
    for call, name in (("memory_bm25($given)", "terms"), ("memory_cosine($given)", "vector")):
        given = [getattr(archive.search.encode(text), name).tolist() for text in asked]
        took = await archive.store.read(partial(macro_ms, call=call, given=given))
        print(f"  {call.partition('(')[0]:<14} best ten {shown(took)}")


def warm_ms(archive: Archive, queries: Sequence[Query]) -> list[float]:
    """What each of ``queries`` takes by the index in memory."""
    return [timed(partial(archive.search.recall_now, query)) for query in queries]


def sql_ms(cursor: DuckDBPyConnection, archive: Archive, queries: Sequence[Query]) -> list[float]:
    """The same without that index."""
    search, encoder = archive.search.recall_by_sql, archive.encoder
    return [timed(partial(search, cursor, query, encoder, "index.off")) for query in queries]


def macro_ms(cursor: DuckDBPyConnection, call: str, given: list[list[float]]) -> list[float]:
    """What the best ten of a macro take, for each argument."""
    show_scopes(cursor, [str(SCOPE)])
    sql = f"FROM {call} LIMIT 10"

    def best(argument: list[float]) -> None:
        cursor.execute(sql, {"given": argument}).fetchall()

    return [timed(partial(best, argument)) for argument in given]


def timed(work: Callable[[], object]) -> float:
    """The processor time of ``work`` in milliseconds: others may use the machine as well."""
    began = time.thread_time()
    work()
    return (time.thread_time() - began) * 1000


def shown(times: list[float]) -> str:
    """The median and the 99th percentile."""
    return f"p50 {percentile(times, 50):7.1f}  p99 {percentile(times, 99):7.1f} ms"


if __name__ == "__main__":
    main()
