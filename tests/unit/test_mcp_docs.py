"""docs/mcp.md names everything that an MCP client is offered."""

from pathlib import Path

import pytest

from subcog.bus.values import NAMESPACES
from subcog.sinks.mcp import resources as mcp_help
from subcog.sinks.mcp.prompts import PROMPTS
from subcog.sinks.mcp.resources import FIXED, TEMPLATES
from subcog.sinks.mcp.schemas import schema_of
from subcog.sinks.mcp.tools import TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "mcp.md").read_text()


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_is_documented_with_what_it_takes(tool):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{tool.name}` |")]
    for argument in schema_of(tool.takes)["properties"]:
        assert f"`{argument}`" in row


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: prompt.name)
def test_a_prompt_is_documented_with_what_it_takes(prompt):
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{prompt.name}` |")]
    for argument in prompt.arguments:
        assert f"`{argument.name}`" in row
        if argument.values != NAMESPACES:
            assert all(value in row for value in argument.values)


def test_resources_are_documented_and_nothing_else_is():
    rows = {line.split("`")[1] for line in PAGE.splitlines() if line.startswith("| `subcog://")}
    assert rows == {str(uri) for uri, *_ in FIXED} | {f"subcog://{path}" for path, *_ in TEMPLATES}


def test_help_knows_every_namespace_tool_and_prompt():
    assert tuple(mcp_help.ABOUT_NAMESPACES) == NAMESPACES
    told = "".join((mcp_help.INSTRUCTIONS, *mcp_help.TOPICS.values()))
    for each in (*TOOLS, *PROMPTS):
        assert f"`{each.name}`" in told or each.name == "status"
    assert ", ".join(mcp_help.TOPICS) in PAGE
