"""What the store on this machine finds: the same text, all of it, and how often it was used."""

from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from subcog.sinks.store.rows import Usage
from tests.stores import ALL, ELSEWHERE, HERE, START, make_row, opened, versions_of


@pytest.fixture
async def store(tmp_path, clock):
    async with opened(tmp_path / "data" / "s.duckdb", clock) as store:
        yield store


async def test_the_latest_may_be_those_of_some_namespaces(store):
    await store.put([make_row(1), make_row(3, namespace="tasks")])

    named = await store.latest([HERE], limit=9, namespaces=["tasks", "gotchas"])

    assert [memory.summary for memory in named] == ["number 3"]


async def test_an_exact_duplicate_is_found_by_its_hash(store):
    row = make_row()
    await store.put([row, make_row(2)])

    assert await store.find_hash("hash-1", HERE, "decisions") == row.memory
    assert await store.find_hash("hash-1", HERE, "tasks") == row.memory
    assert await store.find_hash("hash-1", ELSEWHERE, "decisions") is None
    assert await store.find_hash("hash-3", HERE, "decisions") is None
    assert await store.find_hash("", HERE, "decisions") is None
    await store.forget(row.memory.id, [HERE])
    assert await store.find_hash("hash-1", HERE, "decisions") is None


async def test_of_equal_texts_that_of_the_namespace_comes_first(store):
    older, newer = make_row(1), make_row(2, namespace="tasks", content_hash="hash-1")
    await store.put([older, newer])
    assert await store.find_hash("hash-1", HERE, "tasks") == newer.memory
    assert await store.find_hash("hash-1", HERE, "patterns") == older.memory


async def test_a_changed_or_superseded_text_is_no_duplicate(store):
    row, changed = versions_of(make_row(), {"content_hash": "other"})
    gone = make_row(2, superseded_by="mem_x")
    await store.put([row, changed, gone])

    assert await store.find_hash("hash-1", HERE, "decisions") is None
    assert await store.find_hash("other", HERE, "decisions") == changed.memory
    assert await store.find_hash("hash-2", HERE, "decisions") is None


async def test_uses_are_counted(store, clock):
    rows = [make_row(1), make_row(2)]
    await store.put(rows)
    first, second = (row.memory.id for row in rows)
    await store.mark_used([first, second, "mem_missing"])
    clock.now += timedelta(hours=1)
    await store.mark_used([first])
    await store.mark_used([])

    assert await store.usage([first, second, "mem_missing"]) == {
        first: Usage(2, clock.now),
        second: Usage(1, clock.now - timedelta(hours=1)),
    }


async def test_uses_outlive_a_new_opening(store):
    row = make_row()
    await store.put([row])
    await store.mark_used([row.memory.id])
    await store.close()
    await store.open()

    assert (await store.usage([row.memory.id]))[row.memory.id].times_injected == 1


async def test_another_scope_is_not_read_from_a_thread_either(store):
    row = make_row()
    await store.put([row])

    assert await asyncio.to_thread(store.get_now, [row.memory.id], [ELSEWHERE, ALL]) == ()
    assert await asyncio.to_thread(store.get_now, [row.memory.id], [HERE]) == (row.memory,)


async def test_uses_outlive_a_new_version(store):
    row, changed = versions_of(make_row(), {"content": "two"})
    await store.put([row])
    await store.mark_used([row.memory.id])
    assert (await store.usage([row.memory.id]))[row.memory.id].times_injected == 1

    await store.put([changed])
    await store.mark_used([row.memory.id])

    assert (await store.usage([row.memory.id]))[row.memory.id].times_injected == 2


async def test_what_was_never_used_says_so(store):
    row = make_row()
    await store.put([row])

    assert await store.usage([row.memory.id]) == {row.memory.id: Usage(0, None)}
    assert await store.usage([]) == {}


async def test_loading_gives_everything_once_in_batches(store):
    rows = [make_row(number) for number in range(4_100)]
    await store.put(rows)

    sizes, ids = [], []
    async for batch in store.load():
        sizes.append(len(batch))
        ids.extend(row.memory.id for row in batch)

    assert sorted(ids) == [row.memory.id for row in rows]
    assert max(sizes) <= 2_048


async def test_loading_can_be_left_halfway(store):
    await store.put([make_row(number) for number in range(3_000)])
    loading = store.load()
    async for _ in loading:
        break
    await loading.aclose()

    assert await store.put([make_row(9_999)]) == (True,)


async def test_writes_go_on_while_everything_is_loaded(store):
    await store.put([make_row(number) for number in range(3_000)])

    seen = 0
    async for batch in store.load():
        seen += len(batch)
        assert await store.put([make_row(100_000 + seen)]) == (True,)

    assert seen == 3_000


async def test_scopes_are_counted_apart(store):
    await store.put([make_row(1), make_row(2), make_row(3, scope=ALL)])

    assert await store.counts() == {HERE: 2, ALL: 1}


async def test_pages_hold_every_current_version_by_id_whatever_its_validity(store):
    rows = [make_row(number) for number in range(5)]
    gone = make_row(7, superseded_by="mem_x", valid_to=START)
    await store.put([*reversed(rows), gone, make_row(8, scope=ELSEWHERE)])
    await store.put([make_row(2, version=2, content="newer")])
    await store.forget(rows[1].memory.id, [HERE])

    first = await store.page([HERE], limit=3)
    rest = await store.page([HERE], after=first[-1].id, limit=3)

    ids = [rows[number].memory.id for number in (0, 2, 3, 4)]
    assert [memory.id for memory in (*first, *rest)] == [*ids, gone.memory.id]
    assert len(first) == 3
    assert first[1].content == "newer"
    assert await store.page([HERE], after=gone.memory.id, limit=3) == ()
    with pytest.raises(ValueError, match="scope"):
        await store.page([], limit=3)


async def test_known_texts_are_those_that_a_valid_memory_has(store):
    first, second = make_row(1), make_row(4, content_hash="hash-1")
    gone = (make_row(2, superseded_by="mem_x"), make_row(3, valid_to=START))
    await store.put([second, first, *gone])
    texts = {(f"hash-{number}", HERE) for number in range(5)}

    assert await store.known_texts(texts | {("hash-1", ELSEWHERE), ("", HERE)}) == {
        ("hash-1", HERE): (first.memory, second.memory)
    }
    assert await store.known_texts(set()) == {}


async def test_the_scope_of_an_id_is_told_even_of_a_forgotten_one(store):
    await store.put([make_row(1), make_row(2, scope=ALL), make_row(3)])
    await store.forget(make_row(3).memory.id, [HERE])
    ids = [make_row(number).memory.id for number in range(5)]

    assert await store.scopes_of(ids) == {ids[1]: HERE, ids[2]: ALL, ids[3]: HERE}
    assert await store.scopes_of([]) == {}
