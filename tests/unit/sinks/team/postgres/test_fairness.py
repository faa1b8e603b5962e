"""What one member lists, writes or holds open costs a colleague that alone."""

from __future__ import annotations

import psycopg
import pytest

from subcog.bus.values import Scope
from subcog.sinks.models.embedder import Encoder
from subcog.sinks.team.protocol import Locked, TeamUnavailable
from subcog.sinks.team.validate import validate
from tests.stores import HERE, make_row
from tests.teamwork import member_of, whole_feed

FLOOD = "SELECT count(subcog.share('project:' || n, ' ')) FROM generate_series(1, {}) AS n"


@pytest.fixture
async def alice(quick_team):
    async with member_of(quick_team) as store:
        await store.put([make_row(1)])
        await store.share(HERE, "here")
        yield store


async def test_one_member_lists_a_bounded_number_of_projects(quick_team, alice):
    async with member_of(quick_team, "bob") as bob:
        assert "too many projects" in quick_team.psql("bob", FLOOD.format(201))
        assert quick_team.psql("bob", FLOOD.format(200)) == "200\n"
        with pytest.raises(TeamUnavailable, match="Take some off") as refused:
            await bob.share(Scope("project", "one more"), "one more")
        assert refused.value.reason == "quota"
        assert await bob.unshare(Scope("project", "7"))
        assert await bob.share(Scope("project", "another"), "another")
    assert await alice.share(Scope("project", "mine"), "mine")


async def test_a_list_that_somebody_flooded_has_what_each_colleague_listed(quick_team, alice):
    quick_team.server.execute(
        "UPDATE subcog.teams SET projects_each = 5000", database=quick_team.name
    )
    before = (await alice.about()).projects
    quick_team.psql("bob", FLOOD.format(1500))
    later = Scope("project", "later")
    await alice.share(later, "later")
    about = await alice.about()
    assert {*before} < {*about.projects}
    assert later in {project.scope for project in about.projects}
    assert len(about.projects) == 1_000


async def test_nobody_leaves_a_colleagues_memory_without_numbers(quick_team, alice):
    """Neither by one step nor by many: a step up is always left."""
    gone = make_row(9).memory.id
    await alice.forget(gone, [HERE])
    async with member_of(quick_team, "bob") as bob:
        for row in (make_row(1, version=1_002), make_row(2, version=10_001)):
            with pytest.raises(ValueError, match="CheckViolation"):
                await bob.put([row])
        assert await bob.put([make_row(9, version=500)]) == (False,), "it is not there any more"
        assert await bob.put([make_row(1, version=1_001)]) == (True,)
        assert await bob.put([make_row(2, version=10_000)]) == (True,), "brought from elsewhere"
    assert await alice.put([make_row(1, version=1_002)]) == (True,)
    quick_team.server.execute(
        "UPDATE subcog.memories SET version = 1000000 WHERE version > 1000",
        database=quick_team.name,
    )
    assert await alice.put([make_row(1, version=1_000_001)]) == (True,)
    [there, *_] = [one for one in await whole_feed(alice) if one.version > 1_000_000]
    assert validate([there], [HERE], member="bob", encoder=Encoder())[1].total() == 0


# --- what somebody holds -------------------------------------------------------------------------


async def test_a_memory_that_a_transaction_holds_is_told_and_costs_that_alone(quick_team, alice):
    held, free = make_row(1), make_row(2)
    ids = [held.memory.id, free.memory.id]
    await alice.put([held, free])
    assert await alice.locked(ids) == frozenset()
    with psycopg.connect(quick_team.url("bob")) as bob:
        bob.execute("SELECT subcog.forget(%s, %s)", [held.memory.id, [str(HERE)]])
        with pytest.raises(Locked, match="holds some of what you changed"):
            await alice.put([make_row(1, version=2), make_row(2, version=2)])
        assert await alice.locked(ids) == {held.memory.id}
        assert await alice.put([make_row(2, version=2)]) == (True,)
        with pytest.raises(Locked):
            await alice.forget(held.memory.id, [HERE])
        bob.rollback()
    assert await alice.put([make_row(1, version=2)]) == (True,)


async def test_old_words_that_somebody_deletes_are_waited_for_by_nobody(quick_team, alice):
    await alice.put([make_row(1), make_row(2)])
    async with member_of(quick_team, "bob") as bob:
        await bob.forget(make_row(1).memory.id, [HERE])
    quick_team.server.execute(
        "UPDATE subcog.deleted_words SET at = at - interval '40 days'", database=quick_team.name
    )
    with psycopg.connect(quick_team.url("bob")) as bob_too:
        bob_too.execute("SELECT subcog.forget(%s, %s)", [make_row(2).memory.id, [str(HERE)]])
        await alice.put([make_row(3)])
        assert await alice.forget(make_row(3).memory.id, [HERE])
