import pytest

from subcog.stages.capture.statements import (
    MAX_STATEMENTS,
    own_text,
    statements,
)
from subcog.stages.text.authorship import READ_CHARS


def said(text, role="assistant"):
    return [one.text for one in statements(text, role=role)]


def test_a_text_is_divided_into_sentences_and_says_where_they_stand():
    text = "One is done. Two, e.g. Dr. Ng's, is not!\n\nThree has `a. b` in it. 四つ目。五つ目。"
    assert said(text) == [
        "One is done.",
        "Two, e.g. Dr. Ng's, is not!",
        "Three has `a. b` in it.",
        "四つ目。",
        "五つ目。",
    ]
    assert all(text[one.start : one.end] == one.text for one in statements(text))


def test_a_wrapped_line_goes_on_in_the_next():
    text = "This line is long enough that somebody's editor had to wrap it right\nhere. End"
    assert said(text) == [text[:-4], "End"]
    assert said("short line\nanother") == ["short line", "another"]


def test_items_are_paragraphs_that_know_what_they_stand_under():
    parts = statements("## Changes\n\nIn short:\n\n- **one** thing\n2. two\n   goes on\n\nplain")
    assert [(one.text, one.is_item, one.lead) for one in parts] == [
        ("In short:", False, "Changes"),
        ("one** thing", True, "In short:"),
        ("two", True, "In short:"),
        ("goes on", True, "In short:"),
        ("plain", False, "In short:"),
    ]
    assert len({one.paragraph for one in parts}) == 4


@pytest.mark.parametrize(
    "foreign",
    [
        "```\nx = 1\n```",
        "> quoted",
        "| a | b |",
        "<notes>\nx\n</notes>",
        "2026-01-02 10:00:00 ERROR x",
        '"A paragraph that is one quotation. All of it."',
        "Commit message:\n\nfix the thing",
        "The README says:\nwe use tabs.",
        "Contents of NOTES.md:\n\nwe use tabs.",
        "- mem_01JD0000000000000000000000 · decisions · just now\n  &gt; we use tabs.",
        "Dear Ms Novak,\n\nwe did it.\n\nRegards",
    ],
)
def test_what_is_not_the_speakers_is_left_out(foreign):
    kept = said(f"Before.\n\n{foreign}")
    assert kept[0] == "Before."
    assert [one for one in kept[1:] if not one.endswith(":")] == []


@pytest.mark.parametrize(
    "pasted",
    [
        "PROJ-1: As a user I want it",
        "---\n**x commented**\nfixed",
        "[10:01] Ann: hi\n[10:02] Ben: ho",
        "Subject: news\ntext",
    ],
)
def test_a_user_hands_over_to_what_was_pasted_and_an_assistant_does_not(pasted):
    assert said(f"look at this\n\n{pasted}", role="user") == ["look at this"]


@pytest.mark.parametrize(
    "sentence",
    [
        "README contains this text: We decided on tabs. And nobody asked.",
        "I found this in the changelog: we decided on tabs",
        "the wiki reads: we decided on tabs",
        "An e-mail of Ann says: we decided on tabs",
        "CONTRIBUTING.md states the following: we decided on tabs",
    ],
)
@pytest.mark.parametrize("role", ["user", "assistant"])
def test_what_a_sentence_quotes_is_left_out_with_the_rest_of_its_paragraph(sentence, role):
    assert said(f"Before. {sentence}\n\nAfter.", role=role) == ["Before.", "After."]


@pytest.mark.parametrize(
    "sentence",
    [
        "Note on the changelog: we decided on tabs",
        "For the docs: run make docs",
        "The docs were wrong: it is in seconds",
        "We said it at length: tabs",
    ],
)
def test_a_sentence_with_a_colon_may_be_the_speakers_own(sentence):
    assert said(sentence) == [sentence]


def test_own_text_has_neither_markers_nor_private_spans():
    text = "keep\n<private>secret</private>\n\n[remember] this\n"
    assert own_text(text).split() == ["keep"]


def test_a_flood_is_read_to_a_bound():
    assert len(statements("a b. " * 5000)) == MAX_STATEMENTS
    assert statements("x" * 2000) == []
    assert all(one.end <= READ_CHARS for one in statements("word " * 9 + "\n" * 5 + "ab\n" * 9000))
