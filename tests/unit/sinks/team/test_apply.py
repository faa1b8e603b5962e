from __future__ import annotations

import asyncio

import anyio

from subcog.bus.values import Provenance
from subcog.sinks.team.protocol import Cursor
from tests.stores import make_row, make_store, opened
from tests.teams import EPOCH, ORG, SHOP, apply, change, feed, join, tombstone

from .replicas import ID, after, current, org, waiting


async def test_what_others_wrote_is_stored_with_who_wrote_it(store):
    await join(store)
    forged = Provenance(session="s", author="alice")
    changes = feed(change(org(provenance=forged), "bob"), cursor=Cursor(EPOCH, 4, 9))

    applied = await apply(store, changes)

    [row] = applied.stored
    assert (await current(store)) == row.memory
    assert row.memory.provenance == Provenance(session="s", author="bob")
    assert (applied.received, applied.skipped, applied.conflicts) == (1, 0, 0)
    assert await store.replica.cursor() == Cursor(EPOCH, 4, 9)
    assert await waiting(store) == []
    assert await store.replica.received() == {ORG: 1}


async def test_what_the_same_member_wrote_elsewhere_is_ones_own(store):
    await join(store)
    await apply(store, feed(change(org(), "alice")))

    assert (await current(store)).provenance.author == ""
    assert await store.replica.received() == {}


async def test_applying_the_same_again_changes_nothing(store):
    await join(store)
    two = after(org(), content="two")
    changes = feed(
        change(org(), seq=1), change(two, seq=2), tombstone(org(3).memory.id, ORG, seq=3)
    )
    await apply(store, changes)
    before = await store.history(ID, [ORG])

    again = await apply(store, changes)

    assert (again.stored, again.forgotten, again.received) == ((), (), 0)
    assert await store.history(ID, [ORG]) == before
    assert (await current(store)).content == "two"


async def test_what_was_applied_is_there_though_the_process_died_before_it_was_indexed(tmp_path):
    store = make_store(tmp_path / "s.duckdb")
    await store.open()
    await join(store)
    await apply(store, feed(change(org())))
    for name in ("s.duckdb", "s.duckdb.wal"):
        (tmp_path / f"killed-{name}").write_bytes((tmp_path / name).read_bytes())
    await store.close()

    async with opened(tmp_path / "killed-s.duckdb") as killed:
        assert [row.memory.id async for rows in killed.load() for row in rows] == [ID]
        assert await killed.replica.cursor() == Cursor(EPOCH, 1, 1)


async def test_a_pulled_tombstone_beats_everything(store):
    await join(store)
    mine = org()
    await store.put([mine])
    await store.put([after(mine, content="two")])

    applied = await apply(store, feed(tombstone(ID, ORG, seq=1), change(after(mine), seq=2)))

    assert applied.forgotten == ((ID, ORG),)
    assert store.needs_compaction
    assert await waiting(store) == []
    assert await store.put([after(after(mine))]) == (False,)
    assert await store.history(ID, [ORG]) == ()


async def test_what_was_forgotten_before_it_came_stays_forgotten(store):
    await join(store)

    applied = await apply(store, feed(tombstone(ID, ORG, seq=1)))
    await apply(store, feed(change(org(), seq=2)))

    assert applied.forgotten == (), "no index has it"
    assert await store.counts() == {}


async def test_a_version_that_comes_back_was_sent(store):
    """The process may have died between sending it and noting that."""
    await join(store)
    await store.put([org()])
    await store.put([after(org(), content="two")])

    await apply(store, feed(change(org(), "alice")))

    assert await waiting(store) == [(ID, 2)]


async def test_many_changes_are_applied_in_slices_and_captures_come_between(store):
    await join(store)
    rows = [org(number) for number in range(1_200)]
    changes = feed(*(change(row, seq=number) for number, row in enumerate(rows)))

    with anyio.fail_after(60):
        async with asyncio.TaskGroup() as tasks:
            applier = tasks.create_task(apply(store, changes))
            while (await store.replica.cursor()).seq == 0:
                await anyio.lowlevel.checkpoint()
            await store.put([make_row(9_999)])
            assert not applier.done()

    assert (await store.counts())[ORG] == 1_200
    assert len(applier.result().stored) == 1_200


async def test_what_the_database_refuses_is_skipped_and_the_cursor_goes_on(store, caplog):
    await join(store)
    await store.replica.share(SHOP, "shop", sends=False)
    moved = make_row(1, scope=SHOP, version=2, content="hunter2")
    rows = [org(2), org(1), moved, org(3)]

    applied = await apply(store, feed(*(change(row, seq=n) for n, row in enumerate(rows))))

    assert applied.skipped == 1
    assert len(applied.stored) == 3
    assert await store.replica.cursor() == Cursor(EPOCH, 3, 3)
    assert (await current(store)).version == 1
    assert "hunter2" not in caplog.text


async def test_what_comes_of_a_scope_that_is_not_shared_is_not_stored(store):
    await join(store)

    applied = await apply(store, feed(change(make_row(scope=SHOP)), change(org(2), seq=2)))

    assert applied.skipped == 1
    assert await store.counts() == {ORG: 1}
