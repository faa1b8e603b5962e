"""The newer word wins: at capture, in a search, in a prompt, at a session's start and in a tool's
hook, through the installed commands, the real hook and a real daemon."""

from __future__ import annotations

import json
import time
import uuid

import pytest

from tests.waiting import eventually

from .mcp_client import call, session
from .test_passages import Talk

OLD_RELEASES = "Kim does the releases of the app"
NEW_RELEASES = "Kim has left, Kar releases the app from now on"
CHANGES = [
    (
        "Deploys to production are done by ArgoCD",
        "Flux now, ArgoCD is gone",
        "how do deploys get to production, ArgoCD?",
    ),
    (
        "The orders database is PostgreSQL 15",
        "We moved from PostgreSQL to MySQL for the orders database",
        "which database holds the orders?",
    ),
    (OLD_RELEASES, NEW_RELEASES, "who releases the app?"),
    (
        "The team's retro is on Thursday",
        "The team's retro is no longer on Thursday but on Tuesday",
        "on which day is the team's retro?",
    ),
]
MERELY_OTHERWISE = [
    (
        "The session timeout of the admin site is 15 minutes",
        "The session timeout of the admin site is 30 minutes",
        "what is the session timeout of the admin site?",
    ),
    (
        "We can use Redis for the job queue",
        "We can't use Redis for the job queue",
        "can we use Redis for the job queue?",
    ),
    (
        "We run the tests of the importer with tox",
        "From now on we run the tests of the importer with nox",
        "with what do we run the tests of the importer?",
    ),
]
IN_OTHER_WORDS = [
    (
        "The retry limit of the mailer is three attempts",
        "Mails are tried again five times before the worker gives up",
        "what is the retry limit of the mailer?",
    ),
    (
        "Logs are written to /var/log/app as JSON",
        "Log lines go to stdout as plain text, no files any more",
        "where are logs written to?",
    ),
    (
        "Only admins can delete projects",
        "Every member of a workspace is allowed to remove projects",
        "who can delete projects?",
    ),
]
PROPERTIES = ("The SMTP relay is mail.internal", "The SMTP relay needs STARTTLS")


def asked(house, question):
    return house.context(question, str(uuid.uuid4()))


@pytest.fixture
def house(fresh):
    return fresh


@pytest.mark.parametrize(("older", "newer", "question"), CHANGES)
def test_what_a_capture_says_is_no_more_is_superseded_and_can_be_restored(
    house, older, newer, question
):
    old = house.capture(older, "--namespace", "decisions")["id"]
    answer = house.capture(newer, "--namespace", "decisions")

    assert answer["replaced"] == {"id": old, "content": older}
    assert answer["undo"] == f"subcog restore {old}"
    assert "contradicts" not in answer
    assert house.ask("get", old)["superseded_by"] == answer["id"]
    context = asked(house, question)
    assert answer["id"] in context
    assert old not in context

    restored = house.ask("restore", old)
    assert restored["superseded_by"] is None
    assert [one["version"] for one in house.ask("history", old)["versions"]] == [1, 2, 3]
    assert old in asked(house, question)


@pytest.mark.parametrize(("older", "newer", "question"), MERELY_OTHERWISE)
def test_what_merely_says_otherwise_is_offered(house, older, newer, question):
    old = house.capture(older, "--namespace", "decisions")["id"]
    answer = house.capture(newer, "--namespace", "decisions")

    assert answer["contradicts"]["id"] == old
    assert answer["offer"] == f"subcog supersede {old} {answer['id']}"
    assert house.ask("get", old)["superseded_by"] is None
    context = asked(house, question)
    assert answer["id"] in context
    assert old not in context


@pytest.mark.slow
def test_what_says_otherwise_in_other_words_is_noticed_after_it_was_kept(alone):
    alone.env["SUBCOG_CAPTURE_FIND_CONTRADICTIONS"] = "true"
    for older, newer, question in IN_OTHER_WORDS:
        old = alone.capture(older, "--namespace", "decisions")["id"]
        kept = alone.capture(newer, "--namespace", "decisions")
        assert "contradicts" not in kept
        new = kept["id"]
        eventually(lambda new=new, old=old: alone.ask("get", new)["contradicts"] == old)

        context = asked(alone, question)
        assert new in context
        assert old not in context
        found = alone.ask("recall", question)["memories"]
        assert [(one["id"], one["replaced_by"]) for one in found][:2] == [(new, None), (old, new)]


def test_two_properties_of_one_thing_are_both_told(house):
    kept = [house.capture(text, "--namespace", "context") for text in PROPERTIES]
    assert "contradicts" not in kept[1]
    context = asked(house, "what do I have to know of the SMTP relay, address and encryption?")
    assert all(one["id"] in context for one in kept)


def test_a_marked_prompt_says_what_it_replaced_and_how_to_undo_that(house):
    old = house.capture(OLD_RELEASES, "--namespace", "decisions")["id"]
    told = house.prompt(f"[remember:decision] {NEW_RELEASES}", str(uuid.uuid4()))
    assert f"; it replaces {old}; to undo that: subcog restore {old}" in told["systemMessage"]
    assert house.ask("get", old)["superseded_by"] is not None


async def test_an_agent_replaces_nothing_by_restating_it(house):
    old = house.capture(OLD_RELEASES, "--namespace", "decisions")["id"]
    async with session(house, "2026-07-28") as client:
        kept = await call(client, "capture", text=NEW_RELEASES, namespace="decisions")
        assert kept["contradicts"] == old
        found = await call(client, "recall", query="who releases the app?")
    assert house.ask("get", old)["superseded_by"] is None
    entries = {one["id"]: one for one in found["memories"]}
    assert entries[old]["replaced_by"] == kept["id"]
    assert "replaced_by" not in entries[kept["id"]]


@pytest.mark.parametrize(("older", "newer", "question"), MERELY_OTHERWISE)
def test_a_search_shows_the_newer_first_and_what_it_replaces(house, older, newer, question):
    old = house.capture(older, "--namespace", "decisions")["id"]
    new = house.capture(newer, "--namespace", "learnings")["id"]

    found = house.ask("recall", f"{question} {older}")["memories"]
    assert [(one["id"], one["replaced_by"]) for one in found] == [(new, None), (old, new)]
    told = house.run("recall", f"{question} {older}").stdout
    assert f"replaced by {new}, which is newer" in told


@pytest.mark.parametrize(("older", "newer", "question"), [*CHANGES, *MERELY_OTHERWISE])
def test_a_prompt_gets_the_newer_alone(house, older, newer, question):
    old = house.capture(older, "--namespace", "decisions")["id"]
    new = house.capture(newer, "--namespace", "learnings")["id"]
    context = asked(house, question)
    assert new in context
    assert old not in context


def test_a_session_that_starts_is_not_told_what_no_longer_holds(house):
    old = house.capture(OLD_RELEASES, "--namespace", "decisions")["id"]
    house.capture(NEW_RELEASES, "--namespace", "learnings")
    start = house.hook("SessionStart", {"session_id": str(uuid.uuid4()), "source": "startup"}) or {}
    assert old not in json.dumps(start)


def test_an_action_is_not_warned_of_by_what_no_longer_holds(house):
    old = house.capture("Never run docker push by hand", "--namespace", "decisions")
    payload = {"tool_name": "Bash", "tool_input": {"command": "docker push registry/images:hand"}}

    def warned():
        given = payload | {"session_id": str(uuid.uuid4()), "tool_use_id": "t"}
        return json.dumps(house.hook("PreToolUse", given) or {})

    assert old["id"] in warned()
    house.capture("You may run docker push by hand", "--namespace", "learnings")
    assert old["id"] not in warned()


@pytest.mark.parametrize(
    ("older", "said", "question"),
    [
        (
            "The orders database is PostgreSQL 15",
            "We moved from PostgreSQL to MySQL for the orders database last week.",
            "which database holds the orders?",
        ),
        (OLD_RELEASES, f"{NEW_RELEASES}.", "who releases the app?"),
        (
            "Deploys to production are done by ArgoCD",
            "Deploys to production: Flux now, ArgoCD is gone.",
            "how are deploys to production done?",
        ),
    ],
)
def test_a_memory_gives_way_to_what_was_said_in_a_later_session(house, older, said, question):
    old = house.capture(older, "--namespace", "decisions")["id"]
    talk = (("user", said), ("assistant", "Noted."), ("user", "Thanks, that is all for today."))
    later = Talk(house, 1)
    later.clock = time.time() - 39
    for role, text in talk:
        later.say(role, text)
    later.end().wait()
    context = asked(house, question)
    assert said.rstrip(".") in context
    assert old not in context


@pytest.mark.parametrize(
    ("older", "newer", "question"),
    [
        (
            "We use Jenkins for CI",
            "We migrated from Jenkins to GitHub Actions",
            "which CI do we use?",
        ),
        (
            "We deploy with ArgoCD",
            "Flux now, ArgoCD is gone",
            "how do we deploy here?",
        ),
    ],
)
def test_who_asks_for_what_was_replaced_gets_what_replaced_it(fresh, older, newer, question):
    old = fresh.capture(older, "--namespace", "decisions")["id"]
    new = fresh.capture(newer, "--namespace", "decisions")["id"]
    assert fresh.ask("get", old)["superseded_by"] == new
    context = fresh.context(question)
    assert newer in context
    assert older not in context
