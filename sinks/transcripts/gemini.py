"""Gemini CLI: a line is a message; a tool's call and result stand in the model's message."""

from __future__ import annotations

import re
from typing import Any

from msgspec import Raw, Struct

from ...bus.passages import Message, ToolResult
from .tools import MAX_PARTS, NULL, decoded, end_of, milliseconds, texts, tool_call

_OPEN, _CLOSE = "<hook_context>", "</hook_context>"
_EXIT_CODE = re.compile(r"^Exit Code: [1-9]\d{0,9}\s*$", re.M)


class Call(Struct):
    """A tool's use. ``result`` is what the model got."""

    id: str = ""
    name: str = ""
    args: Raw = NULL
    result: Raw = NULL
    status: str = ""


def read_message(
    kind: str, timestamp: str, content: Raw, calls: list[Call] | None
) -> Message | None:
    """The message of ``kind`` user or gemini; None where it says and does nothing."""
    text = "\n\n".join(_without_hooks(part) for part in texts(decoded(content))).strip()
    used = (calls or [])[:MAX_PARTS]
    if not (text or used):
        return None
    return Message(
        role="user" if kind == "user" else "assistant",
        text=text,
        said_at_ms=milliseconds(timestamp),
        calls=tuple(tool_call(call.id, call.name, call.args) for call in used),
        results=tuple(_result(call) for call in used if call.status),
    )


def _result(call: Call) -> ToolResult:
    text = end_of(_outputs(decoded(call.result)))
    failed = call.status != "success" or _EXIT_CODE.search(text) is not None
    return ToolResult(id=call.id, failed=failed, text=text)


def _outputs(result: Any) -> list[str]:
    found = []
    for part in result[:MAX_PARTS] if isinstance(result, list) else ():
        response = part.get("functionResponse") if isinstance(part, dict) else None
        said = response.get("response") if isinstance(response, dict) else None
        if isinstance(said, dict):
            found += [text for text in said.values() if isinstance(text, str)]
    return found


def _without_hooks(text: str) -> str:
    """``text`` without what hooks added, ours among them."""
    kept, at = [], 0
    while (start := text.find(_OPEN, at)) >= 0:
        kept.append(text[at:start])
        close = text.find(_CLOSE, start)
        at = close + len(_CLOSE) if close >= 0 else len(text)
    return "".join((*kept, text[at:]))
