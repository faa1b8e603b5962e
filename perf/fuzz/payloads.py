"""Valid hook payloads, call parameters and transcript lines, which the doors change."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Struct

from subcog.bus.values import NAMESPACES
from subcog.pipeline.agents import claude, codex, gemini

from .mutate import Mutator

CLIENTS: dict[str, tuple[str, ...]] = {
    "claude": claude.EVENTS,
    "codex": codex.EVENTS,
    "gemini": (*gemini.EVENTS, "BeforeTool", "PreCompress"),
    "other": (*claude.EVENTS, "Notification"),
}
TRANSCRIPTS = ("@ROOT@/transcripts/0.jsonl", "@ROOT@/transcripts/1.jsonl", "/dev/zero", "@ROOT@")
_PATCH = "*** Begin Patch\n*** Update File: src/a.py\n@@\n-old = 1\n+new = 2\n*** End Patch"
_TOOLS: dict[str, dict[str, Any]] = {
    "Write": {"file_path": "@PROJECT@/src/a.py", "content": "def login(user): pass\n"},
    "Edit": {"file_path": "@PROJECT@/src/a.py", "old_string": "a", "new_string": "b"},
    "MultiEdit": {"file_path": "src/a.py", "edits": [{"old_string": "a", "new_string": "b"}]},
    "NotebookEdit": {"notebook_path": "n.ipynb", "new_source": "print(1)"},
    "Bash": {"command": "kubectl apply -f x.yaml", "description": "Deploy by hand"},
    "Read": {"file_path": "@PROJECT@/src/a.py"},
    "apply_patch": {"command": _PATCH},
    "write_file": {"file_path": "src/a.py", "content": "x = 1\n"},
    "run_shell_command": {"command": "make deploy"},
}
_ANSWERS: tuple[Any, ...] = (
    {"stdout": "ok", "stderr": "", "interrupted": False},
    "Exit code: 1\nModuleNotFoundError: No module named 'argon2'",
    {"llmContent": "Output: x\nExit Code: 2", "error": {"message": "failed"}},
    {"exit_code": 3, "output": "boom", "stderr": "no such file"},
    [{"type": "text", "text": "done"}],
)


def payload(maker: Mutator, event: str) -> dict[str, Any]:
    """What an agent sends at ``event``."""
    choose = maker.rng.choice
    tool = choose(list(_TOOLS))
    return {
        "session_id": f"fuzz-{maker.rng.randrange(40)}",
        "hook_event_name": event,
        "cwd": "@PROJECT@",
        "transcript_path": choose(TRANSCRIPTS),
        "turn_id": choose(("", "", "turn-1")),
        "prompt": maker.text(),
        "source": choose(("startup", "resume", "clear", "compact")),
        "agent_id": choose(("", "", "", "a1")),
        "agent_type": choose(("", "Explore")),
        "agent_transcript_path": choose(TRANSCRIPTS),
        "tool_name": tool,
        "tool_use_id": "toolu_1",
        "tool_input": _TOOLS[tool],
        "tool_response": choose(_ANSWERS),
        "error": "ImportError: cannot import name 'argon2'",
        "is_interrupt": choose((True, False)),
        "trigger": choose(("auto", "manual")),
        "last_assistant_message": maker.text(),
        "prompt_response": maker.text(),
        "reason": choose(("clear", "logout", "other")),
    }


# --- parameters of calls --------------------------------------------------------------------------

_BY_NAME: dict[str, tuple[Any, ...]] = {
    "id": ("@ID@", "@ID@", "fuzz-1", "mem_0"),
    "old": ("@ID@",),
    "new": ("@ID@", None),
    "ids": (["@ID@"], ["@ID@", "@ID@"]),
    "after": ("", "@ID@"),
    "file": ("@ROOT@/backup.duckdb", "@ROOT@/junk", "@ROOT@", "relative.duckdb", "@ROOT@/\0"),
    "files": (["@ROOT@/junk"], ["@ROOT@/none", "@ROOT@"], []),
    "transcript": TRANSCRIPTS,
    "cwd": ("@PROJECT@",),
    "client": ("claude", "codex", "gemini"),
    "session": ("fuzz-1", "fuzz-2"),
    "namespace": (*NAMESPACES, None),
    "url": ("postgresql://127.0.0.1:1/x", "http://127.0.0.1:1", "postgresql:///?host=@ROOT@", ""),
    "since": ("2026-01-01T00:00:00Z",),
    "until": ("2027-01-01T00:00:00Z", "2025-01-01T00:00:00+14:00"),
    "at": ("2027-01-01T00:00:00Z",),
}
ABROAD = frozenset({"file", "files", "url"})
"""What must stay within the temporary home, so no other value is tried."""


def params(maker: Mutator, kind: type[Struct]) -> dict[str, Any]:
    """Valid parameters of a call that takes ``kind``; what has a default is there mostly."""
    hints = get_type_hints(kind)
    return {
        field.encode_name: _example(maker, field.name, hints[field.name])
        for field in msgspec.structs.fields(kind)
        if field.required or maker.chance(0.6)
    }


def _example(maker: Mutator, name: str, kind: Any) -> Any:  # noqa: PLR0911 - a kind a line
    if name in _BY_NAME:
        return maker.rng.choice(_BY_NAME[name])
    if get_origin(kind) is Literal:
        return maker.rng.choice(get_args(kind))
    if kind is bool:
        return maker.chance(0.5)
    if kind in {int, float}:
        return maker.rng.choice((1, 3, 20))
    if kind is str:
        return maker.text()
    if isinstance(kind, type) and issubclass(kind, Struct):
        return params(maker, kind)
    inner = [each for each in get_args(kind) if each not in {Ellipsis, type(None)}]
    if get_origin(kind) is tuple:
        return [_example(maker, "", each) for each in inner * maker.rng.choice((0, 1, 3))]
    return _example(maker, name, inner[0]) if inner else maker.text()


# --- transcripts ----------------------------------------------------------------------------------

_AT = "2026-03-01T12:00:00Z"


def transcript(maker: Mutator) -> list[dict[str, Any]]:
    """The lines of a session, as one of the agents writes them."""
    make = maker.rng.choice((_claude, _codex, _gemini))
    return [line for _ in range(maker.rng.randrange(1, 6)) for line in make(maker)]


def _claude(maker: Mutator) -> list[dict[str, Any]]:
    tool = maker.rng.choice(list(_TOOLS))
    said: list[tuple[str, Any]] = [
        ("user", maker.text()),
        ("assistant", [{"type": "text", "text": maker.text()}]),
        ("assistant", [{"type": "tool_use", "id": "t", "name": tool, "input": _TOOLS[tool]}]),
        ("user", [{"type": "tool_result", "tool_use_id": "t", "content": maker.text()}]),
    ]
    return [
        {"type": role, "timestamp": _AT, "message": {"role": role, "content": content}}
        for role, content in said
    ]


def _codex(maker: Mutator) -> list[dict[str, Any]]:
    call = {"type": "function_call", "name": "shell", "arguments": '{"command":["ls"]}'}
    output = {"type": "function_call_output", "output": '{"output":"x","metadata":{"exit_code":1}}'}
    events: list[dict[str, Any]] = [
        {"type": "user_message", "message": maker.text()},
        {"type": "agent_message", "message": maker.text()},
    ]
    items = [part | {"call_id": "c"} for part in (call, output)]
    return [
        *({"type": "event_msg", "timestamp": _AT, "payload": each} for each in events),
        *({"type": "response_item", "timestamp": _AT, "payload": each} for each in items),
    ]


def _gemini(maker: Mutator) -> list[dict[str, Any]]:
    result = [{"functionResponse": {"response": {"output": "x"}}}]
    call = {"id": "c", "name": "replace", "args": _TOOLS["Edit"], "result": result, "status": "x"}
    return [
        {"type": "user", "timestamp": _AT, "content": maker.text()},
        {"type": "gemini", "timestamp": _AT, "content": [{"text": maker.text()}]},
        {"type": "gemini", "timestamp": _AT, "content": "", "toolCalls": [call]},
    ]
