import json

import pytest
from msgspec import to_builtins

from subcog.pipeline.evaluation.captures import (
    Found,
    JudgedCapture,
    JudgedMessage,
    OfType,
    compare,
    evaluate,
    found_in,
    read_messages,
)

DECISION = "We decided to use argon2id instead of bcrypt, because bcrypt truncates at 72 bytes."


def message(text, *labels, **fields):
    captures = tuple(JudgedCapture(*label) for label in labels)
    return JudgedMessage(id="m", role="user", text=text, captures=captures, **fields)


def test_the_keys_are_those_that_were_promised():
    report = evaluate([message(DECISION, ("decision", "decisions", DECISION)), message("hi")])
    assert set(to_builtins(report)) == {
        "messages",
        "precision",
        "recall",
        "namespace_accuracy",
        "junk_rate",
        "high_confidence_recall",
        "by_type",
        "interval",
    }
    assert report.precision == report.recall == report.namespace_accuracy == 1.0
    assert report.by_type["decision"] == OfType(labelled=1, recall=1.0, found=1, precision=1.0)


@pytest.mark.parametrize(
    ("start", "end", "right"),
    [(0, 10, True), (5, 25, True), (6, 26, False), (0, 40, True), (10, 20, False)],
)
def test_right_is_what_shares_half_of_itself_or_of_the_span(start, end, right):
    judged = message("x" * 10 + "y" * 30, ("decision", "decisions", "x" * 10))
    compared = compare(judged, [Found("decision", "decisions", 90, start, end)])
    assert (compared.labels[0] is not None) == right
    assert bool(compared.finds[0]) == right


def test_what_is_found_where_nothing_is_labelled_is_junk():
    report = evaluate([message(DECISION), message(f"ok. {DECISION}", ("decision", "x", "ok."))])
    assert report.junk_rate == 0.5
    assert report.precision == 0.0
    assert report.recall == 0.0


def test_decisions_and_patterns_are_the_same_and_other_namespaces_are_not():
    text = "from now on every migration gets its own PR"
    assert evaluate([message(text, ("pattern", "patterns", text))]).namespace_accuracy == 1.0
    assert evaluate([message(text, ("decision", "decisions", text))]).namespace_accuracy == 1.0
    assert evaluate([message(text, ("blocker", "blockers", text))]).namespace_accuracy == 0.0


def test_high_confidence_leaves_out_what_a_second_reviewer_might_not_share():
    sure = message(DECISION, ("decision", "decisions", DECISION))
    unsure = message("maybe", ("decision", "decisions", "maybe"), high_confidence=False)
    report = evaluate([sure, unsure])
    assert report.recall == 0.5
    assert report.high_confidence_recall == 1.0


def test_a_marker_is_explicit_and_goes_where_it_says():
    (found,) = found_in(message("[remember:gotchas] dates are local"))
    assert (found.type, found.namespace, found.percent) == ("explicit", "gotchas", 100)


def test_the_interval_is_the_same_each_time_and_holds_the_figure():
    messages = [message(DECISION, ("decision", "decisions", DECISION)), message(DECISION)] * 5
    first, second = evaluate(messages), evaluate(messages)
    assert first == second
    low, high = first.interval["precision"]
    assert low <= first.precision <= high
    assert low < high


def test_the_report_is_shown_as_tables():
    shown = "\n".join(
        evaluate([message(DECISION, ("preference", "preferences", DECISION))]).lines()
    )
    assert "1 messages" in shown
    assert "preference" in shown
    assert "–" in shown


@pytest.mark.parametrize(
    "row",
    [
        {"id": "1", "role": "user"},
        {"id": "1", "role": "tool", "text": "x"},
        {
            "id": "1",
            "role": "user",
            "text": "x",
            "captures": [{"type": "decision", "namespace": "decisions", "span": "y"}],
        },
    ],
)
def test_a_line_that_is_no_labelled_message_is_refused(tmp_path, row):
    path = tmp_path / "m.jsonl"
    path.write_text(json.dumps(row))
    with pytest.raises(ValueError, match=r"m\.jsonl"):
        read_messages(path)


def test_nothing_to_evaluate_is_said():
    with pytest.raises(ValueError, match="no messages"):
        evaluate([])
