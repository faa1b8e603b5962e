"""What was checked out, where the disk that says it does not answer."""

import threading

import pytest
from msgspec.structs import replace

from subcog.bus.events import ReviewRequested
from subcog.bus.values import LEARN
from subcog.sinks.project import reflog
from subcog.sinks.project.reflog import Checkout, Checkouts
from tests.fakes import NOW, PLACE
from tests.waiting import PATIENCE_S


@pytest.mark.parametrize("hook", ["Stop", LEARN])
async def test_a_disk_that_hangs_is_not_waited_for(hook, monkeypatch):
    answers = threading.Event()

    class Hanging(Checkouts):
        def at(self, event, said_at):
            answers.wait(PATIENCE_S)
            return super().at(event, said_at)

    monkeypatch.setattr(reflog, "WITHIN_S", 0.01)
    place = replace(PLACE, branch="main")
    event = ReviewRequested(
        trace="t", session="s", client="c", place=place, transcript="", hook=hook
    )
    try:
        hanging = Hanging()
        assert await hanging.find(event, [NOW, None]) == [Checkout()] * 2
        before = set(threading.enumerate())
        for _ in range(3):
            assert await hanging.find(event, [NOW]) == [Checkout()]
        assert set(threading.enumerate()) <= before, "one thread hangs, and no more"
    finally:
        answers.set()
