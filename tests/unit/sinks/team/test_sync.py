from datetime import timedelta
from functools import partial

import anyio
import pytest
from msgspec.structs import replace

from subcog.bus.values import BRINGS_BACK, Provenance, Scope
from subcog.sinks.team import pull as receiving
from subcog.sinks.team import push, sync
from subcog.sinks.team.protocol import Changes, Cursor, Project, TeamUnavailable
from tests import machines
from tests.machines import JOINED
from tests.stores import ELSEWHERE, HERE, ME, make_row
from tests.team_server import TEAM, FakeServer, FakeTeam
from tests.waiting import until

ORGANISATION = Scope("org", "local")


@pytest.fixture
def team():
    return FakeTeam()


@pytest.fixture
def machine(tmp_path, team):
    """Makes machines, with the organisation and one project shared."""

    def make(member="ann", *scopes, **options):
        shared = (ORGANISATION, *(scopes or (HERE,)))
        return machines.machine(tmp_path, FakeServer(team, member), member, *shared, **options)

    return make


async def test_what_one_stores_the_other_gets(machine):
    async with machine("ann") as ann, machine("ben") as ben, ann.running(), ben.running():
        await ann.put(make_row(1), make_row(2))
        await until(lambda: ben.has(make_row(1), make_row(2)))
        await ann.in_step()
    [stored] = [applied.stored for applied in ben.applied if applied.stored]
    assert {row.memory.id for row in stored} == {make_row(1).memory.id, make_row(2).memory.id}
    assert stored[0].memory.provenance.author == "ann"
    assert (ann.sync.state().sent, ben.sync.state().received) == (2, 2)


async def test_ones_own_changes_come_back_and_cost_nothing(machine, monkeypatch):
    monkeypatch.setattr(receiving, "BATCH_CHANGES", 3)
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1), make_row(2))
        await until(lambda: ann.sync.state().sent == 2)
        await ann.in_step()
        assert not ann.applied
        assert (await ann.replica.cursor()).seq == 0
        # But who is alone in a team does not read all of it again tomorrow.
        await ann.put(make_row(3), make_row(4))
        await until(lambda: ann.applied)
        assert (await ann.replica.cursor()).seq >= 3
    assert ann.sync.state().received == 0


async def test_what_one_forgets_everybody_forgets(machine):
    async with machine("ann") as ann, machine("ben") as ben, ann.running(), ben.running():
        await ann.put(make_row(1))
        await until(lambda: ben.has(make_row(1)))
        await ann.store.forget(make_row(1).memory.id, [HERE])
        ann.sync.nudge()
        await until(lambda: any(applied.forgotten for applied in ben.applied))
        assert not await ben.store.get([make_row(1).memory.id], [HERE])


async def test_what_the_team_does_not_let_somebody_forget_is_gone_on_their_machine_alone(
    machine, team, caplog
):
    team.authors_alone = True
    async with machine("ann") as ann, machine("ben") as ben, ann.running(), ben.running():
        await ann.put(make_row(1))
        await until(lambda: ben.has(make_row(1)))
        assert await ben.forget(make_row(1).memory.id)
        await until(lambda: ben.sync.state().refused)
        await ben.in_step()
        assert await ben.current() == {}
        assert await ann.has(make_row(1))
        assert not team.forgotten
    assert "the team keeps what was forgotten here" in caplog.messages


async def test_what_brings_back_a_memory_that_the_team_kept_is_not_there_twice(machine, team):
    team.authors_alone = True
    kept = make_row(1).memory.id
    async with machine("ann") as ann, machine("ben") as ben, ann.running(), ben.running():
        await ann.put(make_row(1))
        await until(lambda: ben.has(make_row(1)))
        assert await ben.forget(kept)
        await until(lambda: ben.sync.state().refused)
        origin = Provenance(gate=f"{BRINGS_BACK}{kept}")
        await ben.put(make_row(2, provenance=origin), make_row(3))
        await until(lambda: ann.has(make_row(3)))
        await ben.in_step()
    assert {memory_id for memory_id, _ in team.versions} == {kept, make_row(3).memory.id}


async def test_what_is_not_shared_stays_here(machine, team):
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1, scope=ELSEWHERE), make_row(2, scope=ME), make_row(3))
        await until(lambda: len(team.versions) == 1)
        await ann.in_step()
    assert list(team.versions) == [(make_row(3).memory.id, 1)]


async def test_without_a_server_what_is_stored_waits_and_is_sent_when_it_is_back(machine, team):
    async with machine("ann") as ann:
        with team.away():
            async with ann.running():
                await ann.put(make_row(1))
                await until(lambda: ann.sync.state().problem)
                state = ann.sync.state()
                assert (state.problem.reason, state.connected) == ("unreachable", False)
        async with ann.running():
            await ann.put(make_row(2))
            await until(lambda: len(team.versions) == 2)
            with team.away():
                await ann.put(make_row(3))
                await until(lambda: ann.sync.state().problem and ann.sync.state().outbox == 1)
            await until(lambda: len(team.versions) == 3)
            await ann.in_step()
            assert ann.sync.state().problem is None


@pytest.mark.parametrize(
    ("name", "founded"), [("others", JOINED), (TEAM, JOINED + timedelta(days=9))]
)
async def test_nothing_is_sent_to_another_team_be_it_of_the_same_name(machine, team, name, founded):
    async with machine("ann") as ann:
        ann.server.name, team.founded = name, founded
        await ann.put(make_row(1))
        async with ann.running():
            await until(lambda: ann.server.calls["about"] > 3)
    assert ann.sync.state().problem.reason == "other_team"
    assert "put" not in ann.server.calls
    assert ann.server.closed


@pytest.mark.parametrize("epoch", [1, 2])
async def test_nothing_is_sent_when_the_address_leads_to_another_team_later(
    machine, team, monkeypatch, epoch
):
    monkeypatch.setattr(receiving, "POLL_S", 0.05)
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1))
        await ann.in_step()
        ann.server.name, ann.server.team = "others", FakeTeam()
        ann.server.team.epoch = epoch
        await until(lambda: ann.sync.state().problem)
        await ann.put(make_row(2))
        await until(lambda n=ann.server.calls["about"]: ann.server.calls["about"] > n + 1)
        assert ann.sync.state().problem.reason == "other_team"
        assert not ann.server.team.versions
        assert (await ann.replica.cursor()).epoch == 1
        ann.server.name, ann.server.team = TEAM, team
        await until(lambda: len(team.versions) == 2)


async def test_a_server_that_never_keeps_to_its_feed_is_asked_less_and_less(machine):
    async with machine("ann") as ann:
        begins = 0

        async def anew(after, scopes, **options):
            nonlocal begins
            begins += 1
            return Changes((), Cursor(begins), behind=True)

        ann.server.changes = anew
        async with ann.running():
            await until(lambda: ann.sync.state().problem)
        assert begins < 10


async def test_what_is_over_the_quota_waits_while_all_else_goes_on(
    machine, team, monkeypatch, caplog
):
    monkeypatch.setattr(push, "QUOTA_S", 0.2)
    monkeypatch.setattr(push, "BATCH_ROWS", 1)  # so a deletion is behind what waits
    monkeypatch.setattr(sync, "POLL_S", 0.05)
    team.takes = 2
    async with machine("ann") as ann, machine("ben") as ben, ann.running(), ben.running():
        await ann.put(*map(make_row, range(1, 6)))
        await until(lambda: ann.sync.state().problem)
        state = ann.sync.state()
        assert (state.problem.reason, state.connected) == ("quota", True)
        await until(lambda: ann.sync.state().outbox == 3)
        await ann.store.forget(make_row(1).memory.id, [HERE])
        ann.sync.nudge()
        await until(lambda: team.forgotten)
        asked = ann.server.calls["put"]
        await until(lambda: ann.server.calls["put"] > asked + 2)  # and again refused
        team.takes = 10
        await until(lambda: ben.has(*map(make_row, range(2, 6))))
        await ann.in_step()
        assert ann.sync.state().problem is None
    assert [one.message for one in caplog.records].count(push.USED_UP) == 1


async def test_a_change_that_becomes_visible_late_is_looked_for(machine, team):
    async with machine("ann") as ann, machine("ben") as ben, ann.running(), ben.running():
        await until(lambda: ben.sync.state().last_pull)
        team.gate = 1
        await ann.put(make_row(1))
        await until(lambda: len(team.versions) == 1)
        looks = ben.server.calls["changes"]
        await until(lambda: ben.server.calls["changes"] > looks + 2)
        team.gate = None  # and nobody announces it
        await until(lambda: ben.has(make_row(1)))


async def test_a_project_that_is_shared_later_is_received_whole_and_not_sent(machine, team):
    there = make_row(7, scope=ELSEWHERE)
    async with (
        machine("ann", HERE, ELSEWHERE) as ann,
        machine("ben", HERE) as ben,
        ann.running(),
        ben.running(),
    ):
        await ann.put(there, make_row(1))
        await until(lambda: ben.has(make_row(1)))
        assert not await ben.has(there, scope=ELSEWHERE)
        team.projects.append(Project(ELSEWHERE, "elsewhere", "ann"))
        team.announce()
        await until(lambda: ben.has(there, scope=ELSEWHERE))
        await ben.put(make_row(8, scope=ELSEWHERE), make_row(9))
        await until(lambda: ann.has(make_row(9)))
    assert (make_row(8).memory.id, 1) not in team.versions


async def test_a_project_shared_when_only_ones_own_had_come_is_received_whole(machine, team):
    there = make_row(7, scope=ELSEWHERE)
    async with machine("ann", ELSEWHERE) as ann, machine("ben") as ben, ann.running():
        await ann.put(there)
        await until(lambda: team.versions)
        async with ben.running():
            await ben.put(make_row(1))
            await until(lambda: len(team.versions) == 2)
            await ben.in_step()
            assert (await ben.replica.cursor()).seq == 0
            team.projects.append(Project(ELSEWHERE, "elsewhere", "ann"))
            ben.sync.refresh()
            await until(lambda: ben.has(there, scope=ELSEWHERE))


async def test_a_list_that_somebody_tampered_with_does_no_harm(machine, team):
    team.projects += [
        Project(ME, "mine", "mallory"),
        Project(ELSEWHERE, "\x1b[2Jx" * 99, "mallory"),
    ]
    async with machine("ben") as ben, ben.running():
        await ben.in_step()
        shared = {sharing.scope: sharing.name for sharing in await ben.replica.shared()}
    assert ME not in shared
    assert shared[ELSEWHERE].isprintable()
    assert len(shared[ELSEWHERE]) <= 100


def fake(number):
    return Scope("project", f"fake-{number:04}")


async def test_projects_off_the_list_are_dropped_where_nothing_came(machine, team):
    there = make_row(7, scope=ELSEWHERE)
    async with machine("ann", ELSEWHERE) as ann, machine("ben") as ben, ann.running():
        await ann.put(there)
        team.projects += [Project(fake(n), "", "mallory") for n in range(3)]
        team.projects.append(Project(ELSEWHERE, "elsewhere", "ann"))
        async with ben.running():
            await until(lambda: ben.has(there, scope=ELSEWHERE))
            assert len(await ben.replica.shared()) == 6
            team.projects.clear()
            team.announce()

            async def are_gone():
                return len(await ben.replica.shared()) == 3

            await until(are_gone)
            assert await ben.has(there, scope=ELSEWHERE)
            team.projects.append(Project(fake(1), "", "mallory"))  # it was not declined
            ben.sync.refresh()
            await until(lambda: ben.server.team is team and ben.sync.state().about.projects)


async def test_the_earlier_changes_of_listed_projects_delay_nobody_elses(
    machine, team, monkeypatch
):
    """Neither what is followed, nor a project of another colleague, nor one's own."""
    monkeypatch.setattr(receiving, "BATCH_CHANGES", 1)
    fakes = [make_row(100 + n, scope=fake(n)) for n in range(6)]
    real = make_row(7, scope=ELSEWHERE)
    scopes = [HERE, ELSEWHERE, *map(fake, range(6))]
    async with (
        machine("ann", *scopes) as ann,
        machine("ben") as ben,
        ann.running(),
        ben.running(),
    ):
        await ann.put(*fakes, real, make_row(1))
        await until(lambda: ben.has(make_row(1)))
        changes, may_go_on = ben.server.changes, anyio.Event()
        pages = 0

        async def slow(after, asked, **options):
            nonlocal pages
            if fake(0) in asked and HERE not in asked:
                pages += 1
                if pages == 3:  # what comes meanwhile has to come until then
                    await ann.put(make_row(2))
                    await until(lambda: (make_row(2).memory.id, 1) in team.versions)
                if pages == 5:
                    assert await ben.has(real, scope=ELSEWHERE)
                    assert await ben.has(make_row(2))
                    assert ben.sync.state().fetching
                    may_go_on.set()
            return await changes(after, asked, **options)

        ben.server.changes = slow
        team.projects += [Project(fake(n), "", "aaa") for n in range(6)]
        team.projects.append(Project(ELSEWHERE, "elsewhere", "zoe"))
        team.announce()
        await until(may_go_on.is_set)
        await until(lambda: ben.has(fakes[5], scope=fake(5)))
        await until(lambda: not ben.sync.state().fetching)


async def test_a_project_that_was_declined_is_not_received_again(machine, team):
    team.projects.append(Project(ELSEWHERE, "elsewhere", "ann"))
    async with machine("ben", HERE, ELSEWHERE) as ben:
        await ben.replica.unshare(ELSEWHERE)
        async with ben.running():
            await ben.in_step()
        assert ELSEWHERE not in {sharing.scope for sharing in await ben.replica.shared()}


async def test_a_restored_server_gets_everything_again(machine, team):
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1), make_row(2))
        await until(lambda: len(team.versions) == 2)
        team.versions.pop((make_row(2).memory.id, 1))  # the backup was older
        team.feed = [entry for entry in team.feed if entry[2] != make_row(2).memory.id]
        team.epoch += 1
        team.announce()
        await until(lambda: len(team.versions) == 2)
        await ann.in_step()


async def test_a_server_whose_disk_was_set_back_gets_everything_again(machine, team):
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1), make_row(2))
        await until(lambda: len(team.versions) == 2)
        await ann.in_step()
        team.versions.clear()
        team.feed.clear()
        changes = ann.server.changes

        async def set_back(after, scopes, **options):
            ann.server.changes = changes  # it says so once
            return Changes((), Cursor(after.epoch), behind=True)

        ann.server.changes = set_back
        team.announce()
        await until(lambda: len(team.versions) == 2)


def hiding(memory):
    """What the secret filter of today makes of it."""
    if "nothing but" in memory.content:
        return None
    return replace(memory, content=memory.content.replace("hunter2", "…"))


async def test_what_leaves_is_cleaned_and_so_is_what_is_here(machine, team):
    secret = make_row(1, content="the password is hunter2")
    stays = make_row(2, content="nothing but hunter2")
    async with machine("ann", clean=hiding) as ann, ann.running():
        await ann.put(secret, stays, make_row(3))
        await until(lambda: len(team.versions) == 2)
        await ann.in_step()
        [here] = await ann.store.get([secret.memory.id], [HERE])
        told = [row.memory.content for applied in ann.applied for row in applied.stored]
    assert here.content == "the password is …"
    assert told == ["the password is …"]
    assert "hunter2" not in str(team.versions)
    assert ann.sync.state().skipped == 1


async def test_what_comes_back_by_a_new_feed_is_not_cleaned_beside_itself(machine, team):
    """A rule is newer than what the team has: a cleaned text would be another one."""
    rules = []

    def cleaned(memory):
        return hiding(memory) if rules else memory

    async with machine("ann", clean=cleaned) as ann, ann.running():
        await ann.put(make_row(1, content="the password is hunter2"))
        await ann.in_step()
        rules.append("of today")
        changes, puts = ann.server.changes, ann.server.calls["put"]

        async def late(after, *asked, **options):
            if (after.epoch, after.seq) == (2, 0):
                with anyio.move_on_after(1.0):  # for what does not wait for it
                    await until(lambda: ann.server.calls["put"] > puts)
            return await changes(after, *asked, **options)

        ann.server.changes = late
        team.epoch += 1
        team.announce()

        async def is_read():
            return (await ann.replica.cursor()).epoch == 2 and not (await ann.replica.depth()).count

        await until(is_read)
        assert len(await ann.current()) == len(team.versions) == 1


async def test_what_the_server_refuses_holds_nobody_up(machine, team):
    team.refuses.add(make_row(2).memory.id)
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1), make_row(2), make_row(3))
        await until(lambda: len(team.versions) == 2)
        await until(lambda: ann.sync.state().refused)
        await ann.put(make_row(4))
        await until(lambda: len(team.versions) == 3)
        await until(lambda: ann.sync.state().outbox == 1)


async def test_an_edit_in_the_place_of_what_was_refused_here_comes_after_it(
    machine, team, monkeypatch
):
    monkeypatch.setattr(receiving, "POLL_S", 0.05)
    memory_id = make_row(1).memory.id
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1))
        await until(lambda: team.versions)
        team.versions[memory_id, 2] = (make_row(1, version=2, namespace="nonsense"), "mallory")
        team.note(HERE, memory_id, 2)
        await until(lambda: ann.sync.state().skipped)
        await ann.change(memory_id, content="mine")
        await until(lambda: (memory_id, 3) in team.versions)
        await ann.in_step()
        [memory] = (await ann.current()).values()
    assert (memory.version, memory.content) == (3, "mine")


async def test_two_who_change_one_memory_end_with_the_same_and_lose_nothing(machine, team):
    async with machine("ann") as ann, machine("ben") as ben:
        async with ann.running(), ben.running():
            await ann.put(make_row(1))
            await until(lambda: ben.has(make_row(1)))
        anns = make_row(1, version=2, content="we use argon2id", content_hash="a")
        bens = make_row(1, version=2, content="we use scrypt", content_hash="b")
        await ann.store.put([anns])
        await ben.store.put([bens])
        async with ann.running():
            await until(lambda: (make_row(1).memory.id, 2) in team.versions)
        async with ben.running(), ann.running():
            for each in (ann, ben):
                await until(partial(tells_both, each))
        assert await ann.has(anns)
        assert await ben.has(anns)
    assert ben.sync.state().conflicts == 1


async def tells_both(machine):
    """Whether what either said is there, flagged."""
    found = {memory.content: memory for memory in await machine.store.page([HERE], limit=9)}
    if found.keys() != {"we use argon2id", "we use scrypt"}:
        return False
    return found["we use scrypt"].contradicts == found["we use argon2id"].id


async def test_a_first_pull_says_how_much_is_left(machine, team, monkeypatch):
    monkeypatch.setattr(receiving, "BATCH_CHANGES", 10)
    async with machine("ann") as ann, machine("ben") as ben:
        async with ann.running():
            await ann.put(*map(make_row, range(1, 36)))
            await until(lambda: len(team.versions) == 35)
        async with ben.running():
            await ben.in_step()
    assert {25, 15, 5} <= set(ben.remaining)
    assert ben.sync.state().remaining == 0


async def test_without_notifications_it_looks_now_and_then(machine, monkeypatch):
    monkeypatch.setattr(receiving, "POLL_S", 0.05)
    monkeypatch.setattr(sync, "RELISTEN_S", 60)
    async with machine("ann") as ann, machine("ben") as ben:
        ben.server.listen = silent
        async with ann.running(), ben.running():
            await ann.put(make_row(1))
            await until(lambda: ben.has(make_row(1)))


async def silent():
    for _ in ():
        yield


async def test_what_was_reconciled_while_it_was_found_contested_is_sent_all_the_same(machine, team):
    async with machine("ann") as ann, machine("ben") as ben:
        async with ann.running(), ben.running():
            await ann.put(make_row(1))
            await until(lambda: ben.has(make_row(1)))
        await ann.store.put([make_row(1, version=2, content="by ann")])
        await ben.store.put([make_row(1, version=2, tags=("by ben",))])
        async with ann.running():
            await until(lambda: (make_row(1).memory.id, 2) in team.versions)
        digests, before = ben.server.digests, len(ben.applied)

        async def late(keys):
            await until(lambda: len(ben.applied) > before)
            return await digests(keys)

        ben.server.digests = late
        async with ben.running():
            await until(lambda: (make_row(1).memory.id, 3) in team.versions)


async def test_what_the_server_refused_can_still_be_forgotten_everywhere(machine, team):
    memory_id = make_row(1).memory.id
    async with machine("ann") as ann, ann.running():
        await ann.put(make_row(1))
        await until(lambda: team.versions)
        team.refuses.add(memory_id)
        await ann.put(make_row(1, version=2, content="too large"))
        await until(lambda: ann.sync.state().refused)
        await ann.forget(memory_id)
        await until(lambda: memory_id in team.forgotten)


async def test_a_deletion_that_the_server_cannot_do_holds_up_nothing_and_is_asked_for_again(
    machine, team, monkeypatch
):
    monkeypatch.setattr(push, "HELD_S", 0.5)
    monkeypatch.setattr(sync, "POLL_S", 0.05)
    monkeypatch.setattr(sync, "FIRST_PAUSE_S", 0.01)
    late, never = make_row(1), make_row(2)
    async with machine("ann") as ann, ann.running():
        await ann.put(late, never)
        await until(lambda: len(team.versions) == 2)
        team.fails_to_forget[late.memory.id] = TeamUnavailable("timeout", "took too long")
        team.fails_to_forget[never.memory.id] = ValueError("refused")
        for row in (late, never):
            await ann.forget(row.memory.id)
        await ann.put(make_row(3))
        await until(lambda: (make_row(3).memory.id, 1) in team.versions)
        assert not team.forgotten
        del team.fails_to_forget[late.memory.id]
        await until(lambda: late.memory.id in team.forgotten)
        await until(lambda: ann.sync.state().outbox == 1)


async def test_what_somebodys_transaction_holds_holds_up_nothing_else(machine, team, monkeypatch):
    monkeypatch.setattr(push, "LOCKED_S", 0.2)
    monkeypatch.setattr(sync, "POLL_S", 0.05)
    held, memory_id = make_row(1), make_row(1).memory.id
    async with machine("ann") as ann, ann.running():
        await ann.put(held)
        await until(lambda: team.versions)
        team.locked.add(memory_id)
        await ann.change(memory_id, content="changed")
        await ann.put(make_row(2))
        await until(lambda: (make_row(2).memory.id, 1) in team.versions)
        await until(lambda: ann.sync.state().problem)
        state = ann.sync.state()
        assert (state.problem.reason, state.connected, state.refused) == ("locked", True, 0)
        assert (memory_id, 2) not in team.versions
        team.locked.clear()
        await until(lambda: (memory_id, 2) in team.versions)
        await ann.in_step()
        await until(lambda: ann.sync.state().problem is None)


async def test_large_texts_go_a_few_at_a_time(machine, team):
    async with machine("ann") as ann:
        large = [make_row(number, content=f"{number}" * 600_000) for number in (1, 2, 3)]
        await ann.put(*large, make_row(4))
        async with ann.running():
            await until(lambda: len(team.versions) == 4)
    assert ann.server.calls["put"] == 3


async def test_a_page_of_what_was_forgotten_since_ends_no_pull(machine, team, monkeypatch):
    monkeypatch.setattr(receiving, "BATCH_CHANGES", 1)
    gone, there = make_row(7, scope=ELSEWHERE), make_row(8, scope=ELSEWHERE)
    async with (
        machine("ann", HERE, ELSEWHERE) as ann,
        machine("ben", HERE) as ben,
        ann.running(),
        ben.running(),
    ):
        changes = ben.server.changes

        async def without_the_forgotten(*asked, **options):
            found = await changes(*asked, **options)
            left = tuple(change for change in found.changes if change.id != gone.memory.id)
            return replace(found, changes=left)

        ben.server.changes = without_the_forgotten
        await ann.put(gone, there, make_row(1))
        await until(lambda: ben.has(make_row(1)))
        team.projects.append(Project(ELSEWHERE, "elsewhere", "ann"))
        ben.sync.refresh()
        await until(lambda: ben.has(there, scope=ELSEWHERE))


async def test_a_flood_of_notifications_costs_two_pulls_a_second(machine, team):
    async with machine("ann") as ann, ann.running():
        await ann.in_step()
        looks, started = ann.server.calls["changes"], anyio.current_time()
        await until(lambda: team.announce() or ann.server.calls["changes"] > looks + 13)
        assert anyio.current_time() - started > 1.0
