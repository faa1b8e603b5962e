"""Renders the reference page of everything that an MCP client is offered, and Markdown tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from subcog.sinks.mcp import resources as mcp_help
from subcog.sinks.mcp.prompts import PROMPTS
from subcog.sinks.mcp.resources import FIXED, TEMPLATES
from subcog.sinks.mcp.schemas import schema_of
from subcog.sinks.mcp.tools import TOOLS, Tool

_CHANGES = {"nothing": "It changes nothing.", "adds": "It adds.", "destroys": "It deletes."}


def mcp_page() -> list[str]:
    """Each tool with what it takes and gives, each resource, each prompt."""
    lines = ["[mcp.md](../mcp.md) says how to connect a client.", "", "## Tools"]
    for tool in TOOLS:
        lines += _tool(tool)
    rows = ((code(uri), about) for uri, about in sorted(_resources()))
    lines += ["", "## Resources", "", *table(("URI", "what it is"), rows), ""]
    lines += [f"`subcog://help/{{topic}}` knows {', '.join(map(code, mcp_help.TOPICS))}."]
    return [*lines, "", "## Prompts", "", *table(("prompt", "what it does", "takes"), _prompts())]


def _tool(tool: Tool) -> Iterator[str]:
    yield from ("", f"### {tool.name}", "", f"{tool.description} {_CHANGES[tool.changes]}", "")
    if taken := list(_taken(schema_of(tool.takes))):
        yield from (*table(("takes", "values"), taken), "")
    yield f"It gives {', '.join(map(code, tool.gives.__struct_fields__))}."


def _taken(schema: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, about in schema.get("properties", {}).items():
        kinds = about.get("anyOf", [about])
        values = [code(value) for kind in kinds for value in kind.get("enum", ())]
        named = ", ".join(values) or " or ".join(str(kind.get("type", "text")) for kind in kinds)
        is_needed = name in schema.get("required", ())
        yield code(name), named if is_needed else f"{named}; default {about.get('default')}"


def _resources() -> Iterator[tuple[str, str]]:
    for uri, _, about, _ in FIXED:
        yield str(uri), about
    for path, _, about, _ in TEMPLATES:
        yield f"subcog://{path}", about


def _prompts() -> Iterator[tuple[str, str, str]]:
    for prompt in PROMPTS:
        takes = (
            code(one.name) + (f" ({', '.join(one.values)})" if one.values else "")
            for one in prompt.arguments
        )
        yield code(prompt.name), prompt.about, "; ".join(takes)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a table; bars in cells are escaped."""
    columns = list(head)
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def code(value: object) -> str:
    """``value`` as code."""
    return f"`{value}`"
