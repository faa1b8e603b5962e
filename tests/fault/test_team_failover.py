"""The primary dies, and a standby takes over that had not got everything yet."""

from contextlib import AsyncExitStack

import anyio
import pytest

from subcog.sinks.team import sync
from subcog.sinks.team.postgres.store import PostgresStore
from subcog.sinks.team.protocol import TeamUnavailable
from tests import machines
from tests.pooler import pooler, through
from tests.postgres import MEMBERS, Database, standby_of
from tests.proxy import HOST, Proxy
from tests.stores import HERE, FakeClock, make_row
from tests.waiting import until

pytestmark = pytest.mark.slow
EACH = 20


def of_both(team, standby, member):
    """The address of both servers, as libpq takes it; the standby first."""
    here = f"{HOST}:{team.server.port}"
    return team.url(member).replace(here, f"{HOST}:{standby.port},{here}")


async def capture(machine, *numbers):
    await machine.put(*(make_row(number) for number in numbers))


async def has_all(machine, wanted):
    return (await machine.current()).keys() == wanted


def ids(*numbers):
    return {make_row(number).memory.id for number in numbers}


async def test_a_standby_takes_over_and_gets_what_was_lost_with_the_primary(
    tmp_path, team, monkeypatch
):
    monkeypatch.setattr(sync, "MAX_PAUSE_S", 0.3)
    async with AsyncExitStack() as parts:
        standby, wire = parts.enter_context(standby_of(team.server))
        parts.callback(team.server.start)
        made = []
        for member in MEMBERS[:2]:
            server = PostgresStore(of_both(team, standby, member), clock=FakeClock())
            made.append(
                await parts.enter_async_context(machines.machine(tmp_path, server, member, HERE))
            )
        for machine in made:
            await parts.enter_async_context(machine.running())
        alice, bob = made
        await capture(alice, *range(EACH))
        await until(lambda: has_all(bob, ids(*range(EACH))))
        await anyio.to_thread.run_sync(until_replayed, team, standby)

        wire.freeze()
        await capture(alice, *range(EACH, 2 * EACH))
        await alice.forget(make_row(0).memory.id)
        await until(lambda: has_all(bob, ids(*range(1, 2 * EACH))))
        await alice.in_step()  # the primary has acknowledged what the standby never gets
        epoch = (await alice.replica.cursor()).epoch

        await capture(bob, *range(2 * EACH, 3 * EACH))
        await anyio.to_thread.run_sync(team.server.kill)  # in the middle of sending those
        await capture(bob, *range(3 * EACH, 4 * EACH))
        with pytest.raises(TeamUnavailable, match="read-only standby") as told:
            await PostgresStore(standby.url(team.name, "alice"), clock=FakeClock()).open()
        assert told.value.reason == "read_only"
        await until(lambda: is_told(bob, "read_only"))
        await anyio.to_thread.run_sync(standby.promote)

        wanted = ids(*range(1, 4 * EACH))
        for machine in made:
            await until(lambda machine=machine: is_in(machine, epoch))
            await until(lambda machine=machine: has_all(machine, wanted))
            await machine.in_step()
        promoted = Database(standby, team.name)
        stored = promoted.psql("alice", "SELECT id, count(*) FROM subcog.versions GROUP BY id")
        assert set(stored.split()) == {f"{memory_id}|1" for memory_id in wanted}
        fed = promoted.psql("alice", "SELECT count(*), count(DISTINCT id) FROM subcog.changes")
        assert fed.split() == [f"{4 * EACH + 1}|{4 * EACH}"]  # with a deletion of what was there


async def test_behind_a_pool_the_other_server_is_noticed_without_a_new_connection(team):
    with (
        standby_of(team.server) as (standby, _),
        Proxy((HOST, team.server.port)) as line,
        pooler(line) as port,
    ):
        alice = PostgresStore(through(port, team.url("alice")), clock=FakeClock())
        before = (await alice.about()).epoch
        try:
            await anyio.to_thread.run_sync(team.server.kill)
            line.target = (HOST, standby.port)
            await anyio.to_thread.run_sync(standby.promote)
            made = line.accepted
            await until(lambda: is_at(alice, lambda epoch: epoch > before))
            assert line.accepted == made + 1  # the pool's
        finally:
            team.server.start()
            await alice.close()


async def is_at(store, wanted):
    try:
        return wanted((await store.about()).epoch)
    except TeamUnavailable:
        return False


async def is_told(machine, reason):
    problem = machine.sync.state().problem
    return problem is not None and problem.reason == reason


async def is_in(machine, epoch):
    """Whether it has seen that the server is another than in ``epoch``."""
    return (await machine.replica.cursor()).epoch > epoch


def until_replayed(team, standby):
    [written] = team.psql("postgres", "SELECT pg_current_wal_lsn()").split()
    replayed = f"SELECT pg_last_wal_replay_lsn() >= '{written}'"
    while Database(standby, team.name).psql("postgres", replayed).strip() != "t":
        pass
