import json
import os
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner

from subcog.config.load import load_settings
from subcog.pipeline.commands.evaluate import eval_command
from subcog.pipeline.replay.recorded import Became, Report, evaluate

CONTEXT = load_settings(Path(os.devnull), {}).settings.search_intent.context


def row(memory, day, kind="shown", **more):
    told = {"memory_id": memory, "session": f"s{day}", "at": f"2026-03-{day:02}T09:00:00Z"}
    if kind == "shown":
        told |= {"moment": "UserPromptSubmit", "rank": 1, "relevance": 0.5}
    return told | {"kind": kind} | more


def written(tmp_path, rows):
    file = tmp_path / "use.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    return file


def run(tmp_path, rows):
    return evaluate(written(tmp_path, rows), context=CONTEXT)


USED = [event for day in range(1, 11) for event in (row("good", day), row("good", day, "taken_up"))]
IDLE = [row("idle", day) for day in range(1, 11)]


def test_what_is_never_used_would_have_been_withheld_and_what_is_used_kept(tmp_path):
    report = run(tmp_path, USED + IDLE)
    assert (report.events, report.sessions, report.memories) == (30, 10, 2)
    assert (report.judged, report.unjudged) == (20, 0)
    withheld, kept = report.rule["withheld"], report.rule["kept"]
    assert withheld.shown >= 5
    assert withheld.use_rate == 0.0
    assert kept.use_rate > 0.5
    assert report.placebo["withheld"].use_rate > withheld.use_rate


def test_nothing_is_withheld_in_the_first_session(tmp_path):
    report = run(tmp_path, [row("idle", 1), row("bad", 1), row("bad", 1, "corrected")])
    assert report.rule["kept"] == Became(shown=2, use_rate=0.0)
    assert report.rule["withheld"] == Became(shown=0, use_rate=None)


def test_what_was_shown_below_the_floor_is_newly_allowed_once_it_is_used(tmp_path):
    rows = [one | ({"relevance": 0.35} if one["kind"] == "shown" else {}) for one in USED]
    report = run(tmp_path, rows + IDLE)
    assert report.rule["allowed"].shown >= 5
    assert report.rule["allowed"].use_rate == 1.0
    assert report.rule["below"].shown >= 1


def test_a_memory_beside_another_has_the_lower_floor(tmp_path):
    report = run(tmp_path, [row("m", 1, relevance=0.35, rank=2)])
    assert report.rule["kept"].shown == 1


def test_what_cannot_be_judged_is_evidence_all_the_same(tmp_path):
    warned = [row("idle", day, moment="PreToolUse") for day in range(1, 11)]
    report = run(tmp_path, [*warned, row("idle", 11, relevance=None), row("idle", 12)])
    assert (report.judged, report.unjudged) == (1, 11)
    assert report.rule["withheld"].shown == 1


def test_the_lines_may_come_in_any_order(tmp_path):
    assert run(tmp_path, (USED + IDLE)[::-1]).rule == run(tmp_path, USED + IDLE).rule


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        ({"kind": "loved"}, "line 1"),
        ({"relevance": 7}, "line 1"),
        ({"at": "yesterday"}, "line 1"),
        ({"at": "2026-03-02T09:00:00"}, "without a zone"),
    ],
)
def test_a_line_that_is_none_is_refused(tmp_path, bad, why):
    with pytest.raises(ValueError, match=why):
        run(tmp_path, [row("m", 1) | bad])


def test_a_file_without_events_is_refused(tmp_path):
    with pytest.raises(ValueError, match="no events"):
        run(tmp_path, [])


def test_a_reader_gets_a_table_and_a_program_an_object(tmp_path, monkeypatch):
    monkeypatch.setenv("SUBCOG_HOME", str(tmp_path / "home"))
    file = written(tmp_path, USED + IDLE)
    report = evaluate(file, context=CONTEXT)
    shown = CliRunner().invoke(eval_command, ["use", "--events", str(file)])
    assert shown.stdout == "".join(f"{line}\n" for line in report.lines())
    assert "withheld" in shown.stdout
    asked = CliRunner().invoke(eval_command, ["use", "--events", str(file), "--json"])
    assert msgspec.json.decode(asked.stdout, type=Report) == report
    wrong = CliRunner().invoke(eval_command, ["use", "--events", str(written(tmp_path, [{}]))])
    assert wrong.exit_code == 1
    assert "line 1" in wrong.stderr
