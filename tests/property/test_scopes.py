"""Whatever is stored where: no read ever leaves the scopes that it names."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from subcog.bus.values import Scope
from tests.stores import make_row, opened

# Names that a careless comparison, prefix or pattern would take for one another.
identities = st.sampled_from(["a", "A", "a:b", "b", "a%", "a_", "", "a'", "a\0", "ä", "a "])
scopes = st.builds(Scope, st.sampled_from(["project", "user", "org"]), identities)
places = st.lists(scopes, min_size=1, max_size=12)
readers = st.lists(scopes, min_size=1, max_size=3, unique=True)


async def check(where: list[Scope], reader: list[Scope], forgotten: int) -> None:
    rows = [
        make_row(number, scope=scope, content_hash="same", namespace="tasks")
        for number, scope in enumerate(where)
    ]
    ids = [row.memory.id for row in rows]
    with tempfile.TemporaryDirectory() as directory:
        async with opened(Path(directory) / "s.duckdb") as store:
            await store.put(rows)
            gone = ids[forgotten % len(ids)]
            removed = await store.forget(gone, reader)
            mine = [
                row.memory
                for row in rows
                if row.memory.scope in reader and not (removed and row.memory.id == gone)
            ]

            assert removed == (where[forgotten % len(ids)] in reader)
            assert list(await store.get(ids, reader)) == mine
            assert list(await asyncio.to_thread(store.get_now, ids, reader)) == mine
            assert list(await store.latest(reader, limit=99)) == mine[::-1]
            for memory_id in ids:
                history = await store.history(memory_id, reader)
                assert list(history) == [each for each in mine if each.id == memory_id]
            for scope in reader:
                found = await store.find_hash("same", scope, "tasks")
                assert found == next((each for each in mine if each.scope == scope), None)
            counts = await store.counts()
            assert sum(counts.values()) == len(rows) - removed


@settings(max_examples=25, deadline=None)
@given(places, readers, st.integers(0, 11))
def test_no_read_crosses_scopes(where, reader, forgotten):
    asyncio.run(check(where, reader, forgotten))
