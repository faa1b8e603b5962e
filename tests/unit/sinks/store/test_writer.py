from __future__ import annotations

import threading
from concurrent.futures import Future, wait

import duckdb
import pytest

from subcog.sinks.store import writer as module
from subcog.sinks.store.database import Database
from subcog.sinks.store.errors import StoreUnavailable
from subcog.sinks.store.rows import fingerprint_of, to_record
from subcog.sinks.store.writer import Writer
from tests.stores import ELSEWHERE, START, FakeClock, make_row


class CountingDatabase(Database):
    """Counts its transactions."""

    transactions = 0

    def transaction(self):
        self.transactions += 1
        return super().transaction()


@pytest.fixture
def database(tmp_path):
    database = CountingDatabase(tmp_path / "s.duckdb", memory_limit_mb=128, clock=FakeClock())
    database.open()
    yield database
    database.close()


@pytest.fixture
def writer(database):
    writer = Writer(database)
    writer.start()
    yield writer
    writer.stop()


def records(*numbers: int, **fields: object) -> list:
    return [to_record(make_row(number, **fields)) for number in numbers]


def held(writer: Writer) -> threading.Event:
    """Keeps the writer busy until the event is set."""
    began, go = threading.Event(), threading.Event()
    writer.call(lambda: (began.set(), go.wait(20)))
    began.wait(20)
    return go


def count(database: Database) -> int:
    with database.reading() as cursor:
        [(found,)] = cursor.execute("SELECT count(*) FROM store.versions").fetchall()
    return int(found)


def test_what_waits_together_is_committed_together(writer, database):
    go = held(writer)
    futures = [writer.put(records(number)) for number in range(50)]
    go.set()

    assert [future.result(20) for future in futures] == [[True]] * 50
    assert database.transactions == 1


def test_each_gets_the_answers_to_its_own_rows(writer):
    writer.put(records(1, 2)).result(20)
    go = held(writer)
    futures = [writer.put(records(1, 3)), writer.put(records()), writer.put(records(3, 4, 2))]
    go.set()

    assert [future.result(20) for future in futures] == [
        [False, True],
        [],
        [False, True, False],
    ]


def test_a_bad_one_does_not_fail_the_others(writer, database):
    writer.put(records(1)).result(20)
    go = held(writer)
    futures = [writer.put(records(number)) for number in range(2, 6)]
    futures.insert(2, writer.put(records(1, version=2, scope=ELSEWHERE)))
    go.set()

    wait(futures, 20)
    assert isinstance(futures.pop(2).exception(), ValueError)
    assert [future.result() for future in futures] == [[True]] * 4
    assert count(database) == 5


def test_a_group_is_bounded(writer, database, monkeypatch):
    monkeypatch.setattr(module, "_MOST_ROWS", 10)
    go = held(writer)
    futures = [writer.put(records(*range(start, start + 5))) for start in range(0, 40, 5)]
    go.set()

    wait(futures, 20)
    assert database.transactions == 4


def test_other_work_keeps_its_place_between_the_writes(writer, database):
    go = held(writer)
    writer.put(records(1))
    between = writer.call(lambda: count(database))
    last = writer.put(records(2))
    go.set()

    assert between.result(20) == 1
    assert last.result(20) == [True]


def test_stopping_does_first_what_was_asked(writer, database):
    go = held(writer)
    futures = [writer.put(records(number)) for number in range(5)]
    stopping = threading.Thread(target=writer.stop)
    stopping.start()
    go.set()
    stopping.join(20)

    assert all(future.result(0) == [True] for future in futures)
    assert count(database) == 5
    with pytest.raises(StoreUnavailable):
        writer.put(records(9))


def test_a_write_that_was_cancelled_in_time_is_not_done(writer, database):
    go = held(writer)
    future = writer.put(records(1))
    assert future.cancel()
    go.set()

    assert writer.put(records(2)).result(20) == [True]
    assert count(database) == 1


def test_uses_are_written_when_the_writer_stops(writer, database):
    writer.put(records(1)).result(20)
    writer.note_uses([make_row(1).memory.id], START)
    writer.stop()

    with database.reading() as cursor:
        found = cursor.execute("SELECT times_injected FROM store.memories").fetchall()
    assert found == [(1,)]


def test_a_large_log_is_written_into_the_file_without_waiting_for_rest(
    writer, database, monkeypatch
):
    monkeypatch.setattr(module, "_FULL_WAL_BYTES", 10_000)
    monkeypatch.setattr(module, "_IDLE_WAL_BYTES", 5_000)
    writer.put(records(*range(100))).result(20)
    writer.call(lambda: None).result(20)

    assert database.wal_bytes() < 10_000


def test_an_idle_writer_tidies_up(database, monkeypatch):
    monkeypatch.setattr(module, "_IDLE_S", 0.01)
    monkeypatch.setattr(module, "_IDLE_WAL_BYTES", 1_000)
    tidied = threading.Event()
    monkeypatch.setattr(database, "checkpoint", tidied.set)
    writer = Writer(database)
    writer.start()
    writer.put(records(*range(20))).result(20)

    assert tidied.wait(20)
    writer.stop()


def test_a_fatal_error_is_answered_and_the_next_write_works(writer, database, monkeypatch):
    writer.put(records(1)).result(20)

    def break_down() -> None:
        raise duckdb.FatalException("database has been invalidated")

    failed: Future[None] = writer.call(break_down)

    assert isinstance(failed.exception(20), StoreUnavailable)
    assert not database.invalidated
    assert writer.put(records(2)).result(20) == [True]
    assert count(database) == 2


def test_trouble_while_tidying_up_is_told_without_text(database, monkeypatch, caplog):
    def break_down() -> None:
        raise duckdb.IOException("near 'hunter2'")

    monkeypatch.setattr(module, "_IDLE_WAL_BYTES", -1)
    monkeypatch.setattr(database, "checkpoint", break_down)
    writer = Writer(database)
    writer.start()
    writer.stop()

    [record] = caplog.records
    assert record.reason == "failed"
    assert "hunter2" not in caplog.text


def test_a_log_that_cannot_be_made_is_tried_again_at_the_next_rest(
    writer, database, tmp_path, caplog
):
    writer.put(records(1)).result(20)
    writer.call(database.checkpoint).result(20)
    database.wal.unlink(missing_ok=True)
    database.wal.symlink_to(tmp_path / "nowhere" / "log")
    writer.note_uses([make_row(1).memory.id], START)
    writer.call(writer._housekeep).result(20)
    [record] = caplog.records
    assert record.reason == "FileNotFoundError"

    database.wal.unlink()
    assert writer.put(records(2)).result(20) == [True]
    writer.call(writer._housekeep).result(20)
    with database.reading() as cursor:
        used = cursor.execute("SELECT max(times_injected) FROM store.memories").fetchall()
    assert used == [(1,)]


def test_a_mistake_in_what_is_done_later_does_not_end_the_writer(writer, caplog):
    writer.do_later(lambda: {}["missing"])
    writer.call(lambda: None).result(20)
    writer.call(writer._housekeep).result(20)

    assert [record.reason for record in caplog.records] == ["KeyError"]
    assert writer.put(records(1)).result(20) == [True]


def test_a_new_memory_is_written_without_asking_for_it_first(writer, database):
    assert writer.put(records(1, 2, 3)).result(20) == [True] * 3
    assert database.transactions == 1


def test_of_new_and_known_memories_the_new_are_written_and_the_known_stay(writer, database):
    writer.put(records(1, content="as it was")).result(20)

    assert writer.put(records(1, 2)).result(20) == [False, True]

    assert database.transactions == 3, "one that was refused and rolled back, and a careful one"
    assert count(database) == 2


def test_what_was_forgotten_is_not_written_again(writer, database):
    writer.put(records(1)).result(20)
    with database.transaction() as connection:
        connection.execute("DELETE FROM store.versions")
        connection.execute("UPDATE store.memories SET forgotten_at = now()::TIMESTAMP")

    assert writer.put(records(1)).result(20) == [False]


def test_what_was_committed_is_known_and_what_was_refused_is_not(writer, database):
    first, second = records(1, 2)
    bad = to_record(make_row(3, version=2, scope=ELSEWHERE))
    writer.put([first]).result(20)
    changed = to_record(make_row(1, version=3))
    writer.put([changed]).result(20)
    with pytest.raises(ValueError, match="stays in its scope"):
        writer.put([second, to_record(make_row(1, version=4, scope=ELSEWHERE))]).result(20)

    assert fingerprint_of(first) in database.fingerprints
    assert fingerprint_of(second) not in database.fingerprints
    assert fingerprint_of(bad) not in database.fingerprints
    assert database.current_versions.version(first.id) == 3


def test_memory_that_reading_filled_by_and_by_is_given_back_under_load(
    writer, database, monkeypatch
):
    monkeypatch.setattr(module, "_MOST_GROUPS", 3)
    shrunk = []
    monkeypatch.setattr(database, "shrink_if_large", lambda: shrunk.append(True))
    for number in range(7):
        writer.put(records(number)).result(20)

    writer.stop()

    assert len(shrunk) == 3


def test_a_mistake_in_a_piece_of_work_is_its_askers_and_the_writer_goes_on(writer):
    broken = writer.call(lambda: {}["missing"])

    with pytest.raises(KeyError):
        broken.result(20)
    assert writer.put(records(1)).result(20) == [True]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_else_ends_the_writer_leaves_nobody_waiting(writer):
    def work() -> None:
        raise ArithmeticError

    with pytest.raises(StoreUnavailable):
        writer.call(work).result(20)
    with pytest.raises(StoreUnavailable):
        writer.put(records(1)).result(20)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_what_stood_next_when_the_writer_ended_is_answered_too(writer, monkeypatch):
    def break_down(_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(writer, "_write", break_down)
    go = held(writer)
    put, following = writer.put(records(1)), writer.call(lambda: None)
    go.set()

    for future in (put, following):
        with pytest.raises(StoreUnavailable):
            future.result(20)
