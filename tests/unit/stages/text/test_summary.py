import pytest

from subcog.stages.text.summary import MAX_CHARS, headline, summarise


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("We use uv everywhere. It is fast.", "We use uv everywhere."),
        ("Use uv. It is fast.", "Use uv. It is fast."),
        (
            "Use Python 3.11, i.e. the oldest one. Then more.",
            "Use Python 3.11, i.e. the oldest one.",
        ),
        ("# Title\n\nbody", "Title"),
        ("- first point\n- second point", "first point second point"),
        ("**Decision**: use uv\n\n**Context**: pip is slow", "Decision: use uv"),
        ("```\ncode here\n```", "code here"),
        ("二つの文。次の文です。", "二つの文。次の文です。"),
        ("  \n\n ", ""),
        ("---\n", ""),
    ],
)
def test_the_first_sentence_in_one_line(text, summary):
    assert summarise(text) == summary


def test_a_long_sentence_is_cut_between_words():
    text = "word " * 60
    summary = summarise(text)
    assert len(summary) <= MAX_CHARS
    assert summary.endswith("word…")


def test_a_sentence_that_fits_is_preferred_to_a_cut():
    text = "A first sentence that is quite complete. " + "and then much more " * 10
    assert summarise(text.replace("and", "And", 1)) == "A first sentence that is quite complete."


@pytest.mark.parametrize(
    ("sentence", "line"),
    [
        ("fyi the dates are local", "The dates are local"),
        ("ok decided: **Postgres** stays", "**Postgres** stays"),
        ("npm keeps both", "npm keeps both"),
        ("fyi k8s runs all of it", "k8s runs all of it"),
        (
            "Invoices go into a bucket of their own with object lock, because the auditors want "
            "to have seven years of files that nobody can change.",
            "Invoices go into a bucket of their own with object lock.",
        ),
        ("word " * 60, "word " * 19 + "word…"),
        ("two\nlines", "two lines"),
        ("", ""),
    ],
)
def test_a_headline_is_a_sentence_of_its_own(sentence, line):
    assert headline(sentence) == line
    assert len(headline(sentence)) <= MAX_CHARS
