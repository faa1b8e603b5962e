from __future__ import annotations

import asyncio
import threading
from datetime import timedelta

import anyio
import duckdb
import numpy as np
import pytest
from anyio import CapacityLimiter, create_task_group, fail_after
from anyio.lowlevel import checkpoint

from subcog.bus.values import Provenance
from subcog.sinks.store import reads
from subcog.sinks.store.reads import CurrentVersions, Filter, Fingerprints, Interruptible
from subcog.sinks.store.rows import fingerprint
from tests.stores import ALL, ELSEWHERE, HERE, ME, START, make_row, opened
from tests.waiting import PATIENCE_S


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


def test_fingerprints_are_known_from_the_start_or_since():
    prints = Fingerprints(np.array([5, -3, 9], dtype=np.int64))
    prints.update([7, None, -(2**63)])

    assert all(each in prints for each in (5, -3, 9, 7, -(2**63)))
    assert not any(each in prints for each in (0, 6, 2**63 - 1))


def test_very_many_new_fingerprints_are_sorted_in(monkeypatch):
    monkeypatch.setattr(reads, "_FOLDED", 10)
    prints = Fingerprints(np.array([1_000], dtype=np.int64))
    for number in range(25):
        prints.update([number])

    assert all(number in prints for number in (*range(25), 1_000))
    assert len(prints._new) < 10


def test_a_memory_that_never_changed_is_in_its_first_version():
    changed = CurrentVersions({"a": 4})
    changed.note("a", 3)
    changed.note("b", 2)

    assert [changed.version(each) for each in "abc"] == [4, 2, 1]


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
