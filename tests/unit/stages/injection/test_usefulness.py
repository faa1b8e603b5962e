from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from subcog.bus.values import UseEvent, Usefulness
from subcog.stages.injection.candidate import Candidate
from subcog.stages.injection.instructions import Known
from subcog.stages.injection.pack import Budget
from subcog.stages.injection.select import choose
from subcog.stages.injection.usefulness import (
    MOST_LOWERED,
    MOST_RAISED,
    PRIOR_MEAN,
    Learned,
    NoUses,
    floor_shift,
    helps,
    interval,
    mean,
    together,
    usefulness,
)
from tests.fakes import NOW, make_hit, make_memory
from tests.thorough import times

BEGAN = datetime(2026, 3, 2, tzinfo=UTC)
SEEN = ("taken_up", "quoted", "captured_again", "heeded", "corrected", "failed_anyway")
SESSIONS = st.lists(st.sets(st.sampled_from(SEEN), max_size=3), max_size=30)
USES = st.builds(Usefulness, helped=st.floats(0, 500), idle=st.floats(0, 500))
FLOOR = 0.5
few = settings(max_examples=times(40))


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


@few
@given(SESSIONS, USES)
def test_a_shift_is_bounded_and_nothing_known_moves_nothing(sessions, usual):
    assert -MOST_LOWERED <= shift(sessions, usual=usual) <= MOST_RAISED
    assert floor_shift(Usefulness(), usual) == pytest.approx(0.0)
    assert mean(Usefulness()) == PRIOR_MEAN


@few
@given(SESSIONS, st.sampled_from(SEEN), USES)
def test_one_session_more_moves_the_floor_the_way_it_speaks(sessions, kind, usual):
    before, after = shift(sessions, usual=usual), shift([*sessions, {kind}], usual=usual)
    if helps({kind}):
        assert after <= before + 1e-9
    else:
        assert after >= before - 1e-9


@few
@given(SESSIONS, USES)
def test_being_shown_without_use_never_lowers_a_floor(sessions, usual):
    assert shift([*sessions, set()], usual=usual) >= shift(sessions, usual=usual) - 1e-9


@few
@given(USES)
def test_a_memory_shown_a_thousand_times_and_never_used_does_not_rise(usual):
    shifts = [shift([set()] * count, usual=usual) for count in (1, 2, 10, 1000)]
    assert shifts == sorted(shifts)
    assert shifts[0] >= 0


def test_being_shown_without_use_counts_half_as_much_as_an_objection():
    assert usefulness(lived([set()])).idle * 2 == usefulness(lived([{"corrected"}])).idle


@few
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


@few
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


@few
@given(USES, USES)
def test_the_interval_holds_the_mean(use, usual):
    low, high = interval(use, usual)
    assert 0 <= low <= mean(use, usual) <= high <= 1


def test_where_no_use_could_be_told_its_absence_says_nothing():
    assert shift([{"untraceable"}] * 1000) == 0.0
    assert shift([{"untraceable", "quoted"}] * 5) < 0 < shift([{"untraceable", "corrected"}] * 5)


@dataclass
class FakeUses:
    known: dict[str, Usefulness] = field(default_factory=dict)
    usual: Usefulness = field(default_factory=Usefulness)

    def of(self, memory_id):
        return self.known.get(memory_id, Usefulness())


def events(kind, count, memory_id="mem_1"):
    """So many sessions in which the memory was shown, and that became of it."""
    for number in range(count):
        at = NOW + timedelta(hours=number)
        for each in ("shown", kind) if kind != "shown" else ("shown",):
            yield UseEvent(memory_id=memory_id, session=f"s{number}", at=at, kind=each)


def candidates(*relevances):
    return [
        Candidate(hit=make_hit(make_memory(n), one), weight=1.0, kind=None, clean=str)
        for n, one in enumerate(relevances, 1)
    ]


def chosen(offered, learned, *, floor=FLOOR, ceiling=5):
    choice = choose(
        offered,
        floor=floor,
        beside=floor,
        shown=frozenset(),
        ceiling=ceiling,
        budget=Budget(2000, 8000),
        now=NOW,
        known=Known(learned),
    )
    return [one.memory.id for one in choice.chosen], choice.why


def id_of(number):
    return make_memory(number).id


def test_a_memory_of_which_nothing_is_known_has_the_floor_as_it_is():
    assert Learned().shift("mem_1") == 0.0
    assert chosen(candidates(FLOOR), Learned())[0] == [id_of(1)]


def test_one_that_was_shown_a_thousand_times_and_never_used_does_not_rise():
    use = usefulness(events("shown", 1000))
    learned = Learned(FakeUses({id_of(1): use}))
    assert 0 < learned.shift(id_of(1)) <= MOST_RAISED
    ids, why = chosen(candidates(FLOOR + 0.01), learned)
    assert ids == []
    assert "raised by" in why[id_of(1)]
    assert mean(use) < mean(Usefulness())


def test_a_floor_is_lowered_for_one_that_helps_within_bounds():
    learned = Learned(FakeUses({id_of(1): usefulness(events("taken_up", 50))}))
    assert -MOST_LOWERED <= learned.shift(id_of(1)) < 0
    ids, why = chosen(candidates(FLOOR - 0.03), learned)
    assert ids == [id_of(1)]
    assert "lowered by" in why[id_of(1)]
    assert chosen(candidates(FLOOR - MOST_LOWERED - 0.01), learned)[0] == []


def test_switched_off_no_floor_is_moved_and_a_vote_still_holds():
    use = {id_of(1): usefulness(events("taken_up", 50)), id_of(2): Usefulness(buried=True)}
    learned = Learned(FakeUses(use), moves_floors=False)
    ids, why = chosen(candidates(FLOOR - 0.03, 0.9), learned)
    assert ids == []
    assert "buried" in why[id_of(2)]


def test_what_is_buried_is_not_shown_whatever_its_relevance_and_where_there_is_no_floor():
    learned = Learned(FakeUses({id_of(1): Usefulness(buried=True)}))
    assert chosen(candidates(1.0), learned)[0] == []
    assert chosen(candidates(1.0), learned, floor=0.0)[0] == []


def test_where_there_is_no_floor_none_is_raised():
    learned = Learned(FakeUses({id_of(1): usefulness(events("shown", 1000))}))
    assert chosen(candidates(0.01), learned, floor=0.0)[0] == [id_of(1)]


def test_of_two_of_equal_value_the_one_that_helped_comes_first():
    learned = Learned(FakeUses({id_of(2): Usefulness(helped=5.0)}))
    assert chosen(candidates(0.7, 0.7, 0.6), learned, ceiling=1)[0] == [id_of(2)]
    assert chosen(candidates(0.71, 0.7), learned, ceiling=1)[0] == [id_of(1)]


def test_what_was_looked_up_stays_in_its_order():
    learned = Learned(FakeUses({id_of(2): Usefulness(helped=5.0)}))
    assert chosen(candidates(1.0, 1.0), learned, floor=0.0)[0] == [id_of(1), id_of(2)]


@pytest.mark.parametrize("use", [Usefulness(), Usefulness(helped=9.0), Usefulness(idle=9.0)])
def test_what_was_learned_lies_within_its_interval(use):
    learned = Learned(FakeUses({"mem_1": use}))
    low, high = learned.interval("mem_1")
    assert 0.0 <= low < learned.mean("mem_1") < high <= 1.0


def test_what_is_usual_is_no_reason_to_move_a_floor():
    much = Usefulness(helped=200.0, idle=50.0)
    learned = Learned(FakeUses({"mem_1": Usefulness(helped=4.0, idle=1.0)}, usual=much))
    assert learned.shift("mem_2") == 0.0
    assert learned.shift("mem_1") > Learned(FakeUses(learned.uses.known)).shift("mem_1")


def test_knowing_nothing_is_all_zero():
    assert NoUses().of("mem_1") == Usefulness()
