"""One line of a transcript, as Claude Code, Codex or Gemini CLI writes it, becomes a message.

What these clients write is not promised to anybody. So each line stands alone, is read for the few
fields that somebody needs, and is passed over where it is something else.
"""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Raw, Struct

from ...bus.passages import Message, ToolResult
from .codex import read_payload
from .gemini import Call, read_message
from .tools import MAX_PARTS, NULL, decoded, end_of, milliseconds, texts, tool_call

# Cheap to look for in the bytes of a line; what has none of them is no message.
_TELLING = (b'"user"', b'"assistant"', b'"gemini"', b'"response_item"', b'"event_msg"')


class _Line(Struct):
    type: str = ""
    timestamp: str = ""
    # Claude Code
    isSidechain: bool = False  # noqa: N815 - the client's own spelling, as all of these
    isMeta: bool = False  # noqa: N815
    isCompactSummary: bool = False  # noqa: N815
    isVisibleInTranscriptOnly: bool = False  # noqa: N815
    message: Raw = NULL
    # Codex
    payload: Raw = NULL
    # Gemini CLI
    content: Raw = NULL
    toolCalls: list[Call] | None = None  # noqa: N815


class _Said(Struct):
    content: Raw = NULL


class _Block(Struct):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Raw = NULL
    tool_use_id: str = ""
    content: Raw = NULL
    is_error: bool | None = None


_lines = msgspec.json.Decoder(_Line)
_saids = msgspec.json.Decoder(_Said)
_blocks = msgspec.json.Decoder(list[_Block])


def read_line(line: bytes) -> Message | None:
    """The message that ``line`` holds; None for anything else, and for what is no JSON at all.

    Summaries of a compaction and what the client put in by itself are no messages.
    """
    if not any(mark in line for mark in _TELLING):
        return None
    try:
        found = _lines.decode(line)
        if found.type in {"response_item", "event_msg"}:
            return read_payload(found.payload, milliseconds(found.timestamp))
        if found.type == "gemini" or (found.type == "user" and found.message == NULL):
            return read_message(found.type, found.timestamp, found.content, found.toolCalls)
        if found.type in {"user", "assistant"}:
            return _claude(found)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    return None


def _claude(line: _Line) -> Message | None:
    if line.isMeta or line.isCompactSummary or line.isVisibleInTranscriptOnly:
        return None
    role: Literal["user", "assistant"] = "user" if line.type == "user" else "assistant"
    blocks = _content(_saids.decode(line.message).content)
    results = tuple(_result(block) for block in blocks if block.type == "tool_result")
    said = [block.text for block in blocks if block.type == "text"]
    calls = tuple(tool_call(b.id, b.name, b.input) for b in blocks if b.type == "tool_use")
    # Beside a tool's result, text is what the client added.
    text = "" if results else "\n\n".join(said)
    if not (text or calls or results):
        return None
    return Message(
        role=role,
        text=text,
        said_at_ms=milliseconds(line.timestamp),
        aside=line.isSidechain,
        calls=calls,
        results=results,
    )


def _content(content: Raw) -> list[_Block]:
    if bytes(content).startswith(b'"'):
        return [_Block(type="text", text=msgspec.json.decode(content, type=str))]
    return _blocks.decode(content)[:MAX_PARTS]


def _result(block: _Block) -> ToolResult:
    text = end_of(texts(decoded(block.content)))
    return ToolResult(id=block.tool_use_id, failed=block.is_error is True, text=text)
