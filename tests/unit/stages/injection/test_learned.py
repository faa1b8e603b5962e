from dataclasses import dataclass, field
from datetime import timedelta

import pytest

from subcog.bus.usage import UseEvent, Usefulness
from subcog.stages.injection.instructions import Known
from subcog.stages.injection.learned import Learned, NoUses
from subcog.stages.injection.select import Budget, Candidate, choose
from subcog.stages.injection.usefulness import MOST_LOWERED, MOST_RAISED, mean, usefulness
from tests.fakes import NOW, make_hit, make_memory

FLOOR = 0.5


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


@pytest.mark.parametrize("use", [Usefulness(), Usefulness(helped=9.0), Usefulness(idle=9.0)])
def test_the_interval_holds_the_mean(use):
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
