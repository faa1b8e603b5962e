import threading

import anyio
import duckdb
import pytest
from anyio import CapacityLimiter, create_task_group, fail_after
from anyio.lowlevel import checkpoint

from subcog.sinks.store.sql import Interruptible, Statement, by_count
from tests.waiting import PATIENCE_S


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


async def test_the_result_comes_through():
    assert await Interruptible(lambda: 7, lambda: None).result() == 7


async def test_an_error_comes_through():
    def work() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        await Interruptible(work, lambda: None).result()


async def test_a_cancelled_query_has_ended_when_its_caller_goes_on():
    began, ended = threading.Event(), threading.Event()
    connection = duckdb.connect()

    def work() -> None:
        began.set()
        try:
            connection.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b").fetchall()
        finally:
            ended.set()

    with fail_after(PATIENCE_S):
        async with create_task_group() as tasks:
            tasks.start_soon(Interruptible(work, connection.interrupt).result)
            await anyio.to_thread.run_sync(began.wait)
            tasks.cancel_scope.cancel()
    assert ended.is_set()
    connection.close()


async def test_an_interrupt_that_comes_too_early_is_repeated():
    asked, stop = threading.Semaphore(0), threading.Event()
    times = 0

    def work() -> None:
        stop.wait(20)

    def interrupt() -> None:
        nonlocal times
        times += 1
        asked.release()
        if times == 3:
            stop.set()

    began = threading.Event()

    def begin() -> None:
        began.set()
        work()

    with fail_after(PATIENCE_S):
        async with create_task_group() as tasks:
            tasks.start_soon(Interruptible(begin, interrupt).result)
            await anyio.to_thread.run_sync(began.wait)
            tasks.cancel_scope.cancel()
    assert times >= 3  # one more may come before the work has ended


async def test_work_that_was_cancelled_while_it_waited_is_never_done():
    limiter, release = CapacityLimiter(1), threading.Event()
    done: list[str] = []
    began = threading.Event()

    def first() -> None:
        began.set()
        release.wait(20)
        done.append("first")

    with fail_after(PATIENCE_S):
        async with create_task_group() as tasks:
            tasks.start_soon(Interruptible(first, lambda: None).result, limiter)
            await anyio.to_thread.run_sync(began.wait)
            async with create_task_group() as others:
                second = Interruptible(lambda: done.append("second"), lambda: None)
                others.start_soon(second.result, limiter)
                await checkpoint()
                others.cancel_scope.cancel()
            release.set()
    assert done == ["first"]
