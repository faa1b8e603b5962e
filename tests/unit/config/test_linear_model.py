import json
import math

import pytest

from subcog.config.linear_model import LinearModel, logistic

MODEL = {"about": "a test", "bias": [10], "weights": {"a": [100], "b": [-50]}, "divisor": 100}


def write(path, **changes):
    path.write_text(json.dumps(MODEL | changes))
    return path


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "model.json")


def test_values_are_weighed_in_the_order_of_the_features(file):
    model = LinearModel.load(file, features=("a", "b"))
    assert model.log_odds((0.5, 2.0)) == pytest.approx(-0.4)
    assert model.probability((0.5, 2.0)) == pytest.approx(1 / (1 + math.exp(0.4)))
    assert model.column() == [1.0, -0.5]
    assert model.named == {"a": 1.0, "b": -0.5}


def test_as_many_values_as_features_are_demanded(file):
    with pytest.raises(ValueError, match="1 values for 2 weights"):
        LinearModel.load(file).log_odds((1.0,))


def test_slope_and_shift_calibrate(tmp_path):
    model = LinearModel.load(write(tmp_path / "model.json", slope=2.0, shift=0.5))
    assert model.log_odds((0, 0)) == pytest.approx(0.7)


def test_names_that_are_unknown_weigh_nothing(tmp_path):
    model = LinearModel.load(
        write(
            tmp_path / "m.json", outputs=["x", "y"], bias=[0, 5], weights={"a": [1, 2], "b": [4, 8]}
        )
    )
    assert model.total({"a", "b", "c"}) == 5
    assert model.totals({"a", "b"}) == [5, 10]
    assert model.totals(set()) == [0, 0]


def test_probabilities_of_several_outputs_are_a_softmax(tmp_path):
    path = write(tmp_path / "m.json", outputs=["x", "y"], bias=[0, 50], weights={"a": [100, 0]})
    x, y = LinearModel.load(path, outputs=("x", "y")).probabilities([("a", 2.0), ("c", 9.0)])
    assert x + y == pytest.approx(1)
    assert x / y == pytest.approx(math.exp(1.5))
    flat = LinearModel.load(write(path, outputs=["x", "y"], bias=[0, 5e9], weights={}, slope=0.5))
    assert flat.probabilities([]) == [0.0, 1.0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bias": "x"}, "m.json is not a linear model"),
        ({"weights": {"a": [1, 2]}}, "one weight for each output"),
        ({"bias": []}, "one weight for each output"),
        ({"outputs": ["x", "y"]}, "one weight for each output"),
        ({"divisor": 0}, "divisor of zero"),
    ],
)
def test_a_file_that_is_no_model_is_refused(tmp_path, changes, message):
    with pytest.raises(ValueError, match=message):
        LinearModel.load(write(tmp_path / "m.json", **changes))


def test_other_features_or_outputs_than_expected_are_refused(file):
    with pytest.raises(ValueError, match=r"weighs \['a', 'b'\], not \['b', 'a'\]"):
        LinearModel.load(file, features=("b", "a"))
    with pytest.raises(ValueError, match="is a model of"):
        LinearModel.load(file, outputs=("x",))


def test_a_missing_file_is_an_os_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        LinearModel.load(tmp_path / "none.json")


@pytest.mark.parametrize("log_odds", [1e9, -1e9])
def test_a_probability_is_never_certain(log_odds):
    assert 0 < logistic(log_odds) < 1
