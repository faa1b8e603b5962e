"""What the daemon answers to the calls about a team."""

from __future__ import annotations

from datetime import datetime

from .results import ListedMemory, Problem, Result
from .values import Mode


class TeamProject(Result, frozen=True, kw_only=True):
    """A project that the team shares, and how many memories of it are ``here``."""

    scope: str
    name: str
    here: int
    shared_by: str


class JoinResult(Result, frozen=True, kw_only=True):
    """``team-join``; ``leaves`` counts the memories that leave this machine."""

    joined: bool
    team: str
    member: str
    members: tuple[str, ...]
    server: str
    epoch: int
    organisation: int
    projects: tuple[TeamProject, ...]
    leaves: int


class ShareResult(Result, frozen=True, kw_only=True):
    """``team-share``; ``warning`` is empty where there is none."""

    shared: bool
    team: str
    scope: str
    name: str
    leaves: int
    shared_by: str
    warning: str


class UnshareResult(Result, frozen=True, kw_only=True):
    """``team-unshare``; ``listed`` says whether the team's list still has the project."""

    scope: str
    name: str
    removed: int
    kept: int
    listed: bool


class LeaveResult(Result, frozen=True, kw_only=True):
    """``team-leave``; ``unsent`` changes never reached the team."""

    left: bool
    team: str
    member: str
    server: str
    removed: int
    kept: int
    unsent: int


class SharedProject(Result, frozen=True, kw_only=True):
    """A project that this machine shares; ``sends`` is False where it only receives."""

    scope: str
    name: str
    here: int
    sends: bool
    shared_by: str


class Presence(Result, frozen=True, kw_only=True):
    """How many memories of the organisation are here, and how many others wrote."""

    here: int = 0
    received: int = 0


class NotJoined(Result, frozen=True, kw_only=True):
    """``team-status`` where no team was joined; ``url`` is whether an address is set."""

    joined: bool = False
    url: bool


class TeamStatusResult(Result, frozen=True, kw_only=True):
    """``team-status``: what this machine knows. Counts are since the daemon started.

    ``remaining`` is how many changes are still to be received, None while nobody knows.
    ``polling``: a connection pool lets no wake-up through. ``answer_s`` is how long the server
    takes to answer, None where it is not asked. ``authors_alone`` forget what they wrote, else
    anyone forgets anything. The defaults are those of ``NotJoined``, which has the first two fields
    alone.
    """

    joined: bool
    url: bool
    team: str = ""
    member: str = ""
    server: str = ""
    connected: bool = False
    polling: bool = False
    answer_s: float | None = None
    authors_alone: bool = False
    problem: Problem | None = None
    last_push: datetime | None = None
    last_pull: datetime | None = None
    lag_s: float | None = None
    outbox: int = 0
    oldest: datetime | None = None
    sent: int = 0
    received: int = 0
    conflicts: int = 0
    skipped: int = 0
    remaining: int | None = None
    members: tuple[str, ...] = ()
    projects: tuple[SharedProject, ...] = ()
    organisation: Presence = Presence()


class TeamMemory(ListedMemory, frozen=True, kw_only=True):
    """A memory that the team's server found; ``project`` is empty for the organisation's."""

    project: str
    cosine: float


class TeamRecallResult(Result, frozen=True, kw_only=True):
    """``team-recall``; ``skipped`` hits were no memories that can be shown."""

    query: str
    team: str
    server: str
    mode: Mode
    memories: tuple[TeamMemory, ...]
    skipped: int
    degraded: str | None
