from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from subcog.bus.usage import UseEvent, Usefulness
from subcog.stages.injection.usefulness import (
    MOST_LOWERED,
    MOST_RAISED,
    PRIOR_MEAN,
    floor_shift,
    helps,
    interval,
    mean,
    together,
    usefulness,
)

BEGAN = datetime(2026, 3, 2, tzinfo=UTC)
SEEN = ("taken_up", "quoted", "captured_again", "heeded", "corrected", "failed_anyway")
SESSIONS = st.lists(st.sets(st.sampled_from(SEEN), max_size=3), max_size=30)
USES = st.builds(Usefulness, helped=st.floats(0, 500), idle=st.floats(0, 500))


def lived(sessions, *votes):
    """The events of a memory that was shown in each of ``sessions``, and what was seen there."""
    told = [
        UseEvent(memory_id="m", session=f"{at}", at=BEGAN + timedelta(days=at), kind=kind)
        for at, kinds in enumerate(sessions)
        for kind in ("shown", *sorted(kinds))
    ]
    return told + [UseEvent(memory_id="m", session="v", at=BEGAN, kind=kind) for kind in votes]


def shift(sessions, *votes, usual=None):
    return floor_shift(usefulness(lived(sessions, *votes)), usual)


@given(SESSIONS, USES)
def test_a_shift_is_bounded_and_nothing_known_moves_nothing(sessions, usual):
    assert -MOST_LOWERED <= shift(sessions, usual=usual) <= MOST_RAISED
    assert floor_shift(Usefulness(), usual) == pytest.approx(0.0)
    assert mean(Usefulness()) == PRIOR_MEAN


@given(SESSIONS, st.sampled_from(SEEN), USES)
def test_one_session_more_moves_the_floor_the_way_it_speaks(sessions, kind, usual):
    before, after = shift(sessions, usual=usual), shift([*sessions, {kind}], usual=usual)
    if helps({kind}):
        assert after <= before + 1e-9
    else:
        assert after >= before - 1e-9


@given(SESSIONS, USES)
def test_being_shown_without_use_never_lowers_a_floor(sessions, usual):
    assert shift([*sessions, set()], usual=usual) >= shift(sessions, usual=usual) - 1e-9


@given(USES)
def test_a_memory_shown_a_thousand_times_and_never_used_does_not_rise(usual):
    shifts = [shift([set()] * count, usual=usual) for count in (1, 2, 10, 1000)]
    assert shifts == sorted(shifts)
    assert shifts[0] >= 0


def test_being_shown_without_use_counts_half_as_much_as_an_objection():
    assert usefulness(lived([set()])).idle * 2 == usefulness(lived([{"corrected"}])).idle


@given(SESSIONS, st.randoms(use_true_random=False))
def test_the_order_within_a_session_is_of_no_account(sessions, chance):
    events = lived(sessions)
    by_session = [[e for e in events if e.session == f"{at}"] for at in range(len(sessions))]
    for own in by_session:
        chance.shuffle(own)
    assert usefulness([event for own in by_session for event in own]) == usefulness(events)


def test_a_session_counts_once_however_often_the_memory_was_shown_in_it():
    [shown, used] = lived([{"taken_up"}])
    assert usefulness([shown, used] * 20) == usefulness([shown, used])


def test_an_objection_outweighs_what_helped_in_the_same_session():
    assert usefulness(lived([{"taken_up", "corrected"}])) == usefulness(lived([{"corrected"}]))


def test_one_bad_session_does_not_lose_a_useful_memory():
    useful = [{"taken_up"}] * 5
    assert shift([*useful, {"corrected"}]) < 0
    assert shift([{"corrected"}]) <= 0.1


def test_a_change_of_direction_is_followed_within_ten_sessions():
    useful = [{"taken_up"}] * 100
    assert shift(useful) < 0 < shift([*useful, *[set()] * 10])
    assert shift([*[{"corrected"}] * 100, *[{"taken_up"}] * 10]) < 0


@given(SESSIONS, USES)
def test_what_the_user_keeps_has_nothing_against_it(sessions, usual):
    assert shift(sessions, "kept", usual=usual) <= 1e-9
    assert shift(sessions, "kept") <= shift(sessions)


def test_the_last_vote_holds():
    assert usefulness(lived([], "kept", "buried")).buried
    assert usefulness(lived([], "buried", "kept")) == usefulness(lived([], "kept"))
    assert usefulness(lived([], *["kept"] * 50)) == usefulness(lived([], "kept"))


def test_where_nothing_leaves_a_trace_having_left_none_says_nothing():
    traceless = together([Usefulness(idle=5.0)] * 40)
    assert shift([set()] * 20) > 0.2
    assert shift([set()] * 20, usual=traceless) < 0.03


def test_where_everything_leaves_a_trace_having_left_some_says_little():
    echoing = together([Usefulness(helped=5.0)] * 40)
    assert shift([{"taken_up"}] * 20) == -MOST_LOWERED
    assert shift([{"taken_up"}] * 20, usual=echoing) > -0.02


@pytest.mark.parametrize(("helped", "idle"), [(0, 0), (1, 0), (0, 3), (10, 0), (2, 10), (10, 10)])
def test_the_interval_is_near_that_of_the_beta_distribution(helped, idle):
    drawn = np.random.default_rng(0).beta(2 + helped, 2 + idle, 200_000)
    exact = np.quantile(drawn, (0.025, 0.975))
    assert interval(Usefulness(helped=helped, idle=idle)) == pytest.approx(exact, abs=0.03)


@given(USES, USES)
def test_the_interval_holds_the_mean(use, usual):
    low, high = interval(use, usual)
    assert 0 <= low <= mean(use, usual) <= high <= 1


def test_where_no_use_could_be_told_its_absence_says_nothing():
    assert shift([{"untraceable"}] * 1000) == 0.0
    assert shift([{"untraceable", "quoted"}] * 5) < 0 < shift([{"untraceable", "corrected"}] * 5)
