from __future__ import annotations

import asyncio
from datetime import timedelta

import pytest

from subcog.bus.values import Provenance
from subcog.sinks.store import reads
from subcog.sinks.store.reads import Filter
from subcog.sinks.store.rows import fingerprint
from tests.stores import ALL, ELSEWHERE, HERE, ME, START, make_row, opened


def test_scopes_are_written_as_the_tables_hold_them():
    assert reads.scope_texts([HERE, ME]) == ["project:here:with/colon", "user:me"]


def test_no_scopes_are_no_read():
    with pytest.raises(ValueError, match="needs a scope"):
        reads.scope_texts([])


async def test_two_texts_with_one_fingerprint_are_not_taken_for_each_other(tmp_path, monkeypatch):
    same = fingerprint(str(HERE), "decisions", "hash-2")
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([make_row(1), make_row(2)])
        monkeypatch.setattr(reads, "fingerprint", lambda *parts: same)

        assert await store.find_hash("hash-1", HERE, "decisions") is None
        assert await store.find_hash("hash-2", HERE, "decisions") == make_row(2).memory


class Spy:
    """A cursor that remembers what it was asked."""

    def __init__(self, cursor) -> None:
        self.cursor = cursor
        self.asked: list[tuple[str, list[object]]] = []

    def extract_statements(self, sql: str):
        return self.cursor.extract_statements(sql)

    def execute(self, statement, parameters: list[object]):
        self.asked.append((statement.query, parameters))
        return self.cursor.execute(statement, parameters)


async def test_memories_are_looked_up_by_id_and_not_searched_for(tmp_path):
    """Scanning instead costs ten times as much in a large store; a condition too many does it."""
    rows = [make_row(number) for number in range(20_000)]

    def plan() -> str:
        with store.database.reading() as cursor:
            spy = Spy(cursor)
            ids = [row.memory.id for row in rows[:8]]
            found = reads.get(spy, ids, [HERE, ME], store.database.current_versions)
            assert len(found) == 8
            [(query, parameters)] = spy.asked
            explained = cursor.execute(f"EXPLAIN ANALYZE {query}", parameters).fetchall()
        return "\n".join(text for _, text in explained)

    async with opened(tmp_path / "s.duckdb") as store:
        await store.put(rows)
        await store.checkpoint()
        text = await asyncio.to_thread(plan)

    assert text.count("Index Scan") == 1
    assert "Sequential Scan" not in text


# --- lists ---------------------------------------------------------------------------------------


def by_hook(hook, **more):
    return Provenance(hook=hook, **more)


@pytest.fixture
async def listed_store(tmp_path):
    rows = [
        make_row(1, provenance=by_hook("cli"), tags=("auth", "api")),
        make_row(2, provenance=by_hook("Stop", session="s1"), namespace="patterns"),
        make_row(3, provenance=by_hook("Stop", session="s2"), contradicts=make_row(1).memory.id),
        make_row(4, provenance=by_hook("cli", author="ana"), tags=("authors",), scope=ALL),
        make_row(5, scope=ELSEWHERE),
        make_row(6, valid_to=START),
    ]
    async with opened(tmp_path / "m.duckdb") as store:
        await store.put(rows)
        await store.mark_used([rows[0].memory.id])
        await store.flush()
        yield store


async def numbers(store, scopes=(HERE, ALL), *, limit=10, after="", **wanted):
    found = await store.list(scopes, Filter(**wanted), limit=limit, after=after)
    return [int(memory.id.removeprefix("mem_")) for memory in found.memories], found.total


@pytest.mark.parametrize(
    ("wanted", "expected"),
    [
        ({}, [4, 3, 2, 1]),
        ({"namespace": "patterns"}, [2]),
        ({"tag": "auth"}, [1]),
        ({"tag": 'a"] or true --'}, []),
        ({"authors": ["ana"]}, [4]),
        ({"authors": []}, []),
        ({"session": "s1"}, [2]),
        ({"hooks": ["Stop", "SessionEnd"]}, [3, 2]),
        ({"hooks": ["Stop", "SessionEnd"], "unhooked": True}, [4, 1]),
        ({"unused": True}, [4, 3, 2]),
        ({"contradicting": True}, [3]),
        ({"since": START + timedelta(seconds=3)}, [4, 3]),
        ({"until": START + timedelta(seconds=2)}, [2, 1]),
        ({"ids": [make_row(1).memory.id, make_row(5).memory.id]}, [1]),
        ({"hooks": ["Stop"], "session": "s2", "tag": "auth"}, []),
    ],
)
async def test_a_list_holds_what_every_filter_lets_through(listed_store, wanted, expected):
    assert await numbers(listed_store, **wanted) == (expected, len(expected))


async def test_pages_neither_repeat_nor_skip_and_know_the_whole(listed_store):
    first = await numbers(listed_store, limit=3)
    assert first == ([4, 3, 2], 4)
    assert await numbers(listed_store, limit=3, after=make_row(2).memory.id) == ([1], 4)
    assert await numbers(listed_store, limit=3, after=make_row(1).memory.id) == ([], 4)
    await listed_store.forget(make_row(2).memory.id, [HERE])  # a page may go on after it
    assert await numbers(listed_store, limit=3, after=make_row(2).memory.id) == ([1], 3)
    assert await numbers(listed_store, after="mem_never") == ([], 3)


async def test_a_list_reads_no_other_scope_and_not_without_one(listed_store):
    assert await numbers(listed_store, scopes=(ELSEWHERE,)) == ([5], 1)
    with pytest.raises(ValueError, match="scope"):
        await numbers(listed_store, scopes=())


async def test_authors_are_those_of_the_scopes(listed_store):
    assert await listed_store.authors((HERE, ALL)) == {"ana"}
    assert await listed_store.authors((HERE,)) == set()
