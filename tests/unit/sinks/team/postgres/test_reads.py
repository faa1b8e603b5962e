"""A search on the server: by words, by meaning, in its scopes and its team alone."""

from __future__ import annotations

from datetime import timedelta

import numpy as np
import psycopg
import pytest

from subcog.bus.values import Encoding, Query
from subcog.sinks.store.rows import Row
from subcog.sinks.team.postgres.reads import DIMENSIONS, half_vector
from subcog.sinks.team.postgres.store import mean_vector
from tests.postgres import OWNER
from tests.stores import ELSEWHERE, HERE, START, make_row
from tests.teamwork import member_of


def direction(number: int) -> list[float]:
    """A vector that no other direction is near to."""
    return np.eye(DIMENSIONS)[number].tolist()


def about(number: int, content: str, *meanings: int, **fields: object) -> Row:
    """A memory with one passage for each of its ``meanings``."""
    row = make_row(number, content=content, summary=content, **fields)
    vectors = np.array([direction(each) for each in meanings], dtype="<f2").tobytes()
    return Row(row.memory, Encoding("m", vectors, b"", b"\1\0" * len(meanings)))


ROWS = [
    about(1, "Passwords are hashed with argon2id", 1),
    about(2, "The cache is warmed by parseHTTPResponse", 2, namespace="learnings"),
    about(3, "The cache is emptied each night", 3, tags=("cron", "cache")),
    about(4, "Passwords of the other project", 1, scope=ELSEWHERE),
]


@pytest.fixture
async def alice(quick_team):
    async with member_of(quick_team) as store:
        await store.put(ROWS)
        yield store


async def found(store, text="", meaning=None, **fields):
    query = Query(text=text, **({"scopes": (HERE,)} | fields))
    hits = await store.search(query, direction(meaning) if meaning is not None else None)
    return [int(hit.memory.id[-2:]) for hit in hits]


async def test_words_are_found_in_any_form(alice):
    assert await found(alice, "how do we hash a password?") == [1]
    assert await found(alice, "http response") == [2]
    assert await found(alice, "nothing of the kind") == []
    assert await found(alice, "") == []


async def test_the_rarer_word_weighs_more(alice):
    assert await found(alice, "nightly caches", scopes=(HERE, ELSEWHERE)) == [3, 2]


async def test_meaning_is_found_without_a_word(alice):
    assert await found(alice, "", 2, limit=1) == [2]
    assert await found(alice, "cache", 3, mode="vector", limit=1) == [3]
    assert await found(alice, "cache", 1, mode="text") == [3, 2]


async def test_what_both_find_comes_first_and_says_how_well(alice):
    query = Query(text="cache", scopes=(HERE,))
    [first, *_] = hits = await alice.search(query, direction(2))
    assert first.memory.content == ROWS[1].memory.content
    assert first.memory.provenance.author == "alice"
    assert first.vector == pytest.approx(1.0, abs=1e-3)
    assert first.relevance == first.vector
    assert first.text > 0
    assert first.order > hits[1].order


async def test_only_the_scopes_asked_for_are_searched(alice):
    assert await found(alice, "passwords", 1, limit=1) == [1]
    assert await found(alice, "passwords", 1, scopes=(ELSEWHERE,)) == [4]
    with pytest.raises(ValueError, match="scope"):
        await found(alice, "passwords", scopes=())


async def test_another_team_finds_nothing(quick_team, alice):
    quick_team.server.execute(
        "INSERT INTO subcog.teams (team) VALUES ('rivals') ON CONFLICT DO NOTHING",
        "UPDATE subcog.members SET team = 'rivals' WHERE role = 'bob'",
        database=quick_team.name,
    )
    async with member_of(quick_team, "bob") as bob:
        assert await found(bob, "passwords", 1) == []


async def test_filters_hold(alice):
    assert await found(alice, "cache", namespaces=("learnings",)) == [2]
    assert await found(alice, "cache", tags=("cache", "cron")) == [3]
    assert await found(alice, "cache", tags=("cron", "other")) == []
    assert await found(alice, "cache", since=START + timedelta(seconds=3)) == [3]
    assert await found(alice, "cache", until=START + timedelta(seconds=2)) == [2]
    assert await found(alice, "", 1, min_relevance=0.5) == [1]


async def test_what_is_over_is_not_found(alice):
    await alice.put(
        [
            about(1, "Passwords are hashed with argon2id", 1, version=2, superseded_by="mem_x"),
            about(3, "The cache is emptied each night", 3, version=2, valid_to=START),
        ]
    )
    await alice.forget(make_row(2).memory.id, [HERE])

    assert await found(alice, "passwords cache", 1) == []


async def test_a_new_version_is_found_by_what_it_says_now(alice):
    await alice.put([about(1, "Tokens expire after an hour", 9, version=2)])

    assert await found(alice, "passwords", mode="text") == []
    assert await found(alice, "tokens", 9, limit=1) == [1]


async def test_a_memory_without_vectors_is_found_by_words_alone(alice):
    await alice.put([make_row(7, content="A zebra crossing")])

    assert await found(alice, "zebra", 1, limit=1) == [7]
    assert 7 not in await found(alice, "", 1)


async def test_memories_that_are_made_huge_do_not_fill_the_memory_of_who_asks(alice):
    huge = "walrus " * 50_000
    await alice.put([about(20 + n, f"{huge}{n}", 9) for n in range(8)])

    assert len(await found(alice, "walrus", limit=8)) == 5  # of 0.7 MB each
    assert await found(alice, "argon2id") == [1]


async def test_the_graph_and_what_is_not_in_it_yet_are_searched_together(quick_team, alice):
    """A scope that is too large to be looked at as a whole; the threshold is lowered for that."""
    with psycopg.connect(quick_team.owner_url, autocommit=True) as owner:
        [source] = owner.execute(
            "SELECT pg_get_functiondef('subcog.nearest'::regproc)"
        ).fetchone() or ("",)
        assert ":= 4000" in source
        owner.execute(source.replace(":= 4000", ":= 1").encode())
        try:
            await alice.put([about(10 + n, f"number {n}", 10 + n) for n in range(100)])
            assert await alice.tidy() == 0
            await alice.put([about(120, "fresh", 120)])

            for meaning in (1, 3, 10, 57, 109, 120):
                assert (await found(alice, "", meaning))[0] == meaning % 100
            plan = owner.execute(
                "EXPLAIN SELECT id FROM subcog.vectors WHERE graphed "
                "ORDER BY embedding <=> (SELECT embedding FROM subcog.vectors LIMIT 1) LIMIT 5"
            ).fetchall()
            assert "vectors_graph" in str(plan)
        finally:
            owner.execute(source.encode())


async def test_the_graph_is_filled_bit_by_bit(alice):
    await alice.put([about(200 + n, f"number {n}", n) for n in range(250)])

    assert await alice.tidy() == 54  # of 254, 200 a call
    assert await alice.tidy() == 0
    assert await alice.tidy() == 0


async def test_what_analyze_knows_of_words_decides_which_are_asked_for(quick_team, alice):
    common = [about(300 + n, f"the usual word number {n}", 5) for n in range(50)]
    await alice.put(common)
    quick_team.psql(OWNER, "ANALYZE subcog.memories")

    printed = quick_team.psql(
        OWNER, "SELECT word FROM subcog.rarest('usual words about argon2id and a kangaroo')"
    )

    assert set(printed.split()[:2]) == {"kangaroo", "argon2id"}
    assert printed.split()[-1] in {"word", "usual"}


# --- vectors -------------------------------------------------------------------------------------


def test_a_mean_has_unit_length_and_the_server_s_byte_order():
    passages = np.array([direction(0), direction(1)], dtype="<f2").tobytes()
    made = mean_vector(Encoding("m", passages, b"", b""))
    assert made is not None
    assert made[:4] == b"\x01\x00\x00\x00"
    assert np.frombuffer(made[4:], dtype=">f2")[:3].tolist() == pytest.approx(
        [0.7071, 0.7071, 0], abs=1e-3
    )


@pytest.mark.parametrize(
    "values",
    [b"", b"\0\x3c" * 3, b"\0\x7e" * DIMENSIONS, b"\0\x7c" * DIMENSIONS, b"\0\0" * DIMENSIONS],
    ids=["none", "another size", "not a number", "infinite", "no direction"],
)
def test_what_has_no_direction_has_no_vector(values):
    assert mean_vector(Encoding("m", values, b"", b"")) is None
    assert half_vector([1.0, 2.0]) is None
