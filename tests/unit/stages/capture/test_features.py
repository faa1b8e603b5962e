import pytest

from subcog.stages.capture.features import CUES_OF, LONG_FROM, SHORT_PHRASES, every_feature, look
from subcog.stages.capture.statements import statements


def marks(text, role="user"):
    return every_feature(statements(text, role=role), role=role)[0].marks


def test_words_are_lower_case_and_names_numbers_and_quotations_have_a_sign():
    seen = look('We use `a b` and max_size, 12 MB: "one two three" or "customer"')
    assert seen.tokens == (
        "we", "use", "<c>", "and", "<c>", ",", "<n>", "mb", ":", "<q>", "or", "customer",
    )  # fmt: skip
    assert "we use" in seen.grams
    assert "^ we use" in seen.grams


def test_scripts_without_spaces_are_read_by_character():
    assert look("我们决定").tokens == ("我", "们", "决", "定")


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("We decided to stay.", "decision"),
        ("Never do that.", "preference"),
        ("Blocked by ops.", "blocker"),
        ("It might be the cache.", "hedge"),
        ("is it live", "asks"),
        ("add a column", "user orders first"),
        ("I don't know", "negated"),
        ("- one thing", "item"),
        ("Next steps:", "leads"),
    ],
)
def test_what_a_statement_says_about_itself(text, mark):
    assert mark in marks(text)


def test_a_statement_knows_what_it_stands_under_and_who_speaks():
    listed = every_feature(statements("Two options:\n\n- one\n- two"), role="assistant")
    assert {"led", "lead options", "assistant"} <= listed[1].marks
    assert "led" not in listed[0].marks


def test_words_weigh_the_same_in_a_short_and_in_a_long_statement():
    short, long = (
        every_feature(statements(text), role="user")[0]
        for text in ("a b", " ".join(f"w{chr(97 + n)}x" for n in range(26)))
    )
    assert short.scale**2 * len(short.grams) == pytest.approx(long.scale**2 * len(long.grams))


def test_a_phrase_is_at_most_four_words_and_written_as_they_are_read():
    for phrase in CUES_OF:
        words = phrase.removeprefix("^ ").split(" ")
        assert 1 <= len(words) <= 4
        assert phrase == phrase.lower()


def test_every_phrase_is_reached_by_one_of_the_two_ways():
    for phrase in CUES_OF:
        words = phrase.removeprefix("^ ").split(" ")
        assert (phrase in SHORT_PHRASES) == (len(words) <= 2)
        assert phrase in SHORT_PHRASES or words[0] in LONG_FROM
