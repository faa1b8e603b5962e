"""What a compaction is told by a review that it may not wait for to its end."""

from __future__ import annotations

import anyio
import pytest

from subcog.sinks.transcripts.reader import Transcripts

from .reviewed import DECISION, House


@pytest.fixture
def house(tmp_path):
    return House(tmp_path)


async def test_a_compaction_is_told_what_was_said_and_what_was_kept(house):
    house.say(DECISION)
    async with house.running():
        text = await house.compact()

    assert "kept 1 memory before compaction" in text
    assert f"- decision: {DECISION}" in text
    assert house.captured[0].tags == ("auto-captured", "pre-compact")


async def test_what_a_turn_before_had_kept_must_be_in_the_summary_too(house):
    house.say(DECISION)
    async with house.running():
        await house.stop()
        text = await house.compact()

    assert "kept" not in text
    assert DECISION in text
    assert len(house.captured) == 1


async def test_what_another_daemon_had_kept_must_be_in_the_summary_too(house):
    house.say(DECISION)
    async with house.running():
        await house.stop()
        house.forget()
        text = await house.compact()

    assert DECISION in text
    assert len(house.captured) == 1


async def test_a_compaction_does_not_wait_for_what_takes_long(house):
    house.say(DECISION)
    house.gate = anyio.Event()
    async with house.running():
        text = await house.compact(within_s=0.3)
        assert house.captured == []
        house.gate.set()
        await house.settle()

    assert DECISION in text, "what was found in time is told"
    assert "kept" not in text
    assert len(house.captured) == 1, "the rest is done all the same"


async def test_of_too_much_to_read_in_time_the_end_is_told(house, monkeypatch):
    async def endless(self, path, after=None):
        await anyio.sleep_forever()
        yield

    house.say(DECISION)
    monkeypatch.setattr(Transcripts, "unread", endless)
    async with house.running():
        text = await house.compact(within_s=0.5)
        house.bus._closing = True
        house.bus._workers.cancel_scope.cancel()

    assert DECISION in text


async def test_a_compaction_of_nothing_says_nothing(house):
    house.say("hello")
    async with house.running():
        assert await house.compact() == "{}"
        assert await house.compact(transcript="") == "{}"
