"""Codex: each line wraps an item of the model's conversation, or an event for the eye.

The items hold what the client put in by itself, as the user's words too; so what was said is taken
from the events, and what was done from the items.
"""

from __future__ import annotations

import re
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from ...bus.passages import Message, ToolResult
from .tools import NULL, decoded, end_of, texts, tool_call

_ROLES: dict[str, Literal["user", "assistant"]] = {
    "user_message": "user",
    "agent_message": "assistant",
    "UserMessage": "user",
    "AgentMessage": "assistant",
}
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_EXIT_CODE = re.compile(r"^(?:Process exited with code|Exit code:) ([1-9]\d{0,9})\s*$", re.M)


class _Payload(Struct):
    type: str = ""
    message: str | None = ""
    item: Raw = NULL
    name: str | None = ""
    arguments: Raw = NULL
    input: Raw = NULL
    call_id: str | None = ""
    output: Raw = NULL


_payloads = msgspec.json.Decoder(_Payload)


def read_payload(raw: Raw, said_at_ms: int) -> Message | None:
    """The message in the payload of a line. Raises ``msgspec.MsgspecError``."""
    payload = _payloads.decode(raw)
    call_id = payload.call_id or ""
    if payload.type in _CALLS:
        given = payload.arguments if payload.type == _CALLS[0] else payload.input
        call = tool_call(call_id, payload.name or "", given)
        return Message(role="assistant", said_at_ms=said_at_ms, calls=(call,))
    if payload.type in _OUTPUTS:
        result = _result(call_id, decoded(payload.output))
        return Message(role="user", said_at_ms=said_at_ms, results=(result,))
    kind, text = payload.type, payload.message or ""
    if kind == "item_completed" and isinstance(item := decoded(payload.item), dict):
        kind, text = str(item.get("type")), "\n\n".join(texts(item.get("content")))
    if kind in _ROLES and text:
        return Message(role=_ROLES[kind], text=text, said_at_ms=said_at_ms)
    return None


def _result(call_id: str, output: Any) -> ToolResult:
    if isinstance(output, str) and output[:1] == "{":  # older versions: JSON in a string
        output = decoded(Raw(output.encode()))
    metadata = output.get("metadata") if isinstance(output, dict) else None
    text = end_of(texts(output.get("output") if isinstance(output, dict) else output))
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    failed = bool(code) or _EXIT_CODE.search("\n".join(texts(output))) is not None
    return ToolResult(id=call_id, failed=failed, text=text)
