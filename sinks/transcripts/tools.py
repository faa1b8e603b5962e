"""What the transcripts of all clients have in common: tools, what came out of them, times."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec
from msgspec import Raw

from ...bus.passages import ToolCall

MAX_PARTS = 100
NULL = Raw(b"null")

_MAX_COMMAND_CHARS = 2000
_MAX_RESULT_CHARS = 2000
_MAX_PATHS = 100
_MAX_PATH_CHARS = 1000
_MAX_ID_CHARS = 200
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
    """The files that a patch in ``command`` names."""
    if "*** Begin Patch" not in command:
        return []
    lines = command.split("\n")
    return [line[len(p) :].strip() for line in lines for p in _PATCH_FILE if line.startswith(p)]


def decoded(raw: Raw) -> Any:
    """What ``raw`` says as JSON; None for what is none."""
    try:
        return msgspec.json.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
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
    """Unix milliseconds of an ISO time; 0 for what is none."""
    try:
        return max(0, int(datetime.fromisoformat(timestamp).timestamp() * 1000))
    except (ValueError, OverflowError):
        return 0
