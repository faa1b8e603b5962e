"""The file cannot be opened: the message says why and what to do, and the file stays as it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from subcog.sinks.repair.kept_copies import note_backup
from subcog.sinks.store.migrations import MIGRATIONS
from subcog.sinks.store.store import StoreUnavailable
from subcog.sinks.store.wal import beginning_of, wal_of
from tests.stores import make_row, make_store, opened

ROOT = Path(__file__).parents[2]

HOLD = """
import asyncio, sys
from pathlib import Path
from tests.stores import make_store

async def main():
    store = make_store(Path(sys.argv[1]))
    await store.open()
    print("open", flush=True)
    sys.stdin.read()
    await store.close()

asyncio.run(main())
"""


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "data" / "s.duckdb"


async def refusal(path: Path) -> StoreUnavailable:
    store = make_store(path)
    with pytest.raises(StoreUnavailable) as caught:
        await store.open()
    return caught.value


async def test_a_database_that_another_process_holds(path):
    holder = subprocess.Popen(  # noqa: ASYNC220 - it waits for nothing
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    with holder:
        assert holder.stdout.readline() == "open\n"
        error = await refusal(path)
        holder.stdin.close()

    assert error.reason == "held"
    assert f"process {holder.pid}" in str(error)
    assert "try again" in str(error)
    async with opened(path) as store:
        assert await store.put([make_row()]) == (True,)


async def test_a_database_that_this_process_holds_already(path):
    async with opened(path):
        error = await refusal(path)

    assert error.reason == "held"
    assert f"process {os.getpid()}" in str(error)


async def test_tables_of_a_newer_subcog(path):
    async with opened(path):
        pass
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO migrations VALUES (77, now()::TIMESTAMP)")
    before = path.read_bytes()

    error = await refusal(path)

    assert error.reason == "newer"
    assert "version 77" in str(error)
    assert f"up to {len(MIGRATIONS)}" in str(error)
    assert "Update subcog" in str(error)
    assert path.read_bytes() == before


async def test_a_file_of_a_newer_duckdb(path):
    async with opened(path):
        pass
    data = bytearray(path.read_bytes())
    # The storage version stands after the checksum and the magic bytes of the main header.
    assert data[8:12] == b"DUCK"
    data[12:20] = (9_999).to_bytes(8, "little")
    path.write_bytes(data)

    error = await refusal(path)

    assert error.reason in {"newer", "damaged"}
    assert "duckdb" in str(error).lower()
    assert path.read_bytes() == data


async def test_a_database_of_another_program(path):
    path.parent.mkdir()
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a INTEGER)")

    error = await refusal(path)

    assert error.reason == "foreign"
    with duckdb.connect(path) as connection:
        assert connection.execute("SHOW TABLES").fetchall() == [("theirs",)]


@pytest.mark.parametrize("data", [b"no database at all\n" * 1_000, b"short"])
async def test_a_file_that_is_no_database(path, data):
    path.parent.mkdir()
    path.write_bytes(data)

    error = await refusal(path)

    assert error.reason == "damaged"
    assert "restore a backup" in str(error)
    assert path.read_bytes() == data


async def test_a_damaged_file_is_left_alone(path):
    async with opened(path) as store:
        await store.put([make_row(number) for number in range(100)])
    data = bytearray(path.read_bytes())
    data[8_192 + 100] ^= 0xFF
    data[4_096 + 10] ^= 0xFF
    data[12_288 + 100] ^= 0xFF
    path.write_bytes(data)

    error = await refusal(path)

    assert error.reason == "damaged"
    assert path.read_bytes() == data


async def test_a_file_that_was_never_created_to_its_end_is_begun_anew(path):
    path.parent.mkdir()
    beginning_of(path).touch()
    path.touch()  # as a process leaves both that is killed before it writes

    async with opened(path) as store:
        assert await store.put([make_row()]) == (True,)
    assert not beginning_of(path).exists()


async def test_an_emptied_file_is_left_alone_and_told(path):
    async with opened(path) as store:
        await store.put([make_row()])
    os.truncate(path, 0)

    error = await refusal(path)

    assert error.reason == "damaged"
    assert str(error).startswith(f"{path} is empty")
    assert "`subcog restore latest`" in str(error)
    assert path.stat().st_size == 0


async def test_nothing_is_begun_in_the_place_of_a_file_of_which_there_are_backups(path):
    async with opened(path) as store:
        await store.put([make_row()])
    note_backup(path, path.with_name("elsewhere.duckdb"))  # on a disk that is not mounted now
    path.unlink()

    error = await refusal(path)

    assert error.reason == "damaged"
    assert str(error).startswith(f"{path} was deleted")
    assert "`subcog restore latest`" in str(error)
    assert not path.exists()


@pytest.mark.parametrize("left", ["tally", "before-restore-20260101T000000"])
async def test_nothing_is_begun_in_the_place_of_a_file_of_which_something_is_left(path, left):
    async with opened(path) as store:
        await store.put([make_row()])
    tally = path.with_name(f"{path.name}.tally")
    tally.rename(path.with_name(f"{path.name}.{left}"))
    path.unlink()

    assert str(await refusal(path)).startswith(f"{path} was deleted")
    assert not path.exists()


async def test_an_emptied_file_is_no_database_although_a_log_lies_there(path):
    async with opened(path) as store:
        await store.put([make_row(1)])
        os.truncate(path, 0)
        assert not store.database.is_in_place()
        with pytest.raises(StoreUnavailable, match="is empty"):
            await store.put([make_row(2)])
    log = wal_of(path).read_bytes()

    assert "is empty" in str(await refusal(path))
    assert wal_of(path).read_bytes() == log


async def test_a_place_that_is_a_directory(path):
    path.mkdir(parents=True)

    assert isinstance(await refusal(path), StoreUnavailable)


async def test_a_store_that_failed_to_open_opens_when_the_cause_is_gone(path):
    path.parent.mkdir()
    path.write_bytes(b"no database at all\n" * 1_000)
    store = make_store(path)
    with pytest.raises(StoreUnavailable):
        await store.open()
    path.unlink()

    await store.open()
    assert await store.put([make_row()]) == (True,)
    await store.close()


async def test_what_is_made_is_private(path):
    async with opened(path) as store:
        await store.put([make_row(1)])
        await store.checkpoint()
        await store.put([make_row(2)])
        await store.backup(path.parent / "backup")
        modes = {each.name: each.stat().st_mode & 0o777 for each in path.parent.iterdir()}

    assert path.parent.stat().st_mode & 0o777 == 0o700
    names = {"s.duckdb", "s.duckdb.wal", "s.duckdb.tally", "backup"}
    assert modes == dict.fromkeys(names, 0o600)
