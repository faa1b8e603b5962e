from __future__ import annotations

import json
import os

import pytest

from subcog.sinks.transcripts.outcomes import END_BYTES, Outcomes, has_failed


def ended(call_id="call_1", exit_code=1, output="", kind="CommandExecution"):
    item = {"type": kind, "id": call_id, "exit_code": exit_code, "aggregated_output": output}
    payload = {"type": "item_completed", "item": item}
    return json.dumps({"type": "event_msg", "payload": payload}, separators=(",", ":")) + "\n"


@pytest.fixture
def write(tmp_path):
    def write(*lines):
        file = tmp_path / "rollout.jsonl"
        file.write_text("".join(lines))
        return str(file)

    return write


async def test_a_command_that_failed_is_found_among_others(write):
    file = write(ended("call_0", 0), ended(), '{"type":"response_item"}\n')
    assert await Outcomes().has_failed(file, "call_1")
    assert not await Outcomes().has_failed(file, "call_0")
    assert not await Outcomes().has_failed(file, "call_2")


def test_the_latest_word_on_a_command_counts(write):
    assert not has_failed(write(ended(exit_code=1), ended(exit_code=0)), "call_1")


@pytest.mark.parametrize(
    "line",
    [
        ended(kind="Other"),
        ended(exit_code=None),
        ended(exit_code="1"),
        ended()[:60],
        '{"payload":{"item":"CommandExecution"}}\n',
        ended(kind="Other", output=ended()),
        "[" * 5000 + '"CommandExecution"\n',
    ],
)
def test_what_does_not_say_it_plainly_says_nothing(write, line):
    assert not has_failed(write(line), "call_1")


def test_only_the_end_of_a_long_transcript_is_read(write):
    filling = "x" * END_BYTES + "\n"
    assert not has_failed(write(ended(), filling), "call_1")
    assert has_failed(write(filling, ended()), "call_1")


def test_no_transcript_and_no_file_say_nothing(tmp_path, write):
    (tmp_path / "link").symlink_to(write(ended()))
    os.mkfifo(tmp_path / "pipe")
    for name in ("", "link", "pipe", "gone", "\0"):
        assert not has_failed(str(tmp_path / name), "call_1")
