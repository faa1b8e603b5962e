from collections.abc import Iterable, Mapping

import pytest
from msgspec import to_builtins

from subcog.bus.prompts import IntentType
from subcog.pipeline.evaluation.common import read_rows
from subcog.pipeline.evaluation.intents import (
    Guess,
    Label,
    Labelled,
    evaluate,
    figures,
)

ROWS = [
    Labelled("where is the config?", "location"),
    Labelled("run the tests", "none"),
    Labelled("python flatten list", "howto"),
    Labelled("why did we drop celery", "explanation"),
]


class SaysHowto:
    def weigh(self, features: Iterable[tuple[str, float]]) -> Mapping[str, float]:
        return dict.fromkeys(map(str, IntentType), 0.0) | {"howto": 0.45, "order": 0.2, "chat": 0.0}


def test_the_keys_are_those_that_were_promised():
    report = evaluate(ROWS, local=SaysHowto())
    assert set(to_builtins(report)) == {"n", "racers"}
    assert report.n == 4
    assert set(report.racers) == {"keyword", "local", "merged"}
    for made in report.racers.values():
        assert set(to_builtins(made)) == {
            "accuracy",
            "macro_f1",
            "none_false_positive_rate",
            "per_class",
            "ece",
        }
    assert set(report.racers["keyword"].per_class) == {
        "location",
        "none",
        "howto",
        "explanation",
    }


def test_each_racer_is_measured_alone_and_merged():
    racers = evaluate(ROWS, local=SaysHowto()).racers
    assert racers["keyword"].accuracy == 0.75
    assert racers["local"].accuracy == 0.25
    assert racers["merged"].accuracy == 0.25
    assert racers["keyword"].none_false_positive_rate == 0.0
    assert racers["merged"].none_false_positive_rate == 1.0


def test_without_a_local_classifier_it_is_left_out():
    racers = evaluate(ROWS, local=None).racers
    assert set(racers) == {"keyword", "merged"}
    assert racers["keyword"] == racers["merged"]


def test_what_rules_have_read_is_not_overruled():
    row = Labelled("what did we decide last week?", "general")
    racers = evaluate([row], local=SaysHowto()).racers
    assert racers["merged"].accuracy == 1.0


def test_figures_worked_out_by_hand():
    gold = ["howto", "howto", "howto", "none", "location"]
    none, howto = Guess("none", 0.0), Guess("howto", 0.9)
    made = figures(gold, [howto, none, none, howto, Guess("location", 0.5)])
    assert made.accuracy == 0.4
    assert made.none_false_positive_rate == 1.0
    assert made.per_class["howto"] == Label(precision=0.5, recall=0.3333, f1=0.4, n=3)
    assert made.per_class["none"].f1 == 0.0
    assert made.macro_f1 == pytest.approx((0.4 + 0.0 + 1.0) / 3, abs=1e-4)
    # 0.9 twice, right once: off by 0.8 in sum; 0.5 once, right: off by 0.5; three were found.
    assert made.ece == pytest.approx((0.8 + 0.5) / 3, abs=1e-4)


def test_no_rows_are_no_division_by_zero():
    report = evaluate([], local=None)
    assert report.n == 0
    assert report.racers["merged"].accuracy == 0.0
    assert "\n".join(report.lines())


def test_the_report_can_be_read_by_people():
    report = evaluate(ROWS, local=SaysHowto())
    text = "\n".join(report.lines())
    assert "4 prompts" in text
    assert "merged" in text
    assert "location" in text


def test_other_fields_and_blank_lines_are_skipped(tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(
        '{"id": 1, "text": "a", "intent": "none"}\n\n{"text": "b", "intent": "howto"}\n'
    )
    assert read_rows(file, Labelled) == [Labelled("a", "none"), Labelled("b", "howto")]


@pytest.mark.parametrize("line", ["{", '{"text": "a"}', '{"text": "a", "intent": "other"}'])
def test_a_bad_line_is_named_by_its_number(tmp_path, line):
    file = tmp_path / "rows.jsonl"
    file.write_text('{"text": "a", "intent": "none"}\n' + line)
    with pytest.raises(ValueError, match="line 2"):
        read_rows(file, Labelled)
