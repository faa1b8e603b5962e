"""What becomes of the tasks of sessions: one record each, that tells how it ended."""

from __future__ import annotations

import pytest

from tests.integration.test_sessions import Transcript, wait_until_read


@pytest.fixture
def session(fresh, tmp_path):
    return Transcript(fresh, tmp_path.name)


def fixes(session, order, file):
    session.say(order)
    session.use("Edit", file_path=str(session.house.project / file))
    session.use("Bash", "3 passed", command="pytest -q tests/auth")
    session.answer("Done. All tests pass.")


def records(session):
    """What was asked, and how it ended, as the records tell it."""
    session.hook("Stop")
    wait_until_read(session.house, session)
    found = session.house.ask("list", "--namespace", "tasks")["memories"]
    lines = [session.house.ask("get", one["id"])["content"].split("\n") for one in found]
    return {told[0]: next(line for line in told if line.startswith("Outcome")) for told in lines}


DONE = "Outcome: success (tests passed)"


ALIKE = (
    ("Fix the login test of the auth suite", "Fix the logout test of the auth suite"),
    ("Add the first name to the user form", "Add the last name to the user form"),
    ("Fix the import of CSV files", "Fix the export of CSV files"),
)


@pytest.mark.parametrize("orders", ALIKE)
def test_two_tasks_of_much_the_same_words_are_two(session, orders):
    for order in orders:
        fixes(session, order, "tests/auth/test_suite.py")
    assert records(session) == dict.fromkeys(orders, DONE)


@pytest.mark.parametrize("orders", ALIKE)
def test_so_they_are_in_two_sessions(fresh, tmp_path, orders):
    for at, order in enumerate(orders):
        session = Transcript(fresh, f"{tmp_path.name}-{at}")
        fixes(session, order, "tests/auth/test_suite.py")
        found = records(session)
    assert found == dict.fromkeys(orders, DONE)


def test_the_same_order_in_a_later_session_tells_how_it_ended_then(fresh, tmp_path):
    for at in range(2):
        session = Transcript(fresh, f"{tmp_path.name}-{at}")
        fixes(session, "fix the login test", "tests/auth/test_login.py")
        if at:
            session.say("no, it still fails")
        found = records(session)
    assert found == {"Fix the login test": "Outcome: failure (the user said so)"}
