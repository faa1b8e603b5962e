"""One line of a transcript, as Claude Code, Codex or Gemini CLI writes it, becomes a message.

What these clients write is not promised to anybody. So each line stands alone, is read for the few
fields that somebody needs, and is passed over where it is something else.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct

from ...bus.frames import read_json
from ...bus.prompts import BLOCKS
from ...bus.sessions import Message, ToolCall, ToolResult
from ...config.patterns import regex

MAX_PARTS = 100
NULL = Raw(b"null")

_MAX_COMMAND_CHARS = 2000
_MAX_RESULT_CHARS = 2000
_MAX_PATHS = 100
_MAX_PATH_CHARS = 1000
_MAX_ID_CHARS = 200
_LAST_MS = 253_402_300_799_999  # the end of the year 9999
_PATH_FIELDS = ("file_path", "notebook_path", "path", "absolute_path")
_WRITES = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit", "write_file", "replace"})
_RUNS = frozenset({"Bash", "shell", "exec_command", "run_shell_command", "local_shell_call"})
_PATCH_FILE = ("*** Update File: ", "*** Add File: ", "*** Delete File: ", "*** Move to: ")


def tool_call(call_id: str, name: str, given: Raw) -> ToolCall:
    """The use of a tool with what it was ``given``, in whatever shape."""
    inputs = decoded(given)
    if isinstance(inputs, str):  # JSON in a string, or a bare command
        inputs = decoded(Raw(inputs.encode())) if inputs[:1] == "{" else {"command": inputs}
    if not isinstance(inputs, dict):
        return ToolCall(id=call_id[:_MAX_ID_CHARS], tool=name)
    command = _command(inputs)
    paths = _patched(command)
    if name in _WRITES:
        paths += [path for key in _PATH_FIELDS if isinstance(path := inputs.get(key), str)]
    return ToolCall(
        id=call_id[:_MAX_ID_CHARS],
        tool=name,
        paths=tuple(dict.fromkeys(path for path in paths if len(path) <= _MAX_PATH_CHARS))[
            :_MAX_PATHS
        ],
        command=command[:_MAX_COMMAND_CHARS] if name in _RUNS else "",
    )


def _command(inputs: dict[str, Any]) -> str:
    command = inputs.get("command") or inputs.get("cmd") or inputs.get("patch") or ""
    if isinstance(command, list):
        command = " ".join(part for part in command if isinstance(part, str))
    return command if isinstance(command, str) else ""


def _patched(command: str) -> list[str]:
    if "*** Begin Patch" not in command:
        return []
    lines = command.split("\n")
    return [line[len(p) :].strip() for line in lines for p in _PATCH_FILE if line.startswith(p)]


def decoded(raw: Raw) -> Any:
    """What ``raw`` says as JSON; None for what is none."""
    try:
        return read_json(bytes(raw), msgspec.json.decode)
    except (ValueError, RecursionError):
        return None


def texts(content: Any) -> Iterator[str]:
    """The texts of a message, or of what a tool returned, in whichever of its shapes."""
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for part in content[:MAX_PARTS]:
            if isinstance(part, dict) and isinstance(part.get("text"), str):
                yield part["text"]


def end_of(parts: Iterable[str]) -> str:
    """The end of what a tool returned, where it says how it ended."""
    return "\n".join(parts)[-_MAX_RESULT_CHARS:]


def milliseconds(timestamp: str) -> int:
    """Unix milliseconds of an ISO time; 0 for what is none, or is no date in UTC."""
    try:
        found = int(datetime.fromisoformat(timestamp).timestamp() * 1000)
    except (ValueError, OverflowError):
        return 0
    return found if 0 <= found <= _LAST_MS else 0


def typed_for_codex(prompt: str) -> str:
    """``prompt`` without the files and the selection that an editor put in front of it."""
    return prompt.rpartition("\n## My request for Codex:")[2].lstrip("\n")


_REFERENCED = regex(r"\n?^--- Content from referenced (?:files|context) ---", re.M)


def typed_for_gemini(prompt: str) -> str:
    """``prompt`` without the files that it names with an @, whose texts Gemini puts after it.

    What stands after the last file is not told from the file, which may say where it ends.
    """
    return _REFERENCED.split(prompt, 1)[0]


_ROLES: dict[str, Literal["user", "assistant"]] = {
    "user_message": "user",
    "agent_message": "assistant",
    "UserMessage": "user",
    "AgentMessage": "assistant",
}
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_CODEX_EXIT = regex(r"^(?:Process exited with code|Exit code:) ([1-9]\d{0,9})\s*$", re.M)


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


def read_codex(raw: Raw, said_at_ms: int) -> Message | None:
    """The message in the payload of a line of Codex. Raises ``msgspec.MsgspecError``.

    Items hold what the client put in by itself, as the user's words too; so what was said is taken
    from the events, and what was done from the items.
    """
    payload = _payloads.decode(raw)
    call_id = payload.call_id or ""
    if payload.type in _CALLS:
        given = payload.arguments if payload.type == _CALLS[0] else payload.input
        call = tool_call(call_id, payload.name or "", given)
        return Message(role="assistant", said_at_ms=said_at_ms, calls=(call,))
    if payload.type in _OUTPUTS:
        result = _codex_result(call_id, decoded(payload.output))
        return Message(role="user", said_at_ms=said_at_ms, results=(result,))
    kind, text = payload.type, payload.message or ""
    if kind == "item_completed" and isinstance(item := decoded(payload.item), dict):
        kind, text = str(item.get("type")), "\n\n".join(texts(item.get("content")))
    if (role := _ROLES.get(kind)) == "user":
        text = typed_for_codex(text)
    return Message(role=role, text=text, said_at_ms=said_at_ms) if role and text else None


def _codex_result(call_id: str, output: Any) -> ToolResult:
    if isinstance(output, str) and output[:1] == "{":  # older versions: JSON in a string
        output = decoded(Raw(output.encode()))
    metadata = output.get("metadata") if isinstance(output, dict) else None
    text = end_of(texts(output.get("output") if isinstance(output, dict) else output))
    code = metadata.get("exit_code") if isinstance(metadata, dict) else None
    failed = bool(code) or _CODEX_EXIT.search("\n".join(texts(output))) is not None
    return ToolResult(id=call_id, failed=failed, text=text)


_OPEN, _CLOSE = "<hook_context>", "</hook_context>"
_GEMINI_EXIT = regex(r"^Exit Code: [1-9]\d{0,9}\s*$", re.M)


class GeminiCall(Struct):
    """A tool's use, which stands in the model's message. ``result`` is what the model got."""

    id: str = ""
    name: str = ""
    args: Raw = NULL
    result: Raw = NULL
    status: str = ""


def read_gemini(
    kind: str, timestamp: str, content: Raw, calls: list[GeminiCall] | None
) -> Message | None:
    """The message of ``kind`` user or gemini; None where it says and does nothing."""
    text = "\n\n".join(_without_hooks(part) for part in texts(decoded(content)))
    text = (typed_for_gemini(text) if kind == "user" else text).strip()
    used = (calls or [])[:MAX_PARTS]
    if not (text or used):
        return None
    return Message(
        role="user" if kind == "user" else "assistant",
        text=text,
        said_at_ms=milliseconds(timestamp),
        calls=tuple(tool_call(call.id, call.name, call.args) for call in used),
        results=tuple(_gemini_result(call) for call in used if call.status),
    )


def _gemini_result(call: GeminiCall) -> ToolResult:
    text = end_of(_outputs(decoded(call.result)))
    failed = call.status != "success" or _GEMINI_EXIT.search(text) is not None
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
    displayContent: Raw = NULL  # noqa: N815
    toolCalls: list[GeminiCall] | None = None  # noqa: N815


class _Said(Struct):
    content: Raw = NULL
    model: str | None = ""


class _Block(Struct):
    type: str = ""
    text: str = ""
    id: str = ""
    name: str = ""
    input: Raw = NULL
    tool_use_id: str = ""
    content: Raw = NULL
    is_error: bool | None = None


# What a user may send without a word.
_SHOWN = frozenset({"image", "document"})
# What Claude Code answers itself: "No response requested.", an error of the API.
_NO_MODEL = "<synthetic>"
# A text that is one block from its beginning to its end, whatever is in it.
_ADDED = regex(rf"\s*<({'|'.join(BLOCKS)})(?:\s[^<>\n]{{0,200}})?>")

_lines = msgspec.json.Decoder(_Line)
_saids = msgspec.json.Decoder(_Said)
_blocks = msgspec.json.Decoder(list[_Block])


def read_line(line: bytes) -> Message | None:
    """The message that ``line`` holds; None for anything else, and for what is no JSON at all.

    Summaries of a compaction and what the client put in by itself are no messages. Half a character
    is a question mark: clients cut long texts, and a message is not lost by that.
    """
    if not any(mark in line for mark in _TELLING):
        return None
    try:
        return read_json(line, _read)
    except (ValueError, RecursionError):
        whole = line.decode("utf-8", "replace").encode()
        return read_line(whole) if whole != line else None


def _read(line: bytes) -> Message | None:
    found = _lines.decode(line)
    if found.type in {"response_item", "event_msg"}:
        return read_codex(found.payload, milliseconds(found.timestamp))
    if found.type == "gemini" or (found.type == "user" and found.message == NULL):
        said = found.content if found.displayContent == NULL else found.displayContent
        return read_gemini(found.type, found.timestamp, said, found.toolCalls)
    return _claude(found) if found.type in {"user", "assistant"} else None


def _claude(line: _Line) -> Message | None:
    if line.isMeta or line.isCompactSummary or line.isVisibleInTranscriptOnly:
        return None
    role: Literal["user", "assistant"] = "user" if line.type == "user" else "assistant"
    message = _saids.decode(line.message)
    if message.model == _NO_MODEL:
        return None
    blocks = _claude_blocks(message.content)
    results = tuple(_claude_result(block) for block in blocks if block.type == "tool_result")
    said = [block.text for block in blocks if block.type == "text"]
    calls = tuple(tool_call(b.id, b.name, b.input) for b in blocks if b.type == "tool_use")
    # Beside a tool's result, text is what the client added.
    text = "" if results else "\n\n".join(said)
    shows = role == "user" and any(block.type in _SHOWN for block in blocks)
    if not (text or calls or results or shows):
        return None
    return Message(
        role=role,
        text=text,
        said_at_ms=milliseconds(line.timestamp),
        aside=line.isSidechain,
        calls=calls,
        results=results,
    )


def _claude_blocks(content: Raw) -> list[_Block]:
    if bytes(content).startswith(b'"'):
        return [_Block(type="text", text=msgspec.json.decode(content, type=str))]
    return [block for block in _blocks.decode(content)[:MAX_PARTS] if not _is_added(block.text)]


def _is_added(text: str) -> bool:
    """Whether ``text`` is what the client added beside the user's own: a selection, a reminder."""
    opened = _ADDED.match(text)
    return opened is not None and text.rstrip().endswith(f"</{opened[1]}>")


def _claude_result(block: _Block) -> ToolResult:
    text = end_of(texts(decoded(block.content)))
    return ToolResult(id=block.tool_use_id, failed=block.is_error is True, text=text)
