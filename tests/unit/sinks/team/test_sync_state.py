from datetime import timedelta

import pytest

from subcog.bus.signals import synced
from subcog.sinks.team.protocol import About, Depth
from subcog.sinks.team.sync_state import LISTEN, LOCKED, PULL, PUSH, Pace, Problem, SyncCounters
from tests.emissions import emitted
from tests.fakes import NOW, FixedClock

AWAY = Problem("unreachable", "the server is away")


@pytest.fixture
def clock():
    return FixedClock()


@pytest.fixture
def tally(clock):
    made = SyncCounters(clock=clock)
    made.about = About("acme", "ann", ("ann",), 1, 1, "native", ())
    return made


def test_the_two_are_in_step_once_everything_was_sent_and_received(tally, clock):
    clock.forward(seconds=5)
    assert tally.state().lag_s == 5
    tally.pulled()
    assert tally.state().lag_s == 5  # what waits here is not known yet
    tally.pushed()
    clock.forward(seconds=100)
    assert tally.state().lag_s == 0


def test_the_lag_counts_from_when_they_were_in_step_last(tally, clock):
    tally.pushed()
    tally.pulled()
    clock.forward(seconds=60)
    tally.fail(PULL, AWAY)
    assert tally.state().lag_s == 60
    tally.succeed(PULL)
    assert tally.state().lag_s == 0


def test_who_hears_no_notification_looks_and_is_in_step_all_the_same(tally, clock):
    tally.pushed()
    tally.pulled()
    tally.fail(LISTEN, AWAY)
    clock.forward(seconds=60)
    assert (tally.state().connected, tally.state().lag_s) == (True, 0)
    assert tally.state().problem == AWAY


def test_what_waited_before_this_process_began_counts_too(tally, clock):
    tally.waiting(Depth(3, NOW - timedelta(days=2)))
    assert tally.state().lag_s == 2 * 86_400
    assert tally.state().outbox == 3


def test_a_clock_that_is_put_back_makes_no_negative_lag(tally, clock):
    clock.forward(seconds=-500)
    assert tally.state().lag_s == 0


def test_a_problem_is_news_when_it_begins_and_when_it_becomes_another(tally):
    assert tally.fail(PUSH, AWAY)
    assert not tally.fail(PUSH, AWAY)
    assert tally.fail(PUSH, Problem("refused", "the password is wrong"))
    assert tally.state().problem.reason == "refused"
    assert tally.succeed(PUSH)
    assert not tally.succeed(PUSH)
    assert tally.state().problem is None


def test_of_several_problems_the_one_that_parts_them_is_told(tally):
    tally.fail(LOCKED, Problem("locked", "somebody's transaction"))
    assert (tally.state().connected, tally.state().problem.reason) == (True, "locked")
    tally.fail(PULL, Problem("unreachable", "no answer"))
    assert (tally.state().connected, tally.state().problem.reason) == (False, "unreachable")


def test_only_what_happened_is_told(tally):
    with emitted(synced) as told:
        tally.count(sent=0, skipped=0)
        tally.count(sent=2, skipped=1)
    counts = {"sent": 2, "received": 0, "conflicts": 0, "skipped": 1, "refused": 0}
    assert told == [("team", counts)]
    assert (tally.state().sent, tally.state().skipped) == (2, 1)


def test_a_pace_lets_a_few_through_at_once_and_then_one_an_interval():
    pace = Pace(burst=3, every_s=2.0)
    assert [pace.wait_s(100.0) for _ in range(5)] == [0.0, 0.0, 0.0, 2.0, 4.0]
    assert pace.wait_s(200.0) == 0.0
