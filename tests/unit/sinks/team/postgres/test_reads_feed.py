"""The feed tells every change once, in an order that nothing late can get behind."""

from __future__ import annotations

import time
from contextlib import aclosing

import anyio
import psycopg
import pytest
from msgspec.structs import replace

from subcog.bus.values import BRINGS_BACK, Encoding, Provenance, Query, Scope
from subcog.sinks.store.rows import Row
from subcog.sinks.team.postgres.address import Address
from subcog.sinks.team.postgres.connection import Link
from subcog.sinks.team.postgres.store import _put
from subcog.sinks.team.protocol import Changes, Cursor, TeamUnavailable
from tests.machines import machine
from tests.postgres import OWNER, STRANGER
from tests.stores import ALL, ELSEWHERE, HERE, FakeClock, make_row
from tests.team_store import ReadableStore
from tests.teamwork import SCOPES, member_of, whole_feed
from tests.waiting import PATIENCE_S, until


@pytest.fixture
async def alice(quick_team):
    async with member_of(quick_team) as store:
        yield store


async def beginning(store):
    return Cursor((await store.about()).epoch)


def said(changes):
    return [(change.id, change.version) for change in changes]


async def test_every_change_comes_once_and_in_order(alice):
    rows = [make_row(number) for number in range(10)]
    await alice.put(rows[:4])
    await alice.put(rows[4:])
    await alice.put([make_row(2, version=2)])

    assert said(await whole_feed(alice)) == [
        *((row.memory.id, 1) for row in rows),
        (rows[2].memory.id, 2),
    ]


async def test_a_change_brings_the_whole_memory_and_who_wrote_it(quick_team, alice):
    row = make_row(1, provenance=Provenance(hook="h", author="somebody else"))
    await alice.put([row])

    [change] = await whole_feed(alice)

    assert (change.author, change.scope) == ("alice", HERE)
    signed = replace(row.memory, provenance=Provenance(hook="h", author="alice"))
    assert change.row == Row(signed, row.encoding)
    sent = "SELECT count(*) FROM subcog.versions WHERE body LIKE '%somebody else%'"
    assert quick_team.psql(OWNER, sent) == "0\n"


async def test_what_commits_late_is_never_passed_over(quick_team, alice):
    late = Link(Address(quick_team.url("bob")))
    late.connection.autocommit = False
    start = await beginning(alice)
    try:
        _put(late.connection, [make_row(1)])  # has its number now, and is not committed
        await alice.put([make_row(2)])

        waiting = await alice.changes(start, SCOPES)
        assert waiting == Changes((), start, behind=True)

        late.connection.commit()
        both = await alice.changes(waiting.cursor, SCOPES)
    finally:
        late.connection.close()
    assert said(both.changes) == [(make_row(1).memory.id, 1), (make_row(2).memory.id, 1)]
    assert both.behind is False


async def test_a_transaction_that_began_early_and_wrote_late_keeps_its_place(quick_team, alice):
    early = Link(Address(quick_team.url("bob")))
    early.connection.autocommit = False
    try:
        early.connection.execute("SELECT pg_current_xact_id()")
        await alice.put([make_row(2)])
        _put(early.connection, [make_row(1)])
        early.connection.commit()
    finally:
        early.connection.close()

    first = await alice.changes(await beginning(alice), SCOPES, limit=1)
    second = await alice.changes(first.cursor, SCOPES, limit=1)

    assert said(first.changes + second.changes) == [
        (make_row(1).memory.id, 1),
        (make_row(2).memory.id, 1),
    ]
    assert first.cursor.seq > second.cursor.seq


async def test_a_write_that_is_taken_back_holds_up_nothing(quick_team, alice):
    late = Link(Address(quick_team.url("bob")))
    late.connection.autocommit = False
    _put(late.connection, [make_row(1)])
    await alice.put([make_row(2)])
    late.connection.close()

    with anyio.fail_after(PATIENCE_S):
        while not (found := await alice.changes(await beginning(alice), SCOPES)).changes:
            assert found.behind

    assert said(found.changes) == [(make_row(2).memory.id, 1)]


async def test_a_forgotten_memory_leaves_its_tombstone_alone(alice):
    await alice.put([make_row(1), make_row(2)])
    await alice.forget(make_row(1).memory.id, [HERE])

    kept, gone = await whole_feed(alice)

    assert said([kept]) == [(make_row(2).memory.id, 1)]
    assert said([gone]) == [(make_row(1).memory.id, 0)]
    assert (gone.row, gone.scope) == (None, HERE)


async def test_what_is_forgotten_before_it_came_stays_forgotten(alice):
    """As after a restore, where who forgot it is there before who wrote it."""
    assert not await alice.forget(make_row(1).memory.id, [HERE])
    assert not await alice.forget(make_row(1).memory.id, [HERE])
    assert await alice.put([make_row(1)]) == (False,)
    [told] = await whole_feed(alice)
    assert (told.id, told.version, told.row) == (make_row(1).memory.id, 0, None)


async def test_only_the_scopes_asked_for_come(alice):
    await alice.put([make_row(1), make_row(2, scope=ALL), make_row(3, scope=ELSEWHERE)])
    start = await beginning(alice)

    assert said(await whole_feed(alice, (ALL,))) == [(make_row(2).memory.id, 1)]
    assert await alice.remaining(start, SCOPES) == 2
    assert await alice.changes(start, ()) == Changes((), start, behind=False)


async def test_another_team_is_another_feed(quick_team, alice):
    await alice.put([make_row(1)])
    quick_team.server.execute(
        "INSERT INTO subcog.teams (team) VALUES ('others') ON CONFLICT DO NOTHING",
        "UPDATE subcog.members SET team = 'others' WHERE role = 'bob'",
        database=quick_team.name,
    )
    async with member_of(quick_team, "bob") as bob:
        assert await whole_feed(bob) == []
        assert await bob.put([make_row(1)]) == (True,)
        assert await bob.counts() == {HERE: 1}
    assert len(await whole_feed(alice)) == 1


async def test_a_cursor_of_another_epoch_is_told_which_it_is(alice):
    await alice.put([make_row(1)])
    epoch = (await alice.about()).epoch

    found = await alice.changes(Cursor(epoch + 1, 7, 7), SCOPES)

    assert found == Changes((), Cursor(epoch), behind=True)


async def test_a_cursor_that_the_server_never_gave_out_begins_anew(alice):
    epoch = (await alice.about()).epoch
    found = await alice.changes(Cursor(epoch, 2**40, 1), [HERE])
    assert (found.changes, found.cursor, found.behind) == ((), Cursor(epoch), True)


async def test_large_rows_come_few_at_a_time(alice):
    blob = Encoding("m", b"\0" * 400_000, b"", b"")
    await alice.put([Row(make_row(number).memory, blob) for number in range(5)])

    first = await alice.changes(await beginning(alice), SCOPES)

    assert 0 < len(first.changes) < 5
    assert first.behind
    assert len(await whole_feed(alice)) == 5


async def test_nobody_floods_the_feed_with_the_names_of_what_was_never_there(quick_team, alice):
    """They cost no quota; of those from before the bound a page has as few as of large rows."""
    endless = f"{make_row(1).memory.id}{'a' * 40}"
    with pytest.raises(ValueError, match="CheckViolation"):
        await alice.forget(endless, [HERE])
    with pytest.raises(ValueError, match="CheckViolation"):
        await alice.put([make_row(1, id=endless)])
    with pytest.raises(ValueError, match="CheckViolation"):
        await alice.forget(make_row(1).memory.id, [Scope("project", "a" * 1_000)])
    quick_team.psql(
        OWNER,
        "INSERT INTO subcog.changes (team, scope, id, version) "
        f"SELECT m.team, '{HERE}', n || repeat('a', 400000), 0 "
        "FROM subcog.members m, generate_series(1, 9) AS n WHERE m.role = 'alice'",
    )

    first = await alice.changes(await beginning(alice), SCOPES)

    assert (len(first.changes), first.behind) == (3, True)
    assert len(await whole_feed(alice)) == 9


@pytest.mark.parametrize(
    "body",
    [
        "'{}'",
        "'no JSON'",
        "repeat('[', 100000)",
        "replace(body, '\"version\":1', '\"version\":2')",
        "replace(body, 'here:with/colon', 'elsewhere')",
        "replace(body, 'number 1', '\\ud800')",
        # A time without a zone cannot be compared with the server's.
        'regexp_replace(body, \'("created_at":"[^"]*)Z"\', \'\\1"\')',
    ],
)
async def test_what_is_no_memory_is_told_as_such(quick_team, alice, body):
    await alice.put([make_row(1), make_row(2)])
    quick_team.psql(
        OWNER,
        f"UPDATE subcog.versions SET body = {body} WHERE id = '{make_row(1).memory.id}' "
        "AND team = (SELECT team FROM subcog.members WHERE role = 'alice')",
    )

    bad, good = await whole_feed(alice)

    assert (bad.id, bad.version, bad.row) == (make_row(1).memory.id, 1, None)
    assert good.row is not None
    assert make_row(2).memory in await alice.page([HERE, ELSEWHERE], limit=9)
    assert await alice.search(Query(text="number", scopes=(HERE,), mode="text"), None)


@pytest.mark.parametrize(
    "lie",
    [
        "ALTER FUNCTION subcog.changes_after RENAME TO told; "
        "CREATE FUNCTION subcog.changes_after(bigint, xid8, bigint, text[], integer, bigint) "
        "RETURNS TABLE (xid xid8, seq float8, scope text, id text, version bigint, author text, "
        "digest bytea, body text, model text, vectors bytea, words bytea, lengths bytea, "
        "terms bytea, epoch bigint, behind boolean, at timestamptz, since timestamptz) "
        "SECURITY DEFINER LANGUAGE sql AS "
        "'SELECT xid, seq + 0.5, scope, id, version, author, digest, body, model, vectors, words, "
        "lengths, terms, epoch, behind, at, since FROM subcog.told($1, $2, $3, $4, $5, $6)'",
        "ALTER TABLE subcog.teams ALTER created_at TYPE text",
        "ALTER FUNCTION subcog.hello RENAME TO told; "
        "CREATE FUNCTION subcog.hello() RETURNS TABLE (version integer, team text, member text, "
        "epoch float8, channel text, bm25 boolean, halfvec oid, halfvecs oid) "
        "SECURITY DEFINER LANGUAGE sql AS 'SELECT version, team, member, epoch + 0.5, channel, "
        "bm25, halfvec, halfvecs FROM subcog.told()'",
    ],
)
async def test_what_is_no_place_of_a_feed_and_no_team_is_not_noted(team, lie):
    """It would be written on this machine, and could not be read from then on."""
    team.server.execute(*lie.split("; "), database=team.name)
    store = ReadableStore(team.url(), clock=FakeClock())
    with pytest.raises(TeamUnavailable, match=r"failed \(InternalError"):
        await store.changes(Cursor((await store.about()).epoch), [HERE])
    await store.close()


async def test_what_claims_to_bring_back_no_memory_brings_back_none(alice):
    """And the server, which takes no NUL, is not asked about it."""
    claims = Provenance(gate=f"{BRINGS_BACK}\0")
    await alice.put([make_row(1, provenance=claims), make_row(2)])

    first, second = await whole_feed(alice)

    assert (first.row.memory.provenance.gate, first.brings_back) == (claims.gate, "")
    assert second.row is not None


# --- being woken ---------------------------------------------------------------------------------


async def test_a_listener_is_woken_by_what_others_do(quick_team, alice):
    async with member_of(quick_team, "bob") as bob, aclosing(bob.listen()) as woken:
        with anyio.fail_after(PATIENCE_S):
            await anext(woken)
            for change in (
                lambda: alice.put([make_row(1)]),
                lambda: alice.forget(make_row(1).memory.id, [HERE]),
                lambda: alice.share(ELSEWHERE, "elsewhere"),
            ):
                assert await change()
                await anext(woken)


async def test_what_changes_nothing_wakes_nobody(quick_team, alice):
    await alice.put([make_row(1)])
    async with aclosing(alice.listen()) as woken:
        await anext(woken)
        assert await alice.put([make_row(1)]) == (False,)
        await alice.forget("mem_none", [HERE, ELSEWHERE])
        with anyio.move_on_after(0.1):
            await anext(woken)
            pytest.fail("woken by nothing")


async def test_a_listener_that_loses_the_server_says_so(quick_team, alice):
    async with aclosing(alice.listen()) as woken:
        await anext(woken)
        with psycopg.connect(quick_team.owner_url, autocommit=True) as owner:
            owner.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE query LIKE 'LISTEN%' AND usename = 'alice'"
            )
        with anyio.fail_after(PATIENCE_S), pytest.raises(TeamUnavailable) as caught:
            await anext(woken)
    assert caught.value.reason == "unreachable"


async def test_a_flood_of_notifications_of_any_role_costs_one_pull_an_interval(
    quick_team, alice, tmp_path
):
    """Mallory is in no team, and the name of the channel is no secret."""
    with Link(Address(quick_team.url())).connection as connection:
        [channel] = connection.execute("SELECT channel FROM subcog.hello()").fetchone()
    flood = (
        f"SELECT count(pg_notify('{channel}', n || repeat('x', 1000))) "
        "FROM generate_series(1, 2000) AS n"
    )
    pulls = 0
    changes = alice.changes

    async def counted(*asked, **options):
        nonlocal pulls
        pulls += 1
        return await changes(*asked, **options)

    alice.changes = counted
    async with machine(tmp_path, alice, "alice", HERE) as ours, ours.running():
        await ours.in_step()
        before, started = pulls, time.monotonic()
        mallory = await psycopg.AsyncConnection.connect(quick_team.url(STRANGER), autocommit=True)
        async with mallory:
            for _ in range(10):
                await mallory.execute(flood)
        took = time.monotonic() - started
        assert pulls - before <= 10 + took / 0.5 + 1
        async with member_of(quick_team, "bob") as bob:  # and news still comes
            await bob.put([make_row(1)])
            await until(lambda: ours.has(make_row(1)))


# --- who is waited for ---------------------------------------------------------------------------


async def test_a_transaction_that_cannot_add_to_the_feed_holds_it_up_no_longer(quick_team, alice):
    """In another database, of another team's member, or of another application."""
    quick_team.server.execute(
        "INSERT INTO subcog.teams (team) VALUES ('others') ON CONFLICT DO NOTHING",
        "UPDATE subcog.members SET team = 'others' WHERE role = 'bob'",
        database=quick_team.name,
    )
    start = await beginning(alice)
    with (
        psycopg.connect(quick_team.server.url("template1")) as elsewhere,
        psycopg.connect(quick_team.url("bob")) as bob,
        psycopg.connect(quick_team.url(STRANGER)) as mallory,
        psycopg.connect(quick_team.owner_url) as owner,
        psycopg.connect(quick_team.url("carol")) as carol,
    ):
        for other in (elsewhere, mallory):
            other.execute("SELECT pg_current_xact_id()")
        bob.execute("SELECT subcog.forget('mem_x', ARRAY[%s])", [str(HERE)])
        await alice.put([make_row(1)])

        first = await alice.changes(start, SCOPES)
        assert (said(first.changes), first.behind) == ([(make_row(1).memory.id, 1)], False)

        owner.execute("SELECT pg_current_xact_id()")  # may restore a backup
        carol.execute("SELECT subcog.forget('mem_y', ARRAY[%s])", [str(HERE)])
        await alice.put([make_row(2)])
        for may_add in (owner, carol):
            held = await alice.changes(first.cursor, SCOPES)
            assert held == Changes((), first.cursor, behind=True)
            may_add.commit()
        then = await alice.changes(first.cursor, SCOPES)
    assert said(then.changes) == [("mem_y", 0), (make_row(2).memory.id, 1)]
