from __future__ import annotations

from datetime import timedelta

import pytest

from subcog.bus.events import MemoryForgotten
from subcog.bus.signals import used
from subcog.bus.values import UseEvent, Usefulness
from subcog.sinks.memories.use_log import KEEP_DAYS, UseLog, count_nothing
from subcog.sinks.store import uses
from subcog.stages.injection.usefulness import together, usefulness
from tests.emissions import emitted
from tests.stores import HERE, START, FakeClock, make_row, opened

ONE, TWO = make_row(1).memory.id, make_row(2).memory.id


def happened(session, kind="shown", memory_id=ONE, *, at=START + timedelta(days=30)):
    return UseEvent(memory_id=memory_id, session=session, at=at, kind=kind)


@pytest.fixture
async def store(tmp_path):
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([make_row(1), make_row(2)])
        yield store


async def make_log(store, clock=None):
    log = UseLog(store, sum_up=usefulness, clock=clock or FakeClock())
    await log.open()
    return log


async def test_what_is_noted_is_summed_up_once_it_is_written(store):
    log = await make_log(store)
    assert log.of(ONE) == Usefulness()
    log.note([happened("s1"), happened("s1", "taken_up")])
    await store.flush()
    assert log.of(ONE) == Usefulness(helped=1.0)
    log.note([happened("s1", "corrected")])
    await store.flush()
    assert log.of(ONE) == Usefulness(idle=1.0)
    assert log.of(TWO) == Usefulness()


async def test_each_use_is_told_of(store):
    log = await make_log(store)
    with emitted(used) as told:
        log.note([happened("s1"), happened("s1", "quoted")])
    assert [facts["kind"] for _, facts in told] == ["shown", "quoted"]


async def test_what_is_noted_is_there_after_a_restart(tmp_path):
    file = tmp_path / "s.duckdb"
    async with opened(file) as store:
        await store.put([make_row(1), make_row(2)])
        log = await make_log(store)
        log.note([happened("s1"), happened("s1", "heeded")])
        await log.vote([TWO], "buried")
    async with opened(file) as store:
        log = await make_log(store)
        assert log.of(TWO).buried
        assert log.of(ONE) == Usefulness()
        await log.load()
        assert log.of(ONE) == Usefulness(helped=1.0)
        assert log.of(TWO).buried


async def test_the_records_are_read_with_what_is_usual_by_then(tmp_path):
    file = tmp_path / "s.duckdb"
    async with opened(file) as store:
        await store.put([make_row(1), make_row(2)])
        log = await make_log(store)
        log.note([happened("s1"), happened("s1", "heeded"), happened("s1", memory_id=TWO)])
        await store.flush()
        known, usual = log.of(TWO), log.usual
    async with opened(file) as store:
        log = await make_log(store)
        assert set(await log.records([TWO])) == {TWO}
        assert (log.of(TWO), log.usual) == (known, usual)
        await log.load()
        assert (log.of(TWO), log.usual) == (known, usual)


async def test_a_vote_counts_at_once_and_the_same_again_does_not(store):
    log = await make_log(store)
    await log.vote([ONE, TWO, ONE], "buried")
    await log.vote([ONE], "buried")
    assert (log.of(ONE).buried, log.of(TWO).buried) == (True, True)
    await log.vote([ONE], "kept")
    assert not log.of(ONE).buried
    records = await log.records([ONE])
    assert [event.kind for event in records[ONE].events] == ["buried", "kept"]


async def test_the_last_vote_counts_though_the_clock_went_back(store):
    clock = FakeClock()
    log = await make_log(store, clock)
    await log.vote([ONE], "buried")
    clock.now -= timedelta(days=1)
    kept = await log.vote([ONE], "kept")
    assert not log.of(ONE).buried
    assert not (await make_log(store, clock)).of(ONE).buried
    await log.retract(ONE, kept[ONE])
    assert log.of(ONE).buried


async def test_what_is_too_old_is_no_evidence_any_more(store):
    clock = FakeClock()
    log = await make_log(store, clock)
    log.note([happened("s1"), happened("s1", "taken_up")])
    await store.flush()
    clock.now += timedelta(days=KEEP_DAYS + 31)
    await log.load()
    assert log.of(ONE) == log.usual == Usefulness()
    log.note([happened("s2", at=clock.now), happened("s2", "taken_up", at=clock.now)])
    record = (await log.records([ONE]))[ONE]
    assert (len(record.events), record.older.sessions) == (2, 1)
    assert log.of(ONE) == Usefulness(helped=1.0)


async def test_what_is_usual_is_the_evidence_on_all_of_them(store):
    log = await make_log(store)
    log.note([happened("s1", "taken_up"), happened("s1", "shown", TWO)])
    await store.flush()
    usual = together([log.of(ONE), log.of(TWO)])
    assert log.usual == usual
    assert usual.helped > 0 < usual.idle
    again = await make_log(store)
    await again.load()
    assert again.usual == usual
    log.drop(ONE)
    assert log.usual == log.of(TWO)


async def test_of_a_forgotten_memory_nothing_is_left(store):
    log = await make_log(store)
    log.note([happened("s1", "taken_up")])
    await store.flush()
    log.note([happened("s2", "taken_up")])
    await store.forget(ONE, [HERE])
    event = MemoryForgotten(trace="t", id=ONE, scope=HERE)
    log.drop(event.id)
    await store.flush()
    assert log.of(ONE) == Usefulness()
    assert await log.records([ONE]) == {}


async def test_what_cannot_be_written_is_written_later(store, monkeypatch):
    log = await make_log(store)
    with monkeypatch.context() as broken:
        broken.setattr(store.database, "_writer", None)
        log.note([happened("s1")])
        with pytest.raises(ConnectionError):
            await store.flush()
    await store.flush()
    assert len((await log.records([ONE]))[ONE].events) == 1


async def test_where_the_log_cannot_be_made_no_use_is_lost(store, tmp_path):
    log, database = await make_log(store), store.database
    await store.write(database.checkpoint)
    database.wal.unlink(missing_ok=True)
    database.wal.symlink_to(tmp_path / "nowhere" / "log")
    log.note([happened("s1")])
    with pytest.raises(FileNotFoundError):
        await store.flush()
    database.wal.unlink()
    await store.flush()
    assert len((await log.records([ONE]))[ONE].events) == 1


async def test_where_nothing_is_learned_nothing_is_known(store):
    assert count_nothing([happened("s1", "taken_up")]) == Usefulness()


async def test_what_is_stored_does_not_replace_what_is_summed_up_meanwhile(store, monkeypatch):
    log = await make_log(store)
    log.note([happened("s1", "taken_up"), happened("s1", "taken_up", TWO)])
    await store.flush()
    read_before = await store.read(lambda cursor: list(uses.by_memory(cursor)))
    again = await make_log(store)
    monkeypatch.setattr(uses, "by_memory", lambda cursor: iter(read_before))
    await again.vote([ONE], "buried")
    again.drop(TWO)
    await again.load()
    assert again.of(ONE).buried
    assert again.of(TWO) == Usefulness()
