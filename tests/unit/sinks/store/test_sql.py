import threading

import duckdb
import pytest

from subcog.sinks.store.sql import Statement, by_count


@pytest.fixture
def connection():
    with duckdb.connect() as connection:
        connection.execute("CREATE TABLE t (n BIGINT, text VARCHAR)")
        yield connection


def test_a_statement_runs_again_and_again_with_other_parameters(connection):
    add, read = (
        Statement("INSERT INTO t VALUES (?, ?)"),
        Statement("SELECT text FROM t WHERE n = ?"),
    )
    for number in range(3):
        add.run(connection, [number, f"text {number}"])
    assert [read.run(connection, [n]).fetchall() for n in (2, 0)] == [[("text 2",)], [("text 0",)]]


def test_it_sees_tables_that_were_changed_since_it_was_parsed(connection):
    read = Statement("SELECT * FROM t")
    assert read.run(connection).fetchall() == []
    connection.execute("DROP TABLE t")
    connection.execute("CREATE TABLE t (other BOOLEAN)")
    connection.execute("INSERT INTO t VALUES (true)")
    assert read.run(connection).fetchall() == [(True,)]


def test_threads_share_it_each_with_a_cursor_of_its_own(connection):
    connection.execute("INSERT INTO t SELECT range, 'x' FROM range(1000)")
    count, found = Statement("SELECT count(*) FROM t WHERE n < ?"), []

    def work(number):
        with connection.cursor() as cursor:
            found.extend(count.run(cursor, [number]).fetchall() for _ in range(50))

    threads = [threading.Thread(target=work, args=[number]) for number in (10, 100, 1000)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted({n for [(n,)] in found}) == [10, 100, 1000]
    assert len(found) == 150


def test_there_is_one_statement_for_each_number_of_placeholders(connection):
    sums = by_count(lambda count: f"SELECT {' + '.join('?' * count)}", most=8)
    assert sums(3) is sums(3)
    assert sums(3).run(connection, [1, 2, 3]).fetchall() == [(6,)]
    assert sums(1).run(connection, [5]).fetchall() == [(5,)]
