from __future__ import annotations

from datetime import datetime

import duckdb
import pytest

from subcog.sinks.store.migrations import (
    MIGRATIONS,
    ForeignSchema,
    NewerSchema,
    migrate,
    schema_version,
)
from subcog.sinks.store.rows import to_record
from subcog.sinks.store.writes import add_records
from tests.stores import HERE, make_row, opened
from tests.teams import join

NOW = datetime(2026, 1, 2)  # noqa: DTZ001 - as the tables hold it
LATER = (
    *MIGRATIONS,
    "ALTER TABLE store.memories ADD COLUMN colour VARCHAR",
    "UPDATE store.memories SET colour = 'red'; CREATE TABLE store.extra (a INTEGER)",
)


@pytest.fixture
def attach(tmp_path):
    connections = []

    def attach():
        connection = duckdb.connect()
        connections.append(connection)
        connection.execute(f"ATTACH '{tmp_path / 's.duckdb'}' AS store")
        return connection

    yield attach
    for connection in connections:
        connection.close()


def tables(connection) -> set[str]:
    found = connection.execute("SELECT table_name FROM duckdb_tables()")
    return {name for (name,) in found.fetchall()}


def test_an_empty_file_gets_every_step(attach):
    connection = attach()

    assert migrate(connection, NOW) == (0, len(MIGRATIONS))
    team = {"team", "shared", "outbox", "received"}
    sessions = {"passages", "forgotten_passages"}
    forgotten = {"forgotten_texts", "merged_texts"}
    uses = {"use_events", "use_sums"}
    search = {"search_documents", "search_terms", "search_vectors"}
    assert tables(connection) == team | sessions | forgotten | uses | search | {
        "memories",
        "versions",
        "migrations",
    }
    assert schema_version(connection) == len(MIGRATIONS)


def test_a_file_of_today_is_left_alone(attach):
    connection = attach()
    migrate(connection, NOW)

    assert migrate(connection, NOW) == (len(MIGRATIONS), len(MIGRATIONS))


@pytest.mark.parametrize("version", range(len(LATER)))
def test_a_file_of_every_earlier_version_is_brought_up(attach, version):
    first = attach()
    migrate(first, NOW, LATER[:version])
    if version:
        first.execute(
            "INSERT INTO store.memories (id, key, version, scope, namespace, created_at) "
            "VALUES ('mem_1', 'mem_1:1', 1, 'user:me', 'tasks', now()::TIMESTAMP)"
        )
    first.close()
    second = attach()

    assert migrate(second, NOW, LATER) == (version, len(LATER))
    found = second.execute("SELECT id, colour FROM store.memories").fetchall()
    assert found == ([("mem_1", "red")] if version else [])


def test_a_step_that_fails_leaves_the_file_at_the_one_before(attach):
    connection = attach()
    broken = (*MIGRATIONS, "CREATE TABLE store.half (a INTEGER); SELECT * FROM store.nowhere")

    with pytest.raises(duckdb.CatalogException):
        migrate(connection, NOW, broken)

    assert schema_version(connection) == len(MIGRATIONS)
    assert "half" not in tables(connection)
    assert migrate(connection, NOW, LATER) == (len(MIGRATIONS), len(LATER))


def test_a_newer_file_is_refused_by_both_versions(attach):
    connection = attach()
    migrate(connection, NOW, LATER)

    with pytest.raises(NewerSchema, match=rf"version {len(LATER)}.*up to {len(MIGRATIONS)}"):
        migrate(connection, NOW)


def test_the_file_of_another_program_is_refused(attach):
    connection = attach()
    connection.execute("CREATE TABLE store.theirs (a INTEGER)")

    with pytest.raises(ForeignSchema):
        migrate(connection, NOW)
    assert tables(connection) == {"theirs"}


def test_no_transaction_is_left_open(attach):
    """One that was would keep every later checkpoint from happening."""
    connection = attach()
    migrate(connection, NOW)
    schema_version(connection)
    with connection.cursor() as other:
        other.execute("INSERT INTO store.migrations VALUES (1, NULL)")
        other.execute("UPDATE store.migrations SET applied_at = now()::TIMESTAMP")
        other.execute("CHECKPOINT store")


async def test_the_store_opens_what_the_first_version_wrote_and_can_share_it(tmp_path, attach):
    connection = attach()
    migrate(connection, NOW, MIGRATIONS[:1])
    add_records(connection, [to_record(make_row(1)), to_record(make_row(1, version=2))])
    connection.close()

    async with opened(tmp_path / "s.duckdb") as store:
        assert await store.put([make_row(2)]) == (True,)
        assert await store.counts() == {HERE: 2}
        await join(store, sends=[HERE])
        assert (await store.replica.depth()).count == 3
