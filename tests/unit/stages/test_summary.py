import pytest

from subcog.stages.summary import MAX_CHARS, summarise


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
