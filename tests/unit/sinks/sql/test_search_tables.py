import duckdb
import numpy as np
import pytest

from subcog.bus.values import Encoding
from subcog.sinks.search.sql_index import SLICE, SqlIndex, vectors_of
from subcog.sinks.sql import search_tables
from subcog.sinks.sql.search_tables import TABLES
from subcog.sinks.store.rows import Row, to_record
from subcog.sinks.store.writes import delete_where, rewrite
from tests.stores import HERE, make_row, opened

HALVES = np.array([[0.5, 0.25, -1.0], [1.0, 0.0, 0.125]], dtype="<f2")
TERMS = np.array([7, 7, 9], dtype="<u4")
ENCODING = Encoding("some-model", HALVES.tobytes(), b"\1\0\2\0\3\0", b"\1\0\2\0", TERMS.tobytes())


def row(number=1, **fields):
    return Row(make_row(number, **fields).memory, ENCODING)


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path / "s.duckdb") as store:
        yield store


async def sizes(store):
    def count(cursor):
        return [
            cursor.execute(f"SELECT count(*) FROM store.{table}").fetchall()[0][0]
            for table in TABLES
        ]

    return await store.read(count)


async def test_the_tables_hold_what_the_encoding_holds(store):
    await store.put([row()])
    assert await SqlIndex(store).fill() == 1

    def read(cursor):
        documents = cursor.execute(
            "SELECT key, id, scope, model, length FROM store.search_documents"
        ).fetchall()
        terms = cursor.execute("SELECT term, count FROM store.search_terms ORDER BY 1").fetchall()
        vectors = cursor.execute("SELECT scale, vector FROM store.search_vectors ORDER BY rowid")
        return documents, terms, vectors.fetchall()

    documents, terms, vectors = await store.read(read)
    known = row().memory
    assert documents == [(f"{known.id}:1", known.id, str(HERE), "some-model", 3)]
    assert terms == [(7, 2), (9, 1)]
    back = np.array([scale * np.array(vector) for scale, vector in vectors])
    np.testing.assert_allclose(back, HALVES.astype(np.float32), atol=1 / 254)


async def test_filling_again_has_nothing_to_do(store):
    await store.put([row(number) for number in range(1, SLICE + 3)])
    index = SqlIndex(store)

    assert await index.fill() == SLICE + 2
    assert await index.fill() == 0
    assert await sizes(store) == [SLICE + 2, 2 * (SLICE + 2), 2 * (SLICE + 2)]


async def test_what_is_forgotten_leaves_them_in_the_same_transaction(store):
    await store.put([row(1), row(2)])
    await SqlIndex(store).fill()

    assert await store.forget(row(1).memory.id, [HERE])
    assert await sizes(store) == [1, 2, 2]
    assert await store.read(search_tables.different) == []


async def test_a_deletion_that_is_rolled_back_takes_nothing_out(store):
    await store.put([row()])
    await SqlIndex(store).fill()

    def fail():
        with store.database.transaction() as connection:
            delete_where(connection, "versions", "id", [row().memory.id])
            raise ValueError("something else went wrong")

    with pytest.raises(ValueError, match="something else"):
        await store.write(fail)
    assert await sizes(store) == [1, 2, 2]


async def test_a_newer_version_takes_the_place_of_the_older(store):
    await store.put([row()])
    index = SqlIndex(store)
    await index.fill()
    await store.put([row(version=2, content="said otherwise")])
    index.note([row().memory.id])
    await store.flush()

    [(key,)] = await store.read(
        lambda cursor: cursor.execute("SELECT key FROM store.search_documents").fetchall()
    )
    assert key == f"{row().memory.id}:2"
    assert await sizes(store) == [1, 2, 2]


async def test_what_is_superseded_leaves_them(store):
    await store.put([row()])
    index = SqlIndex(store)
    await index.fill()
    await store.put([row(version=2, superseded_by="mem_other")])
    index.note([row().memory.id])
    await store.flush()

    assert await sizes(store) == [0, 0, 0]
    assert await index.fill() == 0


async def test_a_rewritten_text_is_found_by_its_old_words_no_more(store):
    """As when today's rules find a secret in what was stored."""
    await store.put([row()])
    await SqlIndex(store).fill()

    def work():
        with store.database.transaction() as connection:
            rewrite(connection, to_record(row(content="clean")))

    await store.write(work)
    assert await sizes(store) == [0, 0, 0]
    assert await SqlIndex(store).fill() == 1


async def test_what_a_crash_left_unnoted_is_noted_at_the_next_start(tmp_path):
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([row(1)])
        await SqlIndex(store).fill()
        await store.put([row(2)])  # acknowledged, and nobody had the time to note it
    async with opened(tmp_path / "s.duckdb") as store:
        assert await SqlIndex(store).fill() == 1
        assert await sizes(store) == [2, 4, 4]


async def test_a_file_from_before_the_tables_is_filled(tmp_path):
    file = tmp_path / "s.duckdb"
    async with opened(file) as store:
        await store.put([row(1), row(2)])
    with duckdb.connect(str(file)) as older:
        for table in TABLES:
            older.execute(f"DROP TABLE {table}")
        older.execute("DELETE FROM migrations WHERE version > 5")
    async with opened(file) as store:
        assert await sizes(store) == [0, 0, 0]
        assert await SqlIndex(store).fill() == 2
        assert await sizes(store) == [2, 4, 4]


async def test_many_that_are_pending_are_noted_a_slice_at_a_time(store):
    index = SqlIndex(store)
    many = [row(number) for number in range(1, 2 * SLICE)]
    await store.put(many)
    index.note(one.memory.id for one in many)

    await store.flush()
    assert (await sizes(store))[0] == SLICE
    await index.catch_up()
    assert (await sizes(store))[0] == len(many)


async def test_many_that_are_pending_at_the_end_are_left_for_the_next_start(tmp_path, caplog):
    async with opened(tmp_path / "s.duckdb") as store:
        index, many = SqlIndex(store), [row(number) for number in range(1, 2 * SLICE)]
        await store.put(many)
        index.note(one.memory.id for one in many)
    assert not caplog.records
    async with opened(tmp_path / "s.duckdb") as store:
        assert await SqlIndex(store).fill() == len(many) - SLICE


async def test_more_than_can_be_named_one_by_one_are_deleted_at_once(store):
    many = [row(number) for number in range(1, 402)]
    await store.put(many)
    await SqlIndex(store).fill()

    def work():
        with store.database.transaction() as connection:
            delete_where(connection, "versions", "id", [one.memory.id for one in many[:-1]])

    await store.write(work)
    assert await sizes(store) == [1, 2, 2]


async def test_a_memory_of_no_model_is_found_by_its_words_alone(store):
    plain = Row(row().memory, Encoding("", b"", b"", b"", TERMS.tobytes()))
    await store.put([plain])
    await SqlIndex(store).fill()

    assert await sizes(store) == [1, 2, 0]


async def test_words_that_are_not_stored_are_made_from_the_text(store):
    plain = Row(row(content="quartzite deploys").memory, Encoding("", b"", b"", b""))
    await store.put([plain])
    await SqlIndex(store).fill()

    assert (await sizes(store))[1] >= 2


def test_a_damaged_encoding_has_no_vectors():
    assert vectors_of(Encoding("m", b"\0" * 7, b"", b"\1\0\1\0"))[0].size == 0
    assert vectors_of(ENCODING)[0].shape == (2, 3)
