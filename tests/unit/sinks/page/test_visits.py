"""Invitations to the page, and the visits they are traded for."""

import pytest

from subcog.sinks.page.visits import INVITATION_S, VISIT_S, Visits

FIELDS = {"project": "/home/me/shop"}


@pytest.fixture
def clock():
    class Clock:
        now = 0.0

        def __call__(self):
            return self.now

    return Clock()


@pytest.fixture
def visits(clock):
    return Visits(clock)


def test_an_invitation_lets_in_once_and_for_a_minute(visits, clock):
    code, late = visits.invite(FIELDS), visits.invite(FIELDS)
    visit = visits.enter(code)
    assert visit.fields == FIELDS
    assert visits.enter(code) is None
    assert visits.enter("") is None
    clock.now = INVITATION_S + 1
    assert visits.enter(late) is None


def test_a_visit_is_known_by_its_secret_alone_and_ends_when_it_is_not_used(visits, clock):
    visit = visits.enter(visits.invite(FIELDS))
    assert visits.find(visit.name, visit.secret) == visit
    assert visits.find(visit.name, visit.secret + "x") is None
    assert visits.find(visit.name, "é") is None
    assert visits.find("another", visit.secret) is None
    clock.now = VISIT_S - 1
    assert visits.find(visit.name, visit.secret) == visit
    clock.now += VISIT_S - 1
    assert visits.find(visit.name, visit.secret) == visit
    clock.now += VISIT_S + 1
    assert visits.find(visit.name, visit.secret) is None


def test_the_paths_of_visits_are_their_own(visits):
    paths = {visits.enter(visits.invite(FIELDS)).path for _ in range(5)}
    assert len(paths) == 5
    assert all(len(path) > len("/ui/") + 20 for path in paths)
