"""Hooks without a process of their own: the real agent posts them, or calls the MCP server."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from .messages_api import texts_of

MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
QUESTION = "how do I hash passwords here?"
LABEL = "UserPromptSubmit hook additional context"


def found_by_us(agent):
    """An agent that `subcog install` finds, to see what its version can do."""
    agent.settings = {"PATH": f"{agent.binary.parent}:{agent.env['PATH']}"}
    return agent


@pytest.fixture
def project(same_agent):
    """One of its own, with no hooks before or after the test."""
    found_by_us(same_agent)
    yield same_agent.remembering((MEMORY, "learnings"))
    same_agent.subcog("uninstall", "claude")


def hooks_of(agent) -> dict[str, str]:
    """Each wired event and the kind of its hook."""
    settings = json.loads((agent.root / "home/.claude/settings.json").read_text())
    return {event: groups[0]["hooks"][0]["type"] for event, groups in settings["hooks"].items()}


@pytest.mark.slow
@pytest.mark.parametrize(("way", "kind"), [("http", "http"), ("mcp", "mcp_tool")])
def test_prompt_is_answered_without_a_process(same_agent, project, way, kind):
    same_agent.subcog("install", "claude", "--transport", way)

    wired = hooks_of(same_agent)
    assert (wired["SessionStart"], wired["UserPromptSubmit"]) == ("command", kind)
    asked = texts_of(same_agent.ask(project, QUESTION, plugin=None))
    _, label, added = asked.partition(LABEL)
    assert label
    assert MEMORY in added


@pytest.mark.slow
def test_daemon_that_is_gone_does_not_hold_up_hooks_over_http(same_agent, project):
    same_agent.subcog("install", "claude", "--transport", "http")
    session = same_agent.start(project, plugin=None)
    session.prompt("begin")
    same_agent.subcog("daemon", "stop")

    session.prompt(QUESTION)
    session.close()

    assert QUESTION in texts_of(same_agent.api.prompts[-1])


def test_settings_with_the_token_are_for_their_user_alone(agent):
    found_by_us(agent)
    file = agent.root / "home/.claude/settings.json"
    file.parent.mkdir()
    file.write_text('{"model": "opus"}\n')
    file.chmod(0o644)

    agent.subcog("daemon", "start")
    agent.subcog("install", "claude", "--transport", "http")

    assert file.stat().st_mode & 0o777 == 0o600
    assert os.stat(agent.root / "s/data" / "http-token").st_mode & 0o777 == 0o600
    agent.subcog("uninstall", "claude")
    assert file.read_text() == '{"model": "opus"}\n'
    kept = [path for path in Path(file.parent).iterdir() if "Bearer" in path.read_text()]
    assert all(path.stat().st_mode & 0o077 == 0 for path in kept)
