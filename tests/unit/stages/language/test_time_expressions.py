import pytest

from subcog.bus.prompts import TimeExpression
from subcog.stages.language.time_expressions import canonical, find_times, telling_words


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Was haben wir letzte Woche gemacht?", "what have we last week done"),
        ("Qu'avons-nous décidé hier ?", "what have decided yesterday"),
        ("¿Qué hicimos hace tres días?", "what done ago 3 day"),
        ("What did the team do?", "what did team do"),
        ("Where is the bug? It is hier()", "where is bug it is hier"),
    ],
)
def test_other_languages_become_english_words(text, said):
    assert canonical(text) == said


@pytest.mark.parametrize(
    ("text", "found", "left"),
    [
        ("what did we do last week", [("last_unit", "last week", "in")], "what did we do"),
        ("since last monday", [("weekday", "last monday", "since")], ""),
        ("notes from tuesday", [("weekday", "tuesday", "in")], "notes"),
        ("in march last year", [("month", "march last year", "in")], ""),
        ("in march 25", [("month", "march 2025", "in")], ""),
        ("on march 25", [("day_month", "march 25", "in")], ""),
        (
            "between 1 june and 15 june",
            [("day_month", "1 june", "since"), ("day_month", "15 june", "until")],
            "",
        ),
        (
            "from 3 to 9 june",
            [("day_month", "3 june", "since"), ("day_month", "9 june", "until")],
            "",
        ),
        ("july until now", [("month", "july", "in")], "so-far"),
        ("since 2.5.0 went out", [("event", "2.5.0 went out", "after")], ""),
        ("before the release", [("event", "release", "before")], ""),
        (
            "since the migration to postgres",
            [("event", "migration to postgres", "after")],
            "",
        ),
    ],
)
def test_expressions_are_found_with_the_side_that_is_meant(text, found, left):
    times, rest = find_times(canonical(text))
    assert times == tuple(TimeExpression(*one) for one in found)
    assert rest == left


@pytest.mark.parametrize(
    "text",
    [
        "this may fail",
        "and may it work",
        "the march of time",
        "skip sunday",
        "before it breaks",
        "error 2026",
        "until it is done",
    ],
)
def test_words_that_only_look_like_a_time_are_left_alone(text):
    assert find_times(canonical(text))[0] == ()


def test_the_words_that_tell_of_a_question_are_of_other_languages():
    assert {"gestern", "hier", "ayer"} <= telling_words()
    assert "yesterday" not in telling_words()
