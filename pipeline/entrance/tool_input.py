"""What a tool was asked to do, and whether it failed, from the JSON of whatever shape it has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Raw, Struct

from ...bus.values import Action, FileChange
from ...config.patterns import regex

MAX_TEXT_CHARS = 20_000
MAX_PATHS = 20
MAX_PATH_CHARS = 1000
MAX_PURPOSE_CHARS = 500
_MAX_EDITS = 50
# Of more than that, what is written is not looked at.
_MAX_EDITS_BYTES = 256 * 1024
# The bytes of one character, and of an escaped one: two halves of six bytes each.
_MOST_BYTES = 4
_LONGEST_ESCAPE = 13
_PATCHED = regex(r"^\*\*\* (?:Add|Update|Delete) File: ([^\n]+)$", re.MULTILINE)
_EXIT_CODE = regex(
    r"\s*(?:Exit code|Process exited with code|exit status|Command failed with exit code)"
    r":? (\d{1,3})\b",
    re.IGNORECASE,
)
_NOTHING = Raw(b"null")


class _Edit(Struct):
    """One of several edits of a file."""

    old_string: Raw = _NOTHING
    new_string: Raw = _NOTHING
    file_path: Raw = _NOTHING


class _Input(Struct):
    """The fields in which tools name files, and those in which they hold what is written."""

    file_path: Raw = _NOTHING
    notebook_path: Raw = _NOTHING
    absolute_path: Raw = _NOTHING
    path: Raw = _NOTHING
    content: Raw = _NOTHING
    old_string: Raw = _NOTHING
    new_string: Raw = _NOTHING
    new_source: Raw = _NOTHING
    edits: Raw = _NOTHING
    command: Raw = _NOTHING
    description: Raw = _NOTHING
    input: Raw = _NOTHING
    patch: Raw = _NOTHING


class _Running(Struct):
    """What says that a command did not come to its end."""

    run_in_background: Raw = _NOTHING
    interrupted: Raw = _NOTHING
    backgroundTaskId: Raw = _NOTHING  # noqa: N815 - the agent's own name


class _Failed(Struct):
    """A tool's answer where it says in a field that it failed."""

    error: Raw = _NOTHING
    exit_code: Raw = _NOTHING
    output: Raw = _NOTHING
    stderr: Raw = _NOTHING


def action_of(tool: str, tool_input: Raw) -> Action:
    """What ``tool`` was asked to do; of what cannot be told, nothing."""
    try:
        fields = msgspec.json.decode(tool_input, type=_Input)
        edits = _edits(fields.edits)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        text = _text(tool_input)
        return Action(tool=tool, paths=_paths((), text), written=text)
    named = (fields.file_path, fields.notebook_path, fields.absolute_path, fields.path)
    written = (fields.content, fields.new_string, fields.new_source, fields.input, fields.patch)
    command, text = (
        _text(fields.command),
        _joined((*written, *(edit.new_string for edit in edits))),
    )
    paths = [_text(raw, MAX_PATH_CHARS) for raw in (*named, *(edit.file_path for edit in edits))]
    return Action(
        tool=tool,
        paths=_paths(paths, f"{text}\n{command}"),
        command=command,
        purpose=_text(fields.description, MAX_PURPOSE_CHARS),
        written=text,
        replaced=_joined((fields.old_string, *(edit.old_string for edit in edits))),
        changes=_changes(edits),
    )


def _changes(edits: Sequence[_Edit]) -> tuple[FileChange, ...]:
    """What is done to each file, where every edit names one and not all the same."""
    by_path: dict[str, list[_Edit]] = {}
    for edit in edits:
        by_path.setdefault(_text(edit.file_path, MAX_PATH_CHARS), []).append(edit)
    if len(by_path) < 2 or any(not path or "\0" in path for path in by_path):
        return ()
    return tuple(
        FileChange(
            path=path,
            written=_joined(tuple(edit.new_string for edit in some)),
            replaced=_joined(tuple(edit.old_string for edit in some)),
        )
        for path, some in islice(by_path.items(), MAX_PATHS)
    )


def _paths(paths: Sequence[str], text: str) -> tuple[str, ...]:
    """With the files that a patch in ``text`` names."""
    named = (*paths, *(path.strip() for path in _PATCHED.findall(text)))
    given = dict.fromkeys(path for path in named if path and "\0" not in path)
    return tuple(given)[:MAX_PATHS]


def failure_of(tool_response: Raw) -> str:
    """What went wrong, where a client reports a failure as an answer; empty for nothing."""
    said = _text(tool_response)
    if said:
        code = _EXIT_CODE.match(said)
        return said if code and int(code[1]) else ""
    try:
        answer = msgspec.json.decode(tool_response, type=_Failed)
        if error := _error(answer.error):
            return error
        code_given = msgspec.json.decode(answer.exit_code)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    failed = isinstance(code_given, int) and code_given != 0
    return _joined((answer.stderr, answer.output)) if failed else ""


def is_unfinished(tool_input: Raw, tool_response: Raw) -> bool:
    """Whether a command goes on in the background, or was stopped."""
    asked, answer = _running(tool_input), _running(tool_response)
    marks = (asked.run_in_background, answer.interrupted, answer.backgroundTaskId)
    return any(_first(mark) in {b"t", b'"'} for mark in marks)


def _running(raw: Raw) -> _Running:
    try:
        return msgspec.json.decode(raw, type=_Running)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return _Running()


def _error(raw: Raw) -> str:
    """An error as text, or in an object's ``message``."""
    if text := _text(raw):
        return text
    if _first(raw) != b"{":
        return ""
    message: dict[str, Any] = msgspec.json.decode(raw)
    said = message.get("message")
    return said[:MAX_TEXT_CHARS] if isinstance(said, str) else ""


def _edits(raw: Raw) -> list[_Edit]:
    if _first(raw) != b"[" or len(memoryview(raw)) > _MAX_EDITS_BYTES:
        return []
    items = msgspec.json.decode(raw, type=list[Raw])[:_MAX_EDITS]
    return [msgspec.json.decode(item, type=_Edit) for item in items if _first(item) == b"{"]


def _joined(raws: tuple[Raw, ...]) -> str:
    return "\n".join(_parts(raws))


def _parts(raws: tuple[Raw, ...]) -> Iterator[str]:
    left = MAX_TEXT_CHARS
    for raw in raws:
        if left > 0 and (text := _text(raw, left)):
            left -= len(text)
            yield text


def _text(raw: Raw, limit: int = MAX_TEXT_CHARS) -> str:
    """The first ``limit`` characters of a JSON string; empty for what is none."""
    if _first(raw) != b'"':
        return ""
    view = memoryview(raw)
    if len(view) <= limit * _MOST_BYTES + 2:
        return _decoded(view.tobytes())[:limit]
    start = view[: limit * _MOST_BYTES].tobytes()
    # The cut may fall into an escape or a character: whole ones are at most this long.
    cuts = (_decoded(start[: len(start) - less] + b'"') for less in range(_LONGEST_ESCAPE))
    return next(filter(None, cuts), "")[:limit]


def _decoded(string: bytes) -> str:
    try:
        return msgspec.json.decode(string, type=str)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _first(raw: Raw) -> bytes:
    return memoryview(raw)[:1].tobytes()
