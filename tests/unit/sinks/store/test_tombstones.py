from __future__ import annotations

import time

import pytest

from subcog.sinks.store.tombstones import Print, Tombstones, latest_notes, print_of, wording_of
from tests.forms import FORMS, statements
from tests.stores import ALL, ELSEWHERE, HERE, ME, START, FakeClock, make_row, opened

RULE = "Always run the migrations first, otherwise the schema is stale."
AGAIN = "**always run** the migrations first otherwise the schema is STALE"


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path / "s.duckdb", FakeClock()) as store:
        yield store


async def forget(store, number=1, scope=HERE):
    assert await store.forget(make_row(number).memory.id, [scope])


async def notes(store):
    return await store.read(latest_notes)


async def test_the_same_statement_under_another_id_is_not_taken(store):
    await store.put([make_row(1, content=RULE)])
    await forget(store)

    assert await store.put([make_row(2, content=AGAIN)]) == (False,)
    assert await store.put([make_row(3, content=AGAIN), make_row(4)]) == (False, True)
    assert await store.put([make_row(5, version=3, content=AGAIN)]) == (False,)
    assert await store.counts() == {HERE: 1}


async def test_it_holds_in_the_scope_of_the_memory(store):
    await store.put([make_row(1, content=RULE)])
    await forget(store)

    assert not store.is_forgotten(RULE, ELSEWHERE, unasked=True)
    assert await store.put([make_row(2, content=RULE, scope=ELSEWHERE)]) == (True,)


@pytest.mark.parametrize("scope", [ME, ALL])
async def test_what_every_project_reads_comes_unasked_into_none(store, scope):
    await store.put([make_row(1, content=RULE, scope=scope)])
    await forget(store, scope=scope)

    assert store.is_forgotten(AGAIN, HERE, unasked=True)
    assert not store.is_forgotten(AGAIN, HERE)


async def test_every_version_of_a_memory_is_forgotten(store):
    await store.put([make_row(1, content=RULE)])
    await store.put([make_row(1, version=2, content="Run make schema first")])
    await forget(store)

    assert store.is_forgotten(RULE, HERE)
    assert store.is_forgotten("run make schema first!", HERE)


async def test_a_text_that_was_merged_into_it_is_forgotten_too(store):
    await store.put([make_row(1, content=RULE)])
    merged = make_row(1, version=2, content=RULE)
    await store.put([merged], merged="Run the migrations before all else")
    await store.put([make_row(1, version=3, content=RULE)], merged=AGAIN)
    assert not store.is_forgotten("Run the migrations before all else", HERE)
    await forget(store)

    assert store.is_forgotten("run the migrations before all else.", HERE)
    assert len(await notes(store)) == 2


async def test_a_wish_lifts_it_until_it_is_forgotten_again(store):
    await store.put([make_row(1, content=RULE)])
    await forget(store)

    assert await store.put([make_row(2, content=AGAIN)], wanted=True) == (True,)
    assert not store.is_forgotten(RULE, HERE)
    assert await store.put([make_row(3, content=RULE)]) == (True,)
    await forget(store, 2)
    assert store.is_forgotten(RULE, HERE)
    assert (await store.get([make_row(3).memory.id], [HERE])) != (), "another memory stays"


async def test_a_retry_of_what_was_forgotten_is_no_wish(store):
    row = make_row(1, content=RULE)
    await store.put([row], wanted=True)
    await forget(store)

    assert await store.put([row], wanted=True) == (False,)
    assert store.is_forgotten(RULE, HERE)


async def test_a_memory_with_the_same_text_that_stays_can_change(store):
    await store.put([make_row(1, content=RULE), make_row(2, content=AGAIN)])
    await forget(store)

    assert await store.put([make_row(2, version=2, content=AGAIN, tags=("a",))]) == (True,)


async def test_it_is_known_after_the_file_was_opened_again(store):
    await store.put([make_row(1, content=RULE), make_row(2)])
    await forget(store)
    await forget(store, 2)
    await store.put([make_row(3, content=make_row(2).memory.content)], wanted=True)
    await store.compact()
    await store.close()
    await store.open()

    assert store.is_forgotten(AGAIN, HERE)
    assert not store.is_forgotten(make_row(2).memory.content, HERE)


async def test_what_is_kept_tells_nothing_of_the_text(store, tmp_path):
    await store.put([make_row(1, content=RULE)])
    await forget(store)
    await store.compact()

    [print_] = await notes(store)
    assert (len(print_.key), len(print_.digest)) == (32, 16)
    assert b"schema is" not in (tmp_path / "s.duckdb").read_bytes()
    async with opened(tmp_path / "other.duckdb") as other:
        await other.put([make_row(1, content=RULE)])
        await forget(other)
        [theirs] = await notes(other)
    assert theirs.digest != print_.digest, "each database has its own key"


async def test_nothing_is_noted_where_the_transaction_fails(store):
    await store.put([make_row(1, content=RULE)])
    database = store.database

    def fail():
        with database.transaction() as connection:
            database.tombstones.forget(connection, make_row(1).memory.id, [str(HERE)], START)
            raise LookupError

    with pytest.raises(LookupError):
        await store.write(fail)
    assert not store.is_forgotten(RULE, HERE)
    assert await notes(store) == {}
    assert await store.counts() == {HERE: 1}


def test_the_print_depends_on_key_scope_and_wording_alone():
    one = print_of(b"k" * 32, "project:a", "use tabs")
    assert one == Print(b"k" * 32, one.digest)
    assert print_of(b"k" * 32, "project:b", "use tabs") != one
    assert print_of(b"l" * 32, "project:a", "use tabs").digest != one.digest
    assert print_of(b"k" * 32, "user:me", "x") == print_of(b"k" * 32, "user", "x")


def test_without_a_tombstone_no_text_is_looked_at():
    class Unreadable(str):
        def isascii(self):
            raise AssertionError("it was looked at")

    assert not Tombstones().covers(Unreadable("x"), "project:a")


@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_a_text_makes_no_difference(form):
    for text in statements(60):
        assert wording_of(FORMS[form](text)) == wording_of(text)


def test_marks_of_lines_and_links_make_no_difference():
    plain = wording_of("Use argon2id, see the guide. It is slow")
    assert wording_of("> 1. Use argon2id, see the [guide](http://a/b).\n> - It is slow") == plain
    assert wording_of("# Use argon2id; see the guide\n\n* It is — slow…") == plain


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("use C++", "use C"),
        ("C# only", "C only"),
        ("a != b", "a == b"),
        ("the limit is 1,000", "the limit is 1 000"),
        ("the limit is 10", "the limit is 100"),
        ("set it to -5", "set it to 5"),
        ("never commit .env", "never commit env"),
        ("use tabs", "never use tabs"),
        ("argon2id over bcrypt", "bcrypt over argon2id"),
        ("don't use tabs", "do use tabs"),
        ("x_y", "xy"),
    ],
)
def test_what_changes_the_meaning_makes_one(one, other):
    assert wording_of(one) != wording_of(other)


def test_a_text_of_nothing_but_punctuation_is_itself():
    assert wording_of(" !!! ") == "!!!"
    assert wording_of("--") != wording_of("…")
    assert wording_of("\ud800 half a pair")


@pytest.mark.parametrize("part", ["*", "[", "[a](", "# ", "a,", ")", "1. ", " \n", ".", "`", "é**"])
def test_it_takes_time_linear_in_the_text(part):
    began = time.process_time()
    wording_of(part * 200_000 + "x")
    assert time.process_time() - began < 5
