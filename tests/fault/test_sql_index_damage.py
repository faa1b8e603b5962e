"""A block of the search tables is damaged: they are begun anew, and nothing else suffers."""

from __future__ import annotations

import random
from pathlib import Path

import anyio
import pytest

from subcog.sinks.repair.repair import diagnose
from subcog.sinks.search.sql_index import SqlIndex
from subcog.sinks.sql import search_tables
from subcog.sinks.store.store import StoreUnavailable
from tests.stores import HERE, make_row, opened

from .ruins import break_column

# So many that the tables have blocks of their own.
ROWS = 2_000
GONE, OTHER = make_row(7).memory.id, make_row(8).memory.id


@pytest.fixture(scope="module")
def filled(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("filled") / "s.duckdb"

    async def fill() -> None:
        async with opened(path) as store:
            texts = (random.Random(n).randbytes(100).hex(" ") for n in range(ROWS))
            await store.put([make_row(n, content=text) for n, text in enumerate(texts)])
            await SqlIndex(store).fill()

    anyio.run(fill)
    return path.read_bytes()


@pytest.fixture
def path(filled, tmp_path) -> Path:
    path = tmp_path / "s.duckdb"
    path.write_bytes(filled)
    return path


@pytest.mark.slow
@pytest.mark.parametrize("table", search_tables.TABLES)
async def test_a_memory_is_forgotten_and_the_tables_are_filled_again(path, table):
    break_column(path, "doc", table)
    async with opened(path) as store:
        assert await store.forget(GONE, [HERE])
        assert not await store.get([GONE], [HERE])
        assert await store.get([OTHER], [HERE])
        await store.compact()
        assert await SqlIndex(store).fill() == ROWS - 1
        assert await store.read(search_tables.different) == []
    assert diagnose(path) == ()


@pytest.mark.parametrize("table", search_tables.TABLES)
async def test_a_changed_memory_is_noted(path, table):
    break_column(path, "doc", table)
    async with opened(path) as store:
        await store.put([make_row(8, version=2, content="changed")])
        index = SqlIndex(store)
        index.note([OTHER])
        await index.catch_up()
        assert OTHER not in await store.read(search_tables.different)


async def test_what_cannot_be_read_itself_is_not_forgotten_and_the_way_to_save_it_is_told(path):
    break_column(path, "body")
    async with opened(path) as store:
        with pytest.raises(StoreUnavailable, match="subcog doctor --repair"):
            await store.forget(make_row(0).memory.id, [HERE])
        assert await store.read(search_tables.different) == []  # they were left as they are
