"""The team's server dies while three machines go on capturing."""

from contextlib import AsyncExitStack, asynccontextmanager

import anyio
import pytest

from subcog.sinks.team import sync
from subcog.sinks.team.postgres.store import PostgresStore
from tests import machines
from tests.postgres import MEMBERS
from tests.stores import HERE, FakeClock, make_row
from tests.thorough import times
from tests.waiting import until

EACH = times(30, 334)


@asynccontextmanager
async def running(folder, team):
    """A machine of each member, in the team and at work."""
    async with AsyncExitStack() as parts:
        made = []
        for member in MEMBERS:
            server = PostgresStore(team.url(member), clock=FakeClock())
            machine = machines.machine(folder, server, member, HERE)
            made.append(await parts.enter_async_context(machine))
        for machine in made:
            await parts.enter_async_context(machine.running())
        yield made


async def capture(machine, first, events):
    """Acknowledge one memory after the other; ``events`` happen after so many of them."""
    for number in range(EACH):
        [taken] = await machine.put(make_row(first + number))
        assert taken
        if number in events:
            await anyio.to_thread.run_sync(events[number])


async def has_all(machine, wanted):
    return (await machine.current()).keys() == wanted


@pytest.mark.slow
async def test_a_server_that_is_killed_in_the_middle_of_captures_costs_nothing(
    tmp_path, team, monkeypatch
):
    monkeypatch.setattr(sync, "MAX_PAUSE_S", 0.5)
    wanted = {make_row(number).memory.id for number in range(EACH * 3)}
    happens = {EACH // 3: team.server.kill, 2 * EACH // 3: team.server.start}
    async with running(tmp_path, team) as (alice, bob, carol):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(capture, alice, 0, {})
            tasks.start_soon(capture, bob, EACH, {})
            tasks.start_soon(capture, carol, 2 * EACH, happens)
        for machine in (alice, bob, carol):
            await until(lambda machine=machine: has_all(machine, wanted))
            await machine.in_step()
        assert alice.sync.state().sent == EACH
    stored = team.psql("alice", "SELECT id, count(*) FROM subcog.versions GROUP BY id")
    assert set(stored.split()) == {f"{memory_id}|1" for memory_id in wanted}
    fed = team.psql("alice", "SELECT count(*), count(DISTINCT id) FROM subcog.changes")
    assert fed.split() == [f"{len(wanted)}|{len(wanted)}"]
