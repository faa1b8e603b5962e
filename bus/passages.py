"""What was said in sessions, word for word, and what of it a prompt finds."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .values import Scope, Value

Speaker = Literal["user", "agent"]
SessionOutcome = Literal[
    "quoted", "not_relevant", "already_shown", "said_by_memories", "no_room", "refused"
]


class Passage(Value, frozen=True, kw_only=True):
    """What one side said at one moment of a session, redacted.

    ``id`` is ``psg_`` and a ULID of the moment, the same whenever the transcript is read again.
    ``files`` are those that the agent changed in this exchange, relative to the project's root.
    """

    id: str
    session: str
    scope: Scope
    speaker: Speaker
    text: str
    said_at: datetime
    client: str = ""
    branch: str = ""
    files: tuple[str, ...] = ()


class SessionHit(Value, frozen=True, kw_only=True):
    """A part of a session that bears on a prompt, in the order in which it was said.

    ``relevance`` is the probability, 0–1, that it holds what the prompt needs. ``replaces`` names
    the older session on the same subject whose word this one replaces; ``replaced_by`` the newer.
    ``passages`` are empty where the hit was not relevant enough to be fetched.
    """

    session: str
    scope: Scope
    relevance: float
    began_at: datetime
    passages: tuple[Passage, ...] = ()
    replaces: str = ""
    replaced_by: str = ""


class SessionVerdict(Value, frozen=True, kw_only=True):
    """What became of a session that was found for a prompt: as a constant, and in plain words."""

    session: str
    began_at: datetime
    relevance: float
    outcome: SessionOutcome
    why: str

    @property
    def quoted(self) -> bool:
        """Whether the prompt was given what was said in it."""
        return self.outcome == "quoted"


class SessionInfo(Value, frozen=True, kw_only=True):
    """One session that is remembered: when, where, how much, and how it began."""

    session: str
    scope: Scope
    client: str
    branch: str
    began_at: datetime
    ended_at: datetime
    passages: int
    opening: str


# --- what a transcript tells ----------------------------------------------------------------------


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
