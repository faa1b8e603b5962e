"""The write-ahead log is damaged: what can be read is, a copy is kept, and it is told."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from subcog.sinks.store.wal import wal_of
from tests.stores import make_row, opened

ROOT = Path(__file__).parents[2]
ROWS = 40

CRASH = """
import asyncio, os, sys
from pathlib import Path
from tests.stores import make_row, make_store

async def main(rows, *paths):
    for path in paths:
        store = make_store(Path(path))
        await store.open()
        for number in range(int(rows)):
            await store.put([make_row(number)])
    os._exit(9)

asyncio.run(main(*sys.argv[1:]))
"""


def crash(rows: int, *paths: Path) -> None:
    """Have a process write so many memories to each of ``paths``, and end without a word."""
    command = [sys.executable, "-c", CRASH, str(rows), *map(str, paths)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 9


@pytest.fixture(scope="module")
def crashed(tmp_path_factory) -> dict[str, bytes]:
    """The file and the log of a store that ended without a word after ``ROWS`` writes."""
    path = tmp_path_factory.mktemp("crashed") / "s.duckdb"
    crash(ROWS, path)
    return {name.name: name.read_bytes() for name in path.parent.iterdir()}


@pytest.fixture
def path(tmp_path, crashed) -> Path:
    for name, data in crashed.items():
        (tmp_path / name).write_bytes(data)
    return tmp_path / "s.duckdb"


def flip(wal: Path, position: int) -> None:
    data = bytearray(wal.read_bytes())
    data[position] ^= 0xFF
    wal.write_bytes(data)


async def surviving(store) -> list[int]:
    rows = [row async for batch in store.load() for row in batch]
    return sorted(int(row.memory.id.removeprefix("mem_")) for row in rows)


async def test_a_whole_log_is_replayed_without_a_word(path):
    async with opened(path) as store:
        assert await surviving(store) == list(range(ROWS))
        assert store.database.recovery is None
    assert not wal_of(path).exists() or not wal_of(path).stat().st_size


async def test_a_cut_log_gives_what_was_whole_and_keeps_a_copy(path):
    wal = wal_of(path)
    os.truncate(wal, wal.stat().st_size - 100)
    before = wal.read_bytes()

    async with opened(path) as store:
        assert await surviving(store) == list(range(ROWS - 1))
        recovery = store.database.recovery
    assert recovery.kept_aside.read_bytes() == before
    assert recovery.kept_aside.stat().st_mode & 0o777 == 0o600
    assert 0 < recovery.dropped_bytes < 4_000
    assert str(recovery.kept_aside) in str(recovery)


@pytest.mark.parametrize("part", [0.3, 0.5, 0.9])
async def test_a_flipped_byte_costs_only_what_follows_it(path, part):
    wal = wal_of(path)
    position = int(wal.stat().st_size * part)
    flip(wal, position)
    before = wal.read_bytes()

    async with opened(path) as store:
        found = await surviving(store)
        recovery = store.database.recovery
        assert await store.put([make_row(10_000)]) == (True,)

    assert found == list(range(len(found)))
    assert len(found) >= int(ROWS * part) - 2
    assert len(found) < ROWS
    assert recovery.kept_aside.name.startswith("s.duckdb.wal.damaged-")
    assert recovery.kept_aside.read_bytes() == before
    assert recovery.dropped_bytes >= len(before) - position


async def test_a_log_that_ends_in_zeros_gives_what_stands_before_them(path):
    wal = wal_of(path)
    data = wal.read_bytes()
    wal.write_bytes(data[:-300] + bytes(300))

    async with opened(path) as store:
        assert await surviving(store) == list(range(ROWS - 1))
        assert store.database.recovery is not None


@pytest.mark.parametrize("position", [0, 2, 9, 30])
async def test_a_log_with_a_broken_beginning_is_kept_aside_and_told(path, position):
    wal = wal_of(path)
    flip(wal, position)
    before = wal.read_bytes()

    async with opened(path) as store:
        if store.database.recovery is None:  # a byte that means nothing to anybody
            assert await surviving(store) == list(range(ROWS))
            return
        assert store.database.recovery.kept_aside.read_bytes() == before


async def test_every_single_damage_is_either_harmless_or_told(path, crashed):
    """Any byte of the first entries: nothing that was there disappears without a word."""
    wal, whole = wal_of(path), crashed["s.duckdb.wal"]
    for position in range(0, 1_200, 97):
        for name, data in crashed.items():
            (path.parent / name).write_bytes(data)
        flip(wal, position)
        async with opened(path) as store:
            complete = await surviving(store) == list(range(ROWS))
            assert complete or store.database.recovery is not None, position
    assert len(whole) > 1_200


async def test_the_second_opening_after_a_repair_has_nothing_to_tell(path):
    wal = wal_of(path)
    os.truncate(wal, wal.stat().st_size - 100)
    async with opened(path):
        pass

    async with opened(path) as store:
        assert store.database.recovery is None
        assert len(await surviving(store)) == ROWS - 1
    assert len(list(path.parent.glob("*.damaged-*"))) == 1


async def test_nothing_is_ever_written_behind_a_first_entry_that_was_cut(tmp_path):
    """The log holds its head and no whole entry: what is acknowledged next survives a crash."""
    torn = {"head": b"", "half": b"half a write", "zeros": bytes(40)}
    paths = {tmp_path / name / "s.duckdb": data for name, data in torn.items()}
    for path, data in paths.items():
        path.parent.mkdir()
        async with opened(path):
            pass
        wal_of(path).write_bytes(b"\x64\x00\x62\x65\x00\x02\xff\xff" + data)
    crash(1, *paths)

    for path in paths:
        async with opened(path) as store:
            assert await surviving(store) == [0], path
            assert store.database.recovery is None, path
