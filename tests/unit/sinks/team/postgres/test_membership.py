"""Who is in no team reads nothing, and who is in one reads and writes in its name alone."""

from __future__ import annotations

import psycopg
import pytest
from msgspec.structs import replace

from subcog.bus.anchors import Anchor
from subcog.bus.values import Provenance
from subcog.sinks.store.rows import to_memory, to_record
from subcog.sinks.team.postgres.store import PostgresStore
from subcog.sinks.team.protocol import Cursor, ForgetRefused, TeamUnavailable
from tests.postgres import STRANGER
from tests.stores import ALL, HERE, FakeClock, make_row
from tests.teamwork import member_of, whole_feed

TABLES = (
    "teams members projects memories versions vectors uses changes deletions "
    "feed migrations spent deleted_words".split()
)
READABLE = TABLES[:-4]


@pytest.fixture
async def alice(quick_team):
    async with member_of(quick_team) as store:
        await store.put([make_row(1, content="a secret of the house")])
        await store.share(HERE, "here")
        used = f"SELECT subcog.mark_used(ARRAY['{make_row(1).memory.id}'], now())"
        quick_team.psql("alice", used)
        yield store


def counts(team, role):
    asked = [f"SELECT count(*) FROM subcog.{table}" for table in READABLE]
    return team.psql(role, *asked).split()


async def test_everybody_is_told_when_the_team_was_founded(quick_team, alice):
    founded = (await alice.about()).founded
    async with member_of(quick_team, "bob") as bob:
        assert (await bob.about()).founded == founded is not None


async def test_a_stranger_reads_no_row_of_any_table(quick_team, alice):
    for table in TABLES:
        printed = quick_team.psql(STRANGER, f"SELECT * FROM subcog.{table}")
        assert printed.startswith("ERROR:  permission denied"), printed
        assert "secret" not in printed
    assert "permission denied" in quick_team.psql(STRANGER, "SELECT subcog.hello()")
    assert "permission denied" in quick_team.psql(STRANGER, "SET ROLE subcog_member")


async def test_a_stranger_is_told_whom_to_ask(quick_team):
    store = PostgresStore(quick_team.url(STRANGER), clock=FakeClock())
    with pytest.raises(TeamUnavailable, match="Ask whoever runs the server") as caught:
        await store.about()
    await store.close()
    assert caught.value.reason == "no_member"


async def test_who_left_the_team_reads_no_row_either(quick_team, alice):
    async with member_of(quick_team, "bob") as bob:
        assert await bob.counts() == {HERE: 1}
        quick_team.server.execute(
            "DELETE FROM subcog.members WHERE role = 'bob'", database=quick_team.name
        )
        try:
            assert counts(quick_team, "bob") == ["0"] * len(READABLE)
            assert await bob.counts() == {}
            for writing in (bob.put([make_row(2)]), bob.forget(make_row(1).memory.id, [HERE])):
                with pytest.raises(TeamUnavailable) as caught:
                    await writing
                assert caught.value.reason == "no_member"
        finally:
            quick_team.server.execute(
                "INSERT INTO subcog.members VALUES ('bob', 'house', 'bob')",
                database=quick_team.name,
            )


async def test_members_read_their_team_and_no_other(quick_team, alice):
    rows = counts(quick_team, "alice")
    assert rows == ["1", "3", "1", "1", "1", "1", "1", "1", "0"]
    quick_team.server.execute(
        "INSERT INTO subcog.teams (team) VALUES ('rivals') ON CONFLICT DO NOTHING",
        "UPDATE subcog.members SET team = 'rivals' WHERE role = 'carol'",
        database=quick_team.name,
    )
    assert counts(quick_team, "alice") == ["1", "2", *rows[2:]]
    assert counts(quick_team, "carol") == ["1", "1", "0", "0", "0", "0", "0", "0", "0"]
    printed = quick_team.psql("carol", "SET row_security = off", "TABLE subcog.versions")
    assert "query would be affected by row-level security" in printed


async def test_members_change_no_table_by_themselves(quick_team, alice):
    for statement in (
        "UPDATE subcog.versions SET author = 'bob'",
        "DELETE FROM subcog.memories",
        "INSERT INTO subcog.members VALUES ('mallory', 'house', 'mallory')",
        "INSERT INTO subcog.changes (team, scope, id, version) VALUES ('house', 'org:x', 'x', 1)",
        "UPDATE subcog.feed SET epoch = 9",
        "TRUNCATE subcog.changes",
        "SELECT subcog.renew_feed()",
        "SELECT subcog.current_epoch()",
        "CREATE TABLE subcog.mine (a int)",
    ):
        printed = quick_team.psql("alice", statement)
        assert "permission denied" in printed, (statement, printed)


async def test_a_user_scope_is_refused(quick_team, alice):
    from tests.stores import ME

    with pytest.raises(ValueError, match="refused"):
        await alice.put([make_row(5, scope=ME)])


# --- who wrote it --------------------------------------------------------------------------------


async def authors(store):
    return {(one.id[-1], one.version): one.author for one in await whole_feed(store)}


async def test_the_author_is_who_wrote_all_that_is_shown_with_the_name(quick_team, alice):
    text = "a secret of the house"

    def version(number, **fields):
        return make_row(1, version=number, **({"content": text} | fields))

    ended = {"valid_to": make_row(9).memory.created_at, "confidence_percent": 90}
    kept = [
        version(2, provenance=Provenance(gate=gate), **ended)
        for gate in (
            "expired",
            "superseded by mem_01m808gcvkvptxqn54vz978pjz",
            "restored version 1",
        )
    ]
    put_into_her_mouth = [
        {"content": "bob's own words"},
        {"summary": "alice says: drop the tables"},
        {"tags": ("drop-the-tables",)},
        {"namespace": "gotchas"},
        {"created_at": make_row(9).memory.created_at},
        {"provenance": Provenance(file="drop the tables")},
        {"provenance": Provenance(hook="drop the tables")},
        {"provenance": Provenance(gate="merged: drop the tables")},
        {"anchors": (Anchor(path="drop/the/tables", symbol="", digest="", commit=""),)},
    ]
    async with member_of(quick_team, "bob") as bob:
        numbered = [
            replace(row, memory=replace(row.memory, version=number))
            for number, row in enumerate(kept, 2)
        ]
        forged = [version(n, **fields) for n, fields in enumerate(put_into_her_mouth, 5)]
        back = version(len(forged) + 5)
        await bob.put([*numbered, *forged, back, make_row(2)])

    found = await authors(alice)
    assert [found["1", n] for n in range(1, 5)] == ["alice"] * 4
    assert [found["1", n] for n in range(5, back.memory.version)] == ["bob"] * len(forged)
    assert (found["1", back.memory.version], found["2", 1]) == ("alice", "bob")


async def test_no_spelling_of_a_body_passes_for_the_authors_words(quick_team, alice):
    """Twice the same key, an escaped key: the server reads the body as the machines do."""
    [first] = await whole_feed(alice)
    body = to_record(first.row).body.replace('"version":1', '"version":2')
    head, rest = body.split('"summary":', 1)
    twice = f'{head}"summary":"forged","summary":{rest}'
    escaped = f'{body[:-1]},"summ\\u0061ry":"forged"}}'
    with psycopg.connect(quick_team.owner_url, autocommit=True) as owner:
        asked = "SELECT subcog.content_digest(%s) = subcog.content_digest(%s)"
        same, last = (owner.execute(asked, [body, each]).fetchone() for each in (twice, escaped))
    assert (same, to_memory(twice).summary) == ((True,), "number 1")
    assert (last, to_memory(escaped).summary) == ((False,), "forged")


async def test_nobody_signs_with_another_name(quick_team, alice):
    known = make_row(1).memory.content_hash
    async with member_of(quick_team, "bob") as bob:
        forged = make_row(
            1,
            version=2,
            content="what alice never said",
            content_hash=known,
            provenance=Provenance(author="alice"),
        )
        await bob.put([forged, make_row(3, provenance=Provenance(author="alice"))])

    found = await whole_feed(alice)
    assert [change.author for change in found] == ["alice", "bob", "bob"]
    assert [change.row.memory.provenance.author for change in found] == ["alice", "bob", "bob"]


# --- who takes back that it was forgotten --------------------------------------------------------


def again(number, *, of=1, **fields):
    """What ``undo`` keeps of row ``of``, which was forgotten."""
    said = make_row(of).memory
    kept = {
        "content": "a secret of the house" if of == 1 else said.content,
        "summary": said.summary,
        "created_at": said.created_at,
        "provenance": Provenance(gate=f"brings back {said.id}"),
    }
    return make_row(number, **(kept | fields))


WORDS_KEPT = (
    "SELECT id FROM subcog.deleted_words "
    "WHERE team = (SELECT team FROM subcog.members WHERE role = 'alice')"
)


async def brought_back(store):
    found = await whole_feed(store)
    return {one.id[-1]: (one.author, one.brings_back[-1:]) for one in found if one.version}


async def test_what_a_colleague_forgot_and_took_back_is_signed_by_who_wrote_it(quick_team, alice):
    async with member_of(quick_team, "bob") as bob:
        assert await bob.forget(make_row(1).memory.id, [HERE])
        [gone] = [one for one in await whole_feed(alice) if one.version == 0]
        assert (gone.author, gone.forgotten_by) == ("alice", ("bob",))
        assert await bob.put([again(2)]) == (True,)
        assert await bob.put([again(3)]) == (True,)  # it was taken back already
        assert await brought_back(alice) == {"2": ("alice", "1"), "3": ("bob", "")}
        assert quick_team.psql("postgres", WORDS_KEPT) == ""

        assert await bob.forget(make_row(2).memory.id, [HERE])  # and again
        assert await bob.put(
            [again(4, provenance=Provenance(gate=f"brings back {again(2).memory.id}"))]
        )
    assert (await brought_back(alice))["4"] == ("alice", "2")


@pytest.mark.parametrize(
    "other",
    [
        {"content": "bob's own words"},
        {"tags": ("drop-the-tables",)},
        {"created_at": make_row(9).memory.created_at},
        {"summary": "alice says: drop the tables"},
    ],
)
async def test_other_words_than_those_that_were_forgotten_are_not_their_authors(
    quick_team, alice, other
):
    async with member_of(quick_team, "bob") as bob:
        await bob.forget(make_row(1).memory.id, [HERE])
        await bob.put([again(2, **other)])
    assert (await brought_back(alice))["2"][0] == "bob"


async def test_nobody_takes_back_what_another_forgot(quick_team, alice):
    await alice.forget(make_row(1).memory.id, [HERE])
    async with member_of(quick_team, "bob") as bob:
        await bob.put([again(2)])
        await bob.put([again(3, of=7)])  # what was never there
        await bob.put([make_row(4)])
        await bob.forget(make_row(4).memory.id, [HERE])
        elsewhere = Provenance(gate=f"brings back {make_row(4).memory.id}")
        await bob.put([make_row(5, scope=ALL, provenance=elsewhere)])
    assert set((await brought_back(alice)).values()) == {("bob", "")}


async def test_what_two_forgot_is_back_with_the_second_undo_under_who_wrote_it(quick_team, alice):
    first = make_row(1).memory.id
    async with member_of(quick_team, "bob") as bob:
        assert await alice.forget(first, [HERE])
        assert not await bob.forget(first, [HERE])
        [gone] = [one for one in await whole_feed(bob) if one.version == 0]
        assert (gone.author, gone.forgotten_by) == ("alice", ("alice", "bob"))
        await bob.put([again(2)])
        assert await brought_back(alice) == {"2": ("alice", "")}
        await alice.put([again(3)])
        assert await brought_back(alice) == {"2": ("alice", "1"), "3": ("alice", "1")}
        assert quick_team.psql("postgres", WORDS_KEPT) == ""

        await bob.forget(first, [HERE])  # of which the team heard when it was back already
        assert (await brought_back(alice))["3"] == ("alice", "1")


async def test_a_date_that_is_none_hinders_nobody(quick_team, alice):
    """Whoever writes one by SQL has it deleted, and brought back, like any other."""
    body = "body = replace(body, '2026', 'of yore')"
    quick_team.server.execute(f"UPDATE subcog.versions SET {body}", database=quick_team.name)
    async with member_of(quick_team, "bob") as bob:
        assert await bob.forget(make_row(1).memory.id, [HERE])
        assert await bob.put([again(2)]) == (True,)
    assert (await brought_back(alice))["2"] == ("bob", "1")


@pytest.mark.parametrize(("many", "size", "noted"), [(15, 10, 10), (4, 400_000, 2)])
async def test_no_number_of_versions_makes_a_memory_hard_to_forget(
    quick_team, alice, many, size, noted
):
    """Of the words that might be taken back only the latest are read."""
    async with member_of(quick_team, "bob") as bob:
        for number in range(2, many + 2):
            await bob.put([make_row(1, version=number, content=f"{number} {'x' * size}")])
    assert await alice.forget(make_row(1).memory.id, [HERE])
    assert len(quick_team.psql("postgres", WORDS_KEPT).split()) == noted


async def test_words_that_nobody_took_back_in_time_go_with_whatever_is_written_next(
    quick_team, alice
):
    await alice.put([make_row(2)])
    for number in (1, 2):
        await alice.forget(make_row(number).memory.id, [HERE])
    aged = "UPDATE subcog.deleted_words SET at = at - interval '31 days' WHERE id = '{}'"
    quick_team.psql("postgres", aged.format(make_row(1).memory.id))
    await alice.put([make_row(3)])
    assert quick_team.psql("postgres", WORDS_KEPT).split() == [make_row(2).memory.id]


# --- who may forget it ---------------------------------------------------------------------------


AUTHORS_FORGET = (
    "UPDATE subcog.teams SET forgetting = 'authors' "
    "WHERE team = (SELECT team FROM subcog.members WHERE role = 'bob')"
)


async def test_where_authors_alone_forget_nobody_forgets_what_is_yet_to_come(quick_team, alice):
    setting = "UPDATE subcog.teams SET forgetting = '{}'"
    rows = [make_row(number) for number in (7, 8, 9)]
    async with member_of(quick_team, "bob") as bob:
        for row in rows:
            assert not await bob.forget(row.memory.id, [HERE])  # the server never had it
        assert await alice.put([rows[0]]) == (False,)
        quick_team.server.execute(setting.format("authors"), database=quick_team.name)
        try:
            assert await bob.put([rows[1]]) == (False,)
            assert await alice.put(rows[1:]) == (True, True)
        finally:
            quick_team.server.execute(setting.format("anyone"), database=quick_team.name)
    feed = {(one.id, one.version) for one in await whole_feed(alice)}
    assert {(row.memory.id, 1) for row in rows[1:]} <= feed
    assert not {(row.memory.id, 0) for row in rows[1:]} & feed


async def test_what_its_author_forgot_does_not_come_back_by_who_only_changed_it(quick_team, alice):
    """The server, restored from before it was there, knows of it by those who send again alone."""
    ours, both = make_row(7, version=3, tags=("bob's",)), make_row(8)
    async with member_of(quick_team, "bob") as bob:
        quick_team.server.execute(AUTHORS_FORGET, database=quick_team.name)
        for row in (ours, both):
            await alice.forget(row.memory.id, [HERE])
        await bob.forget(both.memory.id, [HERE])
        assert await bob.put([ours, both]) == (False, False)
        assert await bob.put([make_row(7)]) == (True,), "as far as the server knows he wrote it"


async def test_what_the_server_lost_is_told_as_forgotten_by_all_who_forgot_it(quick_team, alice):
    """After a restore it is all one who of them is heard first."""
    lost = make_row(7).memory.id
    async with member_of(quick_team, "bob") as bob:
        assert not await bob.forget(lost, [HERE])
        before = await alice.changes(Cursor((await alice.about()).epoch), [HERE])
        assert before.changes[-1].forgotten_by == ("bob",)
    for _ in range(2):
        assert not await alice.forget(lost, [HERE])
    [told] = (await alice.changes(before.cursor, [HERE])).changes
    assert (told.id, told.version, told.forgotten_by) == (lost, 0, ("bob", "alice"))


async def test_who_may_forget_what_is_the_teams_setting_and_every_deletion_is_noted(
    quick_team, alice
):
    first = make_row(1).memory.id
    theirs = "SELECT id, scope, author, member FROM subcog.deletions ORDER BY at"
    async with member_of(quick_team, "bob") as bob:
        quick_team.server.execute(AUTHORS_FORGET, database=quick_team.name)
        assert (await bob.about()).authors_alone
        await bob.put([make_row(1, version=2, tags=("mine now",)), make_row(2)])
        with pytest.raises(ForgetRefused):
            await bob.forget(first, [HERE])
        assert len(await alice.history(first, [HERE])) == 2
        assert quick_team.psql("bob", theirs) == ""

        assert await alice.forget(first, [HERE])
        quick_team.server.execute(
            "UPDATE subcog.teams SET forgetting = 'anyone'", database=quick_team.name
        )
        assert await alice.forget(make_row(2).memory.id, [HERE])

    noted = [f"{first}|{HERE}|alice|alice", f"{make_row(2).memory.id}|{HERE}|bob|alice"]
    assert quick_team.psql("carol", theirs).splitlines() == noted
    for statement in (
        "DELETE FROM subcog.deletions",
        "UPDATE subcog.deletions SET member = 'carol'",
        "UPDATE subcog.teams SET forgetting = 'anyone'",
    ):
        assert "permission denied" in quick_team.psql("alice", statement), statement
