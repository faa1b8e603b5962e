import pytest

from subcog.stages.language.intent_features import MAX_WORDS, features
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.sentences import sentences


def seen(text: str) -> dict[str, float]:
    read = sentences(text)
    return dict(features(text, read, detect_search_intent(text, read)))


def test_a_prompt_has_words_how_its_sentences_open_and_its_form():
    found = seen("Fix it. where is `app.toml`?")
    assert {"fix", "where is", "is ~", "~ ?"} <= found.keys()
    assert {
        "=keyword location",
        "=signal where is",
        "=first order",
        "=first opens fix",
        "=last question",
        "=last question auxiliary",
        "=last asks",
        "=sentences 2",
        "=ends ?",
        "=capital",
        "=code",
        "=names",
        "=^ fix it",
        "=^^ order pronoun",
    } <= found.keys()


def test_words_weigh_the_same_together_in_short_and_long_prompts():
    for text in ("alpha beta", "alpha beta gamma delta epsilon zeta"):
        words = [scale for name, scale in seen(text).items() if not name.startswith("=")]
        assert sum(scale**2 for scale in words) == pytest.approx(9.0)


def test_what_is_pasted_is_not_read_but_what_is_typed_beside_it_is():
    log = "\n".join(f"2026-01-12 10:22:{at} ERROR lost the broker" for at in range(10, 20))
    asked, alone = seen(f"any idea?\n\n{log}"), seen(log)
    assert {"idea", "=paste asks"} <= asked.keys()
    assert "=paste alone" in alone
    assert not {"broker", "lost"} & (asked.keys() | alone.keys())


def test_of_a_long_prompt_a_bounded_part_is_read():
    assert len(seen("where is it " * 50_000)) < 4 * MAX_WORDS


@pytest.mark.parametrize("text", ["", "?", "\n\n", "```\nx\n```", "\u0130\ud83d", ": " * 900])
def test_whatever_is_typed_has_features(text):
    assert seen(text)
