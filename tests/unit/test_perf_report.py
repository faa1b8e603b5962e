"""The table of ``make perf``: each target beside what was measured, and what became of it."""

import json
import tomllib
from pathlib import Path

import pytest

from perf import report

PERF = Path(__file__).parents[2] / "perf"
TARGETS = tomllib.loads((PERF / "targets.toml").read_text())["target"]
MOST = {"area": "hook", "what": "pipe", "key": "pipe", "figure": "p99", "limit": 10}
LEAST = MOST | {"figure": "p50", "limit": 100, "at_least": True, "unit": "/s"}


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "OUT", tmp_path)
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results.jsonl")

    def read():
        lines = (tmp_path / "results.jsonl").read_text().splitlines()
        return {one["key"]: one for one in map(json.loads, lines)}

    return read


@pytest.mark.parametrize(
    ("target", "values", "verdict"),
    [
        (MOST, [1.0] * 99 + [50.0], "held"),
        (MOST, [1.0] * 90 + [50.0] * 10, "missed: 50.0"),
        (LEAST, [120.0], "held"),
        (LEAST, [80.0], "missed: 80.0"),
    ],
)
def test_a_target_is_held_or_missed(results, target, values, verdict):
    report.record("pipe", values)
    [row] = report.rows([target], results())
    assert row.verdict == verdict
    assert (row.share <= 1) == (verdict == "held")


def test_what_was_not_measured_says_so():
    [row] = report.rows([MOST], {})
    assert row.verdict == "not measured"
    assert row.share is None


def test_a_process_is_compared_with_a_bare_one_of_the_same_run(results):
    report.record("pipe", [30.0] * 100, [20.0] * 100)
    [row] = report.rows([MOST | {"figure": "ratio", "limit": 2.0, "unit": "×"}], results())
    assert (row.ratio, row.verdict) == ("1.50", "held")
    [above] = report.rows([MOST | {"figure": "above", "limit": 5}], results())
    assert above.verdict == "missed: 10.0"


def test_the_table_has_a_line_for_each_target_and_its_head():
    assert len(list(report.table(report.rows(TARGETS, {})))) == len(TARGETS) + 1


def test_every_target_is_measured_by_some_file():
    sources = "".join(file.read_text() for file in PERF.glob("test_*.py"))
    for target in TARGETS:
        begins = target["key"].partition(".")[0]
        assert f'"{target["key"]}"' in sources or f'"{begins}.' in sources or "{event}." in sources


def test_no_two_targets_are_the_same():
    named = [(target["key"], target["figure"], target.get("limit")) for target in TARGETS]
    assert len(set(named)) == len(named)
