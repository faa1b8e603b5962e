from __future__ import annotations

from subcog.bus.values import Provenance, Scope
from subcog.sinks.store.rows import Row
from subcog.sinks.team.protocol import Depth
from tests.stores import HERE, ME, make_row
from tests.teams import ORG, SHOP, Team, apply, change, feed, join, pull, push

from .replicas import ID, after, as_row, current, org, waiting


async def test_leaving_takes_what_others_wrote_and_leaves_ones_own(store):
    await join(store)
    mine, theirs, changed = org(1), org(2), org(3)
    await store.put([mine, make_row(9)])
    await apply(
        store,
        feed(
            change(theirs, "bob", seq=2),
            change(changed, "alice", seq=3),
            change(after(changed, content="bob's"), "bob", seq=4),
        ),
    )
    assert await store.replica.received() == {ORG: 1}

    applied = await store.replica.leave()

    assert applied.forgotten == ((theirs.memory.id, ORG),)
    assert [row.memory.content for row in applied.stored] == [changed.memory.content]
    assert await store.counts() == {ORG: 2, HERE: 1}
    assert (await current(store, changed.memory.id)).version == 1
    assert await store.replica.membership() is None
    assert await store.replica.depth() == Depth(0, None)
    assert await store.replica.shared() == ()
    await store.put([after(changed, content="mine again")])
    assert (await current(store, changed.memory.id)).content == "mine again"


async def test_what_i_noted_on_anothers_text_goes_with_the_text(store):
    await join(store)
    await apply(store, feed(change(org(), "bob")))
    theirs = await current(store)
    await store.put([after(as_row(theirs), valid_to=theirs.created_at)])

    applied = await store.replica.leave()

    assert applied.forgotten == ((ID, ORG),)


async def test_what_i_captured_as_well_is_mine_though_another_wrote_it_first(store):
    await join(store)
    await apply(store, feed(change(org(), "bob")))
    theirs = await current(store)
    both = after(as_row(theirs), sources=(Provenance(session="mine"),))
    await store.put([both])
    await apply(store, feed(change(both, "bob", seq=2)))  # as after a restart

    await store.replica.leave()

    assert (await current(store)).version == 2


async def test_what_others_wrote_is_mine_to_keep_where_it_is_not_shared(store):
    """Say, out of a file that a colleague exported."""
    await join(store)
    await store.put([make_row(1, scope=ME, provenance=Provenance(author="bob"))])

    await store.replica.leave()

    assert await store.counts() == {ME: 1}


async def test_what_only_others_superseded_is_back_in_force_when_they_are_gone(store):
    await join(store)
    mine, theirs = org(1), org(2)
    await store.put([mine])
    await store.replica.sent([each.seq for each in await store.replica.outbox(limit=9)])
    marked = after(mine, superseded_by=theirs.memory.id)
    await apply(store, feed(change(theirs, "bob"), change(marked, "alice", seq=2)))
    assert [each.id for each in await store.latest([ORG], limit=9)] == [theirs.memory.id]

    await store.replica.leave()

    assert [each.id for each in await store.latest([ORG], limit=9)] == [ID]
    assert (await current(store)).superseded_by is None


async def edited_by_both(store, team: Team) -> Row:
    """Bob's memory, which has a text of mine, and then another one of bob's."""
    theirs = org(1, content="bob's first")
    mine = after(theirs, content="mine", content_hash="2")
    newer = after(mine, content="bob's second", content_hash="3")
    await join(store)
    team.put("bob", theirs)
    await pull(store, team, "alice")
    await store.put([mine])
    await push(store, team, "alice")
    team.put("bob", newer)
    await pull(store, team, "alice")
    assert (await current(store)).content == "bob's second"
    return newer


async def test_my_text_of_anothers_memory_is_over_where_they_wrote_a_newer_one(store, clock):
    team = Team()
    await edited_by_both(store, team)

    applied = await store.replica.leave()

    assert [row.memory.content for row in applied.stored] == ["mine"]
    left = await current(store)
    assert left.content == "mine"
    assert left.valid_to <= clock.now
    assert await store.latest([ORG], limit=9) == ()
    assert [each.content for each in await store.history(ID, [ORG])] == ["mine", "mine"]


async def test_my_newest_text_of_anothers_memory_holds_on(store):
    await join(store)
    await apply(store, feed(change(org(), "bob")))
    await store.put([after(org(), content="mine")])

    await store.replica.leave()

    assert [each.content for each in await store.latest([ORG], limit=9)] == ["mine"]


async def test_joining_again_has_the_newer_text_hold_for_everybody(store):
    team = Team()
    newer = await edited_by_both(store, team)
    await store.replica.leave()
    await join(store)
    assert {version for _, version in await waiting(store)} == {2}

    await pull(store, team, "alice")
    await push(store, team, "alice")
    await pull(store, team, "alice")

    assert (await current(store)).content == "bob's second"
    assert (await current(store)).valid_to is None
    assert await waiting(store) == []
    assert team.rows[ID, 3] == newer
    assert max(version for _, version in team.rows) == 3


async def test_what_i_changed_after_leaving_does_not_end_the_teams_text(store):
    team = Team()
    await edited_by_both(store, team)
    await store.replica.leave()
    await store.put([after(as_row(await current(store)), content="mine since", content_hash="4")])
    await join(store)

    await pull(store, team, "alice")
    await push(store, team, "alice")

    assert (await current(store)).content == "bob's second"
    assert (await current(store)).valid_to is None
    texts = {row.memory.content for row in team.rows.values()}
    assert "mine since" in texts


async def test_what_left_is_off_the_disk_after_the_next_compaction(store, tmp_path):
    await join(store)
    await store.put([org(1, content="mine is the zebra")])
    await apply(store, feed(change(org(2, content="theirs is the okapi"), "bob")))
    await store.checkpoint()
    assert not store.database.needs_compaction

    await store.replica.leave()
    assert store.database.needs_compaction
    await store.compact()

    assert not store.database.needs_compaction
    data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert b"okapi" not in data
    assert b"zebra" in data


async def test_joining_again_brings_back_what_left(store):
    team = Team()
    await join(store)
    team.put("bob", org(2))
    await store.put([org(1)])
    await push(store, team, "alice")
    await pull(store, team, "alice")
    await store.replica.leave()
    await join(store)

    applied = await pull(store, team, "alice")

    assert [row.memory.id for row in applied.stored] == [org(2).memory.id]
    assert await push(store, team, "alice") == 0, "what comes back need not be sent"
    assert (await store.counts())[ORG] == 2


async def test_unsharing_stops_both_ways_and_is_remembered_until_it_is_shared_again(store):
    await join(store)
    await store.replica.share(SHOP, "shop", sends=True)
    await store.put([make_row(1, scope=SHOP), org(2)])
    await apply(store, feed(change(make_row(3, scope=SHOP), "bob"), change(org(4), "bob", seq=2)))

    applied = await store.replica.unshare(SHOP)

    assert applied.forgotten == ((make_row(3).memory.id, SHOP),)
    assert await store.counts() == {SHOP: 1, ORG: 2}
    assert await waiting(store) == [(org(2).memory.id, 1)]
    assert await store.replica.declined() == (SHOP,)
    await store.put([make_row(5, scope=SHOP)])
    assert len(await waiting(store)) == 1
    await store.replica.share(SHOP, "shop", sends=True)
    assert await store.replica.declined() == ()
    assert len(await waiting(store)) == 3


async def test_what_was_pulled_while_a_scope_was_unshared_is_let_go(store):
    await join(store)
    other = Scope("project", "other")
    await store.replica.share(other, "other", sends=False)
    changes = feed(change(make_row(1, scope=other)))
    await store.replica.unshare(other)

    await apply(store, changes)

    assert await store.counts() == {}
