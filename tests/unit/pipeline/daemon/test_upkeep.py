from datetime import timedelta
from threading import Event
from types import SimpleNamespace

import anyio
import anyio.from_thread
import duckdb
import pytest

from subcog.bus.events import ForgetRequested
from subcog.config.settings import BackupSettings
from subcog.pipeline.app.archives import LazyArchive
from subcog.pipeline.app.conversations import Conversations
from subcog.pipeline.daemon import upkeep
from subcog.pipeline.daemon.backups import Backups
from subcog.pipeline.daemon.upkeep import (
    compact_if_needed,
    compact_when_idle,
    trim,
    trim_daily,
)
from subcog.sinks.repair.backups import read_buried
from tests.archives import opened_desk
from tests.fakes import make_quoting
from tests.stores import HERE, START, FakeClock
from tests.unit.sinks.passages.conftest import IDLE, NOW, RETRIES, opened, talk
from tests.waiting import PATIENCE_S, until

TEXT = "The quartzite deploy key rotates on the first Monday of each month"


@pytest.fixture
async def bench(tmp_path):
    async with opened_desk(tmp_path) as bench:
        yield bench


@pytest.fixture
def late(bench):
    late = LazyArchive()
    late.arrive(bench.archive)
    return late


async def forget_one(bench):
    kept = (await bench.keep(TEXT)).memory
    await bench.archive.store.checkpoint()
    await bench.archive.forget(ForgetRequested(trace="t", id=kept.id, scopes=(HERE,)))


async def test_nothing_is_compacted_where_nothing_was_forgotten(bench, late):
    await bench.keep(TEXT)
    assert not await compact_if_needed(late)
    assert not await compact_if_needed(LazyArchive())


async def test_what_was_forgotten_leaves_the_disk(bench, late, tmp_path):
    await forget_one(bench)
    assert await compact_if_needed(late)
    assert b"quartzite" not in (tmp_path / "subcog.duckdb").read_bytes()
    assert not await compact_if_needed(late)


@pytest.fixture
def backups(bench, tmp_path):
    paths = SimpleNamespace(database=tmp_path / "subcog.duckdb", backups=tmp_path / "backups")
    settings = BackupSettings(enabled=True, every_hours=24, keep=3, max_mb=100, folder="")
    return Backups(settings, paths, lambda: START)


async def test_it_leaves_the_backups_also_where_a_call_has_compacted(bench, late, backups):
    kept = (await bench.keep(TEXT)).memory
    made = await backups.make_if_due(bench.archive)
    await bench.archive.forget(ForgetRequested(trace="t", id=kept.id, scopes=(HERE,)))
    await bench.archive.compact()
    assert b"quartzite" in made.read_bytes()
    assert not await compact_if_needed(late, backups)
    assert b"quartzite" not in made.read_bytes()
    assert not bench.archive.store.database.needs_purge


async def test_a_disk_that_hangs_is_told_of_and_holds_up_no_status(bench, backups, monkeypatch):
    await bench.keep(TEXT)
    made = await backups.make_if_due(bench.archive)
    assert (await backups.summary()).newest == str(made)
    answers = Event()
    monkeypatch.setattr("subcog.pipeline.daemon.backups.LOOK_S", 0.05)
    monkeypatch.setattr(backups.files, "look", lambda now: answers.wait(PATIENCE_S))
    try:
        with anyio.fail_after(PATIENCE_S):
            seen = [await backups.summary() for _ in range(2)]
    finally:
        answers.set()
    assert all("does not answer" in one.problem for one in seen)


async def test_a_backup_that_is_held_is_kept_and_purged_later(bench, late, backups, monkeypatch):
    kept = (await bench.keep(TEXT)).memory
    made = await backups.make_if_due(bench.archive)
    await bench.archive.store.checkpoint()
    await bench.archive.forget(ForgetRequested(trace="t", id=kept.id, scopes=(HERE,)))
    with duckdb.connect(made):
        assert await compact_if_needed(late, backups), "the database itself is compacted anyway"
        assert made.exists()
    await compact_if_needed(late, backups)
    assert bench.archive.store.database.needs_purge, "it is not tried again at once"
    monkeypatch.setattr(backups, "_purge_from", 0.0)
    await compact_if_needed(late, backups)
    assert b"quartzite" not in made.read_bytes()
    assert not bench.archive.store.database.needs_purge


async def test_what_is_forgotten_while_the_backups_are_purged_is_purged_later(
    bench, late, backups, monkeypatch
):
    await backups.make_if_due(bench.archive)
    await forget_one(bench)
    read = bench.archive.store.read

    async def forgotten_meanwhile(work):
        found = await read(work)
        if work is read_buried:
            monkeypatch.undo()
            await forget_one(bench)
        return found

    monkeypatch.setattr(bench.archive.store, "read", forgotten_meanwhile)
    assert await compact_if_needed(late, backups)
    assert bench.archive.store.database.needs_purge
    await compact_if_needed(late, backups)
    assert not bench.archive.store.database.needs_purge


async def test_what_is_forgotten_while_a_backup_is_made_leaves_it_too(bench, backups, monkeypatch):
    kept, purged = (await bench.keep(TEXT)).memory, anyio.Event()
    database = bench.archive.store.database
    whole = database.backup

    async def purge():
        await backups.purge(bench.archive)
        purged.set()

    async with anyio.create_task_group() as tasks:

        async def forgotten_meanwhile():
            await bench.archive.forget(ForgetRequested(trace="t", id=kept.id, scopes=(HERE,)))
            tasks.start_soon(purge)
            await until(lambda: purged.is_set() or backups._changing.statistics().tasks_waiting)

        def backup(target):
            whole(target)
            anyio.from_thread.run(forgotten_meanwhile)

        monkeypatch.setattr(database, "backup", backup)
        made = await backups.make_if_due(bench.archive)
    assert b"quartzite" not in made.read_bytes()
    assert not database.needs_purge


async def test_a_compaction_that_fails_is_tried_again(bench, late):
    await forget_one(bench)
    await bench.archive.store.close()
    assert not await compact_if_needed(late)
    assert bench.archive.store.database.needs_compaction


async def test_it_waits_until_nobody_asks_anything(bench, late, monkeypatch):
    monkeypatch.setattr(upkeep, "CHECK_S", 0.001)
    await forget_one(bench)
    asked, done = [], anyio.Event()

    def quiet_s():
        asked.append(bench.archive.store.database.needs_compaction)
        if not asked[-1]:
            done.set()
        return 0.0 if len(asked) < 3 else upkeep.QUIET_S

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: compact_when_idle(late, quiet_s=quiet_s))
            await done.wait()
            tasks.cancel_scope.cancel()
    assert asked[:3] == [True, True, True]


@pytest.fixture
async def said(tmp_path):
    """Two sessions, kept for 30 days, and the clock that they are kept by."""
    clock = FakeClock(NOW)
    async with opened(tmp_path, None, clock=clock, days=30) as passages:
        await passages.add(talk(RETRIES, "older", days_ago=20))
        await passages.add(talk(IDLE, "newer", days_ago=1))
        held = Conversations(make_quoting())
        held.arrive(passages)
        yield held, passages, clock


async def test_old_passages_go_though_nothing_new_is_said(said):
    held, passages, clock = said
    assert await trim(held) == 0
    clock.now += timedelta(days=15)
    assert await trim(held) == 0, "the clock may be ahead"
    clock.now += timedelta(days=1)
    assert await trim(held) == 4
    assert passages.sessions == 1
    assert await trim(Conversations(make_quoting())) == 0, "there is nothing while it loads"


async def test_every_day_the_passages_are_trimmed_again(said, monkeypatch):
    held, passages, clock = said
    monkeypatch.setattr(upkeep, "TRIM_S", 0.001)
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(trim_daily, held)
            for left in (1, 0):
                clock.now += timedelta(days=20)
                while passages.sessions > left:
                    clock.now += timedelta(minutes=1)
                    await anyio.lowlevel.checkpoint()
            tasks.cancel_scope.cancel()


async def test_a_trim_that_fails_is_tried_again(said):
    held, passages, clock = said
    clock.now += timedelta(days=15)
    await trim(held)
    clock.now += timedelta(days=1)
    await passages._store.close()
    assert await trim(held) == 0
    assert passages.sessions == 2
