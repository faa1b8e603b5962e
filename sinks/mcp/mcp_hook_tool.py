"""A tool that no client lists: an agent's ``mcp_tool`` hooks call it instead of starting a process.

Its text is what a hook prints. A client that writes templates into the arguments hands over each
field of the payload on its own; one that it could not fill in, it leaves as the template was.
"""

from __future__ import annotations

import re
from typing import Any

import mcp_types as types
import msgspec
from msgspec import Struct

from .port import ClientPort

NAME = "hook"
_TEMPLATE = re.compile(r"\$\{[\w.]{1,100}\}")
# Fields that are JSON themselves, and come as a text.
_JSON = ("tool_input", "tool_response")


class HookArguments(Struct, kw_only=True):
    """What the hook's entry in the settings hands over."""

    event: str
    client: str = ""
    payload: dict[str, Any] = {}


async def call_hook(desk: ClientPort, arguments: dict[str, Any] | None) -> types.CallToolResult:
    """Answer one hook; ``{}``, which changes nothing, for what is no hook."""
    try:
        asked = msgspec.convert(arguments or {}, HookArguments)
    except msgspec.ValidationError:
        return _said(b"{}")
    payload = {name: _whole(name, value) for name, value in asked.payload.items()}
    filled = {name: value for name, value in payload.items() if not _is_template(value)}
    said = await desk.hook(asked.event, asked.client, msgspec.json.encode(filled))
    return _said(said if said[:1] == b"{" else b"{}")


def _whole(name: str, value: Any) -> Any:
    if name not in _JSON or not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def _is_template(value: Any) -> bool:
    return isinstance(value, str) and _TEMPLATE.fullmatch(value) is not None


def _said(body: bytes) -> types.CallToolResult:
    return types.CallToolResult(content=[types.TextContent(type="text", text=body.decode())])
