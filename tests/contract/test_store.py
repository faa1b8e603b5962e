"""What every store does: the file on this machine, and the team's server."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta, timezone

import anyio
import pytest

from subcog.bus.values import Memory, Provenance
from subcog.sinks.store.rows import Row
from tests.stores import ALL, ELSEWHERE, HERE, START, everything, make_row, versions_of


async def test_what_was_put_comes_back_with_every_field(store):
    memory = Memory(
        id="mem_full",
        version=3,
        scope=ALL,
        namespace="gotchas",
        content="Zeile eins\n\0 \U0001f9e0 'quoted' \"twice\" \\ ; DROP TABLE versions; --",
        summary="ß",
        tags=("a", "b,c", "[d]"),
        confidence_percent=55,
        provenance=Provenance(hook="h", session="s", client="c", file="f", commit="1", branch="b"),
        created_at=START,
        updated_at=START + timedelta(microseconds=1),
        valid_from=START - timedelta(days=1),
        valid_to=START + timedelta(days=900),
        supersedes="mem_old",
        superseded_by="mem_new",
        content_hash="abc",
    )
    row = Row(memory, make_row().encoding)

    assert await store.put([row]) == (True,)

    assert await store.get(["mem_full"], [ALL]) == (memory,)
    assert await everything(store) == [row]


async def test_times_of_any_zone_stay_the_same_moment(store):
    eastern = timezone(timedelta(hours=-5))
    row = make_row(created_at=datetime(2026, 5, 6, 7, tzinfo=eastern))
    await store.put([row])

    [memory] = await store.get([row.memory.id], [HERE])

    assert memory.created_at == datetime(2026, 5, 6, 12, tzinfo=UTC)


async def test_the_same_version_is_stored_once(store):
    row = make_row()
    assert await store.put([row]) == (True,)

    assert await store.put([row]) == (False,)
    assert await store.put([row, make_row(2), make_row(2)]) == (False, True, False)
    assert await store.counts() == {HERE: 2}
    assert len(await everything(store)) == 2


async def test_nothing_put_is_nothing_done(store):
    assert await store.put([]) == ()


async def test_memories_come_in_the_order_asked_without_what_is_missing(store):
    await store.put([make_row(1), make_row(2), make_row(3)])
    ids = [make_row(number).memory.id for number in (3, 1, 3, 2)]

    found = await store.get([ids[0], "mem_missing", *ids[1:]], [HERE, ALL])

    assert [memory.id for memory in found] == [ids[0], ids[1], ids[3]]


async def test_more_ids_than_are_looked_up_one_by_one(store):
    rows = [make_row(number) for number in range(300)]
    await store.put(rows)
    ids = [row.memory.id for row in reversed(rows)]

    found = await store.get(ids, [HERE])

    assert [memory.id for memory in found] == ids
    assert await store.get(ids, [ELSEWHERE]) == ()
    assert set(await store.put(rows)) == {False}


async def test_the_newest_version_is_the_current_one(store):
    first, second, third = versions_of(make_row(), {"content": "two"}, {"content": "three"})
    await store.put([first])
    assert await store.put([third, second]) == (True, True)

    [memory] = await store.get([first.memory.id], [HERE])

    assert memory.content == "three"
    history = await store.history(first.memory.id, [HERE])
    assert [each.version for each in history] == [1, 2, 3]
    assert [row.memory.version for row in await everything(store)] == [3]
    assert await store.counts() == {HERE: 1}


async def test_an_older_version_that_comes_late_joins_the_history_only(store):
    first, second, third = versions_of(make_row(), {"content": "two"}, {"content": "three"})
    await store.put([third])

    assert await store.put([first]) == (True,)
    assert await store.put([first, second]) == (False, True)

    [memory] = await store.get([first.memory.id], [HERE])
    assert memory.version == 3
    assert len(await store.history(first.memory.id, [HERE])) == 3


async def test_a_memory_cannot_be_moved_to_another_scope(store):
    row = make_row()
    await store.put([row])

    with pytest.raises(ValueError, match="stays in its scope"):
        await store.put([make_row(1, version=2, scope=ELSEWHERE)])

    assert await store.get([row.memory.id], [HERE]) == (row.memory,)
    assert await store.get([row.memory.id], [ELSEWHERE]) == ()


async def test_other_scopes_are_not_read(store):
    row = make_row()
    await store.put([row])
    memory_id, elsewhere = row.memory.id, [ELSEWHERE, ALL]

    assert await store.get([memory_id], elsewhere) == ()
    assert await store.history(memory_id, elsewhere) == ()
    assert await store.latest(elsewhere, limit=9) == ()
    assert await store.forget(memory_id, elsewhere) is False
    assert await store.get([memory_id], [HERE]) == (row.memory,)


async def test_nothing_is_read_without_a_scope(store):
    for reading in (
        store.get(["mem_1"], []),
        store.latest([], limit=1),
        store.history("mem_1", []),
        store.forget("mem_1", []),
    ):
        with pytest.raises(ValueError, match="scope"):
            await reading


async def test_forgetting_takes_every_version_and_keeps_the_id_taken(store):
    row, changed = versions_of(make_row(), {"content": "two"})
    await store.put([row, changed, make_row(2)])
    memory_id = row.memory.id

    assert await store.forget(memory_id, [ALL, HERE]) is True

    assert await store.get([memory_id], [HERE]) == ()
    assert await store.history(memory_id, [HERE]) == ()
    assert [memory.summary for memory in await store.latest([HERE], limit=9)] == ["number 2"]
    assert len(await everything(store)) == 1
    assert await store.counts() == {HERE: 1}
    assert await store.forget(memory_id, [HERE]) is False
    assert await store.put([row]) == (False,)
    assert await store.put([make_row(1, version=9)]) == (False,)
    assert await store.get([memory_id], [HERE]) == ()


async def test_forgetting_what_was_never_there_is_false(store):
    assert await store.forget("mem_none", [HERE]) is False


async def test_writes_at_once_are_all_stored(store):
    rows = [make_row(number) for number in range(200)]

    taken = await asyncio.gather(*(store.put([row]) for row in rows + rows))

    assert [each for (each,) in taken] == [True] * 200 + [False] * 200
    assert await store.counts() == {HERE: 200}


async def test_one_bad_row_fails_alone(store):
    await store.put([make_row(1)])
    bad = [
        make_row(1, version=2, scope=ELSEWHERE),
        make_row(2, version=2**70),
        make_row(3, version=0),
        make_row(4, content="half a pair \ud800"),
        make_row(5, created_at=datetime(2026, 1, 1)),  # noqa: DTZ001
    ]
    good = [make_row(number) for number in range(10, 20)]

    results = await asyncio.gather(
        *(store.put([row]) for row in [*good[:5], *bad, *good[5:]]), return_exceptions=True
    )

    assert [result for result in results if result == (True,)] == [(True,)] * 10
    assert all(isinstance(result, ValueError) for result in results[5:10])
    assert await store.counts() == {HERE: 11}


async def test_rows_put_together_are_stored_together_or_not_at_all(store):
    with pytest.raises(ValueError, match="database refused"):
        await store.put([make_row(1), make_row(2, version=2**70)])

    assert await store.counts() == {}


async def test_no_message_carries_a_text(store):
    with pytest.raises(ValueError, match="refused") as caught:
        await store.put([make_row(2, version=2**70, content="hunter2")])

    assert "hunter2" not in str(caught.value)


async def test_what_was_put_outlives_a_new_opening(store):
    row = make_row()
    await store.put([row])
    await store.close()
    await store.open()

    assert await store.get([row.memory.id], [HERE]) == (row.memory,)


async def test_a_closed_store_says_so(store):
    await store.close()
    await store.close()

    with pytest.raises(ConnectionError) as caught:
        await store.put([make_row()])
    assert caught.value.reason == "closed"
    with pytest.raises(ConnectionError):
        await store.get(["mem_1"], [HERE])


async def test_a_cancelled_write_that_was_begun_may_be_repeated(store):
    rows = [make_row(number) for number in range(100)]
    with anyio.move_on_after(0):
        await store.put(rows)

    await store.put(rows)

    assert await store.counts() == {HERE: 100}


async def test_latest_is_newest_first_and_limited(store):
    await store.put([make_row(2), make_row(1), make_row(3, namespace="tasks"), make_row(4)])

    newest = await store.latest([HERE, ALL], limit=2)

    assert [memory.summary for memory in newest] == ["number 4", "number 3"]


async def test_latest_leaves_out_what_is_not_valid_now(store, clock):
    now = clock.now
    await store.put(
        [
            make_row(1, superseded_by="mem_x"),
            make_row(2, valid_to=now),
            make_row(3, valid_from=now + timedelta(seconds=1)),
            make_row(4, valid_from=now, valid_to=now + timedelta(seconds=1)),
        ]
    )

    assert [memory.summary for memory in await store.latest([HERE], limit=9)] == ["number 4"]
    clock.now += timedelta(seconds=1)
    assert [memory.summary for memory in await store.latest([HERE], limit=9)] == ["number 3"]


async def test_superseding_takes_a_memory_off_the_latest_and_restoring_brings_it_back(store):
    old, marked, restored = versions_of(make_row(), {"superseded_by": "mem_new"}, {})
    await store.put([old])
    await store.put([marked])
    assert await store.latest([HERE], limit=9) == ()
    assert await store.get([old.memory.id], [HERE]) == (marked.memory,)

    await store.put([restored])

    assert await store.latest([HERE], limit=9) == (restored.memory,)
