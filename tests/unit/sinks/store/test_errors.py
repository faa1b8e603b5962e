from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from subcog.sinks.store.errors import StoreUnavailable, explain, invalidates_database, refusal

PATH = Path("/data/s.duckdb")


@pytest.mark.parametrize(
    ("message", "reason", "words"),
    [
        ("Could not set lock on file: Conflicting lock is held in /x/py (PID 42).", "held", "42"),
        ("Could not set lock on file: no idea why", "held", "in use"),
        ('database file "x" is already attached by database "store"', "held", "this program"),
        ("Could not write file: No space left on device", "full", "Free some space"),
        ("Cannot open file: Permission denied", "read_only", "write permission"),
        ("[Errno 30] Read-only file system: 'x'", "read_only", "write permission"),
        ("a database file with version number 999", "newer", "Update the package duckdb"),
        ("the WAL checkpoint iteration does not match the", "other_log", "s.duckdb.wal"),
        ("replaying WAL file: WAL does not match database file", "other_log", "Move the log"),
        ("it is not a valid DuckDB database file!", "damaged", "restore a backup"),
        ("Corrupt database file: computed checksum 1", "damaged", "restore a backup"),
        ("Cannot CHECKPOINT: there are other", "busy", "try again"),
        ("something else", "failed", "IOException"),
    ],
)
def test_each_trouble_says_what_to_do(message, reason, words):
    error = explain(PATH, duckdb.IOException(message))

    assert isinstance(error, ConnectionError)
    assert error.reason == reason
    assert words in str(error)
    assert "/data" in str(error)


def test_an_interrupted_read_finds_the_store_closed():
    assert explain(PATH, duckdb.InterruptException("INTERRUPT")).reason == "closed"


def test_unexpected_errors_keep_their_text_to_themselves():
    assert "hunter2" not in str(explain(PATH, duckdb.IOException("near 'hunter2'")))
    assert "hunter2" not in str(refusal(duckdb.ConversionException("'hunter2' to INT")))


def test_what_duckdb_does_not_survive_is_known():
    assert invalidates_database(duckdb.FatalException("x"))
    assert invalidates_database(duckdb.IOException("The database has been invalidated."))
    assert not invalidates_database(duckdb.IOException("x"))
    assert not invalidates_database(StoreUnavailable("full", "has been invalidated"))
