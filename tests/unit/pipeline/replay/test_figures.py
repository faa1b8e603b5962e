import json

import numpy as np
import pytest
from click.testing import CliRunner

from subcog.pipeline.commands.evaluate import eval_command
from subcog.pipeline.replay import figures as module
from subcog.pipeline.replay.candidates import LEAST, shipped
from subcog.pipeline.replay.figures import (
    ARMS,
    FLOORS,
    SHIPPED,
    Ahead,
    Compared,
    Verdict,
    compare,
    drift,
    evaluate,
    verdict,
)
from subcog.pipeline.replay.simulation import KINDS
from tests.thorough import times


@pytest.fixture(autouse=True, scope="module")
def few_resamples():
    """An interval of a hundred draws is rougher, and made in the same way."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "_RESAMPLES", times(100))
        yield


@pytest.fixture(scope="module")
def report():
    told = []
    made = evaluate(shipped(), number=3, sessions=24, progress=lambda *step: told.append(step))
    assert told == [(done, 3 * len(KINDS)) for done in range(1, 3 * len(KINDS) + 1)]
    return made


def test_every_kind_is_replayed_in_every_arm(report):
    assert list(report.kinds) == [kind.name for kind in KINDS]
    for own in (*report.kinds.values(), report.overall):
        assert list(own.precision) == list(own.at_floor) == list(ARMS)
        low, high = own.over_placebo.interval
        assert low <= high
    assert {name for name, own in report.kinds.items() if own.hostile} == {
        "echoing",
        "objecting",
        "random",
    }


def test_without_the_rule_both_comparisons_are_under_the_same_floor(report):
    for own in report.kinds.values():
        assert own.precision["without"] == own.at_floor["without"].precision
        assert own.recall == own.at_floor["without"].recall


def test_few_users_already_show_that_the_rule_beats_the_placebo(report):
    assert report.overall.over_placebo.gain > 0
    assert report.kinds["tidy"].raised > 0
    assert report.kinds["tidy"].lowered > 0


def test_the_same_run_has_the_same_figures():
    once, again = (evaluate(shipped(), number=2, sessions=6) for _ in range(2))
    assert once == again


def test_a_reader_gets_a_row_a_kind(report):
    text = "\n".join(report.lines())
    for name in (*report.kinds, "all"):
        assert f"\n{name} " in text
    assert "beats the placebo: " in text


def test_the_floors_that_are_tried_hold_the_one_that_ships():
    assert FLOORS[SHIPPED] == 0.45
    assert FLOORS[0] - 0.1 >= LEAST


def _table(*precisions, users=4):
    """Users in the arms, each arm of one precision whatever the floor; recall falls with it."""
    table = np.zeros((users, len(ARMS), len(FLOORS), 4))
    shown = 100 - 5 * np.arange(len(FLOORS))
    for at, precision in enumerate(precisions):
        right = shown * precision
        table[:, at] = np.stack([right, shown, shown, np.full(len(FLOORS), 200)], axis=1)
    return table


def test_precisions_are_compared_at_equal_recall():
    told = compare([_table(0.5, 0.6, 0.55)])
    assert told.precision == {"without": 0.5, "rule": 0.6, "placebo": 0.55}
    assert told.over_none == Ahead(0.1, (0.1, 0.1))
    assert told.over_placebo == Ahead(0.05, (0.05, 0.05))


def test_an_arm_that_shows_less_under_the_same_floor_gains_nothing_by_it():
    table = _table(0.5, 0.5, 0.5)
    # Precision falls from floor to floor in the same way, and the rule is one floor further on.
    slope = np.linspace(0.4, 0.8, len(FLOORS))
    table[:, :, :, 0] = table[:, :, :, 1] * slope
    table[:, 1, :-1] = table[:, 1, 1:]
    assert compare([table]).over_none.gain == pytest.approx(0.0)


def _own(gain, low=0.0):
    ahead = Ahead(gain, (low, 1.0))
    return Compared(recall=1.0, precision={}, over_none=ahead, over_placebo=ahead)


def test_the_verdict_wants_a_clear_lead_and_nobody_harmed():
    good = {"a": _own(0.1), "b": _own(-0.005)}
    assert verdict(_own(0.1, 0.01), good).switch_on
    assert not verdict(_own(0.1, -0.01), good).switch_on
    told = verdict(_own(0.1, 0.01), good | {"c": _own(-0.02)})
    assert told == Verdict(beats_placebo=True, harmed=["c"], switch_on=False)


def test_one_memory_does_not_drift():
    told = drift()
    least, last = told.shown_1000
    assert least >= 0
    assert last > 0
    before, after = told.one_bad
    assert before < after < 0
    assert max(told.fallen_after, told.risen_after) <= 10


def test_the_command_prints_the_figures_and_nothing_else():
    run = CliRunner().invoke(eval_command, ["use", "--users", "1", "--json"])
    assert run.exit_code == 0, run.output
    assert json.loads(run.stdout)["users"] == 1
