import pytest

from subcog.pipeline.replay.candidates import Area, Asked, Found, Recording
from subcog.pipeline.replay.simulation import (
    KINDS,
    Kind,
    Offered,
    Prompt,
    User,
    placebo,
    show,
    users,
    with_rule,
    without,
)

FLOOR = 0.45
AREA = Area(
    "a",
    4,
    (
        Asked((0,), (Found(0, 0.8, True), Found(1, 0.5, False))),
        Asked((2,), (Found(2, 0.5, True), Found(1, 0.4, False), Found(3, 0.2, False))),
    ),
)
RECORDING = Recording("", (AREA,), (AREA,))
SURE = Kind(
    name="sure", indifferent=0.0, strange=0.0, jitter=0.0, taken_up=(1.0, 0.0),
    quoted=(0.0, 0.0), corrected=(0.0, 0.0),
)  # fmt: skip


def user(kind=SURE, sessions=12):
    [made] = users(RECORDING, kind, number=1, sessions=sessions)
    return made


def offered(memory, relevance, *, useful=False):
    return Offered(memory, relevance, useful, ())


def memories(shown):
    return [one.memory for one in shown]


def test_a_candidate_is_shown_from_the_floor_on_and_beside_one_from_a_lower_one_on():
    found = (offered(0, 0.5), offered(1, 0.36), offered(2, 0.3))
    assert memories(show((Prompt(frozenset(), found),), FLOOR, {})[1]) == [0, 1]
    assert show((Prompt(frozenset(), found[1:]),), FLOOR, {})[1] == []


def test_a_shift_moves_the_floor_of_its_memory_alone():
    session = (Prompt(frozenset(), (offered(0, 0.5), offered(1, 0.36))),)
    assert memories(show(session, FLOOR, {0: 0.1})[1]) == []
    assert memories(show(session, FLOOR, {1: 0.1})[1]) == [0]
    assert memories(show(session, FLOOR, {0: 0.2, 1: -0.1})[1]) == [1]


def test_a_memory_is_shown_once_in_a_session_and_stays_in_its_context():
    prompt = Prompt(frozenset({0, 3}), (offered(0, 0.5, useful=True),))
    counts, shown = show((prompt, prompt), FLOOR, {})
    assert memories(shown) == [0]
    assert (counts.right, counts.shown, counts.found, counts.wanted) == (1, 1, 2, 4)


def test_the_rule_learns_from_earlier_sessions_and_only_from_what_was_shown():
    played = with_rule(user(), FLOOR)
    assert played.shifts[0] == {}
    assert played.shifts[1].keys() == {0, 1, 2}
    assert played.shifts[-1][0] < 0 < played.shifts[-1][1]
    hidden = with_rule(user(), 0.95)
    assert all(shifts == {} for shifts in hidden.shifts)


def test_without_the_rule_nothing_moves():
    assert without(user(), FLOOR).ever_shifted == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_the_placebo_moves_as_many_floors_as_far_of_other_memories(kind):
    one = user(kind, sessions=30)
    ruled = with_rule(one, FLOOR)
    sham = placebo(one, FLOOR, ruled)
    for mine, theirs in zip(ruled.shifts, sham.shifts, strict=True):
        assert sorted(by for by in mine.values() if by) == sorted(theirs.values())


def test_the_placebo_gives_shifts_to_other_memories():
    found = tuple(Found(at, 0.9 - at / 100, at < 5) for at in range(10))
    area = Area("wide", 10, (Asked((0, 1, 2, 3, 4), found),))
    [one] = users(Recording("", (area,), (area,)), SURE, number=1, sessions=5)
    ruled = with_rule(one, FLOOR)
    assert placebo(one, FLOOR, ruled).shifts[-1] != ruled.shifts[-1]


def test_the_same_users_come_each_time():
    assert list(users(RECORDING, KINDS[0], number=3, sessions=4)) == list(
        users(RECORDING, KINDS[0], number=3, sessions=4)
    )


def test_a_user_who_turns_has_another_taste_in_the_second_half():
    turned = user(Kind(name="turned", indifferent=0.0, turning=1.0, strange=0.0), sessions=4)
    assert (turned.before, turned.after) == (frozenset(range(4)), frozenset())
    first, last = turned.sessions[0], turned.sessions[-1]
    assert any(one.useful for prompt in first for one in prompt.offered)
    assert not any(one.useful for prompt in last for one in prompt.offered)


def test_what_is_seen_of_a_memory_follows_from_its_use():
    one: User = user()
    seen = {(o.useful, o.traces) for prompts in one.sessions for p in prompts for o in p.offered}
    assert seen == {(True, ("taken_up",)), (False, ())}


def test_a_strange_prompt_finds_what_it_found_but_for_what_answers():
    [session] = user(Kind(name="strange", strange=1.0), sessions=1).sessions
    assert all(prompt.wanted == frozenset() for prompt in session)
    assert {one.memory for prompt in session for one in prompt.offered} == {1, 3}
