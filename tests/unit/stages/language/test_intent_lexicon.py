from subcog.bus.values import IntentType
from subcog.stages.language import intent_lexicon as phrases
from subcog.stages.language.intent_lexicon import PHRASES, WHY, phrase_at


def test_every_type_has_signals_of_every_strength_it_needs():
    for kind in IntentType:
        assert any(one.intent is kind and one.weight == 3 for one in PHRASES.values())


def test_no_phrase_stands_in_the_table_twice():
    written = [
        phrase.removeprefix("^") for _, _, row in phrases._TABLE for phrase in row.split("|")
    ]
    assert sorted(written) == sorted(set(written))
    assert all(phrase == phrase.strip().lower() and phrase for phrase in written)


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
