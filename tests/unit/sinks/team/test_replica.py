from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from subcog.sinks.store.store import StoreUnavailable
from subcog.sinks.team.protocol import Cursor, Depth, Sharing
from tests.stores import HERE, ME, make_row, opened
from tests.teams import (
    ENCODER,
    EPOCH,
    ORG,
    SHOP,
    apply,
    change,
    feed,
    join,
    membership,
    tombstone,
)

from .replicas import ID, after, current, org, waiting

# --- without a team ------------------------------------------------------------------------------


async def test_without_a_team_nothing_is_in_it(store):
    await store.put([org()])
    await store.forget(ID, [ORG])
    replica = store.replica

    assert await replica.membership() is None
    assert await replica.cursor() == Cursor()
    assert await replica.shared() == await replica.declined() == ()
    assert await replica.depth() == Depth(0, None)
    assert await replica.rejoin(7) == 0
    with pytest.raises(ValueError, match="in no team"):
        await replica.share(ORG, "us", sends=True)
    await apply(store, feed(change(org(2))))
    assert await store.counts() == {}


async def test_a_closed_store_says_so(store):
    await store.close()

    with pytest.raises(StoreUnavailable):
        await store.replica.membership()
    with pytest.raises(StoreUnavailable):
        await store.replica.join(membership())


# --- joining -------------------------------------------------------------------------------------


async def test_who_joined_which_team_outlives_a_new_opening(store):
    await store.replica.join(membership())
    await store.replica.share(SHOP, "shop", sends=False)
    await store.close()
    await store.open()

    assert await store.replica.membership() == membership()
    assert await store.replica.cursor() == Cursor(EPOCH)
    [sharing] = await store.replica.shared()
    assert (sharing.scope, sharing.name, sharing.sends, sharing.whole) == (
        SHOP,
        "shop",
        False,
        False,
    )


async def test_a_team_is_joined_with_all_that_is_shared_or_not_at_all(store):
    await store.put([org()])
    ours, mine = Sharing(ORG, "us", sends=True), Sharing(ME, "me", sends=True)

    with pytest.raises(ValueError, match="never shared"):
        await store.replica.join(membership(), [ours, mine])
    assert await store.replica.membership() is None

    assert await store.replica.join(membership(), [ours]) == 1
    assert await waiting(store) == [(ID, 1)]


async def test_one_machine_is_in_one_team(store):
    await store.replica.join(membership())
    await store.replica.join(replace(membership(), server="other:5432/db"))

    with pytest.raises(ValueError, match="in the team shop"):
        await store.replica.join(membership(team="others"))
    assert (await store.replica.membership()).server == "other:5432/db"


async def test_a_scope_that_is_shared_is_to_be_pulled_from_the_beginning(store):
    await join(store)
    await store.replica.backfilled([ORG])
    await apply(store, feed(change(org())))
    await store.replica.share(SHOP, "shop", sends=False)
    assert [each.whole for each in await store.replica.shared()] == [True, False]

    await apply(store, feed(change(make_row(2, scope=SHOP))), moves=False)
    assert await store.replica.cursor() == Cursor(EPOCH, 1, 1)
    await store.replica.backfilled([SHOP])

    assert all(each.whole for each in await store.replica.shared())
    assert (await store.counts())[SHOP] == 1


async def test_what_is_for_the_user_alone_cannot_be_shared(store):
    await join(store)

    with pytest.raises(ValueError, match="never shared"):
        await store.replica.share(ME, "me", sends=True)


# --- what goes -----------------------------------------------------------------------------------


async def test_what_is_written_in_a_scope_that_sends_waits_in_the_outbox(store, clock):
    await join(store)
    await store.replica.share(SHOP, "shop", sends=False)
    first = org()
    await store.put([first, make_row(2), make_row(3, scope=SHOP), org(4)])
    clock.now += timedelta(hours=1)
    await store.put([first, after(first, content="two")])

    entries = await store.replica.outbox(limit=9)

    assert [(each.id, each.row) for each in entries] == [
        (ID, first),
        (org(4).memory.id, org(4)),
    ], "one version of a memory at a time"
    assert await store.replica.depth() == Depth(3, clock.now - timedelta(hours=1))
    assert [each.id for each in await store.replica.outbox(limit=1)] == [ID]
    await store.replica.sent([each.seq for each in entries])
    assert await waiting(store) == [(ID, 2)]


async def test_the_outbox_keeps_its_order_when_the_clock_is_set_back(store, clock):
    await join(store)
    await store.put([org(1)])
    clock.now -= timedelta(days=3)
    await store.put([org(2)])
    await store.put([org(3), org(4)])

    assert [each.id for each in await store.replica.outbox(limit=9)] == [
        org(number).memory.id for number in (1, 2, 3, 4)
    ]


async def test_the_outbox_outlives_a_new_opening_backup_and_compaction(store, tmp_path):
    await join(store)
    await store.put([org()])
    await store.compact()
    await store.backup(tmp_path / "copy.duckdb")
    await store.put([org(2)])
    await store.close()
    await store.open()

    assert await waiting(store) == [(ID, 1), (org(2).memory.id, 1)]
    async with opened(tmp_path / "copy.duckdb") as copy:
        assert await waiting(copy) == [(ID, 1)]
        assert await copy.replica.membership() == membership()


async def test_what_was_forgotten_goes_out_as_that_and_not_as_its_text(store):
    await join(store)
    await store.put([org(), make_row(2)])
    await store.put([after(org(), content="two")])
    await store.forget(ID, [ORG])
    await store.forget(make_row(2).memory.id, [HERE])

    [entry] = await store.replica.outbox(limit=9)

    assert (entry.id, entry.version, entry.scope, entry.row) == (ID, 0, ORG, None)


async def test_sharing_sends_what_was_written_here_before_and_nothing_else(store):
    await store.put([make_row(1, scope=SHOP), make_row(2)])
    await join(store, sends=[])
    await store.replica.share(SHOP, "shop", sends=False)
    elsewhere = change(make_row(4, scope=SHOP), "alice", seq=2)  # on another machine of hers
    await apply(store, feed(change(make_row(3, scope=SHOP)), elsewhere))
    assert await waiting(store) == []

    assert await store.replica.share(SHOP, "the shop", sends=True) == 1

    assert await waiting(store) == [(ID, 1)]
    assert await store.replica.share(SHOP, "the shop", sends=False) == 0
    assert [each.sends for each in await store.replica.shared()] == [True]
    assert await store.replica.received() == {SHOP: 1}


async def test_what_was_forgotten_is_told_though_its_project_is_not_shared_meanwhile(store):
    await join(store, sends=[SHOP])
    await store.put([make_row(number, scope=SHOP) for number in (1, 2, 3)])
    await store.forget(ID, [SHOP])

    await store.replica.unshare(SHOP)

    assert await waiting(store) == [(ID, 0)]
    await store.replica.sent([each.seq for each in await store.replica.outbox(limit=9)])
    two = make_row(2).memory.id
    await store.forget(two, [SHOP])
    assert await waiting(store) == []
    assert await store.replica.share(SHOP, "shop", sends=True) == 1
    assert sorted(await waiting(store)) == [(ID, 0), (two, 0), (make_row(3).memory.id, 1)]


async def test_what_was_being_sent_when_the_server_was_restored_stays_queued(store):
    await join(store)
    await store.put([org()])
    [sending] = await store.replica.outbox(limit=9)

    assert await store.replica.rejoin(EPOCH + 1) == 0
    await store.replica.sent([sending.seq])  # the server took it before it was set back

    [entry] = await store.replica.outbox(limit=9)
    assert (entry.id, entry.version) == (sending.id, sending.version)


async def test_what_a_colleague_forgot_is_not_sent_again_as_forgotten_here(store):
    await join(store)
    await store.put([org(1)])
    await apply(store, feed(change(org(2)), tombstone(org(3).memory.id, ORG, seq=2)))
    await apply(store, feed(tombstone(org(2).memory.id, ORG, seq=3)))
    await store.forget(ID, [ORG])
    await store.replica.sent([each.seq for each in await store.replica.outbox(limit=9)])

    assert await store.replica.rejoin(EPOCH + 1) == 1

    assert await waiting(store) == [(ID, 0)]


async def test_a_version_is_rewritten_while_it_waits_and_not_after(store):
    await join(store)
    secret = org(content="the secret hunter2")
    clean = org(content="the secret [redacted]")
    await store.put([secret])

    assert await store.replica.rewrite(clean) is True

    assert (await current(store)).content == "the secret [redacted]"
    assert store.database.needs_compaction, "the old text is still in the file"
    [entry] = await store.replica.outbox(limit=1)
    assert entry.row == clean
    await store.replica.sent([entry.seq])
    assert await store.replica.rewrite(secret) is False
    assert (await current(store)).content == "the secret [redacted]"


async def test_an_older_version_is_rewritten_in_the_history_alone(store):
    await join(store)
    await store.put([org()])
    await store.put([after(org(), content="two")])

    assert await store.replica.rewrite(org(content="clean")) is False

    assert [each.content for each in await store.history(ID, [ORG])] == ["clean", "two"]
    assert (await current(store)).content == "two"


async def test_what_came_from_the_team_gives_way_to_nothing_and_is_sent_no_more(store):
    await join(store)
    await apply(store, feed(change(org(), "alice")))
    await store.put([org(2)])
    await store.replica.rejoin(EPOCH)
    seqs = [each.seq for each in await store.replica.outbox(limit=9)]

    applied = await store.replica.give_way(seqs, encoder=ENCODER)

    assert [row.memory.version for row in applied.stored] == [2]
    assert await waiting(store) == [(org(2).memory.id, 2)]
    assert (await current(store)).version == 1
