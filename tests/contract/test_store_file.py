"""What the store on this machine does beyond what every store does: it is a file."""

from __future__ import annotations

import pytest

from subcog.bus.prompts import Span
from tests.stores import HERE, FakeClock, make_row, opened


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path / "data" / "s.duckdb", FakeClock()) as store:
        yield store


async def test_a_store_that_was_closed_well_needs_no_recovery(store):
    await store.put([make_row()])
    await store.close()
    await store.open()

    assert store.database.recovery is None


async def test_a_file_is_tidied_up_after_a_loading_that_was_left_halfway(store):
    await store.put([make_row(number) for number in range(3_000)])
    loading = store.load()
    async for _ in loading:
        break
    await loading.aclose()

    assert await store.put([make_row(9_999)]) == (True,)
    await store.checkpoint()
    await store.compact()


async def test_a_backup_is_a_store_with_what_is_alive(store, tmp_path):
    await store.put([make_row(1), make_row(2)])
    await store.forget(make_row(1).memory.id, [HERE])
    target = tmp_path / "it's a backup.duckdb"

    await store.backup(target)

    with pytest.raises(FileExistsError):
        await store.backup(target)
    assert [path.name for path in tmp_path.iterdir()].count(target.name) == 1
    async with opened(target) as copy:
        assert [memory.summary for memory in await copy.latest([HERE], limit=9)] == ["number 2"]
        assert await copy.put([make_row(1)]) == (False,)


async def test_compacting_keeps_what_is_alive(store):
    await store.put([make_row(number) for number in range(50)])
    await store.forget(make_row(7).memory.id, [HERE])

    await store.compact()

    assert await store.counts() == {HERE: 49}
    assert await store.put([make_row(7), make_row(51)]) == (False, True)
    assert await store.get([make_row(8).memory.id], [HERE]) == (make_row(8).memory,)


async def test_what_was_made_in_a_span_is_found(store):
    rows = [make_row(number) for number in (1, 2, 3, 4)]
    await store.put(rows)
    within = Span(rows[1].memory.created_at, rows[3].memory.created_at)

    found = await store.made([HERE], limit=9, within=within)

    assert [memory.summary for memory in found] == ["number 3", "number 2"]


async def test_what_was_shown_most_often_comes_first_where_that_is_asked_for(store):
    rows = [make_row(1), make_row(2), make_row(3)]
    await store.put(rows)
    await store.mark_used([rows[0].memory.id])
    await store.usage([rows[0].memory.id])  # it is counted when there is time

    found = await store.made([HERE], limit=9, by_use=True)

    assert [memory.summary for memory in found] == ["number 1", "number 3", "number 2"]
