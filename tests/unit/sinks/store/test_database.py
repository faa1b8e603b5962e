from __future__ import annotations

import errno
import os
import random
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import duckdb
import pytest

from subcog.sinks.store import database as module
from subcog.sinks.store.database import Database
from subcog.sinks.store.errors import StoreUnavailable
from subcog.sinks.store.rows import to_record
from subcog.sinks.store.sql import spill_of
from subcog.sinks.store.writes import add_records
from tests.stores import HERE, START, FakeClock, make_row

SECRET = "".join(f"{number:x}-tell-nobody-" for number in range(400))


@pytest.fixture
def database(tmp_path):
    database = Database(tmp_path / "data" / "s.duckdb", memory_limit_mb=128, clock=FakeClock())
    database.open()
    yield database
    database.close()


def put(database: Database, *numbers: int, **fields: object) -> None:
    with database.transaction() as connection:
        records = [to_record(make_row(number, **fields)) for number in numbers]
        assert all(add_records(connection, records))


def count(database: Database) -> int:
    with database.reading() as cursor:
        [(found,)] = cursor.execute("SELECT count(*) FROM store.memories").fetchall()
    return int(found)


def on_disk(database: Database, text: str) -> list[str]:
    """The files that hold any piece of ``text``, however they begin and end it."""
    pieces = [text[start : start + 12].encode() for start in range(100, 4_000, 100)]
    return [
        path.name
        for path in database.path.parent.iterdir()
        if any(piece in path.read_bytes() for piece in pieces)
    ]


async def test_the_event_loop_is_turned_away(database):
    for work in (
        database.open,
        database.acquire,
        database.checkpoint,
        database.reopen,
        database.close,
        database.transaction().__enter__,
        database.reading().__enter__,
    ):
        with pytest.raises(RuntimeError, match="event loop must not enter"):
            work()


def test_a_transaction_that_fails_leaves_nothing(database):
    def half() -> None:
        with database.transaction() as connection:
            add_records(connection, [to_record(make_row(1))])
            raise KeyError

    with pytest.raises(KeyError):
        half()
    put(database, 2)

    assert count(database) == 1


def test_readers_see_what_was_committed_and_nothing_else(database):
    with database.transaction() as connection:
        add_records(connection, [to_record(make_row(1))])
        assert count(database) == 0
    assert count(database) == 1


def test_readers_on_many_threads_never_get_each_others_answers(database):
    put(database, *range(200))
    wrong: list[object] = []

    def read(first: int) -> None:
        for number in range(first, 200, 7):
            memory_id = make_row(number).memory.id
            with database.reading() as cursor:
                query = "SELECT id FROM store.memories WHERE id = ?"
                found = cursor.execute(query, [memory_id]).fetchall()
            if found != [(memory_id,)]:
                wrong.append(found)

    threads = [threading.Thread(target=read, args=(first,)) for first in range(7)]
    for thread in threads:
        thread.start()
    put(database, *range(1_000, 1_050))
    for thread in threads:
        thread.join()
    assert wrong == []


def test_forgotten_text_is_gone_from_the_disk_after_compaction(database):
    put(database, 1, content=SECRET)
    put(database, 2)
    assert on_disk(database, SECRET) == ["s.duckdb.wal"]
    database.checkpoint()
    with database.transaction() as connection:
        assert database.tombstones.forget(connection, make_row(1).memory.id, [str(HERE)], START)

    database.compact()

    assert on_disk(database, SECRET) == []
    assert count(database) == 2
    put(database, 3)
    assert count(database) == 3


def test_a_backup_holds_no_forgotten_text(database):
    put(database, 1, content=SECRET)
    with database.transaction() as connection:
        database.tombstones.forget(connection, make_row(1).memory.id, [str(HERE)], START)
    database.checkpoint()

    database.backup(database.path.parent / "copy")

    assert "copy" not in on_disk(database, SECRET)


def test_compaction_waits_for_no_reader_forever(database, monkeypatch):
    monkeypatch.setattr(module, "_READERS_LEAVE_WITHIN_S", 0.05)
    put(database, 1)
    before = database.path.stat().st_ino
    cursor = database.acquire()

    with pytest.raises(StoreUnavailable, match="try again") as caught:
        database.compact()

    assert caught.value.reason == "busy"
    assert database.path.stat().st_ino == before
    assert sorted(each.name for each in database.path.parent.iterdir())[0] == "s.duckdb"
    database.release(cursor)
    database.compact()
    assert database.path.stat().st_ino != before
    assert count(database) == 1


def test_a_compaction_that_cannot_be_finished_leaves_a_database_that_can_be_reopened(
    database, monkeypatch
):
    def fail(folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    put(database, 1)
    with monkeypatch.context() as patched:
        patched.setattr(module, "sync_directory", fail)
        with pytest.raises(StoreUnavailable):
            database.compact()
    assert database.invalidated

    database.reopen()

    put(database, 2)
    assert count(database) == 2


def test_copies_are_made_at_once(database):
    put(database, *range(1, 20))
    targets = [database.path.parent / name for name in ("one", 'an "odd" one', "it's", "four")]
    with ThreadPoolExecutor(len(targets)) as threads:
        list(threads.map(database.backup, targets))
    assert all(target.exists() for target in targets)


def test_what_a_killed_compaction_left_is_removed(database):
    left = database.path.parent / ".subcog-copy-abc"
    left.mkdir()
    (left / "compacted.duckdb").write_text("half a copy")
    database.close()

    database.open()

    assert not left.exists()


def test_what_another_database_works_in_is_left_alone(database):
    other = Database(database.path.with_name("o.duckdb"), memory_limit_mb=128, clock=FakeClock())
    spill, lost = spill_of(database.path), spill_of(database.path.with_name("gone.duckdb"))
    for folder in (spill, lost, spill_of(other.path)):
        folder.mkdir()

    with database._copied(database.path.parent) as copy:
        other.open()
        assert copy.exists()
        other.close()

    assert spill.exists()
    assert not lost.exists()
    assert not spill_of(other.path).exists()


def test_closing_interrupts_a_long_read(database):
    began = threading.Event()
    errors: list[BaseException] = []

    def read() -> None:
        try:
            with database.reading() as cursor:
                began.set()
                cursor.execute("SELECT count(*) FROM range(1000000) a, range(1000000) b").fetchall()
        except StoreUnavailable as error:
            errors.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    began.wait(10)
    database.close()
    thread.join(10)

    assert not thread.is_alive()
    assert errors[0].reason == "closed"


def test_a_fatal_error_is_noticed_and_the_file_opened_anew(database):
    put(database, 1)

    def break_down() -> None:
        with database.transaction():
            raise duckdb.FatalException("FATAL Error")

    with pytest.raises(duckdb.FatalException):
        break_down()
    assert database.invalidated

    database.reopen()

    assert not database.invalidated
    put(database, 2)
    assert count(database) == 2


def test_the_log_stays_private_after_a_checkpoint(database):
    before = os.umask(0o022)
    try:
        for number in range(3):
            put(database, number)
            assert database.wal.stat().st_mode & 0o777 == 0o600
            database.checkpoint()
    finally:
        os.umask(before)


def test_memory_is_given_back_and_may_be_taken_again(database, monkeypatch):
    monkeypatch.setattr(module, "_SMALL_MB", 4)

    def buffers() -> int:
        with database.reading() as cursor:
            query = "SELECT sum(memory_usage_bytes)::BIGINT FROM duckdb_memory()"
            [(used,)] = cursor.execute(query).fetchall()
            [(limit,)] = cursor.execute("SELECT current_setting('memory_limit')").fetchall()
        limits.append(limit)
        return int(used)

    limits: list[str] = []
    dice = random.Random(1)
    heavy = [make_row(number, content=dice.randbytes(4_000).hex()) for number in range(1_500)]
    with database.transaction() as connection:
        add_records(connection, [to_record(row) for row in heavy])
    database.checkpoint()
    with database.reading() as cursor:
        cursor.execute("SELECT sum(length(body)) FROM store.versions").fetchall()
    before = buffers()

    database.shrink()

    assert before > 6_000_000
    assert buffers() < 4_500_000
    assert limits[0] == limits[1]
    put(database, 20_000)


def test_memory_is_given_back_only_where_there_is_much(database, monkeypatch):
    shrunk = []
    monkeypatch.setattr(database, "shrink", lambda: shrunk.append(True))
    put(database, 1)
    database.shrink_if_large()
    assert not shrunk

    monkeypatch.setattr(module, "_LARGE_MB", 0)
    database.shrink_if_large()
    assert shrunk


def test_a_checkpoint_is_not_begun_without_room(database, monkeypatch):
    put(database, 1)
    usage = module.shutil.disk_usage("/")._replace(free=1_000)
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)

    with pytest.raises(StoreUnavailable) as caught:
        database.checkpoint()

    assert caught.value.reason == "full"
    assert count(database) == 1
