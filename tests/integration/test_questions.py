"""A memory is found by the questions that came with it, through the real hook."""

from __future__ import annotations

import pytest

from .conftest import neighbour
from .house import House
from .mcp_client import Lines

OTHERS = (
    "The staging database is emptied on Sundays",
    "Feature flags are read from a file at start, not from a service",
    "Timezone tests fail in March, when the clocks change",
    "Password reset tokens expire after 15 minutes, see src/auth/reset.py",
    "Deployments go through ArgoCD, from the branch release",
    "Invoices are numbered by the database, as two workers once gave out one",
)
TEXT = "Kestrel must see at least 512 MB or the importer is killed halfway"
QUESTIONS = (
    "why does the nightly load die before it is done?",
    "how much memory does the container need?",
)
ASKED = "Why does the nightly load stop before it has finished?"


@pytest.fixture
def house(fresh):
    for text in OTHERS:
        fresh.capture(text)
    return fresh


def capture(house: House, **arguments: object) -> dict[str, object]:
    """What the agent's own tool answers."""
    with Lines(house) as client:
        return client.tool("capture", **arguments)["structuredContent"]


def test_an_agents_questions_bring_its_memory_to_who_asks_in_other_words(house):
    kept = capture(house, text=TEXT, namespace="gotchas")
    assert house.context(ASKED, "before") == ""

    with Lines(house) as client:
        updated = client.tool("update", id=kept["id"], questions=list(QUESTIONS))
    assert updated["structuredContent"]["version"] == 2
    context = house.context(ASKED, "after")
    assert TEXT in context
    assert "nightly load die" not in context, "what finds a memory is not shown"
    assert house.context("How do we deploy?", "other").count("[gotchas]") == 0
    assert house.ask("get", kept["id"])["questions"] == list(QUESTIONS)


def test_questions_come_with_a_capture_and_with_what_supersedes(house):
    kept = capture(house, text=TEXT, questions=list(QUESTIONS))
    assert TEXT in house.context(ASKED, "captured")
    newer = "Kestrel must see at least 2 GB since the importer reads archives too"
    with Lines(house) as client:
        made = client.tool("supersede", old=kept["id"], text=newer, questions=list(QUESTIONS[:1]))
    assert house.ask("get", made["structuredContent"]["new"])["questions"] == [QUESTIONS[0]]
    assert newer in house.context(ASKED, "superseded")


def test_a_question_in_the_users_language_finds_an_english_memory(house):
    asked = "Warum stirbt die nächtliche Verarbeitung?"
    kept = capture(house, text=TEXT, questions=list(QUESTIONS))
    assert TEXT not in house.context(asked, "english")
    with Lines(house) as client:
        german = "weshalb stirbt die nächtliche Verarbeitung?"
        client.tool("update", id=kept["id"], questions=[*QUESTIONS, german])
    assert TEXT in house.context(asked, "german")


@pytest.mark.parametrize(
    ("questions", "said"),
    [(["why?"] * 4, "3"), (["x" * 201], "200"), ([""], "1"), ("why?", "array"), ([7], "str")],
)
def test_too_many_too_long_or_no_questions_are_refused(house, questions, said):
    with Lines(house) as client:
        answer = client.tool("capture", text=TEXT, questions=questions)
    assert answer["isError"]
    assert said in answer["content"][0]["text"]


def test_from_the_command_line_they_are_given_shown_listed_and_taken_along(house, tmp_path):
    house.run("capture", TEXT, "--question", QUESTIONS[0], "--question", QUESTIONS[1])
    [found] = house.ask("recall", "kestrel")["memories"]
    shown = house.run("get", found["id"]).stdout
    assert [line for line in shown.splitlines() if line.startswith("answers ")] == [
        f"answers {question}" for question in QUESTIONS
    ]
    without = house.ask("list", "--without-questions")["memories"]
    assert sorted(one["content"] for one in without) == sorted(OTHERS)

    exported = tmp_path / "memories.jsonl"
    (tmp_path / "other").mkdir()
    exported.write_text(house.run("export").stdout)
    house.run("forget", found["id"], "--yes")
    house.run("undo")
    [back] = house.ask("recall", "kestrel")["memories"]
    assert house.ask("get", back["id"])["questions"] == list(QUESTIONS)
    other = neighbour(house, tmp_path / "other")
    other.ask("import", str(exported))
    [copied] = other.ask("recall", "kestrel")["memories"]
    assert other.ask("get", copied["id"])["questions"] == list(QUESTIONS)

    house.run("update", back["id"], "Kestrel needs no memory of its own any more")
    assert house.ask("get", back["id"])["questions"] == []


def test_the_prompt_of_the_server_names_those_that_have_none(house):
    kept = capture(house, text=TEXT, questions=list(QUESTIONS))
    with Lines(house) as client:
        asked = client.ask("prompts/get", {"name": "add_questions"})["result"]
    text = asked["messages"][0]["content"]["text"]
    assert all(other in text for other in OTHERS)
    assert kept["id"] not in text
