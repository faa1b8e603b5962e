"""The counts of a day are those of this machine's clock."""

from datetime import UTC, date, datetime

import msgspec
import pytest

from subcog.pipeline.api.uses import Counts
from subcog.sinks.telemetry.logs import PromptOutcome, prompt_outcomes

TODAY = date(2027, 3, 2)
BEFORE = date(2027, 3, 1)


@pytest.fixture
def kathmandu(set_zone):
    """Days begin at 18:15 UTC."""
    set_zone("Asia/Kathmandu")


def at(hour, minute=0):
    return datetime(2027, 3, 1, hour, minute, tzinfo=UTC)


def line(when, project="project:here", tokens=0, abstained="no_intent"):
    inject = {"tokens": tokens, "abstained": abstained, "memories": []}
    return msgspec.json.encode({"id": "a", "time": when, "project": project, "inject": inject})


def outcomes(folder, *lines):
    file = folder / "traces.jsonl"
    file.write_bytes(b"".join(one + b"\n" for one in lines))
    return list(prompt_outcomes(file, "project:here"))


def test_a_day_is_a_day_of_the_local_clock(kathmandu):
    seen = [(at(18), "shown", 2), (at(18, 15), "quoted", 1), (at(19), "heeded", 3)]
    counts = Counts(seen, [(at(18), True, 4), (at(18, 30), False, 5)], [])
    before, today = counts.of(BEFORE), counts.of(TODAY)
    assert (before.shown, before.used, before.automatic, before.asked) == (2, 0, 4, 0)
    assert (today.shown, today.used, today.automatic, today.asked) == (0, 4, 0, 5)


def test_prompts_are_unknown_before_the_trace_begins(kathmandu, tmp_path):
    answered = outcomes(tmp_path, line(at(20)), line(at(21), tokens=90, abstained=None))
    counts = Counts([], [], answered)
    assert counts.log_since == at(20)
    assert counts.of(BEFORE).prompts is None
    today = counts.of(TODAY)
    assert (today.prompts, today.served, today.tokens) == (2, 1, 90)
    tomorrow = counts.of(date(2027, 3, 3))
    assert (tomorrow.prompts, tomorrow.served, tomorrow.tokens) == (0, 0, 0)


def test_other_projects_and_broken_lines_are_passed_over(tmp_path):
    lines = [line(at(1), "project:other"), b'{"id": "a"}', b"[1", line(at(2))]
    assert [one.time for one in outcomes(tmp_path, *lines)] == [at(2)]
    assert all(isinstance(one, PromptOutcome) for one in outcomes(tmp_path, *lines))
