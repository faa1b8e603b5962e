"""A server that is slow, gone or not ours is told in a sentence, and found again."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from subcog.sinks.team.postgres import pool
from subcog.sinks.team.protocol import OtherTeam, TeamUnavailable
from tests.postgres import MEMBERS, PATIENCE_S
from tests.proxy import HOST, Proxy
from tests.stores import HERE, FakeClock, make_row
from tests.team_store import ReadableStore
from tests.teams import membership
from tests.teamwork import member_of


@pytest.fixture
def proxy(quick_team):
    with Proxy((HOST, quick_team.server.port)) as proxy:
        yield proxy


@pytest.fixture
async def behind_proxy(quick_team, proxy):
    url = quick_team.url().replace(str(quick_team.server.port), str(proxy.port))
    store = ReadableStore(url, clock=FakeClock())
    yield store
    proxy.thaw()
    proxy.mend()
    await store.close()


async def reason(work):
    with pytest.raises(TeamUnavailable) as caught:
        await work
    return caught.value.reason


async def test_a_lost_connection_is_told_and_the_next_call_makes_another(behind_proxy, proxy):
    await asyncio.gather(*(behind_proxy.put([make_row(1)]) for _ in range(3)))
    proxy.reset()

    assert await reason(behind_proxy.put([make_row(2)])) == "unreachable"
    assert await behind_proxy.put([make_row(1), make_row(2)]) == (False, True)


@pytest.mark.parametrize("of_the_same_name", [False, True])
async def test_no_connection_to_another_team_is_used(quick_team, proxy, of_the_same_name):
    """The address leads elsewhere from one connection to the next."""
    async with member_of(quick_team) as alice:
        about = await alice.about()
    joined = replace(membership(team=about.team), founded=about.founded)
    url = quick_team.url().replace(str(quick_team.server.port), str(proxy.port))
    store = ReadableStore(url, clock=FakeClock(), joined=joined)
    assert await store.put([make_row(1)]) == (True,)
    quick_team.server.execute(
        f"UPDATE subcog.teams SET created_at = now() WHERE team = '{about.team}'"
        if of_the_same_name
        else "UPDATE subcog.members SET team = 'house'",
        database=quick_team.name,
    )
    proxy.reset()
    assert await reason(store.put([make_row(2)])) == "unreachable"
    for _ in range(2):
        with pytest.raises(OtherTeam, match="url leads to the team"):
            await store.put([make_row(2)])
    await store.close()


async def test_a_server_that_is_gone_is_found_when_it_is_back(behind_proxy, proxy):
    await behind_proxy.open()
    proxy.cut()
    for _ in range(2):
        assert await reason(behind_proxy.counts()) == "unreachable"
    proxy.mend()

    assert await behind_proxy.put([make_row(1)]) == (True,)


async def test_a_cancelled_call_ends_at_once_while_the_server_hangs(behind_proxy, proxy):
    await behind_proxy.open()
    proxy.freeze()
    with anyio.fail_after(4):
        await give_up(behind_proxy)
        while any(thread.name == "subcog-team" for thread in threading.enumerate()):
            await checkpoint()
        for _ in range(6):  # there is no connection left, and none can be made
            await give_up(behind_proxy)
    proxy.thaw()
    with anyio.fail_after(PATIENCE_S):
        assert await behind_proxy.counts() == {}


async def give_up(store):
    with anyio.move_on_after(0.02) as scope:
        await store.counts()
    assert scope.cancelled_caught


async def test_a_server_that_hangs_is_not_waited_for_without_end(behind_proxy, proxy, monkeypatch):
    await behind_proxy.open()
    monkeypatch.setattr(pool, "_LEAVE_S", 0.1)
    proxy.freeze()

    assert await reason(behind_proxy.counts()) == "timeout"


async def test_a_server_that_answers_slowly_is_given_more_time_after_each_time_out(
    behind_proxy, proxy
):
    address = behind_proxy._connections.address
    address.connect_s = 2  # the least that libpq knows
    proxy.freeze()  # it accepts, and never answers
    assert await reason(behind_proxy.counts()) == "timeout"
    assert address.connect_s == 4
    proxy.delay_s = 0.3  # to log in are three round trips and more
    proxy.thaw()
    assert await behind_proxy.counts() == {}
    assert behind_proxy.answer_s > 1


async def test_a_killed_server_loses_nothing_that_it_acknowledged(quick_team):
    acknowledged: set[str] = set()

    async def put_on(store):
        for number in range(100_000):
            assert await store.put([make_row(number)]) == (True,)
            acknowledged.add(make_row(number).memory.id)

    async def put_until_it_fails(store):
        assert await reason(put_on(store)) == "unreachable"

    async with member_of(quick_team) as store:
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(put_until_it_fails, store)
                while len(acknowledged) < 20:
                    await checkpoint()
                quick_team.server.kill()
        quick_team.server.start()

        kept = {memory.id for memory in await store.page([HERE], limit=100_000)}
        assert acknowledged <= kept
        assert len(kept) <= len(acknowledged) + 1  # the one under way may be there


async def test_a_wrong_password_is_told_apart_from_a_dead_server(quick_team):
    for url, expected in (
        (quick_team.server.url(quick_team.name, "alice", "wrong"), "refused"),
        (quick_team.server.url(quick_team.name, "nobody_such"), "refused"),
        (quick_team.server.url("no_such_database"), "no_schema"),
        ("postgresql://alice:hunter2@127.0.0.1:1/memory", "unreachable"),
        ("postgresql://alice:hunter2@no-such-host.invalid/memory", "unreachable"),
    ):
        store = ReadableStore(url, clock=FakeClock())
        assert await reason(store.counts()) == expected, url
        await store.close()


async def test_no_message_holds_the_password(quick_team):
    for url in (
        "postgresql://alice:hunter2@127.0.0.1:1/memory",
        quick_team.server.url(quick_team.name, "alice", "hunter2"),
    ):
        store = ReadableStore(url, clock=FakeClock())
        assert "hunter2" not in store.server
        with pytest.raises(TeamUnavailable) as caught:
            await store.counts()
        assert "hunter2" not in str(caught.value)
        assert caught.value.__cause__ is None
        await store.close()
    for bad in ("postgresql://alice:hunter2@host:port/x", "hunter2", "mysql://a:hunter2@b/c"):
        with pytest.raises(TeamUnavailable) as caught:
            await ReadableStore(bad, clock=FakeClock()).counts()
        assert "hunter2" not in str(caught.value)


async def test_a_server_without_tls_is_told_as_such(quick_team):
    url = quick_team.url().replace("127.0.0.1", "team.example.org")
    store = ReadableStore(f"{url}?hostaddr=127.0.0.1&sslmode=prefer", clock=FakeClock())
    with pytest.raises(TeamUnavailable, match=r"team\.example\.org.* speaks no TLS") as caught:
        await store.counts()
    assert caught.value.reason == "no_tls"
    with pytest.raises(TeamUnavailable, match="speaks no TLS"):
        await anext(store.listen())
    await store.close()


async def test_the_same_version_from_two_at_once_is_stored_once(quick_team):
    rows = [make_row(number) for number in range(40)]
    async with (
        member_of(quick_team, MEMBERS[0]) as first,
        member_of(quick_team, MEMBERS[1]) as second,
    ):
        answers: dict[str, tuple[bool, ...]] = {}

        async def put(name, store, rows):
            answers[name] = await store.put(rows)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(put, "first", first, rows)
            tasks.start_soon(put, "second", second, rows[::-1])

        winners = zip(answers["first"], answers["second"][::-1], strict=True)
        assert all(one != other for one, other in winners)
        assert len(await first.page([HERE], limit=100)) == 40


async def test_a_server_that_takes_no_more_connections_does_not_refuse_the_password(quick_team):
    quick_team.server.execute("ALTER ROLE carol CONNECTION LIMIT 0")
    store = ReadableStore(quick_team.url("carol"), clock=FakeClock())
    try:
        assert await reason(store.open()) == "unreachable"
    finally:
        quick_team.server.execute("ALTER ROLE carol CONNECTION LIMIT -1")
