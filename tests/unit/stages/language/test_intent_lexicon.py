import pytest

from subcog.bus.values import IntentType
from subcog.stages.language.intent_lexicon import PHRASES, WHY, phrase_at, read_phrases
from subcog.stages.language.words import BadLexicon


def test_every_type_has_signals_of_every_strength_it_needs():
    for kind in IntentType:
        assert any(one.intent is kind and one.weight == 3 for one in PHRASES.values())


def test_phrases_are_written_as_they_are_read():
    written = [" ".join(words) for words in PHRASES]
    assert all(phrase == phrase.strip().lower() and phrase for phrase in written)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('[howto]\nstrong = ["how to", "^how to"]', "'how to' is empty or stands in it twice"),
        ('[howto]\nstrong = [""]', "'' is empty or stands in it twice"),
        ('[recipe]\nstrong = ["how to"]', "recipe"),
        ('[howto]\nloud = ["how to"]', "loud"),
        ("[howto", "Expected"),
    ],
)
def test_a_file_that_cannot_be_used_says_what_is_wrong(tmp_path, text, why):
    file = tmp_path / "phrases.toml"
    file.write_text(text)
    with pytest.raises(BadLexicon, match=r"the lexicon phrases\.toml cannot be used") as refused:
        read_phrases(file)
    assert why in str(refused.value)


def test_the_longest_phrase_wins():
    words = ["what", "is", "the", "process", "for", "releases"]
    found = phrase_at(words, 0)
    assert found is not None
    assert found.words == ("what", "is", "the", "process", "for")


def test_a_named_exception_is_a_signal():
    found = phrase_at(["attributeerror"], 0)
    assert found is not None
    assert found.intent is IntentType.TROUBLESHOOT
    assert phrase_at(["mirror"], 0) is None


def test_the_why_phrases_are_in_the_table():
    assert {tuple(why.split()) for why in WHY} <= set(PHRASES)
