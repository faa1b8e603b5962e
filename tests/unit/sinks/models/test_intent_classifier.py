import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.values import IntentType
from subcog.config.linear_model import LinearModel
from subcog.sinks.models.intent_classifier import (
    CLASSES,
    NAMES,
    WEIGHTS,
    LocalClassifier,
    features,
)


def classifier(**found: tuple[int, ...]) -> LocalClassifier:
    bias = (0,) * len(CLASSES)
    return LocalClassifier(
        LinearModel(about="a test", outputs=NAMES, divisor=100, bias=bias, weights=found)
    )


@pytest.fixture(scope="module")
def shipped() -> LocalClassifier:
    return LocalClassifier.load()


def test_without_a_known_word_the_bias_decides():
    odds = classifier().weigh("anything", ())
    assert odds == pytest.approx(dict.fromkeys(CLASSES, 1 / len(CLASSES)))


def test_a_word_speaks_for_its_class():
    odds = classifier(where=(0, 300, 0, 0, 0, 0, 0)).weigh("Where", ())
    assert max(CLASSES, key=lambda kind: odds[kind]) is IntentType.LOCATION


def test_a_cue_is_not_mistaken_for_a_word():
    known = classifier(**{"=order": (0, 0, 0, 0, 0, 0, 400)})
    assert known.weigh("order", ())[None] == pytest.approx(1 / len(CLASSES))
    assert known.weigh("order", ("order",))[None] > 0.5


def test_a_higher_temperature_is_less_sure():
    bias = (300, 0, 0, 0, 0, 0, 0)
    sure = LinearModel(about="", outputs=NAMES, divisor=100, bias=bias, weights={"x": (0,) * 7})
    unsure = msgspec.structs.replace(sure, slope=1 / 3)
    howto = IntentType.HOWTO
    odds = [LocalClassifier(one).weigh("y", ())[howto] for one in (sure, unsure)]
    assert odds[0] > odds[1]


@given(st.text(max_size=3000), st.lists(st.text(max_size=20), max_size=5))
def test_probabilities_add_up_whatever_the_text(text, cues):
    odds = LOADED.weigh(text, cues)
    assert set(odds) == set(CLASSES)
    assert math.isclose(sum(odds.values()), 1.0, abs_tol=1e-5)
    assert all(0.0 <= one <= 1.0 for one in odds.values())


LOADED = LocalClassifier.load()


def test_only_the_ends_of_a_long_prompt_are_read():
    names = {name for name, _ in features("alpha " + "pad " * 5000 + "zulu", ())}
    assert {"alpha", "pad"} <= names
    assert len(names) < 500


def test_words_weigh_the_same_together_in_short_and_long_prompts():
    for text in ("a b", "a b c d e f g h"):
        words = [scale for name, scale in features(text, ()) if not name.startswith("=")]
        assert sum(scale**2 for scale in words) == pytest.approx(9.0)


def test_the_order_of_cues_does_not_matter():
    assert features("a", ("x", "y")) == features("a", ("y", "x"))


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("python flatten nested list", IntentType.HOWTO),
        ("the payment page shows a blank screen on firefox", IntentType.TROUBLESHOOT),
        ("rename the variable to total", None),
        ("thanks, perfect", None),
        ("retention rules of the event archive and the reason for them", IntentType.EXPLANATION),
    ],
)
def test_the_shipped_weights_tell_what_has_no_signal(shipped, text, kind):
    odds = shipped.weigh(text, ())
    assert max(CLASSES, key=lambda one: odds[one]) is kind


def test_the_shipped_weights_are_small_and_say_where_they_come_from():
    assert WEIGHTS.stat().st_size <= 400 * 1024
    about = json.loads(WEIGHTS.read_text("utf-8"))["about"]
    assert "train_intents.py" in about


def test_a_missing_file_and_a_foreign_file_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        LocalClassifier.load(tmp_path / "none.json")
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"hello": 1}')
    with pytest.raises(ValueError, match=r"foreign\.json is not a linear model"):
        LocalClassifier.load(foreign)
