"""A text that was kept twice, for the project and for the user, is shown once: the project's."""

import pytest

TEXT = "We deploy the billing service to the staging cluster with Flux, never by hand"
ASKED = "how do we deploy the billing service to the staging cluster?"
START = {"hook_event_name": "SessionStart", "source": "startup"}


@pytest.fixture
def kept_twice(fresh):
    """A project where the user's copy of a text is the older one, and the ids of both."""
    users = fresh.capture(TEXT, "--scope", "user", "--namespace", "decisions")["id"]
    projects = fresh.capture(TEXT.upper(), "--namespace", "decisions")["id"]
    yield fresh, projects, users
    fresh.ask("forget", users, "--yes")


def greeting(house, session):
    payload = START | {"session_id": session, "cwd": str(house.project)}
    return house.hook("SessionStart", payload)["hookSpecificOutput"]["additionalContext"]


def test_a_search_finds_the_projects_copy_alone(kept_twice):
    house, projects, _ = kept_twice
    assert [one["id"] for one in house.ask("recall", ASKED)["memories"]] == [projects]


def test_a_greeting_and_a_prompt_show_the_projects_copy_alone(kept_twice):
    house, projects, users = kept_twice
    for shown in (greeting(house, "copies-greeted"), house.context(ASKED, "copies-asked")):
        assert projects in shown
        assert users not in shown


def test_who_was_shown_one_copy_is_not_shown_the_other(kept_twice):
    house, projects, users = kept_twice
    assert projects in house.context(ASKED, "copies-twice")
    house.ask("forget", projects, "--yes")
    assert users in house.context(ASKED, "copies-once")
    assert users not in house.context(ASKED, "copies-twice")
