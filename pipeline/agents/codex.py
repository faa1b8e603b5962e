"""Codex: the same events and payloads as Claude Code, but for how it edits files.

It gives its hooks no variables of its own; its payloads are known by a ``turn_id``, or by the name
of the transcript at the start and end of a session. That a command has failed, it tells to its
transcript alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePath

import msgspec
from msgspec import Raw, Struct

from ...config.paths import agent_folders
from ...config.patterns import regex
from ...sinks.transcripts.lines import typed_for_codex
from . import claude
from .agent import Agent, Env, Payload, Place
from .json_settings import JsonSettings

PATCH_TOOL = "apply_patch"
TOOL_EVENTS = ("PreToolUse", "PostToolUse")
# A longer patch is cut: what is written to files is looked at, not kept.
MAX_PATCH_CHARS = 200_000
MAX_FILES = 20
MAX_EDIT_CHARS = 20_000
# What it gives of an output is at most about 40,000 characters; the error is mostly at its end.
MAX_OUTPUT_BYTES = 256 * 1024
MAX_ERROR_CHARS = 4000
_FILE_MARK = regex(
    r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (?P<path>[^\n]+)$", re.MULTILINE
)


class _Command(Struct):
    command: str = ""


def is_payload(payload: Payload) -> bool:
    """Whether a payload is one of Codex."""
    transcript = PurePath(payload.transcript_path or "").name
    return bool(payload.turn_id) or transcript.startswith("rollout-")


def translate(event: str, payload: Payload) -> tuple[str, Payload]:
    """``payload`` with a patch as edits of the files that it names, and a typed prompt."""
    if event == "UserPromptSubmit":
        prompt = typed_for_codex(payload.prompt)
        return event, msgspec.structs.replace(payload, prompt=prompt)
    if event not in TOOL_EVENTS or payload.tool_name not in {PATCH_TOOL, "Bash"}:
        return event, payload
    command = _command(payload)
    if payload.tool_name == "Bash" and not command.lstrip().startswith(PATCH_TOOL):
        return event, payload
    edits = Raw(msgspec.json.encode({"edits": _edits(command)}))
    return event, msgspec.structs.replace(payload, tool_name="Edit", tool_input=edits)


def hides_outcome(event: str, payload: Payload) -> bool:
    """Whether ``payload`` has what a command printed, but not whether that was a failure."""
    told = (payload.tool_name, event) == ("Bash", "PostToolUse")
    return told and bool(payload.tool_use_id and _output(payload))


def as_failure(payload: Payload) -> Payload:
    """``payload`` of a command that is known to have failed."""
    return msgspec.structs.replace(payload, error=_output(payload)[-MAX_ERROR_CHARS:])


def _output(payload: Payload) -> str:
    if len(memoryview(payload.tool_response)) > MAX_OUTPUT_BYTES:
        return ""
    try:
        return msgspec.json.decode(payload.tool_response, type=str).strip()
    except (msgspec.DecodeError, UnicodeDecodeError):
        return ""


def _command(payload: Payload) -> str:
    try:
        return msgspec.json.decode(payload.tool_input, type=_Command).command[:MAX_PATCH_CHARS]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return ""


def _edits(patch: str) -> list[dict[str, str]]:
    """One edit a file, of those first named; a long patch is cut alike in each of them."""
    sections = [_section(*named) for named in _named(patch)][:MAX_FILES]
    share = MAX_EDIT_CHARS // max(1, len(sections))
    return [{key: text[:share] for key, text in one.items()} for one in sections]


def _named(patch: str) -> Iterator[tuple[str, str]]:
    """The path of each file, and the lines that follow it."""
    found = [*_FILE_MARK.finditer(patch)]
    ends = [*(mark.start() for mark in found[1:]), len(patch)]
    for mark, end in zip(found, ends, strict=True):
        yield mark["path"].strip(), patch[mark.end() : end]


def _section(path: str, lines: str) -> dict[str, str]:
    return {
        "file_path": path,
        "old_string": _lines(lines, "-"),
        "new_string": _lines(lines, "+"),
    }


def _lines(section: str, sign: str) -> str:
    return "\n".join(line[1:] for line in section.splitlines() if line.startswith(sign))


# --- its settings ---------------------------------------------------------------------------------


def places(env: Env, project: Path | None) -> tuple[Place, ...]:
    """The file of the hooks, and the one of everything else."""
    from .toml_settings import TomlSettings

    folder = agent_folders(env)["codex"] if project is None else project / ".codex"
    return (
        Place(file=folder / "hooks.json", editor=JsonSettings(), hooks=True),
        Place(file=folder / "config.toml", editor=TomlSettings(), server=True),
    )


EVENTS = tuple(event for event in claude.EVENTS if event != "PostToolUseFailure")

AGENT = Agent(
    name="codex",
    title="Codex",
    program="codex",
    events={event: event for event in EVENTS},
    places=places,
    longest_s={"SessionEnd": 3},
    tools=dict.fromkeys(("Write", "Edit", "MultiEdit", "NotebookEdit"), PATCH_TOOL),
    passes_env=False,
    advice="Codex runs no hook that you have not reviewed: start codex, and trust them in /hooks.",
)
