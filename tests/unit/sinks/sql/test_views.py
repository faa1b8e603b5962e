from datetime import timedelta

import pytest
from msgspec.structs import replace

from subcog.bus.values import Provenance
from subcog.sinks.search.ranking import MOST_TERMS
from subcog.sinks.search.scope_index import _B, _K1
from subcog.sinks.sql.views import columns, definitions, macros, show_scopes, views
from subcog.sinks.store.rows import Row
from tests.stores import ELSEWHERE, HERE, START, make_row, opened


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path / "s.duckdb") as store:
        yield store


def select(store, sql, *scopes):
    def work(cursor):
        show_scopes(cursor, [str(scope) for scope in scopes or (HERE,)])
        return cursor.execute(sql).fetchall()

    return store.read(work)


async def test_a_memory_is_shown_with_what_is_known_of_it(store):
    memory = replace(
        make_row().memory,
        tags=("ops", "deploy"),
        confidence_percent=80,
        provenance=Provenance(hook="cli", branch="main", author="ann"),
    )
    await store.put([Row(memory, make_row().encoding)])
    await store.mark_used([memory.id])
    await store.flush()
    [found] = await select(
        store,
        "SELECT id, version, namespace, scope, content, tags, confidence, created_at, hook, "
        "branch, author, times_shown FROM memories",
    )

    assert found == (
        *(memory.id, 1, "decisions", str(HERE), memory.content, ["ops", "deploy"], 0.8),
        *(memory.created_at.replace(tzinfo=None), "cli", "main", "ann", 1),
    )


async def test_only_memories_that_count_now_are_shown(store):
    past = START - timedelta(days=1)
    await store.put(
        [
            make_row(1),
            make_row(2, superseded_by="mem_1"),
            make_row(3, valid_to=past),
            make_row(4, valid_from=START + timedelta(days=36_500)),
            make_row(5),
        ]
    )
    await store.put([make_row(1, version=2, content="newer")])
    await store.forget(make_row(5).memory.id, [HERE])

    assert await select(store, "SELECT content FROM memories") == [("newer",)]
    assert len(await select(store, "SELECT * FROM versions")) == 5


async def test_a_connection_sees_the_scopes_that_it_was_given_and_no_others(store):
    await store.put([make_row(1), make_row(2, scope=ELSEWHERE)])

    for view in ("memories", "versions"):
        query = f"SELECT scope FROM {view} ORDER BY scope"
        assert await select(store, query) == [(str(HERE),)]
        assert len(await select(store, query, HERE, ELSEWHERE)) == 2

    def unset(cursor):
        return [cursor.execute(f"FROM {view}").fetchall() for view in views()]

    assert await store.read(unset) == [[]] * len(views())


async def test_neither_views_nor_macros_lie_in_the_file(store):
    [(found,)] = await store.read(
        lambda cursor: cursor.execute(
            "SELECT (SELECT count(*) FROM duckdb_views() WHERE database_name = 'store' AND NOT "
            "internal) + (SELECT count(*) FROM duckdb_functions() WHERE database_name = 'store' "
            "AND NOT internal)"
        ).fetchall()
    )
    assert found == 0


async def test_no_view_has_a_column_of_digests_or_keys(store):
    shown = await store.read(columns)

    assert {"memories", "memory_bm25($terms)", "memory_cosine($vector)"} <= shown.keys()
    names = {column.name for each in shown.values() for column in each}
    assert names.isdisjoint({"key", "digest", "fingerprint", "body", "vectors"})
    assert [column.name for column in shown["memory_bm25($terms)"]] == ["id", "score"]


def test_the_constants_are_those_of_the_warm_index():
    text = " ".join(definitions().split())

    assert f"idf * {_K1 + 1} * h.count / (h.count + {_K1} * ({1 - _B} + {_B} * h.length" in text
    assert f"LIMIT {MOST_TERMS}" in text
    assert [name for name, _ in macros()] == ["memory_bm25", "memory_cosine"]
