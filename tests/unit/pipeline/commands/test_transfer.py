"""What an import sends, and what it says where the daemon refuses a part of it."""

from contextlib import contextmanager
from pathlib import Path

import pytest

from subcog.bus.results import ImportResult
from subcog.pipeline.cli.client import CallFailed
from subcog.pipeline.commands import transfer
from subcog.pipeline.imports.formats import Source
from subcog.pipeline.imports.item import BadImport, Item

FILE = Path("in.jsonl")


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
