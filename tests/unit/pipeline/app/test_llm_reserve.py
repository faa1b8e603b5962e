import pytest

from subcog.pipeline.app.llm import EACH_S, MAX_OPEN, WINDOW, Reserve


class Hands:
    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def hands():
    return Hands()


@pytest.fixture
def reserve(hands):
    return Reserve(now=hands, floor_s=0.02)


def spend(reserve, hands, took_s, trace="t"):
    reserve.begin(trace)
    hands.at += took_s
    reserve.end(trace)


def test_before_anything_was_measured_the_floor_holds(reserve):
    assert reserve.need_s(0) == 0.02


def test_what_is_quick_does_not_go_below_the_floor(reserve, hands):
    spend(reserve, hands, 0.001)
    assert reserve.need_s(0) == 0.02


def test_the_slowest_hundredth_sets_the_need(reserve, hands):
    for _ in range(97):
        spend(reserve, hands, 0.001)
    for _ in range(3):
        spend(reserve, hands, 0.05)
    assert reserve.need_s(0) == pytest.approx(0.05)


def test_what_was_slow_long_ago_is_forgotten(reserve, hands):
    spend(reserve, hands, 1.0)
    for _ in range(WINDOW):
        spend(reserve, hands, 0.03)
    assert reserve.need_s(0) == pytest.approx(0.03)


def test_many_races_at_once_leave_time_for_each_other(reserve):
    assert reserve.need_s(100) == pytest.approx(0.02 + 100 * EACH_S)


def test_prompts_that_never_end_are_forgotten(reserve, hands):
    for number in range(MAX_OPEN + 10):
        reserve.begin(f"t{number}")
    hands.at = 1.0
    reserve.end("t0")
    assert reserve.need_s(0) == 0.02
