from datetime import UTC, datetime

import pytest

from subcog.pipeline.imports.lenient import moment_of, strings_of, tags_of, text_of

THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05",
        " 2026-01-01T19:04:05-08:00 ",
        THEN.timestamp(),
        THEN.timestamp() * 1000,
    ],
)
def test_a_moment_in_any_form_is_the_same_moment(value):
    assert moment_of(value) == THEN


@pytest.mark.parametrize("value", [None, "", "soon", True, [], 1e300, float("nan"), -1e18])
def test_what_is_no_moment_is_none(value):
    assert moment_of(value) is None


@pytest.mark.parametrize("value", [["a", " b "], '["a", "b"]', "a, b", ("a", 7, "", "b")])
def test_a_list_in_any_form_is_the_same_list(value):
    assert strings_of(value) == ("a", "b")


@pytest.mark.parametrize("value", [None, 7, {}, "7", ""])
def test_what_is_no_list_is_empty(value):
    assert strings_of(value) == ()


def test_tags_of_several_places_are_one_list():
    assert tags_of(["a"], None, "b,a") == ("a", "b")


def test_the_first_name_that_holds_a_text_counts():
    assert text_of({"a": "", "b": "x", "c": "y"}, ("a", "b", "c")) == "x"
    assert text_of({}, ("a",)) == ""
    with pytest.raises(ValueError, match='"a" is no string'):
        text_of({"a": 7}, ("a",))
