import pytest

from subcog.bus.values import NAMESPACES
from subcog.config.linear_model import LinearModel
from subcog.stages.capture.features import MATTERS, OUTPUTS, WEIGHTS, Features, SignalModel, load


def columns(worth=0, **matters):
    row = [worth, *(0 for _ in MATTERS)]
    for name, weight in matters.items():
        row[1 + [kind for kind, _ in MATTERS].index(name)] = weight
    return tuple(row)


MODEL = SignalModel(
    LinearModel(
        about="a test",
        outputs=OUTPUTS,
        divisor=100,
        slope=2.0,
        shift=1.0,
        bias=columns(-100),
        weights={"we": columns(50, decision=10), "#asks": columns(-200, blocker=30)},
    )
)


def test_a_score_is_the_sum_of_bias_words_and_marks():
    assert MODEL.score(Features(set(), 1.0, set())) == -1.0
    assert MODEL.score(Features({"we", "unknown"}, 2.0, {"asks"})) == -2.0


def test_a_worth_is_a_calibrated_probability():
    assert MODEL.worth(Features({"we"}, 1.0, set())) == pytest.approx(0.5)
    assert 0.0 < MODEL.worth(Features(set(), 1.0, {"asks"})) < 0.01


def test_the_matter_is_the_one_with_most_weight():
    assert MODEL.matter(Features({"we"}, 1.0, set())) == ("decision", "decisions")
    assert MODEL.matter(Features({"we"}, 1.0, {"asks"})) == ("blocker", "blockers")


def test_every_matter_is_a_kind_in_a_namespace_of_ours():
    assert {namespace for _, namespace in MATTERS} == set(NAMESPACES)


def test_a_word_spelled_like_a_mark_is_not_one():
    assert MODEL.score(Features({"asks"}, 1.0, set())) == -1.0


def test_the_weights_that_are_shipped_fit_the_matters_and_are_read_once():
    assert LinearModel.load(WEIGHTS).outputs == OUTPUTS
    assert load() is load()
