"""Codex, as `subcog install codex` wires it: the real client, the real daemon, a fake model."""

from __future__ import annotations

import pytest

from .other_agents import (
    DECISION,
    MEMORY,
    PORTS,
    QUESTION,
    marketplace,
    settings_of,
    work,
    work_is_remembered,
)
from .other_apis import said_in


def test_prompt_and_start_of_session_bring_memories_and_uninstalling_ends_that(codex):
    project = codex.remembering((MEMORY, "learnings"), (DECISION, "decisions"))
    before = settings_of(codex)
    codex.subcog("install", "codex")

    codex.run(project, QUESTION)

    body = codex.api.prompts[0]
    start, answer = (item for item in body["input"] if "subcog" in said_in(item))
    assert (start["role"], answer["role"]) == ("developer", "developer")
    assert DECISION in said_in(start)
    assert MEMORY in said_in(answer)

    codex.subcog("uninstall", "codex")
    assert settings_of(codex) == before
    codex.run(project, QUESTION)
    assert MEMORY not in said_in(codex.api.prompts[-1])


@pytest.mark.slow
def test_marked_prompt_is_stored_for_its_project(wired_codex):
    codex, project = wired_codex, wired_codex.remembering()

    codex.run(project, "[remember:decisions] Invoices are numbered per tenant, never globally")

    answer = codex.subcog("recall", "how are invoices numbered", "--project", str(project))
    assert "per tenant" in answer["memories"][0]["content"]


@pytest.fixture(scope="module")
def worked(wired_codex):
    server = {"name": "recall", "namespace": "mcp__subcog"}
    return work(wired_codex, "exec_command", "cmd", server)


def test_tool_of_the_server_is_called_and_tool_hooks_are_heard(worked):
    _, ran, recalled = worked.asked
    assert "3 passed\n" in ran
    assert PORTS not in ran
    assert PORTS in recalled
    assert worked.heard["PostToolUse"]


@pytest.mark.slow
def test_plugin_folder_of_claude_code_serves_codex_too(codex):
    project = codex.remembering((MEMORY, "learnings"))
    codex.codex("plugin", "marketplace", "add", str(marketplace(codex.root / "clone")))
    codex.codex("plugin", "add", "subcog@subcog")

    codex.run(project, QUESTION)

    assert MEMORY in said_in(codex.api.prompts[0])
    heard = {(each["client"], each["event"]) for each in codex.subcog("status")["heard"]}
    assert {("codex", "SessionStart"), ("codex", "UserPromptSubmit"), ("codex", "Stop")} <= heard


def test_what_was_said_is_kept_and_the_task_recorded(worked):
    work_is_remembered(worked)
