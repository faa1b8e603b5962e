"""Gemini CLI: other names for moments and tools, and our own words in front of a prompt."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec import Raw, Struct

from ...config.paths import agent_folders
from ...config.patterns import regex
from ...sinks.transcripts.lines import typed_for_gemini
from .agent import Agent, Env, Payload, Place
from .json_settings import JsonSettings

# PreCompress is not among them: Gemini runs it before every request, whether it compresses or not.
# Nor is BeforeTool: what its hook adds does not reach the model (seen with 0.61).
EVENTS = {
    "SessionStart": "SessionStart",
    "BeforeAgent": "UserPromptSubmit",
    "AfterTool": "PostToolUse",
    "AfterAgent": "Stop",
    "SessionEnd": "SessionEnd",
}
TOOLS = {"write_file": "Write", "replace": "Edit", "run_shell_command": "Bash", "read_file": "Read"}
MAX_ERROR_CHARS = 4000
# What SessionStart's hooks said comes back in front of the first prompt.
_CONTEXT = regex(r"\A(?:\s*<hook_context>.*?</hook_context>\s*)+", re.DOTALL)
_EXIT_CODE = regex(r"^Exit Code: ([1-9]\d{0,9})\s*$", re.MULTILINE)


class _Error(Struct):
    message: str = ""


class _Response(Struct):
    """What a tool gave; ``llmContent`` is a text, or parts of a message."""

    llmContent: Raw = Raw(b"null")  # noqa: N815 - Gemini's own name
    error: _Error | None = None


def translate(event: str, payload: Payload) -> tuple[str, Payload]:
    """``payload`` in the words of Claude Code. A tool that failed is a ``PostToolUseFailure``."""
    event = EVENTS.get(event, event)
    if event == "UserPromptSubmit":
        prompt = typed_for_gemini(_CONTEXT.sub("", payload.prompt))
        return event, msgspec.structs.replace(payload, prompt=prompt)
    if event == "PostToolUse":
        return _tool(payload)
    if event == "Stop":
        said = payload.prompt_response
        return event, msgspec.structs.replace(payload, last_assistant_message=said)
    return event, payload


def _tool(payload: Payload) -> tuple[str, Payload]:
    said, failure = _outcome(payload.tool_response)
    changed = msgspec.structs.replace(
        payload,
        tool_name=TOOLS.get(payload.tool_name, payload.tool_name),
        tool_response=said,
        error=failure,
    )
    return "PostToolUseFailure" if failure else "PostToolUse", changed


def _outcome(raw: Raw) -> tuple[Raw, str]:
    """What the tool said as JSON, and why it failed; the reason is empty if it did not."""
    try:
        response = msgspec.json.decode(raw, type=_Response)
        text = msgspec.json.decode(response.llmContent)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return raw, ""
    said = response.llmContent
    if response.error is not None:
        return said, response.error.message[:MAX_ERROR_CHARS] or "failed"
    if isinstance(text, str) and _EXIT_CODE.search(text[-MAX_ERROR_CHARS:]):
        return said, text[-MAX_ERROR_CHARS:]
    return said, ""


# --- its settings ---------------------------------------------------------------------------------


def places(env: Env, project: Path | None) -> tuple[Place, ...]:
    """One file for hooks and MCP servers."""
    folder = agent_folders(env)["gemini"] if project is None else project / ".gemini"
    file = folder / "settings.json"
    return (Place(file=file, editor=JsonSettings(), hooks=True, server=True),)


AGENT = Agent(
    name="gemini",
    title="Gemini CLI",
    program="gemini",
    events=EVENTS,
    places=places,
    timeouts_per_s=1000,
    tools={
        "Write": "write_file",
        "Edit": "replace",
        "MultiEdit": "replace",
        "NotebookEdit": "replace",
        "Bash": "run_shell_command",
    },
)
