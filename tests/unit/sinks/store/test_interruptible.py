from __future__ import annotations

import threading

import anyio
import duckdb
import pytest
from anyio import CapacityLimiter, create_task_group, fail_after
from anyio.lowlevel import checkpoint

from subcog.sinks.store.interruptible import Interruptible


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

    with fail_after(20):
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

    with fail_after(20):
        async with create_task_group() as tasks:
            tasks.start_soon(Interruptible(begin, interrupt).result)
            await anyio.to_thread.run_sync(began.wait)
            tasks.cancel_scope.cancel()
    assert times == 3


async def test_work_that_was_cancelled_while_it_waited_is_never_done():
    limiter, release = CapacityLimiter(1), threading.Event()
    done: list[str] = []
    began = threading.Event()

    def first() -> None:
        began.set()
        release.wait(20)
        done.append("first")

    with fail_after(20):
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
