"""What an import sends, and what it says where the daemon refuses a part of it."""

import json
import os
import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from subcog.bus.results import ForgetResult, ImportResult
from subcog.pipeline.cli.client import CALL_S, CallFailed, DaemonUnreachable
from subcog.pipeline.cli.command_line import run
from subcog.pipeline.commands import memory, transfer
from subcog.pipeline.commands.memory import forget_command
from subcog.pipeline.imports.formats import Source
from subcog.pipeline.imports.item import BadImport, Item

FILE = Path("in.jsonl")
FORGOTTEN = ForgetResult(id="mem_1", forgotten=True, team=None, copies=())


def source(*contents):
    return Source("jsonl", lambda: (Item(content=content) for content in contents))


def test_a_batch_is_bounded_by_what_is_sent():
    long = "\0" * 200_000  # six bytes each in JSON
    sized = transfer._sized(FILE, source("a", long, long, "b"))
    batches = list(transfer._batches(sized))
    assert [len(batch) for batch in batches] == [2, 2]


def test_a_memory_that_fits_into_no_frame_is_refused():
    with pytest.raises(BadImport, match=r"in\.jsonl: a memory of 9,.* is too large; it begins: a"):
        list(transfer._sized(FILE, source("fine", "a" * 9_000_000)))


def test_a_file_whose_name_is_not_utf_8_is_named_in_json_too(tmp_path, monkeypatch, capsys):
    (tmp_path / os.fsdecode(b"caf\xe9.md")).write_bytes(b"\xff")
    monkeypatch.setattr(sys, "argv", ["subcog", "import", str(tmp_path), "--json"])
    with pytest.raises(SystemExit):
        run()
    assert json.loads(capsys.readouterr().out)["error"].endswith("caf?.md, line 1: it is not UTF-8")


class Refusing:
    """A daemon that stores all batches but the second."""

    def __init__(self):
        self.asked = 0

    def call(self, name, kind, params=None):
        if name != "import":
            return None
        self.asked += 1
        if self.asked == 2:
            raise CallFailed("no room")
        return ImportResult(outcomes={"stored": len(params["items"])}, redacted=0, items=())


def test_what_was_stored_before_a_failure_is_counted(monkeypatch):
    there = Refusing()

    @contextmanager
    def daemon():
        yield there

    monkeypatch.setattr(transfer, "daemon", daemon)
    monkeypatch.setattr(transfer, "CONNECTIONS", 1)
    monkeypatch.setattr(transfer, "BATCH", 1)
    sent = transfer._send(FILE, source("a", "b", "c", "d", "e"), 5, {}, quiet=True)
    assert str(sent.failure) == "no room"
    assert sent.counts["stored"] == there.asked - 1 < 4


@pytest.mark.parametrize(("at", "interrupted"), [("b", True), ("c", False)])
def test_ctrl_c_after_the_last_memory_interrupts_nothing(monkeypatch, at, interrupted):
    class Interrupted:
        def call(self, name, kind, params=None):
            if name != "import":
                return None
            if params["items"][0].content == at:
                os.kill(os.getpid(), signal.SIGINT)
            return ImportResult(outcomes={"stored": 1}, redacted=0, items=())

    @contextmanager
    def daemon():
        yield Interrupted()

    monkeypatch.setattr(transfer, "daemon", daemon)
    monkeypatch.setattr(transfer, "CONNECTIONS", 1)
    monkeypatch.setattr(transfer, "BATCH", 1)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        sent = transfer._send(FILE, source("a", "b", "c"), 3, {}, quiet=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert sent.interrupted is (interrupted and sent.counts["stored"] < 3)
    assert interrupted or sent.counts["stored"] == 3


@pytest.mark.parametrize(
    ("failure", "code"), [(CallFailed("no room"), 1), (DaemonUnreachable("no daemon"), 3)]
)
def test_a_forgetting_that_fails_midway_prints_what_is_forgotten_and_why_not_all(
    failure, code, monkeypatch
):
    class Client:
        def call(self, name, kind, params, within_s=CALL_S):
            if name == "forget" and params["id"] == "mem_2":
                raise failure
            return SimpleNamespace(id=params["id"]) if name == "get" else FORGOTTEN

    @contextmanager
    def daemon():
        yield Client()

    monkeypatch.setattr(memory, "daemon", daemon)
    done = CliRunner().invoke(forget_command, ["mem_1", "mem_2", "mem_3", "--json"])
    first, last = json.loads(done.stdout)
    assert (done.exit_code, done.stderr) == (code, f"subcog: {failure}\n")
    assert (first["id"], last) == ("mem_1", {"error": str(failure)})


def test_an_import_that_fails_midway_prints_one_object_which_says_why(monkeypatch, tmp_path):
    there = Refusing()

    @contextmanager
    def daemon():
        yield there

    monkeypatch.setattr(transfer, "daemon", daemon)
    monkeypatch.setattr(transfer, "CONNECTIONS", 1)
    monkeypatch.setattr(transfer, "BATCH", 1)
    file = tmp_path / "in.jsonl"
    file.write_text('{"content": "a"}\n{"content": "b"}\n')
    done = CliRunner().invoke(transfer.import_command, [str(file), "--json"])
    told = json.loads(done.stdout)
    assert (done.exit_code, told["imported"], told["error"]) == (1, 1, "no room")
