"""What the daemon answers of sessions: which are remembered, what was said, what was learned.

As ``results.py``: one struct a call. Times are aware UTC.
"""

from __future__ import annotations

from datetime import datetime

from .passages import Speaker
from .results import CopyResult, Result


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


class SessionResult(Result, frozen=True, kw_only=True):
    """``sessions show``: all that is kept of one session, in the order in which it was said."""

    id: str
    urn: str
    scope: str
    client: str
    branch: str
    began_at: datetime
    ended_at: datetime
    said: tuple[SaidResult, ...]


class ForgetSessionsResult(Result, frozen=True, kw_only=True):
    """``sessions forget``: how much is gone, and the copies that may still hold it.

    ``memories`` are those that were captured from these sessions without being asked for.
    """

    sessions: int
    passages: int
    memories: int
    copies: tuple[CopyResult, ...]


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
    could not be read. ``finished`` is false where it was interrupted: it can be repeated.
    """

    transcripts: int
    sessions: int
    bytes: int
    seconds: float
    gone: int
    failed: int
    finished: bool


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
