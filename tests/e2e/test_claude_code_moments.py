"""The start of a session and what its tools do, in the real agent: what the model gets to read."""

from __future__ import annotations

import pytest

from .claude import a_home_of
from .messages_api import texts_of
from .other_agents import PATIENT

JWT = "JWT tokens are signed with RS256 and expire after 15 minutes"
BLOCKER = "CI fails with ECONNREFUSED 127.0.0.1:5432 until postgres is up; we wait for pg_isready"
STARTED = "SessionStart hook additional context"


def with_patience(agent):
    """With all the time that its hooks need: budgets are measured elsewhere."""
    agent.settings = PATIENT | {"PATH": f"{agent.binary.parent}:{agent.env['PATH']}"}
    return agent


@pytest.fixture
def same_agent(same_agent):
    """The one of all these tests; each has a project of its own."""
    return with_patience(same_agent)


@pytest.fixture(scope="module")
def installed_agent(claude):
    """One with the hooks that `subcog install` writes, for tests with a project of their own."""
    with a_home_of(claude) as agent:
        with_patience(agent).subcog("install")
        yield agent


def write(path, content="x = 1\n"):
    return {"name": "Write", "input": {"file_path": str(path), "content": content}}


@pytest.mark.slow
def test_writing_a_file_brings_the_memory_about_it_into_the_next_request_once(same_agent):
    here = same_agent.remembering((JWT, "learnings"))
    same_agent.api.commands += [write(here / "hello.py"), write(here / "jwt_handler.py"), "true"]
    session = same_agent.start(here)
    session.prompt("please do it")
    session.close()

    _, unrelated, related, last = map(texts_of, same_agent.api.prompts)
    assert JWT not in unrelated
    assert "PostToolUse:Write hook additional context" in related
    assert "Related memories for jwt_handler.py" in related
    assert related.count(JWT) == last.count(JWT) == 1


def test_a_known_bad_command_is_warned_of_before_it_runs_and_a_harmless_one_is_not(same_agent):
    rule = "Never run `make reset-db` on staging: it wipes the demo. Use `make reset-local`."
    here = same_agent.remembering((rule, "gotchas"))
    (here / "Makefile").write_text("reset-db reset-local:\n\t@echo $@ ran\n")
    same_agent.api.commands += ["make reset-local", "make reset-db", "make reset-db"]
    session = same_agent.start(here)
    session.prompt("please do it")
    session.close()

    _, harmless, warned, again = map(texts_of, same_agent.api.prompts)
    assert "reset-local ran" in harmless
    assert "PreToolUse" not in harmless
    assert "PreToolUse:Bash hook additional context" in warned
    assert "reset-db ran" in warned, "it was kept from running"
    assert warned.count(rule) == again.count(rule) == 1
    assert "PostToolUse" not in again


def test_an_order_brings_the_task_the_pattern_and_the_gotcha_of_its_subject(same_agent):
    task = "Implement Google OAuth\nApproach: NextAuth.js with JWT\nOutcome: success"
    pattern = "OAuth providers are modules in src/auth/providers with a callback handler"
    gotcha = "OAuth callback URLs must match exactly, with the trailing slash"
    here = same_agent.remembering((task, "tasks"), (pattern, "patterns"), (gotcha, "gotchas"))
    session = same_agent.start(here)
    session.prompt("add the GitHub OAuth login")
    session.prompt("rename foo to bar")
    session.close()

    first, second = map(texts_of, same_agent.api.prompts)
    ordered = first.rpartition("UserPromptSubmit hook additional context")[2]
    assert all(text in ordered for text in ("Implement Google OAuth", pattern, gotcha))
    assert second.count(gotcha) == first.count(gotcha)


def test_an_order_brings_what_says_that_such_work_needs_it(same_agent):
    needed = "Money is whole pence everywhere: a reserve was once off by one"
    here = same_agent.remembering()
    trigger = "order: add a refund endpoint"
    told = ("--namespace", "learnings", "--trigger", trigger, "--project", str(here))
    same_agent.subcog("capture", needed, *told)
    session = same_agent.start(here)
    session.prompt("Add a search field to the customer list")
    session.prompt("Add an endpoint that refunds a part of a payment")
    session.close()

    other, ordered = map(texts_of, same_agent.api.prompts)
    assert needed not in other
    assert needed in ordered.rpartition("UserPromptSubmit hook additional context")[2]


@pytest.mark.slow
def test_a_failing_command_brings_the_blocker_that_it_was_before(installed_agent):
    agent, here = installed_agent, installed_agent.remembering((BLOCKER, "learnings"))
    script = "echo 'Error: connect ECONNREFUSED 127.0.0.1:5432' >&2; exit 1\n"
    (here / "check.sh").write_text(script)
    agent.api.commands += ["exit 3", "sh check.sh"]
    session = agent.start(here, plugin=None)
    session.prompt("please do it")
    session.close()

    _, silent, after = map(texts_of, agent.api.prompts)
    assert "PostToolUseFailure" not in silent
    assert "PostToolUseFailure:Bash hook additional context" in after
    assert BLOCKER in after


@pytest.mark.slow
def test_a_session_begins_with_guidance_and_a_resumed_one_is_not_told_twice(same_agent):
    agent, here = same_agent, same_agent.remembering((JWT, "decisions"))
    first = agent.start(here)
    first.prompt("rename foo to bar")
    (name,) = {event["session_id"] for event in first.events if "session_id" in event}
    first.close()
    again = agent.start(here, more=("--resume", name))
    again.prompt("how long do our JWT tokens live?")
    again.close()

    begun, resumed = map(texts_of, (agent.api.prompts[0], agent.api.prompts[-1]))
    assert "<response_guidance" in begun
    assert begun.count(JWT) == 1
    assert resumed.count(STARTED) == 1
    assert resumed.count(JWT) == 1
    (_,) = agent.subcog("list", "--project", str(here))["memories"]  # no guidance, as if said


@pytest.mark.slow
def test_a_compaction_brings_back_what_the_session_was_shown(same_agent):
    here = same_agent.remembering((JWT, "learnings"))
    session = same_agent.start(here)
    session.prompt("how long do our JWT tokens live?")
    assert JWT in texts_of(same_agent.api.prompts[-1])
    session.prompt("/compact")
    session.prompt("rename foo to bar")
    session.close()

    after = texts_of(same_agent.api.prompts[-1]).rpartition(STARTED)[2]
    assert JWT in after
    assert "<response_guidance" in after


@pytest.mark.slow
def test_a_subagent_is_reminded_in_its_own_context(same_agent):
    here = same_agent.remembering((JWT, "learnings"))
    task = {"description": "write", "prompt": "write it", "subagent_type": "general-purpose"}
    same_agent.api.commands += [
        write(here / "jwt_handler.py"),
        {"name": "Agent", "input": task | {"run_in_background": False}},
        write(here / "jwt_keys.py"),
    ]
    session = same_agent.start(here)
    session.prompt("please do it")
    session.close()

    asked = [texts_of(body) for body in same_agent.api.prompts]
    inside = [text for text in asked if "Related memories for jwt_keys.py" in text]
    assert inside
    assert JWT in inside[0]


SUITE = """#!/bin/sh
case "$*" in *"-n 8"*) echo 'OperationalError: database is locked' >&2; exit 1;; esac
echo passed
"""


@pytest.mark.slow
def test_a_command_that_failed_in_one_session_is_warned_of_in_the_next(installed_agent):
    agent, here = installed_agent, installed_agent.remembering()
    suite = here / "suite.sh"
    suite.write_text(SUITE)
    suite.chmod(0o755)
    fails, works = "./suite.sh -n 8 tests/api", "./suite.sh -n0 tests/api"
    agent.api.commands += [fails, works]
    first = agent.start(here, plugin=None)
    first.prompt("please run the tests")
    first.close()
    assert all("earlier notes" not in texts_of(body) for body in agent.api.prompts)

    agent.api.forget()
    agent.api.commands += [works, fails]
    second = agent.start(here, plugin=None)
    second.prompt("please run the tests")
    second.close()

    _, silent, warned = map(texts_of, agent.api.prompts)
    assert "PreToolUse:Bash hook additional context" not in silent
    assert "PreToolUse:Bash hook additional context" in warned
    told = warned.partition("PreToolUse:Bash hook additional context")[2]
    assert f'`{fails}` fails: "OperationalError: database is locked"' in told
    assert f"What works: `{works}`" in told
