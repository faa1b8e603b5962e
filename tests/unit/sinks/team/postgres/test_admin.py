"""Setting up a team: what is made, what is kept, and what a restored backup needs."""

from __future__ import annotations

import secrets
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import psycopg
import pytest

from subcog.sinks.team.postgres import admin, connection
from subcog.sinks.team.postgres.admin import init
from subcog.sinks.team.protocol import Cursor, TeamUnavailable
from tests.postgres import MEMBERS, PASSWORD, TEAM, Database, Server
from tests.stores import HERE, FakeClock, make_row
from tests.team_store import ReadableStore
from tests.teamwork import SCOPES, member_of, whole_feed
from tests.waiting import until

BOSS = "boss"


@contextmanager
def empty_database(server, owner="postgres"):
    name = f"empty_{secrets.token_hex(6)}"
    server.execute(f"CREATE DATABASE {name} OWNER {owner}")
    try:
        yield Database(server, name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture
def empty(postgres):
    with empty_database(postgres) as database:
        yield database


@pytest.fixture(scope="module")
def boss(postgres):
    """A role that administers databases and roles, as a hosted server gives it: no superuser."""
    postgres.execute(f"CREATE ROLE {BOSS} LOGIN CREATEROLE CREATEDB PASSWORD '{PASSWORD}'")
    postgres.execute(f"GRANT subcog_member TO {BOSS} WITH ADMIN OPTION")
    return BOSS


def drop_role(server, role):
    server.execute(f"DROP ROLE {role}")


async def test_a_made_role_can_remember_at_once(postgres, empty):
    name = f"new_{secrets.token_hex(4)}"
    made = init(empty.owner_url, "shop", [name])
    try:
        [member] = made.members
        assert (made.upgraded_from, made.version, made.epoch) == (0, admin.VERSION, 1)
        assert (made.text_search, made.server) == (
            "native",
            f"127.0.0.1:{postgres.port}/{empty.name}",
        )
        store = ReadableStore(member.url, clock=FakeClock())
        await store.put([make_row()])
        about = await store.about()
        await store.close()
        assert (about.team, about.member, about.members) == ("shop", name, (name,))

        again = init(empty.owner_url, "shop", [name, "alice"])

        assert [one.url for one in again.members] == ["", ""]
        assert (again.upgraded_from, again.epoch) == (admin.VERSION, 1)
    finally:
        empty.server.execute(f"DROP DATABASE {empty.name} WITH (FORCE)")
        drop_role(postgres, name)
        postgres.execute(f"CREATE DATABASE {empty.name}")


def test_the_address_of_a_member_works_wherever_the_owners_leads(postgres, monkeypatch):
    database, name = f"two words/{secrets.token_hex(4)}", f"a/b {secrets.token_hex(4)}"
    postgres.execute(f'CREATE DATABASE "{database}"')
    told = {"PGHOST": str(postgres.folder), "PGDATABASE": database, "PGPASSWORD": PASSWORD}
    for variable, value in told.items():
        monkeypatch.setenv(variable, value)
    try:
        [member] = init(f"postgresql://postgres@/?port={postgres.port}", "shop", [name]).members
        for variable in told:
            monkeypatch.delenv(variable)
        with psycopg.connect(member.url) as there:
            assert (there.info.dbname, there.info.user) == (database, name)
            assert there.info.host == str(postgres.folder)
    finally:
        postgres.execute(
            f'DROP DATABASE "{database}" WITH (FORCE)', f'DROP ROLE IF EXISTS "{name}"'
        )


def test_the_server_never_sees_a_made_password(postgres, empty):
    name = f"new_{secrets.token_hex(4)}"
    log = postgres.folder / "log"
    postgres.execute("ALTER SYSTEM SET log_statement = 'all'", "SELECT pg_reload_conf()")
    try:
        init(empty.owner_url, "shop", [name], password=lambda: "correct horse")
    finally:
        postgres.execute("ALTER SYSTEM RESET log_statement", "SELECT pg_reload_conf()")
        postgres.execute(f"DROP ROLE IF EXISTS {name}")
    assert f'CREATE ROLE "{name}"' in log.read_text()
    assert "correct horse" not in log.read_text()


def test_a_role_is_in_one_team(team):
    init(team.owner_url, "second", [])
    with pytest.raises(ValueError, match="role alice is in another team"):
        init(team.owner_url, "second", ["alice"])


@pytest.mark.parametrize(
    ("team", "member", "why"),
    [
        ("", "alice", "need names"),
        (TEAM, "", "need names"),
        (TEAM, "a\tb", "not shown"),
        ("a\x1b[2J", "alice", "not shown"),
        (TEAM, "\ud800", "not shown"),
        (TEAM, "é" * 32, "at most 63 bytes"),
        (TEAM, "pg_alice", "begin with pg_"),
        (TEAM, "public", "cannot be a role"),
    ],
)
def test_a_name_that_cannot_be_one_is_told_before_anything_is_asked(team, member, why):
    with pytest.raises(ValueError, match=why):
        init("postgresql://admin@127.0.0.1:1/memory", team, ["alice", member])


async def test_older_tables_are_upgraded_and_keep_what_is_in_them(team, monkeypatch):
    whole = admin.steps()
    async with member_of(team) as alice:
        await alice.put([make_row(1)])
    monkeypatch.setattr(admin, "steps", lambda: [*whole, "CREATE TABLE later (a integer)"])
    monkeypatch.setattr(admin, "VERSION", len(whole) + 1)

    upgraded = init(team.owner_url, TEAM, [])

    assert (upgraded.upgraded_from, upgraded.version) == (len(whole), len(whole) + 1)
    store = ReadableStore(team.url(), clock=FakeClock())
    with pytest.raises(TeamUnavailable, match="Update subcog") as caught:
        await store.counts()
    await store.close()
    assert caught.value.reason == "newer_schema"
    monkeypatch.undo()
    with pytest.raises(TeamUnavailable, match="Update subcog"):
        init(team.owner_url, TEAM, [])
    team.server.execute(
        f"DELETE FROM subcog.migrations WHERE version > {len(whole)}", database=team.name
    )
    async with member_of(team) as alice:
        assert len(await whole_feed(alice)) == 1


async def test_tables_from_before_the_quota_are_upgraded_with_what_is_in_them(empty, monkeypatch):
    whole = admin.steps()
    for module in (admin, connection):
        monkeypatch.setattr(module, "VERSION", 7)
    monkeypatch.setattr(admin, "steps", lambda: whole[:7])
    init(empty.owner_url, "shop", ["alice"])
    ahead = datetime.now(UTC) + timedelta(days=365)
    old = ReadableStore(empty.url(), clock=FakeClock())
    await old.put([make_row(1, created_at=ahead)])
    await old.close()
    monkeypatch.undo()

    init(empty.owner_url, "shop", [])

    async with member_of(empty) as alice:
        assert await alice.put([make_row(2)]) == (True,)
        assert len(await whole_feed(alice)) == 2
        assert len(await alice.latest([HERE], limit=2)) == 2


def test_the_version_is_the_last_file():
    assert len(admin.steps()) == admin.VERSION


async def test_a_database_without_tables_says_who_makes_them(postgres, empty):
    store = ReadableStore(empty.url(), clock=FakeClock())
    with pytest.raises(TeamUnavailable, match="subcog team init") as caught:
        await store.counts()
    await store.close()
    assert caught.value.reason == "no_schema"


def test_a_server_without_pgvector_that_search_can_use_says_so(empty):
    older = "UPDATE pg_extension SET extversion = '0.7.4' WHERE extname = 'vector'"
    empty.server.execute("CREATE EXTENSION vector", older, database=empty.name)
    with pytest.raises(TeamUnavailable, match="lacks the extension pgvector") as caught:
        init(empty.owner_url, "shop", [])
    assert caught.value.reason == "no_pgvector"


def test_where_everybody_may_create_functions_no_team_is_made(empty):
    """For one that is named like one of PostgreSQL's would be called by the tables' owner."""
    with psycopg.connect(empty.owner_url, autocommit=True) as connection:
        connection.execute("GRANT CREATE ON SCHEMA public TO PUBLIC")
        with pytest.raises(TeamUnavailable, match="REVOKE CREATE ON SCHEMA public") as caught:
            init(empty.owner_url, TEAM, [])
        assert caught.value.reason == "refused"
        connection.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
    assert init(empty.owner_url, TEAM, []).epoch == 1


def test_who_may_not_administer_is_told_so(team):
    with pytest.raises(TeamUnavailable, match="may not administer") as caught:
        init(team.url("alice"), TEAM, ["mallory"])
    assert caught.value.reason == "refused"


async def test_no_superuser_is_needed(postgres, boss):
    with empty_database(postgres, boss) as database:
        postgres.execute("CREATE EXTENSION vector", database=database.name)
        made = init(database.url(boss), "shop", MEMBERS)
        assert made.epoch == 1
        async with member_of(database) as alice:
            assert await alice.put([make_row(1)]) == (True,)


async def test_a_transaction_that_a_member_leaves_open_holds_up_the_others_for_a_while(
    empty, monkeypatch
):
    monkeypatch.setattr(admin, "_MEMBER_LIMITS", dict.fromkeys(admin._MEMBER_LIMITS, "500ms"))
    made = init(empty.owner_url, "shop", ["dawdler", "alice"])
    dawdler = psycopg.connect(made.members[0].url)
    try:
        dawdler.execute("SELECT subcog.forget('mem_x', ARRAY['org:x'])")  # and no commit
        async with member_of(empty) as alice:
            await alice.put([make_row(1)])
            start = Cursor((await alice.about()).epoch)
            assert (await alice.changes(start, SCOPES)).changes == ()
            await until(lambda: has_changes(alice, start))
    finally:
        dawdler.close()
        drop_role(empty.server, "dawdler")


async def has_changes(store, start):
    return (await store.changes(start, SCOPES)).changes


# --- backup and restore --------------------------------------------------------------------------


def dump(database):
    file = database.server.folder / f"{database.name}.dump"
    database.server.run(
        "pg_dump", "--format=custom", "--schema=subcog", f"--file={file}", database.owner_url
    )
    return file


async def test_each_restore_on_the_same_server_starts_a_new_epoch_by_itself(postgres, boss, team):
    async with member_of(team) as alice:
        await alice.put([make_row(1), make_row(2)])
        before = await alice.about()
    file = dump(team)
    epochs = {before.epoch}
    for _ in range(2):  # of the same backup
        with empty_database(postgres, boss) as other:
            other.server.execute("CREATE EXTENSION vector", database=other.name)
            postgres.run(
                "pg_restore",
                "--single-transaction",
                "--no-owner",
                f"--dbname={other.url(boss)}",
                str(file),
            )
            async with member_of(other) as alice:
                epoch = (await alice.about()).epoch
                assert len(await whole_feed(alice)) == 2
                await alice.put([make_row(3)])
                assert len(await whole_feed(alice)) == 3
            async with member_of(other, "bob") as bob:
                assert (await bob.about()).epoch == epoch > max(epochs)
            epochs.add(epoch)
    assert len(epochs) == 3
    async with member_of(team) as alice:
        assert (await alice.about()).epoch == before.epoch


@pytest.mark.slow
async def test_a_restore_on_another_server_waits_for_init(team):
    async with member_of(team) as alice:
        await alice.put([make_row(1), make_row(2)])
    # The server has done more than the one that takes its place.
    team.server.execute("UPDATE subcog.changes SET xid = '1000000'", database=team.name)
    old = Cursor(1, 1_000_000, 2)
    file = dump(team)
    elsewhere = Server()
    try:
        elsewhere.start()
        init(elsewhere.url(), "somebody", [])  # makes the group; another database is another matter
        for role in MEMBERS:
            elsewhere.execute(f"CREATE ROLE {role} LOGIN PASSWORD 'x' IN ROLE subcog_member")
        elsewhere.execute("CREATE DATABASE restored")
        elsewhere.execute("CREATE EXTENSION vector", database="restored")
        elsewhere.run("pg_restore", f"--dbname={elsewhere.url('restored')}", str(file))
        store = ReadableStore(elsewhere.url("restored", "alice", "x"), clock=FakeClock())
        with pytest.raises(TeamUnavailable, match="restored from another server's backup"):
            await store.about()

        epoch = init(elsewhere.url("restored"), TEAM, []).epoch
        assert epoch > old.epoch

        assert len(await whole_feed(store)) == 2
        assert await store.put([make_row(1), make_row(3)]) == (False, True)
        assert len(await whole_feed(store)) == 3
        moved = await store.changes(old, SCOPES)
        assert (moved.changes, moved.cursor) == ((), Cursor(epoch))
        await store.close()
    finally:
        elsewhere.close()


def test_a_restore_without_the_extension_is_told_by_init(team):
    """pg_restore passes over what needs it, and goes on."""
    team.server.execute("DROP FUNCTION subcog.search", database=team.name)
    team.server.execute("DROP TABLE subcog.vectors", database=team.name)
    with pytest.raises(TeamUnavailable, match=r"search is missing.*restore the backup") as caught:
        init(team.owner_url, TEAM, [])
    assert caught.value.reason == "no_schema"


def test_two_who_initialise_at_once_do_not_collide(empty):
    with ThreadPoolExecutor(2) as both, psycopg.connect(empty.owner_url) as first:
        first.execute("SELECT pg_advisory_xact_lock(hashtext('subcog.migrate'))")
        asked = [both.submit(init, empty.owner_url, "shop", []) for _ in range(2)]
        waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
        while first.execute(waiting).fetchone() != (2,):
            assert not any(one.done() for one in asked)
        first.rollback()
        found = sorted(one.result(timeout=60).upgraded_from for one in asked)
    assert found[0] == 0
