"""What a member may add a day is bounded by the server, whoever calls which function."""

from __future__ import annotations

import pytest

from subcog.sinks.team.protocol import QuotaExceeded
from tests.stores import HERE, make_row
from tests.teamwork import member_of, whole_feed


@pytest.fixture
async def alice(quick_team):
    async with member_of(quick_team) as store:
        yield store


def limit(team, versions=100, size=1_000_000_000):
    """For alice's team; the server's day begins anew."""
    team.server.execute(
        f"UPDATE subcog.teams SET daily_versions = {versions}, daily_bytes = {size} "
        "WHERE team = (SELECT team FROM subcog.members WHERE role = 'alice')",
        database=team.name,
    )


def next_day(team):
    team.server.execute("UPDATE subcog.spent SET day = day - 1", database=team.name)


async def test_what_is_beyond_the_number_of_a_day_goes_the_next(quick_team, alice):
    limit(quick_team, versions=2)
    await alice.put([make_row(1), make_row(2)])
    assert await alice.put([make_row(1)]) == (False,)  # nothing new
    with pytest.raises(QuotaExceeded, match="after 00:00 UTC"):
        await alice.put([make_row(3)])
    assert len(await whole_feed(alice)) == 2
    async with member_of(quick_team, "bob") as bob:
        assert await bob.put([make_row(4)]) == (True,)

    next_day(quick_team)

    assert await alice.put([make_row(3)]) == (True,)


async def test_what_is_beyond_the_bytes_of_a_day_goes_the_next(quick_team, alice):
    limit(quick_team, size=10_000_000)
    large = [make_row(number, content="x" * 900_000) for number in range(12)]
    for row in large[:10]:
        await alice.put([row])
    with pytest.raises(QuotaExceeded):
        await alice.put(large[10:])
    there = len(await whole_feed(alice))
    assert there == 10

    next_day(quick_team)

    assert await alice.put([large[there]]) == (True,)


async def test_deletions_are_no_part_of_what_is_written_and_have_a_bound_of_their_own(
    quick_team, alice
):
    limit(quick_team, versions=1)
    await alice.put([make_row(1)])
    with pytest.raises(QuotaExceeded):
        await alice.put([make_row(2)])
    assert await alice.forget(make_row(1).memory.id, [HERE])
    assert not await alice.forget(make_row(2).memory.id, [HERE])  # never there: its tombstone is
    with pytest.raises(QuotaExceeded):
        await alice.forget(make_row(3).memory.id, [HERE])
    with pytest.raises(QuotaExceeded):
        await alice.share(HERE, "here")
    assert [change.version for change in await whole_feed(alice)] == [0, 0]


async def test_no_statement_of_a_member_passes_the_quota_by(quick_team, alice):
    await alice.put([make_row(1)])
    for statement in (
        "UPDATE subcog.teams SET daily_versions = 1000000",
        "DELETE FROM subcog.spent",
        "SELECT * FROM subcog.spent",
        "INSERT INTO subcog.versions SELECT * FROM subcog.versions",
        "INSERT INTO subcog.memories SELECT * FROM subcog.memories",
        "SET session_replication_role = replica",
    ):
        assert "permission denied" in quick_team.psql("alice", statement), statement
    limit(quick_team, versions=1)
    clock = "SET timezone = '-14'; SELECT subcog.share('project:x', 'x')"
    assert "quota of the day" in quick_team.psql("alice", clock)
