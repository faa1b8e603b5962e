"""The write-ahead log is deleted while nobody has the database open: it is told."""

from __future__ import annotations

import subprocess
import sys
from errno import ENOSPC
from pathlib import Path

import pytest

from subcog.sinks.repair.kept_copies import damage_seen
from subcog.sinks.store.wal import wal_of
from tests.stores import HERE, make_row, opened

from .killed import ROOT

KILLED = """
import asyncio, os, sys
from pathlib import Path
from tests.stores import make_row, make_store

async def main(*paths):
    for path in paths:
        store = make_store(Path(path))
        await store.open()
        await store.put([make_row(number) for number in range(3)])
        await store.checkpoint()
        await store.put([make_row(number) for number in range(3, 8)])
    os._exit(9)

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.fixture(scope="module")
def killed(tmp_path_factory) -> list[Path]:
    """Databases whose process was killed; a test takes one off, and has it for itself."""
    paths = [tmp_path_factory.mktemp("killed") / "s.duckdb" for _ in range(10)]
    command = [sys.executable, "-c", KILLED, *map(str, paths)]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 9
    return paths


async def test_a_log_that_was_deleted_is_told_until_its_note_is_deleted(killed):
    path = killed.pop()
    wal_of(path).unlink()
    async with opened(path):
        pass
    async with opened(path) as store:
        await store.put([make_row(20)])
    [told] = damage_seen(path)
    assert "log was deleted" in told
    assert "missing: 5." in told
    [note] = path.parent.glob("*.log-missing-*")
    note.unlink()
    assert damage_seen(path) == ()


async def test_nothing_is_told_where_the_log_is_there_or_was_damaged(killed):
    whole, damaged = killed.pop(), killed.pop()
    async with opened(whole) as store:
        await store.forget(make_row(1).memory.id, [HERE])
    async with opened(whole):
        pass
    assert damage_seen(whole) == ()
    wal_of(damaged).write_bytes(b"odd")
    async with opened(damaged):
        pass
    [told] = damage_seen(damaged)
    assert "damaged log" in told


async def test_a_file_that_took_the_place_of_another_is_not_compared_with_it(killed, tmp_path):
    path = killed.pop()
    wal_of(path).unlink()
    (tmp_path / "copy").write_bytes(path.read_bytes())
    (tmp_path / "copy").replace(path)
    async with opened(path):
        pass
    assert damage_seen(path) == ()


async def test_an_older_copy_in_the_place_of_the_file_is_told_as_what_it_may_be(tmp_path):
    path = tmp_path / "s.duckdb"
    async with opened(path) as store:
        await store.put([make_row(number) for number in range(3)])
    older = path.read_bytes()
    async with opened(path) as store:
        await store.put([make_row(3)])
    path.write_bytes(older)  # as cp does: the file stays the same one
    async with opened(path):
        pass
    [told] = damage_seen(path)
    assert "or the file replaced by an older one" in told
    assert "missing: 1." in told


async def test_a_note_that_cannot_be_written_keeps_nobody_out_and_is_told_later(
    killed, monkeypatch
):
    path = killed.pop()
    wal_of(path).unlink()
    with monkeypatch.context() as full:
        full.setattr("subcog.sinks.store.database.note_lost_log", refuse)
        async with opened(path) as store:
            await store.put([make_row(20)])
    assert damage_seen(path) == ()
    async with opened(path):
        pass
    [told] = damage_seen(path)
    assert "missing: 5." in told


def refuse(*_args) -> None:
    raise OSError(ENOSPC, "No space left on device")


async def test_a_note_that_is_deleted_while_it_is_read_is_told_no_more(tmp_path):
    gone = tmp_path / "s.duckdb.log-missing-20261101T100000"
    gone.symlink_to(tmp_path / "nowhere")  # found by its name, and not there to be read
    assert damage_seen(tmp_path / "s.duckdb") == ()
