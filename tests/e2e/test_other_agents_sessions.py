"""What a session of Codex and of Gemini CLI leaves behind, by their own hooks and transcripts."""

from __future__ import annotations

import time

import pytest

from .other_agents import RUN_S

DECISION = "We decided to use argon2id for password hashing because bcrypt truncates at 72 bytes."
ORDER = "Hash the passwords of new users with argon2id."

pytestmark = pytest.mark.slow


def wait_for(agent, project, query, holding):
    deadline = time.monotonic() + RUN_S
    while time.monotonic() < deadline:
        for found in agent.subcog("recall", query, "--project", str(project))["memories"]:
            if holding in found["content"]:
                return agent.subcog("get", found["id"], "--project", str(project))
        time.sleep(0.1)
    raise AssertionError(f"nothing was kept about {query!r}")


def works(agent, name, tool, field):
    here = agent.project("P")
    agent.subcog("install", name)
    agent.api.commands += [{"name": tool, "input": {field: "echo 3 passed # && pytest -q"}}]
    agent.run(here, f"{ORDER} {DECISION}")
    return here


@pytest.mark.parametrize(
    ("name", "tool", "field"),
    [("codex", "exec_command", "cmd"), ("gemini", "run_shell_command", "command")],
)
def test_what_was_said_is_kept_and_the_task_recorded(request, name, tool, field):
    agent = request.getfixturevalue(name)
    here = works(agent, name, tool, field)

    kept = wait_for(agent, here, "password hashing", "bcrypt truncates")
    assert kept["provenance"]["client"] == name
    assert "auto-captured" in kept["tags"]
    record = wait_for(agent, here, ORDER, "Tests: ")
    assert record["namespace"] == "tasks"
    assert "Outcome: success (tests passed)" in record["content"]
