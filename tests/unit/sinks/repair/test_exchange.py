"""A database and its replacement change places; where that is cut short, one of them is there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from subcog.sinks.repair.exchange import aside_of, exchange, finish, interrupted, put_back
from subcog.sinks.store.wal import replacement_of, wal_of
from tests.stores import START

STEPS = 3


class KilledError(BaseException):
    """The process was killed."""


@pytest.fixture
def database(tmp_path) -> Path:
    return tmp_path / "s.duckdb"


def lay_out(database: Path, *, log: bool) -> None:
    database.write_text("old")
    replacement_of(database).write_text("new")
    if log:
        wal_of(database).write_text("old log")


@contextmanager
def killed_at(monkeypatch, step: int) -> Iterator[None]:
    """The process is killed right before the move number ``step`` in this block."""
    replace, left = Path.replace, [step]

    def replace_unless_killed(self, target):
        if not left[0]:
            raise KilledError
        left[0] -= 1
        return replace(self, target)

    with monkeypatch.context() as patched, suppress(KilledError):
        patched.setattr(Path, "replace", replace_unless_killed)
        yield


def lying(database: Path) -> tuple[str, str]:
    log = wal_of(database)
    return database.read_text(), log.read_text() if log.exists() else ""


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("step", range(STEPS + 1))
@pytest.mark.parametrize("again", range(STEPS))
def test_a_kill_at_any_point_leaves_the_old_database_or_the_new_one(
    database, monkeypatch, log, step, again
):
    old = ("old", "old log" if log else "")
    lay_out(database, log=log)
    database.with_name("s.duckdb.before-restore-20250101T000000").write_text("of last year")
    aside = aside_of(database, START)
    with killed_at(monkeypatch, step):
        exchange(database, aside)
    with killed_at(monkeypatch, again):
        finish(database)

    finish(database)

    assert not list(database.parent.glob("*.restoring*"))
    if database.read_text() == "new":
        assert (lying(database), lying(aside)) == (("new", ""), old)
    else:
        assert lying(database) == old


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("step", range(4))
def test_what_is_put_back_since_the_new_one_does_not_come_up_is_there_after_a_kill(
    database, monkeypatch, log, step
):
    lay_out(database, log=log)
    aside = aside_of(database, START)
    exchange(database, aside)
    wal_of(database).write_text("new log")
    with killed_at(monkeypatch, step):
        put_back(database, aside)
    finish(database)
    if database.read_text() == "old":
        assert lying(database) == ("old", "old log" if log else "")
    else:
        assert step < 2, "nothing was put back as yet"
        assert lying(aside) == ("old", "old log" if log else "")


def test_what_was_replaced_long_ago_is_not_put_back(database):
    (database.parent / "s.duckdb.before-restore-20250101T000000").write_text("of last year")
    assert interrupted(database) is None
    assert finish(database) is None
    assert not database.exists()


def test_a_copy_with_a_log_or_none_at_all_replaces_nothing(database):
    lay_out(database, log=True)
    wal_of(replacement_of(database)).write_text("not written into it")
    with pytest.raises(OSError, match="the log of the backup"):
        exchange(database, aside_of(database, START))
    finish(database)
    with pytest.raises(FileNotFoundError, match="has gone"):
        exchange(database, aside_of(database, START))
    assert lying(database) == ("old", "old log")
