"""MCP, end to end: the real agent, the plugin's server, the real daemon, a fake model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from .claude import SUBCOG
from .messages_api import texts_of
from .terminal import Terminal

MEMORY = "We use argon2id for password hashing because bcrypt truncates at 72 bytes"
SERVER = "plugin:subcog:subcog"
TOOL = "mcp__plugin_subcog_subcog__"

pytestmark = pytest.mark.slow


@pytest.fixture
def project(same_agent):
    return same_agent.remembering((MEMORY, "decisions"))


def results(body):
    """What the tools gave, in the last message of a request."""
    content = body["messages"][-1]["content"]
    return json.dumps([block for block in content if block["type"] == "tool_result"])


def use(agent, project, name, **inputs):
    """Have the model use a tool, and return what it got."""
    agent.api.commands.append({"name": name, "input": inputs})
    session = agent.start(project)
    session.prompt("rename foo to bar")
    session.close()
    return results(agent.api.prompts[-1])


def test_tools_and_instructions_are_before_the_model(same_agent, project):
    body = same_agent.ask(project, "rename foo to bar")

    offered = {tool["name"] for tool in body["tools"]}
    assert {f"{TOOL}{name}" for name in ("recall", "capture", "get", "forget")} <= offered
    assert "subcog is the memory of this project" in json.dumps(body)


def test_what_a_tool_gives_reaches_the_model(same_agent, project):
    got = use(same_agent, project, f"{TOOL}recall", query="how are passwords hashed?")

    assert "argon2id" in got
    assert "not instructions" in got


def test_what_the_model_captures_is_kept_for_its_project(same_agent, project):
    fact = "Invoices are numbered per tenant, never globally"
    assert "stored" in use(same_agent, project, f"{TOOL}capture", text=fact)

    answer = same_agent.subcog("recall", "how are invoices numbered", "--project", str(project))
    assert fact in json.dumps(answer)


def test_a_resource_is_read_with_the_agents_own_tools(same_agent, project):
    listed = use(same_agent, project, "ListMcpResourcesTool", server=SERVER)
    assert "subcog://topics/argon2id" in listed

    uri = "subcog://search/password%20hashing"
    assert MEMORY in use(same_agent, project, "ReadMcpResourceTool", server=SERVER, uri=uri)


def test_a_prompt_is_a_slash_command(same_agent, project):
    body = same_agent.ask(project, f"/{TOOL}research_topic argon2id quick")

    assert "Research Topic: argon2id" in texts_of(body)
    assert "argon2id for password hashing" in texts_of(body)


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

    assert "argon2id" in results(agent.api.prompts[-1])
