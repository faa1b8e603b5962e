from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio.to_thread
import pytest

from subcog.sinks.passages.archive import Bounds, PassageArchive
from subcog.sinks.passages.table import forgotten
from subcog.sinks.repair.kept_copies import (
    Copy,
    clean_copies,
    damage_seen,
    find_copies,
    note_backup,
    remove_copy,
    unread_lists,
)
from tests.stores import START, FakeClock, make_row, opened
from tests.teams import ORG, join
from tests.unit.sinks.passages.conftest import HERE as TALKED_HERE
from tests.unit.sinks.passages.conftest import NOW, RETRIES, talk


@pytest.fixture
def database(tmp_path) -> Path:
    database = tmp_path / "data" / "s.duckdb"
    database.parent.mkdir()
    for name in ("s.duckdb", "s.duckdb.wal", "s.duckdb.uncompacted", "t.duckdb.wal.damaged-1"):
        (database.parent / name).write_bytes(b"x")
    return database


def kinds(database: Path) -> dict[str, str]:
    return {copy.file.name: copy.kind for copy in find_copies(database)}


def test_the_database_itself_is_no_copy(database):
    assert find_copies(database) == ()


def test_what_was_kept_aside_is_found_with_the_log_that_belongs_to_it(database):
    for name in (
        "s.duckdb.wal.damaged-20260101T000000",
        "s.duckdb.damaged-20260101T000000",
        "s.duckdb.damaged-20260101T000000.wal",
        "s.duckdb.before-restore-20260101T000000-1",
    ):
        database.with_name(name).write_bytes(b"12345")

    assert kinds(database) == {
        "s.duckdb.wal.damaged-20260101T000000": "damaged log",
        "s.duckdb.damaged-20260101T000000": "damaged database",
        "s.duckdb.before-restore-20260101T000000-1": "before a restore",
    }
    [damaged] = [copy for copy in find_copies(database) if copy.kind == "damaged database"]
    assert damaged.bytes == 10
    remove_copy(damaged)
    assert not list(database.parent.glob("s.duckdb.damaged-*"))


def test_backups_are_found_wherever_they_are_as_long_as_they_are_there(database, tmp_path):
    backups = [tmp_path / "one", tmp_path / "two"]
    for backup in (*backups, backups[0]):
        backup.write_bytes(b"x")
        note_backup(database, backup)
    assert kinds(database) == {"one": "backup", "two": "backup"}

    backups[0].unlink()

    assert kinds(database) == {"two": "backup"}
    [mode] = {file.stat().st_mode & 0o777 for file in database.parent.glob("*.backups")}
    assert mode == 0o600


@pytest.mark.parametrize("damaged", [b"{", b'["/srv/b\xff.duckdb"]', b"[1]"])
def test_a_list_of_backups_that_cannot_be_read_is_told_and_set_aside(database, tmp_path, damaged):
    listed, backup = database.with_name("s.duckdb.backups"), tmp_path / "one"
    listed.write_bytes(damaged)
    backup.write_bytes(b"x")

    assert find_copies(database) == ()
    assert unread_lists(database) == (listed,)
    [told] = damage_seen(database)
    assert str(listed) in told
    note_backup(database, backup)

    assert kinds(database) == {"one": "backup"}
    [aside] = unread_lists(database)
    assert aside.read_bytes() == damaged
    [told] = damage_seen(database)
    assert str(aside) in told


def test_a_name_in_the_list_that_no_file_can_have_is_passed_over(database):
    database.with_name("s.duckdb.backups").write_bytes(b'["/srv/b\\u0000.duckdb"]')
    assert find_copies(database) == ()
    assert unread_lists(database) == ()


def test_a_copy_may_hold_only_what_was_there_when_it_was_made(database, tmp_path):
    backup = tmp_path / "one"
    backup.write_bytes(b"x")
    note_backup(database, backup)
    os.utime(backup, (0, 0))
    [copy] = find_copies(database)

    assert copy.at == datetime.fromtimestamp(0, UTC)
    assert copy.may_hold(datetime.now(UTC) - timedelta(minutes=1)), "a date can be set by hand"
    assert not copy.may_hold(datetime.now(UTC) + timedelta(seconds=1))


@pytest.mark.parametrize("kind", ["before-restore", "damaged", "wal.damaged"])
def test_a_file_that_was_set_aside_is_as_old_as_its_name_says(database, kind):
    names = [f"s.duckdb.{kind}-{stamp}" for stamp in ("20260102T030405-1", "20991399T000000")]
    for name in names:
        database.with_name(name).write_bytes(b"x")

    ages = {copy.file.name: copy.at for copy in find_copies(database)}

    assert ages[names[0]] == datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert datetime.now(UTC) - ages[names[1]] < timedelta(hours=1), "there is no such day"


async def test_a_backup_that_is_cleaned_tells_the_team_once_it_is_restored(tmp_path):
    """Its outbox would name a version that is no longer in it."""
    backup = tmp_path / "backup.duckdb"
    async with opened(tmp_path / "s.duckdb") as store:
        await join(store)
        await store.put([make_row(1, scope=ORG), make_row(2, scope=ORG)])
        await store.backup(backup)
    copy = Copy(file=backup, kind="backup", at=START, changed_at=START, bytes=1)
    memory, now = make_row(1, scope=ORG).memory, START + timedelta(days=1)
    os.utime(backup, (START.timestamp(), START.timestamp()))

    await anyio.to_thread.run_sync(lambda: clean_copies([copy], [memory], [ORG], now))

    assert backup.stat().st_mtime == START.timestamp(), "it is as old as before"
    async with opened(backup) as restored:
        waiting = await restored.replica.outbox(limit=9)
        assert {(each.id, each.version) for each in waiting} == {
            (memory.id, 0),
            (make_row(2).memory.id, 1),
        }
        assert (await restored.replica.depth()).count == 2


async def test_a_text_that_was_kept_twice_is_gone_from_a_copy_that_is_older(tmp_path):
    backup, other = tmp_path / "backup.duckdb", tmp_path / "other.duckdb"
    said = {"content": "The tug is leased until May", "content_hash": "c0ffee"}
    before, again = make_row(1, **said), make_row(9, **said).memory
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([make_row(2)])
        await store.backup(other)
        await store.put([before])
        await store.backup(backup)
    for file in (backup, other):
        os.utime(file, (0, 0))
    copies = [
        Copy(file=file, kind="backup", at=START, changed_at=START, bytes=1)
        for file in (backup, other)
    ]

    cleaned = await anyio.to_thread.run_sync(
        lambda: clean_copies(copies, [again], [again.scope], START + timedelta(days=1))
    )

    spared = anyio.to_thread.run_sync(
        lambda: clean_copies(
            copies, [again], [again.scope], START + timedelta(days=1), is_kept=lambda id_: True
        )
    )
    assert cleaned.cleaned == (backup,), "the other one is left as it is"
    assert (await spared).cleaned == ()
    assert said["content"].encode() not in backup.read_bytes()


async def test_a_copy_that_is_cleaned_loses_the_passages_that_say_it_too(tmp_path):
    backup = tmp_path / "backup.duckdb"
    said = talk(RETRIES)
    memory = make_row(1, scope=TALKED_HERE, content=said[0].text).memory
    async with opened(tmp_path / "s.duckdb", FakeClock(NOW)) as store:
        archive = PassageArchive(store, bounds=Bounds(90, 1000), floor=0.5, clock=lambda: NOW)
        await archive.open(None)
        await archive.add(said)
        await store.backup(backup)
    copy = Copy(file=backup, kind="backup", at=NOW, changed_at=NOW, bytes=1)
    assert said[0].text.encode() in backup.read_bytes()

    cleaned = await anyio.to_thread.run_sync(
        lambda: clean_copies([copy], [memory], [TALKED_HERE], NOW)
    )

    assert cleaned.cleaned == (backup,)
    assert said[0].text.encode() not in backup.read_bytes()
    async with opened(backup) as restored:
        barred = await restored.read(forgotten)
        assert [one.passage for one in barred] == [said[0].id, ""]
