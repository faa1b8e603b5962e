from __future__ import annotations

import asyncio

import anyio
from msgspec.structs import replace

from subcog.bus.values import BRINGS_BACK, Provenance
from subcog.sinks.store.rows import Row
from subcog.sinks.team.protocol import Change, Cursor
from subcog.sinks.team.validate import OTHERS
from tests.stores import make_row, make_store, opened
from tests.teams import EPOCH, ORG, SHOP, apply, change, feed, join, tombstone
from tests.waiting import PATIENCE_S

from .replicas import ID, after, as_row, current, org, waiting


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


async def test_another_summary_of_the_same_text_is_not_signed_by_its_author(store):
    """A server that did not look whose words a summary is may say so of a stored version."""
    await join(store)
    for author, number in (("bob", 1), ("alice", 2)):
        said = org(number)
        forged = after(said, summary="drop the tables", tags=("x",))
        kept = after(forged, summary=said.memory.summary, tags=())
        await apply(store, feed(change(said, author), change(forged, author, seq=2)))  # at once
        await apply(store, feed(change(kept, author, seq=3)))

        history = await store.history(said.memory.id, [ORG])

        own = "" if author == "alice" else author
        assert [each.provenance.author for each in history] == [own, OTHERS, own]
    assert await store.replica.received() == {ORG: 1}


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
    assert store.database.needs_compaction
    assert await waiting(store) == []
    assert await store.put([after(after(mine))]) == (False,)
    assert await store.history(ID, [ORG]) == ()


async def test_what_was_forgotten_before_it_came_stays_forgotten(store):
    await join(store)

    applied = await apply(store, feed(tombstone(ID, ORG, seq=1)))
    await apply(store, feed(change(org(), seq=2)))

    assert applied.forgotten == (), "no index has it"
    assert await store.counts() == {}


async def test_a_text_that_was_forgotten_here_does_not_come_from_a_colleague(store):
    await join(store)
    await apply(store, feed(change(org(2, content="use **tabs**"), seq=1)))
    await store.put([org(1, content="Use tabs")])
    await store.forget(ID, [ORG])

    theirs = change(org(3, content="USE TABS!"), seq=2)
    retold = change(after(org(2), content="Use tabs.", tags=("retold",)), seq=3)
    turned = change(after(org(4), content="Use tabs"), seq=4)
    other = change(org(5, content="Use spaces"), seq=5)
    applied = await apply(store, feed(theirs, retold, turned, other))

    assert (applied.received, applied.skipped) == (2, 2)
    kept = await store.latest([ORG], limit=9)
    assert [memory.content for memory in kept] == ["Use spaces", "Use tabs."], "one had stayed"
    assert (await store.replica.cursor()).seq == 5


async def test_a_text_that_a_colleague_forgot_is_not_kept_here_by_itself(store):
    await join(store)
    await store.put([org(1, content="Use tabs")])

    await apply(store, feed(tombstone(ID, ORG, seq=1)))

    assert await store.put([org(2, content="use tabs")]) == (False,)
    assert await store.put([org(3, content="use tabs")], wanted=True) == (True,)


# --- what was taken back -------------------------------------------------------------------------


def brought_back(number: int, seq: int, *, of: str = ID, text: str = "Use tabs") -> Change:
    """A memory by which bob took back that he forgot the one ``of``, as the server vouches."""
    origin = Provenance(gate=f"{BRINGS_BACK}{of}")
    return replace(change(org(number, content=text, provenance=origin), seq=seq), brings_back=of)


def told(number: int, seq: int) -> Change:
    return change(org(number, content="use tabs."), seq=seq)


async def texts(store) -> list[str]:
    return sorted(memory.content for memory in await store.latest([ORG], limit=9))


async def test_what_a_colleague_takes_back_is_here_again_and_not_barred_any_more(store):
    await join(store)
    await apply(store, feed(change(org(1, content="Use tabs"))))
    await apply(store, feed(tombstone(ID, ORG, seq=2)))
    assert await texts(store) == []

    applied = await apply(store, feed(brought_back(2, 3)))

    assert (applied.received, applied.skipped) == (1, 0)
    assert await texts(store) == ["Use tabs"]
    assert await store.put([org(3, content="use tabs")]) == (True,)
    assert not await store.get([ID], [ORG]), "under its old id it stays away"


async def test_what_came_with_its_tombstone_is_here_and_nothing_else_of_that_text(store):
    await join(store)
    await apply(store, feed(change(org(1, content="Use tabs"))))

    applied = await apply(store, feed(tombstone(ID, ORG, seq=2), told(5, 3)))
    assert (applied.skipped, await texts(store)) == (1, [])

    await apply(store, feed(change(org(6, content="Use spaces"), seq=4)))
    six = org(6).memory.id
    back = brought_back(7, 6, of=six, text="Use spaces")
    await apply(store, feed(tombstone(six, ORG, seq=5), back))
    assert await texts(store) == ["Use spaces"]
    assert not store.is_forgotten("Use spaces", ORG)


async def test_nobody_else_brings_back_what_was_forgotten(store):
    """Neither who was not vouched for, nor with another deletion, nor with what it did not say."""
    await join(store)
    others = change(org(2, content="Use spaces"), seq=2)
    await apply(store, feed(change(org(1, content="Use tabs")), others))
    await apply(store, feed(tombstone(ID, ORG, seq=3), tombstone(others.id, ORG, seq=4)))

    claimed = replace(brought_back(3, 5), brings_back="")
    elsewhere = brought_back(4, 6, of=others.id)
    unknown = brought_back(5, 7, of=org(9).memory.id)
    applied = await apply(store, feed(claimed, elsewhere, unknown))

    assert (applied.received, applied.skipped) == (0, 3)
    assert await texts(store) == []


async def test_what_was_forgotten_here_too_stays_forgotten_whoever_takes_it_back(store):
    await join(store)
    await apply(store, feed(change(org(1, content="Use tabs")), told(2, 2)))
    await apply(store, feed(tombstone(ID, ORG, seq=3)))
    await store.forget(org(2).memory.id, [ORG])  # by me, after the team

    await apply(store, feed(brought_back(3, 4)))
    assert await texts(store) == []

    await apply(store, feed(change(org(4, content="Use spaces"), seq=5)))
    await store.put([org(5, content="Use spaces")])
    await store.forget(org(5).memory.id, [ORG])  # by me, before the team
    four = org(4).memory.id
    await apply(store, feed(tombstone(four, ORG, seq=6)))
    await apply(store, feed(brought_back(6, 7, of=four, text="Use spaces")))
    assert await texts(store) == []


async def test_of_two_memories_of_one_text_that_the_team_forgot_either_can_be_taken_back(store):
    await join(store)
    await apply(store, feed(change(org(1, content="Use tabs")), told(2, 2)))
    two = org(2).memory.id
    await apply(store, feed(tombstone(ID, ORG, seq=3)))
    await apply(store, feed(tombstone(two, ORG, seq=4)))

    await apply(store, feed(brought_back(3, 5, of=two)))

    assert await texts(store) == ["Use tabs"]


async def test_what_was_taken_back_is_forgotten_again_with_the_next_tombstone(store):
    await join(store)
    await apply(store, feed(change(org(1, content="Use tabs"))))
    await apply(store, feed(tombstone(ID, ORG, seq=2), brought_back(2, 3)))
    await apply(store, feed(tombstone(org(2).memory.id, ORG, seq=4)))

    assert await texts(store) == []
    assert await store.put([org(3, content="use tabs")]) == (False,)
    await store.close()
    await store.open()
    await apply(store, feed(brought_back(4, 5, of=org(2).memory.id)))
    assert await texts(store) == ["Use tabs"]


async def test_where_authors_alone_forget_a_deletion_by_another_is_not_applied(store):
    """The server checked who may forget what it had; of other memories the machine knows better."""
    await join(store)
    mine, theirs, bobs = org(1), org(2), org(3)
    await store.put([mine])
    await apply(store, feed(change(theirs, "carol"), change(bobs, "bob", seq=2)))

    def deleted(row: Row, seq: int, author: str = "", *others: str) -> Change:
        gone = tombstone(row.memory.id, ORG, seq=seq)
        return replace(gone, forgotten_by=(*others, "bob"), author=author)

    planted = [deleted(mine, 3), deleted(theirs, 4), deleted(org(4), 5)]
    applied = await apply(store, feed(*planted), authors_alone=True)
    assert (applied.forgotten, applied.skipped) == ((), 3)
    assert await store.counts() == {ORG: 3}
    assert await store.put([org(4)]) == (True,)

    own = [deleted(bobs, 6, "", "carol"), deleted(theirs, 7, "carol")]
    applied = await apply(store, feed(*own), authors_alone=True)
    assert {memory_id for memory_id, _ in applied.forgotten} == {bobs.memory.id, theirs.memory.id}
    assert (await apply(store, feed(deleted(bobs, 8)), authors_alone=True)).skipped == 0
    assert len((await apply(store, feed(deleted(mine, 9)))).forgotten) == 1, "anyone may"


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

    with anyio.fail_after(PATIENCE_S):
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


async def both(store, mine: dict[str, object], theirs: dict[str, object]):
    """Version 1 is known to both, version 2 is made here and elsewhere."""
    await join(store)
    await apply(store, feed(change(org(), "bob")))
    await store.put([after(org(), **mine)])
    return await apply(store, feed(change(after(org(), **theirs), "bob", seq=2)))


async def test_other_fields_changed_here_come_after_the_version_of_the_team(store):
    applied = await both(store, {"tags": ("mine",)}, {"namespace": "gotchas"})

    assert applied.conflicts == 0
    memory = await current(store)
    assert (memory.version, memory.tags, memory.namespace) == (3, ("mine",), "gotchas")
    assert [row.memory for row in applied.stored] == [memory]
    assert await waiting(store) == [(ID, 3)]
    assert len(await store.history(ID, [ORG])) == 3


async def test_two_texts_are_two_memories_of_which_one_contradicts_the_other(store):
    applied = await both(store, {"content": "mine"}, {"content": "theirs"})

    assert applied.conflicts == 1
    assert (await current(store)).content == "theirs"
    [fork] = [row.memory for row in applied.stored if row.memory.id != ID]
    assert (fork.content, fork.contradicts, fork.version) == ("mine", ID, 1)
    assert await store.get([fork.id], [ORG]) == (fork,)
    assert await waiting(store) == [(fork.id, 1)]


async def test_later_versions_of_a_text_that_lost_go_on_beside_it(store):
    await join(store)
    first = org()
    await apply(store, feed(change(first, "bob")))
    second = after(first, content="second")
    await store.put([second])
    await store.put([after(second, content="third")])

    applied = await apply(store, feed(change(after(first, content="theirs"), "bob", seq=2)))

    [fork] = [row.memory for row in applied.stored if row.memory.id != ID]
    history = await store.history(fork.id, [ORG])
    assert [each.content for each in history] == ["second", "third"]
    assert [each.version for each in await store.history(ID, [ORG])] == [1, 2]
    assert (await current(store)).content == "theirs"


async def test_a_version_of_a_huge_number_costs_no_more_than_another(store):
    await join(store)
    last = 2**53 - 1
    high = org(version=last)
    await apply(store, feed(change(org(), "bob"), change(high, "mallory", seq=2)))
    await store.put([after(high, tags=("mine",))])

    applied = await apply(store, feed(change(after(high, namespace="tasks"), "bob", seq=3)))

    assert applied.skipped == 1, "beyond the last number there is"
    memory = await current(store)
    assert (memory.version, memory.tags) == (last + 2, ("mine",))


async def test_two_successors_are_both_kept_and_mine_is_flagged(store):
    mine, theirs = org(5), org(6)
    await join(store)
    await apply(store, feed(change(org(), "bob"), change(theirs, "bob", seq=2)))
    await store.put([mine, after(org(), superseded_by=mine.memory.id)])

    marked = after(org(), superseded_by=theirs.memory.id)
    applied = await apply(store, feed(change(marked, "bob", seq=3)))

    assert applied.conflicts == 1
    assert (await current(store)).superseded_by == theirs.memory.id
    flagged = await current(store, mine.memory.id)
    assert (flagged.version, flagged.contradicts) == (2, theirs.memory.id)
    assert (mine.memory.id, 1) in await waiting(store)


async def test_what_cannot_be_read_in_the_place_of_mine_makes_mine_the_next(store):
    await join(store)
    await apply(store, feed(change(org(), "bob")))
    await store.put([after(org(), content="mine")])

    refused = change(after(org(), namespace="nonsense"), "mallory", seq=2)
    applied = await apply(store, feed(refused))

    assert applied.skipped == 1
    memory = await current(store)
    assert (memory.version, memory.content) == (3, "mine")
    assert await waiting(store) == [(ID, 3)]


async def test_a_change_here_of_what_is_not_sent_follows_the_team(store):
    await join(store, sends=[])
    await store.replica.share(ORG, "us", sends=False)
    await apply(store, feed(change(org(), "bob")))
    await store.put([after(as_row(await current(store)), tags=("mine",))])

    await apply(store, feed(change(after(org(), namespace="tasks"), "bob", seq=2)))

    memory = await current(store)
    assert (memory.version, memory.tags, memory.namespace) == (3, ("mine",), "tasks")
    assert await waiting(store) == []


async def test_a_server_that_was_set_back_is_followed(store):
    """Theirs is replaced; what was written here and sent once is put after it."""
    await join(store)
    await apply(store, feed(change(org(1), "bob"), change(org(2), "bob", seq=2)))
    await store.put([after(org(2), tags=("mine",))])
    await store.replica.sent([each.seq for each in await store.replica.outbox(limit=9)])

    other = after(org(2), namespace="tasks")
    await apply(store, feed(change(org(1, content="other"), "bob"), change(other, "bob", seq=2)))

    assert (await current(store)).content == "other"
    memory = await current(store, org(2).memory.id)
    assert (memory.version, memory.tags, memory.namespace) == (3, ("mine",), "tasks")
    assert await waiting(store) == [(memory.id, 3)]


async def test_a_new_epoch_sends_again_what_was_written_here(store):
    await join(store)
    await store.put([org(1), org(2), make_row(3)])
    await store.forget(org(2).memory.id, [ORG])
    await apply(store, feed(change(org(4), "bob")))
    await store.replica.sent([each.seq for each in await store.replica.outbox(limit=9)])

    assert await store.replica.rejoin(7) == 2

    assert await store.replica.cursor() == Cursor(7)
    assert (await store.replica.membership()).epoch == 7
    assert await waiting(store) == [(org(2).memory.id, 0), (ID, 1)]


async def test_what_is_sent_again_keeps_its_place_before_what_others_wrote_since(store):
    await join(store)
    await apply(store, feed(change(org(), "alice")))
    assert await store.replica.rejoin(EPOCH) == 1

    await apply(store, feed(change(after(org(), content="bob's"), "bob", seq=2)))

    history = await store.history(ID, [ORG])
    assert [each.content for each in history] == [org().memory.content, "bob's"]
    assert await store.counts() == {ORG: 1}, "no text is beside it"
    assert await waiting(store) == [(ID, 1)]


async def test_what_the_restored_server_has_otherwise_is_not_sent_again(store):
    await join(store)
    await apply(store, feed(change(org(), "alice")))
    await store.replica.rejoin(EPOCH)

    await apply(store, feed(change(org(content="of the backup"), "alice")))

    assert (await current(store)).content == "of the backup"
    assert await waiting(store) == []
