"""Behind PgBouncer in transaction mode, whose clients share the connections of the server."""

from __future__ import annotations

from contextlib import asynccontextmanager

import psycopg
import pytest

from subcog.bus.values import Query
from subcog.sinks.team import sync
from subcog.sinks.team.postgres.admin import init
from subcog.sinks.team.postgres.store import PostgresStore
from subcog.sinks.team.protocol import NoWakeUps, OtherTeam
from tests.machines import machine
from tests.pooler import pooler, through
from tests.postgres import TEAM
from tests.stores import HERE, FakeClock, make_row
from tests.teams import membership
from tests.waiting import until


@pytest.fixture(scope="module")
def port(postgres):
    with pooler(postgres) as port:
        yield port


@asynccontextmanager
async def pooled(port, team, role="alice", joined=None):
    store = PostgresStore(through(port, team.url(role)), clock=FakeClock(), joined=joined)
    await store.open()
    yield store
    await store.close()


async def test_two_members_exchange_memories_both_ways_and_poll(
    port, quick_team, tmp_path, monkeypatch
):
    monkeypatch.setattr(sync, "UNTOLD_POLL_S", 0.1)
    async with (
        pooled(port, quick_team) as one,
        pooled(port, quick_team, "bob") as two,
        machine(tmp_path, one, "alice", HERE) as alice,
        machine(tmp_path, two, "bob", HERE) as bob,
        alice.running(),
        bob.running(),
    ):
        for number in range(10):  # psycopg prepares what is asked more often than 5 times
            await alice.put(make_row(number))
            await bob.put(make_row(100 + number))
            await until(lambda number=number: alice.has(make_row(100 + number)))
            await until(lambda number=number: bob.has(make_row(number)))
        gone = make_row(1).memory.id
        await alice.forget(gone)
        await until(lambda: is_gone(bob, gone))
        await alice.in_step()
        state = alice.sync.state()
        assert (state.is_polling, state.connected, state.problem) == (True, True, None)


async def is_gone(machine, memory_id):
    return memory_id not in await machine.current()


async def test_nothing_of_a_session_is_left_to_who_comes_next(port, quick_team):
    """The pool has one connection for the role, which another client gets right after."""
    url = through(port, quick_team.url())
    async with pooled(port, quick_team) as alice:
        for _ in range(7):
            await alice.put([make_row(1)])
            await alice.search(Query(text="number", scopes=(HERE,), mode="text"), None)
        with pytest.raises(NoWakeUps, match="pool"):
            await anext(alice.listen())
        with psycopg.connect(url, autocommit=True) as other:
            for question, found in (
                ("SHOW statement_timeout", ("0",)),
                ("SHOW lock_timeout", ("0",)),
                ("SELECT count(*) FROM pg_prepared_statements", (0,)),
                ("SELECT count(*) FROM pg_listening_channels()", (0,)),
                ("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'", (0,)),
            ):
                assert other.execute(question).fetchone() == found, question


async def test_whose_server_it_is_is_asked_with_each_call(port, quick_team):
    """A pool may lead to another one with the same connection."""
    async with pooled(port, quick_team) as alice:
        joined = membership(team=(await alice.about()).team)
    async with pooled(port, quick_team, joined=joined) as alice:
        assert await alice.put([make_row(1)]) == (True,)
        quick_team.server.execute(
            "UPDATE subcog.members SET team = 'house'", database=quick_team.name
        )
        with pytest.raises(OtherTeam):
            await alice.put([make_row(2)])


async def test_a_statement_behind_a_pool_is_bounded_as_well(port, quick_team):
    async with pooled(port, quick_team) as alice:
        found = await alice._run(lambda c: c.execute("SHOW statement_timeout").fetchone())
        assert found == ("30s",)


def test_the_tables_are_made_through_a_pool_too(port, postgres):
    postgres.execute("CREATE DATABASE pooled")
    try:
        made = init(through(port, postgres.url("pooled")), TEAM, ["alice"])
        assert made.upgraded_from == 0
        held = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
        assert postgres.psql(postgres.url("pooled"), held).strip() == "0"
        assert init(through(port, postgres.url("pooled")), TEAM, []).upgraded_from == made.version
    finally:
        postgres.execute("DROP DATABASE pooled WITH (FORCE)")
