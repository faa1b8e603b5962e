import json
import math

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.config.linear_model import LinearModel
from subcog.sinks.models.intent_classifier import CHAT, NAMES, ORDER, WEIGHTS, LocalClassifier
from subcog.stages.classify import choose
from subcog.stages.language.intent_features import features
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.sentences import sentences

LOADED = LocalClassifier.load()


def classifier(**found: tuple[int, ...]) -> LocalClassifier:
    bias = (0,) * len(NAMES)
    return LocalClassifier(
        LinearModel(about="a test", outputs=NAMES, divisor=100, bias=bias, weights=found)
    )


def test_without_a_known_feature_the_bias_decides():
    odds = classifier().weigh([("anything", 1.0)])
    assert odds == pytest.approx(dict.fromkeys(NAMES, 1 / len(NAMES)))


def test_a_feature_speaks_for_its_output_by_its_strength():
    known = classifier(where=(0, 300, 0, 0, 0, 0, 0, 0))
    weak, strong = (known.weigh([("where", strength)])["location"] for strength in (0.5, 1.0))
    assert 1 / len(NAMES) < weak < strong


def test_a_higher_temperature_is_less_sure():
    bias = (300, *(0,) * (len(NAMES) - 1))
    sure = LinearModel(about="", outputs=NAMES, divisor=100, bias=bias, weights={})
    unsure = msgspec.structs.replace(sure, slope=1 / 3)
    odds = [LocalClassifier(one).weigh([])[NAMES[0]] for one in (sure, unsure)]
    assert odds[0] > odds[1]


def weighed(text: str) -> tuple[str, float]:
    read = sentences(text)
    odds = LOADED.weigh(features(text, read, detect_search_intent(text, read)))
    assert set(odds) == set(NAMES)
    assert math.isclose(sum(odds.values()), 1.0, abs_tol=1e-5)
    assert all(0.0 <= one <= 1.0 for one in odds.values())
    return choose(odds)


@given(st.text(max_size=3000))
def test_probabilities_add_up_whatever_the_text(text):
    weighed(text)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("python flatten nested list", "howto"),
        ("how do i roll back a release", "howto"),
        ("the payment page shows a blank screen on firefox", "troubleshoot"),
        ("the build is red since yesterday, any idea?", "troubleshoot"),
        ("where do we keep the mail templates", "location"),
        ("why is the cache so small", "explanation"),
        ("redis or memcached, what did we choose", "comparison"),
        ("how many tenants do we have", "general"),
        ("who owns the mail service", "general"),
        ("rename the variable to total", ORDER),
        ("TODO: add retries to the uploader", ORDER),
        ("can you add a test for the parser?", ORDER),
        ("could you please fix the typo in the header", ORDER),
        ("API-44 tooltip on the export button", ORDER),
        ("We decided to use Kafka because RabbitMQ lost messages", ORDER),
        ("the button shows the wrong price, fix it please", ORDER),
        ("thanks, perfect", CHAT),
        ("good morning", CHAT),
    ],
)
def test_the_shipped_weights_tell_orders_and_chat_from_each_kind_of_search(text, name):
    assert weighed(text)[0] == name


def test_the_shipped_weights_are_small_and_say_where_they_come_from():
    assert WEIGHTS.stat().st_size <= 500_000
    about = json.loads(WEIGHTS.read_text("utf-8"))["about"]
    assert "train_intents.py" in about


def test_a_missing_file_and_a_foreign_file_are_refused(tmp_path):
    with pytest.raises(FileNotFoundError):
        LocalClassifier.load(tmp_path / "none.json")
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"hello": 1}')
    with pytest.raises(ValueError, match=r"foreign\.json is not a linear model"):
        LocalClassifier.load(foreign)
