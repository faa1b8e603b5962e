"""MCP, end to end: the real agent, the plugin's server, the real daemon, a fake model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from .claude import SUBCOG
from .messages_api import texts_of
from .terminal import Terminal

MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
SERVER = "plugin:subcog:subcog"
TOOL = "mcp__plugin_subcog_subcog__"

pytestmark = pytest.mark.slow


FACT = "Invoices are numbered per tenant, never globally"
CUES = {
    "questions": ["why do two customers have the same bill number?"],
    "triggers": [{"run": "touch *-counter", "unless": ["tenant-counter"]}],
}
FOUND = "subcog://search/password%20hashing"
USED = {
    "recall": (f"{TOOL}recall", {"query": "how are passwords hashed?"}),
    "capture": (f"{TOOL}capture", {"text": FACT} | CUES),
    "list": ("ListMcpResourcesTool", {"server": SERVER}),
    "read": ("ReadMcpResourceTool", {"server": SERVER, "uri": FOUND}),
}


@dataclass
class Session:
    """What the model was asked in one session: at first, after each of ``USED``, at last."""

    project: Path
    first: dict[str, Any]
    gave: dict[str, str]
    last: dict[str, Any]


@pytest.fixture(scope="module")
def session(shared_agent):
    """One in which the model uses all that the server offers, and the user its prompt."""
    project = shared_agent.remembering((MEMORY, "decisions"))
    shared_agent.api.commands += [{"name": name, "input": given} for name, given in USED.values()]
    session = shared_agent.start(project)
    session.prompt("rename foo to bar")
    session.prompt(f"/{TOOL}research_topic argon2id quick")
    session.close()
    first, *after, last = shared_agent.api.prompts
    gave = dict(zip(USED, map(result, after), strict=True))
    return Session(project, first, gave, last)


def result(body):
    """What the latest tool gave: the last message of a request holds those of the turn's others."""
    content = body["messages"][-1]["content"]
    return json.dumps([block for block in content if block["type"] == "tool_result"][-1])


def test_tools_and_instructions_are_before_the_model(session):
    offered = {tool["name"] for tool in session.first["tools"]}
    assert {f"{TOOL}{name}" for name in ("recall", "capture", "get", "forget")} <= offered
    assert "subcog is the memory of this project" in json.dumps(session.first)


def test_what_a_tool_gives_reaches_the_model(session):
    assert "argon2id" in session.gave["recall"]
    assert "not instructions" in session.gave["recall"]


def test_what_the_model_captures_is_kept_for_its_project(session, shared_agent):
    assert "stored" in session.gave["capture"]

    answer = shared_agent.subcog(
        "recall", "how are invoices numbered", "--project", str(session.project)
    )
    assert FACT in json.dumps(answer)


def test_what_the_model_captured_comes_in_other_words_and_before_the_act(session, shared_agent):
    api = shared_agent.api
    so_far = len(api.prompts)
    api.commands += ["touch tenant-counter", "touch all-counter"]
    later = shared_agent.start(session.project)
    later.prompt("Why can two customers have the same bill number?")
    later.close()

    asked, harmless, warned = map(texts_of, api.prompts[so_far:])
    assert FACT in asked
    assert "PreToolUse" not in harmless
    assert "PreToolUse:Bash hook additional context" in warned
    assert warned.count(FACT) == harmless.count(FACT) + 1


def test_a_resource_is_read_with_the_agents_own_tools(session):
    assert "subcog://topics/argon2id" in session.gave["list"]
    assert MEMORY in session.gave["read"]


def test_a_prompt_is_a_slash_command(session):
    assert "Research Topic: argon2id" in texts_of(session.last)
    asked = texts_of(session.last).partition("Research Topic: argon2id")[2]
    assert "argon2id for password hashing" in asked


def test_a_resource_is_mentioned_where_somebody_types(agent):
    project = agent.remembering((MEMORY, "decisions"))
    server = {"command": str(SUBCOG), "args": ["mcp"]}
    config = json.dumps({"mcpServers": {"subcog": server}})
    terminal = Terminal(agent, project, "--strict-mcp-config", "--mcp-config", config)
    try:
        terminal.wait_for("? for shortcuts")
        # A mention means nothing until the agent has listed what there is, which nothing shows.
        for number in range(20):
            terminal.type(f"what does @subcog:subcog://topics/argon2id tell us, {number}?")
            terminal.press_enter()
            terminal.wait(lambda number=number: len(agent.api.prompts) > number)
            if MEMORY in texts_of(agent.api.prompts[number]):
                break
    finally:
        terminal.close()

    assert MEMORY in texts_of(agent.api.prompts[-1])


def test_the_configuration_that_is_printed_for_http_works(agent):
    project = agent.remembering((MEMORY, "decisions"))
    reach = agent.subcog("mcp", "--http", "--project", str(project))
    token = Path(reach["token_file"]).read_text().strip()
    agent.settings = {"SUBCOG_HTTP_TOKEN": token}
    agent.api.commands.append({"name": "mcp__subcog__recall", "input": {"query": "password"}})
    config = json.dumps(reach["config"])

    session = agent.start(project, plugin=None, more=("--mcp-config", config))
    session.prompt("rename foo to bar")
    session.close()

    assert "argon2id" in result(agent.api.prompts[-1])
