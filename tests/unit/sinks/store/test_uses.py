from __future__ import annotations

from collections import Counter
from datetime import timedelta

import pytest

from subcog.bus.values import UseEvent
from subcog.sinks.store import uses
from tests.stores import ELSEWHERE, HERE, START, make_row, opened

ONE, TWO = make_row(1).memory.id, make_row(2).memory.id


def happened(session, kind="shown", memory_id=ONE, *, at=START, **more):
    return UseEvent(memory_id=memory_id, session=session, at=at, kind=kind, **more)


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([make_row(1), make_row(2)])
        yield store


async def change(store, work):
    def run():
        with store.database.transaction() as connection:
            return work(connection)

    return await store.write(run)


async def add(store, *events):
    await change(store, lambda connection: uses.add(connection, events))


async def compact(store, before=START, *, each=1000, total=1000):
    return await change(store, lambda c: uses.compact(c, before, each=each, total=total))


async def events_of(store, memory_id=ONE):
    return (await store.read(lambda cursor: uses.of(cursor, [memory_id]))).get(memory_id, [])


async def test_events_come_back_in_the_order_in_which_they_happened(store):
    later = happened("s1", "taken_up", at=START + timedelta(1), moment="Stop", detail="seen")
    first = happened("s1", moment="UserPromptSubmit", rank=2)
    await add(store, later, first, happened("s2", memory_id=TWO))
    assert await events_of(store) == [first, later]
    assert await store.read(lambda cursor: uses.of(cursor, [])) == {}


async def test_nothing_is_noted_of_a_memory_that_is_not_there(store):
    await store.forget(ONE, [HERE])
    await add(store, happened("s1"), happened("s1", memory_id="mem_unknown"))
    assert await events_of(store) == []
    assert await events_of(store, "mem_unknown") == []


async def test_what_became_of_a_memory_is_deleted_with_it(store):
    await add(store, happened("s1"), happened("s1", memory_id=TWO))
    await compact(store, START + timedelta(1))
    await add(store, happened("s2"), happened("s2", memory_id=TWO))
    await store.forget(ONE, [HERE])
    assert await events_of(store) == []
    assert set(await store.read(uses.sums)) == {TWO}
    assert len(await events_of(store, TWO)) == 1


async def test_the_last_vote_counts(store):
    await add(
        store,
        happened("", "buried"),
        happened("", "kept", at=START + timedelta(1)),
        happened("", "buried", TWO),
    )
    votes = await store.read(uses.last_votes)
    assert {id_: vote.kind for id_, vote in votes.items()} == {ONE: "kept", TWO: "buried"}


async def test_for_summing_up_a_sessions_repetitions_come_once_and_votes_all(store):
    await add(
        store,
        *(happened("s1", at=START + timedelta(n)) for n in range(3)),
        *(happened("", kind, at=START + timedelta(n)) for n, kind in enumerate(("kept", "buried"))),
        happened("s1", "taken_up", at=START + timedelta(9)),
    )
    [(memory_id, events)] = await store.read(lambda cursor: list(uses.by_memory(cursor)))
    assert memory_id == ONE
    assert Counter(event.kind for event in events) == dict.fromkeys(
        ("shown", "kept", "buried", "taken_up"), 1
    )


async def test_old_sessions_become_sums_and_votes_stay(store):
    old, new = START, START + timedelta(10)
    await add(store, happened("a", at=old), happened("a", "taken_up", at=old))
    await add(store, happened("b", at=old), happened("", "kept", at=old))
    await add(store, happened("c", at=new))
    assert await compact(store, START + timedelta(5)) == {ONE}
    assert [event.kind for event in await events_of(store)] == ["kept", "shown"]
    sums = await store.read(uses.sums)
    assert sums == {ONE: uses.UseSum(shown=2, sessions=2)}
    assert await compact(store, START + timedelta(5)) == set()
    assert await compact(store, START + timedelta(50)) == {ONE}
    assert (await store.read(uses.sums))[ONE] == uses.UseSum(3, 3)


async def test_a_session_that_goes_on_is_not_cut_in_two(store):
    await add(store, happened("a"), happened("a", "taken_up", at=START + timedelta(10)))
    assert await compact(store, START + timedelta(5)) == set()


@pytest.mark.parametrize("bounds", [{"each": 10}, {"total": 10}])
async def test_the_newest_stay_within_the_bounds(store, bounds):
    await add(store, *(happened(f"s{n:02}", at=START + timedelta(n)) for n in range(30)))
    assert await compact(store, **bounds) == {ONE}
    left = await events_of(store)
    assert [event.session for event in left] == [f"s{n}" for n in range(20, 30)]
    assert (await store.read(uses.sums))[ONE].sessions == 20


async def test_events_are_counted_by_quarters_of_an_hour(store):
    hour, quarter = START.replace(minute=0, second=0, microsecond=0), timedelta(minutes=15)
    await add(
        store,
        happened("s1", at=hour + timedelta(minutes=1)),
        happened("s2", at=hour + timedelta(minutes=14)),
        happened("s1", "taken_up", TWO, at=hour + timedelta(minutes=16)),
    )

    async def counted(since, *scopes):
        return sorted(await store.read(lambda cursor: uses.by_time(cursor, scopes, since)))

    assert await counted(hour, HERE) == [(hour, "shown", 2), (hour + quarter, "taken_up", 1)]
    assert await counted(hour + quarter, HERE) == [(hour + quarter, "taken_up", 1)]
    assert await counted(hour, ELSEWHERE) == []


async def test_the_memories_with_most_events_come_first(store):
    helped = ("taken_up", "quoted")
    await add(
        store,
        happened("s1", "quoted"),
        happened("s1", "taken_up", TWO),
        happened("s2", "quoted", TWO),
        *(happened(f"s{number}") for number in range(5)),
    )

    async def most(limit, *scopes):
        return await store.read(lambda c: uses.most_seen(c, scopes, helped, limit=limit))

    first, second = make_row(2).memory, make_row(1).memory
    both = [(first.id, first.summary, 2), (second.id, second.summary, 1)]
    assert await most(5, HERE) == both
    assert await most(1, HERE) == both[:1]
    assert await most(5, ELSEWHERE) == []
