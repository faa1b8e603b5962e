"""What the agent's own files of instructions say already, beside what is remembered."""

from __future__ import annotations

import os

import pytest

from tests.waiting import eventually

PNPM = "We use pnpm for the frontend packages, never npm"
RETRIES = "The payment worker retries seven times before it gives up"
ASKED_PNPM = "do we use pnpm or npm for the frontend packages?"
ASKED_RETRIES = "how often does the payment worker retry before it gives up?"
SAYS = "# Shop\n\n## Rules\n\n- We use pnpm for the frontend packages, never npm.\n"


@pytest.fixture
def house(fresh):
    fresh.capture(PNPM, "--namespace", "decisions")
    fresh.capture(RETRIES, "--namespace", "decisions")
    return fresh


def write(house, text, name="CLAUDE.md"):
    """A file of instructions in the project."""
    (house.project / name).write_text(text)


def start(house, session, **more):
    payload = {"session_id": session, "source": "startup", "cwd": str(house.project)}
    return str(house.hook("SessionStart", payload | more))


def asked(house, text, session):
    return house.context(text, session)


def test_what_a_file_says_is_not_said_again(house):
    write(house, SAYS)
    greeting = start(house, "i-1")
    assert "pnpm" not in greeting
    assert "retries seven times" in greeting
    assert asked(house, ASKED_PNPM, "i-1") == ""
    explained = house.ask("explain", ASKED_PNPM)["inject"]
    assert explained["abstained"] == "in_instructions"
    [why] = [one["why"] for one in explained["verdicts"] if "pnpm" in one["summary"]]
    assert why == "already in CLAUDE.md"
    assert "say it already" in house.run("explain", ASKED_PNPM).stdout


def test_what_a_file_denies_is_told(house):
    write(house, "- The payment worker retries three times before it gives up.\n")
    start(house, "i-2")
    context = asked(house, ASKED_RETRIES, "i-3")
    assert "retries seven times" in context
    assert "CLAUDE.md says otherwise" in context
    assert "three times" not in context
    [verdict] = [
        one
        for one in house.ask("explain", ASKED_RETRIES)["inject"]["verdicts"]
        if "seven" in one["summary"]
    ]
    assert "CLAUDE.md says otherwise: The payment worker retries three times" in verdict["why"]


def test_a_file_that_changes_is_read_again(house):
    write(house, "Nothing of importance.\n")
    start(house, "i-4")
    assert "pnpm" in asked(house, ASKED_PNPM, "i-5")
    write(house, SAYS)
    numbers = iter(range(1000))
    eventually(lambda: asked(house, ASKED_PNPM, f"i-again-{next(numbers)}") == "")


def test_another_agents_file_is_not_this_ones(house):
    write(house, SAYS, "AGENTS.md")
    start(house, "i-start-6")
    assert "pnpm" in asked(house, ASKED_PNPM, "i-6")


def test_a_file_that_is_no_file_keeps_nobody_waiting(house):
    os.mkfifo(house.project / "CLAUDE.md")
    start(house, "i-start-7")
    assert "pnpm" in asked(house, ASKED_PNPM, "i-7")


def test_it_can_be_switched_off(alone):
    alone.env["SUBCOG_SEARCH_INTENT_CONTEXT_SKIP_INSTRUCTED"] = "false"
    alone.capture(PNPM, "--namespace", "decisions")
    write(alone, SAYS)
    start(alone, "i-start-8")
    assert "pnpm" in asked(alone, ASKED_PNPM, "i-8")
