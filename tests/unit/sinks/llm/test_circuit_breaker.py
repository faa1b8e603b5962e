import pytest

from subcog.sinks.llm.circuit_breaker import CircuitBreaker, State


class Hands:
    """A clock that is moved by hand."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        return self.at


@pytest.fixture
def hands():
    return Hands()


@pytest.fixture
def breaker(hands):
    return CircuitBreaker(now=hands, failures=3, first_pause_s=10, max_pause_s=25)


def fail(breaker, times=3):
    for _ in range(times):
        assert breaker.admit()
        breaker.fail()


def test_it_opens_after_enough_failures_in_a_row(breaker):
    fail(breaker, 2)
    assert breaker.state is State.CLOSED
    fail(breaker, 1)
    assert breaker.state is State.OPEN
    assert not breaker.admit()


def test_a_success_forgets_the_failures_before_it(breaker):
    fail(breaker, 2)
    breaker.succeed()
    fail(breaker, 2)
    assert breaker.state is State.CLOSED


def test_after_its_pause_one_probe_is_let_through(breaker, hands):
    fail(breaker)
    hands.at = 10
    assert breaker.state is State.HALF_OPEN
    assert breaker.admit()
    assert not breaker.admit()
    breaker.succeed()
    assert breaker.state is State.CLOSED
    assert breaker.admit()


def test_a_probe_that_fails_doubles_the_pause_up_to_a_limit(breaker, hands):
    fail(breaker)
    for pause_s in (10, 20, 25, 25):
        hands.at += pause_s - 1
        assert not breaker.admit()
        hands.at += 1
        fail(breaker, 1)
        assert breaker.state is State.OPEN


def test_after_a_recovery_the_pause_is_short_again(breaker, hands):
    fail(breaker)
    hands.at = 10
    fail(breaker, 1)
    hands.at = 30
    assert breaker.admit()
    breaker.succeed()
    fail(breaker)
    hands.at += 10
    assert breaker.admit()


def test_a_probe_that_nobody_waited_for_leaves_the_next_one_free(breaker, hands):
    fail(breaker)
    hands.at = 10
    assert breaker.admit()
    breaker.give_up()
    assert breaker.admit()


def test_who_was_under_way_when_it_opened_does_not_lengthen_the_pause(breaker, hands):
    fail(breaker)
    breaker.fail()
    hands.at = 10
    assert breaker.admit()


def test_a_pause_that_was_asked_for_opens_it_at_once(breaker, hands):
    breaker.admit()
    breaker.fail(pause_s=2)
    assert breaker.state is State.OPEN
    hands.at = 2
    assert breaker.admit()
