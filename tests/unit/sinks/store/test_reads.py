from __future__ import annotations

import asyncio

import pytest

from subcog.sinks.store import reads
from subcog.sinks.store.rows import fingerprint
from tests.stores import HERE, ME, make_row, opened


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
