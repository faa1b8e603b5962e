"""The clock of a member may be a year off: what it claims is bounded by the server's time."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from subcog.stages.statements.outdated import contradicted
from tests.stores import HERE, FakeClock, make_row
from tests.teamwork import member_of, whole_feed

YEAR = timedelta(days=365)


def written(number, at, content):
    return make_row(number, content=content, created_at=at, updated_at=at)


@pytest.mark.parametrize("ahead", [YEAR, -YEAR])
async def test_a_wrong_clock_is_not_the_newest_for_ever(quick_team, ahead):
    now = datetime.now(UTC)
    wrong = written(1, now + ahead, "We deploy on port 8080")
    async with (
        member_of(quick_team) as alice,
        member_of(quick_team, "bob", FakeClock(now + timedelta(minutes=1))) as bob,
    ):
        await alice.put([wrong])
        await bob.put([written(2, datetime.now(UTC), "We deploy on port 9090")])

        first, second = [change.row.memory for change in await whole_feed(bob)]
        newest = await bob.latest([HERE], limit=2)

    assert first.updated_at <= second.updated_at
    assert first.updated_at == wrong.memory.updated_at or ahead == YEAR
    assert [memory.id for memory in newest] == [second.id, first.id]
    assert contradicted([first, second]) == {first.id: second.id}


async def test_what_is_of_now_keeps_its_time_and_is_the_same_each_time_it_is_read(quick_team):
    now = datetime.now(UTC)
    async with member_of(quick_team) as alice:
        await alice.put([written(1, now, "one"), written(2, now + YEAR, "two")])
        one, two = await whole_feed(alice)
        assert one.row.memory.updated_at == now
        assert await whole_feed(alice) == [one, two]


async def test_a_memory_is_no_newer_than_the_servers_first_sight_of_it_in_every_version(quick_team):
    ahead = datetime.now(UTC) + YEAR
    first = written(1, ahead, "We deploy on port 8080")
    ended = make_row(
        1,
        version=2,
        content="We deploy on port 8080",
        created_at=ahead,
        updated_at=ahead,
        valid_from=ahead,
        valid_to=ahead,
    )
    async with member_of(quick_team) as alice:
        await alice.put([first])
        await alice.put([ended])
        made, changed = [change.row.memory for change in await whole_feed(alice)]
        now = datetime.now(UTC)

    assert made.created_at == made.updated_at == changed.created_at <= changed.updated_at <= now
    assert changed.valid_from == changed.valid_to == changed.updated_at  # so it has ended


async def test_what_somebody_wants_to_be_valid_later_is_so(quick_team):
    now = datetime.now(UTC)
    wish = {"valid_from": now + YEAR, "valid_to": now + 2 * YEAR}
    async with member_of(quick_team) as alice:
        await alice.put([make_row(1, created_at=now, updated_at=now, **wish)])
        [memory] = [change.row.memory for change in await whole_feed(alice)]
    assert (memory.valid_from, memory.valid_to) == (now + YEAR, now + 2 * YEAR)
