"""What was said and done in a session, as its transcript tells it."""

from __future__ import annotations

from typing import Literal

from .values import Value


class ToolCall(Value, frozen=True, kw_only=True):
    """The agent used a tool: ``paths`` are the files that it changes, ``command`` what it runs."""

    id: str
    tool: str
    paths: tuple[str, ...] = ()
    command: str = ""


class ToolResult(Value, frozen=True, kw_only=True):
    """How the tool call ``id`` ended. ``text`` is the end of what came out, and only evidence."""

    id: str
    failed: bool
    text: str = ""


class Message(Value, frozen=True, kw_only=True):
    """One line of a transcript.

    ``text`` is what the user or the model wrote, as it stands there; never what a tool returned.
    ``said_at_ms`` counts Unix milliseconds, 0 where unknown. ``aside`` marks a sub-agent's line.
    """

    role: Literal["user", "assistant"]
    text: str = ""
    said_at_ms: int = 0
    aside: bool = False
    calls: tuple[ToolCall, ...] = ()
    results: tuple[ToolResult, ...] = ()
