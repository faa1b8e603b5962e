import pytest

from subcog.stages.language.references import MAX_REFERENCES, find_references
from tests.waiting import ends_soon


@pytest.mark.parametrize(
    ("text", "reference", "kind", "about"),
    [
        ("do the auth thing from yesterday", "the auth thing from yesterday", "subject", "auth"),
        ("what about the auth thing?", "the auth thing", "subject", "auth"),
        ("run that migration again", "that migration", "subject", "migration"),
        ("what about the bug we fixed", "the bug we fixed", "subject", "bug"),
        ("the cache problem from two weeks ago", None, "subject", "cache problem"),
        ("as we discussed, use uv", "as we discussed", "time", ""),
        ("same as last time", "same as last time", "time", ""),
        ("do it like last time", "like last time", "time", ""),
        ("see PR #123", "PR #123", "number", "123"),
        ("see #123", "#123", "number", "123"),
        ("see PAY-42 there", "PAY-42", "number", "PAY-42"),
    ],
)
def test_what_points_back_is_found_with_what_it_names(text, reference, kind, about):
    found = {(one.text, one.kind, one.about) for one in find_references(text)}
    assert (reference or text, kind, about) in found


@pytest.mark.parametrize(
    "text",
    ["rename foo to bar", "make the button blue", "that is fine", "I like that", "a#1b", "/x#12"],
)
def test_a_text_that_points_at_nothing_has_none(text):
    assert find_references(text) == ()


def test_the_longest_phrase_counts_and_each_but_once():
    (found,) = find_references("the auth thing from yesterday")
    assert found.text == "the auth thing from yesterday"
    assert len(find_references("#1 #1 #1")) == 1
    assert len(find_references(" ".join(f"#{n}" for n in range(50)))) == MAX_REFERENCES


def test_hostile_text_is_read_in_linear_time():
    with ends_soon():
        for unit in ("the the ", "the x from ", "that thing ", "#1", "the a b c ", "like ", "A-1"):
            find_references(unit * 8000)
