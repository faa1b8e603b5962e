from __future__ import annotations

import io

import pytest

from subcog.sinks.store.wal import cut_damage, find_torn_tail, quarantine, readable_bytes, wal_of
from tests.stores import START

HEAD = b"\x64\x00\x62\x65\x00\x02\xff\xff"
IDENTIFIED = b"\x64\x00\x62\x65\x00\x02\x66\x00\x02\x8d\x01\x07\x67\x00\x01\xff\xff"
UNKNOWN = b"\x64\x00\x62\x65\x00\x09 a layout of the future"


def entry(size: int = 20) -> bytes:
    return size.to_bytes(8, "little") + b"checksum" + b"x" * size


@pytest.mark.parametrize("head", [HEAD, IDENTIFIED])
def test_whole_entries_are_readable_to_the_end(head):
    data = head + entry() + entry(300)

    assert readable_bytes(io.BytesIO(data), len(data)) == len(data)


@pytest.mark.parametrize("tail", [b"x", b"x" * 16, entry()[:-1], entry(500)[:100], bytes(40)])
def test_a_torn_tail_is_not_readable(tail):
    whole = IDENTIFIED + entry()

    assert readable_bytes(io.BytesIO(whole + tail), len(whole + tail)) == len(whole)


@pytest.mark.parametrize(
    "data",
    [b"x", HEAD[:4], b"\x65" + HEAD[1:] + entry(), HEAD[:-1] + b"\0" + entry(), b"\x64\0\xff\xff"],
)
def test_a_broken_beginning_makes_nothing_readable(data):
    assert readable_bytes(io.BytesIO(data), len(data)) == 0


def test_an_unknown_layout_is_taken_to_be_whole():
    assert readable_bytes(io.BytesIO(UNKNOWN), len(UNKNOWN)) == len(UNKNOWN)


@pytest.fixture
def database(tmp_path):
    wal_of(tmp_path / "s.duckdb").write_bytes(IDENTIFIED + entry() + entry())
    return tmp_path / "s.duckdb"


def test_the_log_is_cut_before_the_entry_that_is_named(database):
    wal = wal_of(database)
    before = wal.read_bytes()
    position = len(IDENTIFIED + entry()) + 16
    message = f"replaying WAL: Corrupt WAL file: entry at byte position {position} computed"

    recovery = cut_damage(database, message, START)

    assert wal.read_bytes() == IDENTIFIED + entry()
    assert recovery.kept_aside.read_bytes() == before
    assert recovery.dropped_bytes == len(entry())
    assert recovery.at == START


def test_a_log_that_fails_for_another_reason_is_not_touched(database):
    before = wal_of(database).read_bytes()

    assert cut_damage(database, "Failure while replaying WAL: Out of Memory", START) is None
    assert cut_damage(database, "Could not set lock on file", START) is None
    assert cut_damage(database, "Corrupt WAL file: entry at byte position 99999", START) is None
    assert wal_of(database).read_bytes() == before
    assert len(list(database.parent.iterdir())) == 1


def test_a_log_without_a_beginning_is_emptied_when_it_cannot_be_replayed(database):
    wal_of(database).write_bytes(b"nonsense" * 10)

    recovery = cut_damage(database, "Failure while replaying WAL: decode", START)

    assert recovery.dropped_bytes == 80
    assert wal_of(database).read_bytes() == b""


def test_no_log_has_no_damage(tmp_path):
    assert cut_damage(tmp_path / "s.duckdb", "Corrupt WAL file", START) is None
    assert find_torn_tail(tmp_path / "s.duckdb", START) is None


def test_copies_of_one_second_do_not_overwrite_each_other(database):
    wal = wal_of(database)
    kept = set()
    for number in range(3):
        wal.write_bytes(b"log %d" % number)
        kept |= {quarantine(wal, START), quarantine(wal, START)}

    assert len(kept) == 3, "each of the three once, however often it is opened on a full disk"
    assert {each.read_bytes() for each in kept} == {b"log 0", b"log 1", b"log 2"}
    assert all(each.stat().st_mode & 0o777 == 0o600 for each in kept)
