"""The backups that are made without being asked for: whole, checked, bounded, and forgetful."""

from __future__ import annotations

import os
from datetime import timedelta
from functools import partial

import anyio
import anyio.to_thread
import pytest

from subcog.sinks.repair import backups as module
from subcog.sinks.repair.backups import AutomaticBackups, Bounds, read_buried
from subcog.sinks.repair.kept_copies import find_copies
from subcog.sinks.store.errors import StoreUnavailable
from tests.stores import HERE, START, everything, make_row, opened

DAY = timedelta(days=1)
run = anyio.to_thread.run_sync


def backups(path, *, keep=3, size=10**9) -> AutomaticBackups:
    return AutomaticBackups(path, path.parent / "backups", Bounds(keep, size, DAY))


async def make(store, files, day):
    # As if everything before had been written then.
    return await run(files.make, store.database, START + day * DAY)


async def test_one_is_made_a_day_where_something_was_written_and_the_oldest_go(tmp_path):
    path = tmp_path / "s.duckdb"
    files = backups(path)
    async with opened(path) as store:
        await store.put([make_row(1)])
        assert files.is_due(START)
        for day in range(5):
            made = await make(store, files, day)
        seen = files.look(START + 4 * DAY)
        assert (seen.newest, seen.count) == (made, 3)
        assert seen.newest_at == (START + 4 * DAY).replace(microsecond=0)
        assert made.stat().st_mode & 0o777 == 0o600
        assert {copy.file for copy in find_copies(path)} == set(files.files(START))
        written = START + 6 * DAY
        for file in (path, store.database.wal):
            os.utime(file, (written.timestamp(),) * 2)
        assert not files.is_due(START + 4 * DAY + DAY / 2)
        assert files.is_due(START + 5 * DAY)
        assert not files.is_due(START + 5 * DAY, is_quiet=False)
        assert files.is_due(START + 7 * DAY, is_quiet=False)
        for file in (path, store.database.wal):
            os.utime(file, (START.timestamp(),) * 2)
        assert not files.is_due(START + 7 * DAY), "nothing was written since"
    async with opened(made) as copy:
        assert await copy.counts() == {HERE: 1}


async def test_their_size_is_bounded_and_the_newest_stays(tmp_path):
    path = tmp_path / "s.duckdb"
    files = backups(path, size=1)
    async with opened(path) as store:
        await make(store, files, 0)
        newest = await make(store, files, 1)
        assert files.files(START + DAY) == (newest,)


async def test_those_of_a_clock_that_was_ahead_hold_up_none_and_go_first(tmp_path):
    path = tmp_path / "s.duckdb"
    files = backups(path, keep=2)
    async with opened(path) as store:
        ahead = await make(store, files, 3_000)
        assert files.is_due(START)
        made = [await make(store, files, 0)]
        assert files.look(START).newest == made[0]
        assert files.files(START) == (ahead, *made)
        made.append(await make(store, files, 1))
        assert files.files(START + DAY) == tuple(made)


async def test_one_that_cannot_be_read_is_none_and_the_earlier_ones_stay(tmp_path, monkeypatch):
    path = tmp_path / "s.duckdb"
    files = backups(path)
    async with opened(path) as store:
        first = await make(store, files, 0)
        whole = store.database.backup

        def torn(target):
            whole(target)
            os.truncate(target, 20_000)

        monkeypatch.setattr(store.database, "backup", torn)
        with pytest.raises(StoreUnavailable):
            await make(store, files, 1)
        assert list(files.folder.iterdir()) == [first]
        monkeypatch.setattr(module, "_ROOM_BYTES", 10**18)
        with pytest.raises(StoreUnavailable) as caught:
            await make(store, files, 1)
        assert caught.value.reason == "full"


async def test_what_is_forgotten_leaves_the_backups(tmp_path):
    path = tmp_path / "s.duckdb"
    files = backups(path)
    async with opened(path) as store:
        secret = "the swordfish swims at midnight"
        await store.put([make_row(1, content=secret), make_row(2)])
        made = await make(store, files, 0)
        assert secret.encode() in made.read_bytes()
        await store.forget(make_row(1).memory.id, [HERE])
        buried = await store.read(read_buried)
        os.utime(made, (START.timestamp(), START.timestamp()))
        await run(partial(files.purge, buried, START + DAY))
        assert secret.encode() not in made.read_bytes()
        assert [copy.at for copy in find_copies(path)] == [START], "it is as old as before"
    async with opened(made) as copy:
        assert [row.memory.id for row in await everything(copy)] == [make_row(2).memory.id]


async def test_a_damaged_one_is_deleted_as_what_it_holds_cannot_be_taken_out(tmp_path):
    path = tmp_path / "s.duckdb"
    files = backups(path)
    async with opened(path) as store:
        made = [await make(store, files, day) for day in range(2)]
        os.truncate(made[0], 100)
        buried = await store.read(read_buried)
        await run(partial(files.purge, buried, START + DAY))
        assert files.files(START + DAY) == (made[1],)


async def test_writes_go_on_while_one_is_made(tmp_path):
    path = tmp_path / "s.duckdb"
    files = backups(path)
    async with opened(path) as store:
        await store.put([make_row(n) for n in range(20_000)])
        longest = 0.0
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(make, store, files, 0)
            for n in range(30):
                started = anyio.current_time()
                assert await store.put([make_row(30_000 + n)]) == (True,)
                longest = max(longest, anyio.current_time() - started)
                await anyio.sleep(0.01)
        assert longest < 2.0
        assert len(files.files(START)) == 1
