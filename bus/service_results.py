"""What is answered about the daemon, its files, its statistics and its team.

As in ``results.py``: one struct a call.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

from msgspec import UNSET, UnsetType

from .results import ListedMemory, Result
from .values import Mode

NO_HTTP = (
    "the daemon serves no HTTP now: http.enabled is false, http.port is in use, or it failed and "
    "is tried again; `subcog logs` tells"
)


class IndexStatus(Result, frozen=True, kw_only=True):
    """What is held in memory to search in. ``bytes`` is an estimate.

    ``without_vectors`` are found by text alone; ``in_topics`` grows to all memories after a start.
    ``reranks_cut`` counts the questions since then of which not all candidates could be reranked in
    time, ``searched_by_sql`` those that were searched for without this index. ``missing`` says why
    there is none (``index.off``, ``index.failed``), and is empty where there is one.
    """

    bytes: int
    scopes: int
    without_vectors: int
    in_topics: int
    reranks_cut: int = 0
    searched_by_sql: int = 0
    missing: str = ""


class Problem(Result, frozen=True, kw_only=True):
    """Why something does not work: a constant, and a sentence for the user."""

    reason: str
    message: str


class ModelStatus(Result, frozen=True, kw_only=True):
    """The language model: circuit breaker, worker process, calls under way, cached answers."""

    model: str
    breaker: str
    worker: str
    asking: int
    cached: int
    problem: str | None


class TeamSummary(Result, frozen=True, kw_only=True):
    """The team, as far as the daemon's status says it. ``lag_s`` is 0 while both have the same."""

    team: str
    member: str
    server: str
    connected: bool
    lag_s: float | None
    outbox: int | None
    problem: Problem | None


class HookActivity(Result, frozen=True, kw_only=True):
    """When a hook of an agent was received last, and how often since the daemon started."""

    client: str
    event: str
    at: datetime
    count: int


class BackupSummary(Result, frozen=True, kw_only=True):
    """The backups that subcog makes by itself; ``problem`` says why the last one failed."""

    folder: str
    count: int
    newest: str | None
    newest_at: datetime | None
    bytes: int
    problem: str | None


class StatusResult(Result, frozen=True, kw_only=True):
    """``status``. ``memories`` and ``index`` are None, and ``ready`` False, while they are loaded.

    ``sessions`` and ``passages``, what is kept of them, are None then too, and where sessions are
    switched off. ``problem`` says why memories cannot be loaded. ``backup`` is None where none are
    made, and ``damage`` says what was found damaged and set aside. ``late_prompts`` were answered
    with nothing since the daemon started, as there was no time. ``build`` is empty where a daemon
    is too old to tell. ``running`` is set by the command line.
    """

    pid: int
    version: str
    build: str = ""
    socket: str
    database: str
    memories: int | None
    index: IndexStatus | None
    sessions: int | None
    passages: int | None
    ready: bool
    problem: str | None
    metrics_url: str | None
    mcp_url: str | None
    uptime_s: float
    clients: int
    mcp_sessions: int
    inboxes: dict[str, int]
    late_prompts: int
    max_rss_mb: int
    llm: ModelStatus | None
    team: TeamSummary | None
    backup: BackupSummary | None
    damage: tuple[str, ...]
    log: str
    heard: tuple[HookActivity, ...]
    running: bool | UnsetType = UNSET


class NoDaemon(Result, frozen=True, kw_only=True):
    """What the command line says for ``status`` where no daemon runs."""

    running: bool = False
    pid: None = None
    version: str
    socket: None = None
    database: str
    memories: None = None
    index: None = None
    ready: bool = False
    metrics_url: None = None
    log: str


class PageResult(Result, frozen=True, kw_only=True):
    """``open_page``: an address that lets one visitor in, once, within so many seconds."""

    url: str
    valid_s: float


class StopResult(Result, frozen=True, kw_only=True):
    """``stop``: the process that ends now; None where no daemon ran."""

    pid: int | None
    stopping: bool


class BackupResult(Result, frozen=True, kw_only=True):
    """``backup``."""

    file: str
    memories: int
    bytes: int


class RestoreResult(Result, frozen=True, kw_only=True):
    """``restore_backup``: the former database is ``kept_aside``; None where there was none.

    ``forgotten`` and ``forgotten_passages`` are how many of its memories and passages had been
    forgotten since it was made, None where that could not be read; ``brought_back``, whether they
    are there again. ``unread_bytes`` of the log beside the backup could not be read, or
    belong to another state of it.
    """

    file: str
    memories: int
    kept_aside: str | None
    forgotten: int | None
    forgotten_passages: int | None
    brought_back: bool
    unread_bytes: int = 0


class ForgottenSince(Result, frozen=True, kw_only=True):
    """``forgotten_since``: what of a backup was forgotten since; None where it cannot be read.

    ``there`` is how many memories the backup has. ``newer`` are those of ``here``, how many there
    are now, that it does not have.
    """

    memories: int | None
    passages: int | None
    there: int | None = None
    here: int | None = None
    newer: int | None = None


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
    """``team-leave``; ``unsent`` changes never reached the team.

    ``url_removed``: the address of its server was taken out of the settings' file.
    ``url_of_another``: the setting leads to another team, so it is kept.
    """

    left: bool
    team: str
    member: str
    server: str
    removed: int
    kept: int
    unsent: int
    url_removed: bool = False
    url_of_another: bool = False


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

    ``remaining`` is how many changes are still to be received, None while nobody knows, and
    ``fetching`` how many projects whose earlier changes are. ``skipped`` were not used here or not
    sent, ``refused`` were not taken by the server.
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
    refused: int = 0
    remaining: int | None = None
    fetching: int = 0
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


class DayStats(Result, frozen=True, kw_only=True):
    """One day, by this machine's clock.

    ``prompts`` were answered, ``served`` of them given something, ``tokens`` in all; None where the
    trace of prompts does not reach back so far. ``shown`` counts memories that went into a context,
    ``used`` those of which it was seen that they helped, ``corrected`` those to which the
    user objected. ``asked`` memories were kept because somebody asked, ``automatic`` ones were not.
    """

    day: str
    prompts: int | None
    served: int | None
    tokens: int | None
    shown: int
    used: int
    corrected: int
    asked: int
    automatic: int


class MostUsed(Result, frozen=True):
    """A memory and how often it was seen to help."""

    id: str
    summary: str
    used: int


class StatsResult(Result, frozen=True, kw_only=True):
    """``stats``: the last days, oldest first.

    Of ``memories`` that are valid, ``unused`` were never shown.
    ``log_since`` is the time of the first prompt in the trace of prompts; None where there is none.
    """

    days: tuple[DayStats, ...]
    memories: int
    unused: int
    most_used: tuple[MostUsed, ...]
    log_since: datetime | None


class SqlColumn(Result, frozen=True, kw_only=True):
    """A column and its type in DuckDB."""

    name: str
    type: str


class SqlView(Result, frozen=True, kw_only=True):
    """What can stand in FROM: a view, or a macro with its parameter."""

    name: str
    columns: tuple[SqlColumn, ...]


class SqlViewsResult(Result, frozen=True, kw_only=True):
    """``sql`` without a query."""

    views: tuple[SqlView, ...]
    example: str


class SqlResult(Result, frozen=True, kw_only=True):
    """``sql``: each row as an object, columns of the same name numbered.

    ``more``: there are rows beyond the limit.
    """

    columns: tuple[SqlColumn, ...]
    rows: tuple[dict[str, Any], ...]
    more: bool
    took_ms: float
