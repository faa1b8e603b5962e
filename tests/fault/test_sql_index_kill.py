"""The process is killed while the search tables are filled: they are whole, and go on from it."""

from __future__ import annotations

import random

import pytest

from subcog.sinks.search.sql_index import SqlIndex
from subcog.sinks.sql import search_tables
from tests.stores import HERE, make_row, opened
from tests.thorough import times

from .killed import said_until_killed

KILLS = times(2, 60)
FORGOTTEN_EACH = 7

FILL = """
import asyncio, sys
from pathlib import Path
from subcog.sinks.search.sql_index import SqlIndex
from tests.stores import HERE, make_row, make_store

async def fill(path, start):
    store = make_store(Path(path))
    await store.open()
    index, number = SqlIndex(store), start
    while True:
        await store.put([make_row(number + step) for step in range(40)])
        index.note(make_row(number + step).memory.id for step in range(40))
        await index.catch_up()
        await store.put([make_row(number, version=2, content="changed")])
        assert await store.forget(make_row(number + FORGOTTEN_EACH).memory.id, [HERE])
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()
        number += 40

FORGOTTEN_EACH = 7
asyncio.run(fill(sys.argv[1], int(sys.argv[2])))
"""

ORPHANS = """
SELECT (SELECT count(*) FROM store.search_terms ANTI JOIN store.search_documents USING (doc))
    + (SELECT count(*) FROM store.search_vectors ANTI JOIN store.search_documents USING (doc))
    + (SELECT count(*) - count(DISTINCT id) FROM store.search_documents)
    + (SELECT count(*) - count(DISTINCT doc) FROM store.search_documents)
    + (SELECT count(*) FROM store.search_documents d JOIN store.memories m USING (id)
       WHERE m.forgotten_at IS NOT NULL)
"""


@pytest.mark.slow
async def test_after_each_kill_the_tables_hold_whole_memories_and_nothing_forgotten(tmp_path):
    path, dice = tmp_path / "s.duckdb", random.Random(3)
    forgotten: list[str] = []
    for kill in range(KILLS):
        said = said_until_killed(FILL, path, (kill + 1) * 100_000, lines=dice.randrange(1, 6))
        forgotten += [make_row(int(line) + FORGOTTEN_EACH).memory.id for line in said]

        async with opened(path) as store:
            [(wrong,)] = await store.read(lambda cursor: cursor.execute(ORPHANS).fetchall())
            assert wrong == 0
            await SqlIndex(store).fill()
            assert await store.read(search_tables.different) == []
            [(noted,)] = await store.read(
                lambda cursor: cursor.execute(
                    "SELECT count(*) FROM store.search_documents"
                ).fetchall()
            )
            assert noted == (await store.counts())[HERE]
    assert len(forgotten) >= KILLS
