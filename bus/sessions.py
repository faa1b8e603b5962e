"""What was said in sessions, word for word, what of it a prompt finds, and what is answered of it.

The answers are as in ``results.py``: one struct a call. Times are aware UTC.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from msgspec import UNSET, UnsetType

from .results import CopyResult, Result
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


# --- what the daemon answers ----------------------------------------------------------------------


class ListedSession(Result, frozen=True, kw_only=True):
    """One session that is remembered. ``urn`` is its MCP resource; ``opening`` how it began."""

    id: str
    urn: str
    client: str
    branch: str
    began_at: datetime
    ended_at: datetime
    passages: int
    opening: str


class SessionsResult(Result, frozen=True, kw_only=True):
    """``sessions list``: the sessions of a project, newest first."""

    sessions: tuple[ListedSession, ...]


class SaidResult(Result, frozen=True, kw_only=True):
    """What one side said. ``files`` are those that the agent had changed by then."""

    id: str
    speaker: Speaker
    said_at: datetime
    text: str
    files: tuple[str, ...]


class ShownResult(Result, frozen=True, kw_only=True):
    """A memory that was shown in a session, at the hook ``moment``."""

    id: str
    summary: str
    moment: str
    at: datetime


class SessionResult(Result, frozen=True, kw_only=True):
    """``sessions show``: all that is kept of one session, in the order in which it was said.

    ``shown`` are the memories that were shown in it and are still there.
    """

    id: str
    urn: str
    scope: str
    client: str
    branch: str
    began_at: datetime
    ended_at: datetime
    said: tuple[SaidResult, ...]
    shown: tuple[ShownResult, ...] = ()


class ForgetSessionsResult(Result, frozen=True, kw_only=True):
    """``sessions forget``: how much is gone, and the copies that may still hold it.

    ``memories`` are those that were captured from these sessions without being asked for.
    ``unread`` says why there may be other copies, where that is so.
    """

    sessions: int
    passages: int
    memories: int
    copies: tuple[CopyResult, ...]
    unread: str | UnsetType = UNSET


class AllowedResult(Result, frozen=True, kw_only=True):
    """``allow_sessions``: how many forgotten spans may be learned again."""

    spans: int


class FoundSession(Result, frozen=True, kw_only=True):
    """A session that bears on a query: ``relevance`` is the probability that it answers it.

    ``replaces`` and ``replaced_by`` name the older and the newer session on the same subject.
    """

    id: str
    urn: str
    began_at: datetime
    relevance: float
    replaces: str | None
    replaced_by: str | None
    said: tuple[SaidResult, ...]


class FoundSessions(Result, frozen=True, kw_only=True):
    """``recall --sessions``: best first; a newer session comes before the one it replaces."""

    query: str
    sessions: tuple[FoundSession, ...]


class UnreadResult(Result, frozen=True, kw_only=True):
    """``unread_transcripts``: how many bytes of each file were not read yet."""

    unread: dict[str, int]


class LearnedResult(Result, frozen=True, kw_only=True):
    """``learn``: what was kept of one transcript."""

    passages: int
    memories: int
    tasks: int


class LearnedAll(LearnedResult, frozen=True, kw_only=True):
    """What the command line says for ``learn``.

    ``gone`` transcripts are of projects whose directory is not there any more, ``failed`` ones
    could not be read, or not in time. ``finished`` is false where it was interrupted, or the daemon
    was gone, which ``error`` tells: it can be repeated.
    """

    transcripts: int
    sessions: int
    bytes: int
    seconds: float
    gone: int
    failed: int
    finished: bool
    error: str | UnsetType = UNSET


class LearnableFile(Result, frozen=True, kw_only=True):
    """A transcript that would be read. ``project`` is its directory, ``bytes`` what is unread."""

    file: str
    client: str
    project: str
    bytes: int


class LearnPlan(Result, frozen=True, kw_only=True):
    """``learn --dry-run``: newest first."""

    transcripts: tuple[LearnableFile, ...]
    bytes: int
    gone: int
