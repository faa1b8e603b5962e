"""What is said of a backup and of the copies, and how long they may take."""

from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from subcog.bus.results import CopyResult
from subcog.pipeline.cli.client import CALL_S, LONG_S, CallFailed
from subcog.pipeline.commands import backups, memory, sessions, shared
from subcog.pipeline.commands.lifecycle import restore_command
from subcog.pipeline.commands.memory import forget_command
from subcog.pipeline.commands.sessions import sessions_command


def test_one_of_them_stays_and_several_stay():
    assert backups._forgotten(1, 0) == ("1 memory", True)
    assert backups._forgotten(1, 2) == ("1 memory and 2 passages of sessions", False)


@pytest.mark.parametrize(
    ("command", "args", "call"),
    [
        (backups.backup_command, ("file",), "backup"),
        (restore_command, ("file", "--yes"), "restore_backup"),
        (forget_command, ("mem_1", "--now"), "forget"),
        (sessions_command, ("forget", "--project-all", "--yes"), "forget_sessions"),
    ],
)
def test_what_copies_or_rewrites_the_whole_database_may_take_long(
    command, args, call, monkeypatch, tmp_path
):
    waits = {}

    class Client:
        def call(self, name, kind, params=None, *, within_s=CALL_S):
            waits[name] = within_s
            if name == call:
                raise CallFailed("no matter what")
            return SimpleNamespace(id="mem_1")

    @contextmanager
    def daemon():
        yield Client()

    for module in (shared, backups, memory, sessions):
        monkeypatch.setattr(module, "daemon", daemon)
    monkeypatch.chdir(tmp_path)
    Path("file").touch()
    assert isinstance(CliRunner().invoke(command, args).exception, CallFailed)
    assert waits[call] == LONG_S


def test_the_time_of_a_copy_is_that_of_this_machines_clock(set_zone):
    set_zone("Asia/Tokyo")
    at = "2026-10-02T20:00:00+00:00"
    copy = CopyResult(file="/b.duckdb", kind="backup", at=at, bytes=1)
    [line] = backups._listed([copy])
    assert line.startswith("2026-10-03 05:00 +0900  backup")
