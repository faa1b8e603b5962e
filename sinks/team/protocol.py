"""The values that replica, sync and the team's server exchange, and the server's port.

A *scope that sends* is one whose memories leave this machine. A *change* is one version of one
memory, or that it was forgotten, at its place in the team's feed. Versions count from 1; in a
change and in the outbox 0 says forgotten.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from datetime import datetime
from typing import Literal, Protocol

from msgspec import Struct

from ...bus.values import Scope
from ..store.rows import Row

Reason = Literal[
    "unreachable",
    "no_tls",
    "refused",
    "no_member",
    "no_schema",
    "newer_schema",
    "no_pgvector",
    "timeout",
    "read_only",
    "quota",
    "locked",
    "other_team",
    "closed",
    "failed",
]

TextSearch = Literal["bm25", "native"]

SENT_LATER = " What you capture is kept here and sent when it does."
"""What an error says in addition to those who are in a team already."""


class TeamUnavailable(ConnectionError):
    """The team's server cannot do what was asked now. The message says why and what to do.

    ``reason`` is the same for programs. Neither ever holds a password or text of a memory.
    """

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason: Reason = reason


class QuotaExceeded(TeamUnavailable):
    """The team takes nothing more from this member before the server's next day."""


class Locked(TeamUnavailable):
    """Somebody's open transaction holds what was to be written; the server does all else."""


class OtherTeam(TeamUnavailable):
    """The address leads to another team than the one that was joined; nothing is sent there."""

    def __init__(self, joined: str, found: str) -> None:
        super().__init__(
            "other_team",
            f"[team] url leads to the team {found}, and this machine joined "
            f"{joined if joined != found else 'another of that name'}: set the url of that team, "
            "or `subcog team leave` first",
        )


class ForgetRefused(ValueError):
    """The team lets only who wrote a memory forget it."""

    def __init__(self) -> None:
        super().__init__("the team lets only who wrote a memory forget it")


class NoWakeUps(ConnectionError):
    """The server can be asked, and tells nothing by itself: a connection pool stands between."""

    def __init__(self, server: str) -> None:
        super().__init__(f"a connection pool at {server} passes no notifications on")


# --- membership ----------------------------------------------------------------------------------


class Membership(Struct, frozen=True):
    """The team that this machine joined. ``server`` is host:port/database, never a password.

    ``founded`` tells teams of one name on two servers apart. ``authors_alone`` is what the server
    said last of who may forget.
    """

    team: str
    member: str
    epoch: int
    joined_at: datetime
    server: str
    founded: datetime | None = None
    authors_alone: bool = False

    def is_of(self, team: str, founded: datetime | None) -> bool:
        """Whether that is this team, be its server at another address by now."""
        if self.team != team:
            return False
        return None in (self.founded, founded) or self.founded == founded


class Project(Struct, frozen=True):
    """A project on the team's list."""

    scope: Scope
    name: str
    shared_by: str


class About(Struct, frozen=True):
    """What the server says of itself and of who asks. ``version`` is that of its tables.

    ``member`` and ``members`` are the names that the team sees. ``authors_alone`` forget what they
    wrote, else anyone forgets anything.
    """

    team: str
    member: str
    members: tuple[str, ...]
    epoch: int
    version: int
    text_search: TextSearch
    projects: tuple[Project, ...]
    founded: datetime | None = None
    authors_alone: bool = False


class Sharing(Struct, frozen=True):
    """A shared scope, and whether this machine sends what is in it.

    ``whole``: what the team had of it before it was shared here was pulled.
    """

    scope: Scope
    name: str
    sends: bool
    whole: bool = True


# --- incoming ------------------------------------------------------------------------------------


class Cursor(Struct, frozen=True, order=True):
    """A place in the team's feed; the default is before its beginning."""

    epoch: int = 0
    xid: int = 0
    seq: int = 0


class Change(Struct, frozen=True):
    """One change. ``version`` 0 and no ``row``: forgotten.

    Another version and no ``row``: what the server has there is no memory of that id, version and
    scope, or is too large to read.

    ``author`` is who the server knows wrote the text; the row's own provenance says the same. Of a
    forgotten memory it is who wrote the first version, empty where the server never had one, and
    ``forgotten_by`` are those who forgot it, if that was noted. ``brings_back`` is the forgotten
    memory that this one takes the place of, where the server knows that the same member forgot it.
    """

    cursor: Cursor
    id: str
    version: int
    scope: Scope
    author: str
    row: Row | None
    forgotten_by: tuple[str, ...] = ()
    brings_back: str = ""


class Changes(Struct, frozen=True):
    """Some changes, in the feed's order; ``cursor`` is where to go on.

    ``behind``: more is there, or was committed and becomes visible in a moment.
    """

    changes: tuple[Change, ...]
    cursor: Cursor
    behind: bool


class Applied(Struct, frozen=True):
    """What pulling did to the replica: new current versions, and ids that are gone."""

    stored: tuple[Row, ...] = ()
    forgotten: tuple[tuple[str, Scope], ...] = ()
    conflicts: int = 0
    received: int = 0
    skipped: int = 0


# --- outgoing ------------------------------------------------------------------------------------


class Outgoing(Struct, frozen=True):
    """One entry of the outbox. ``version`` 0 and no ``row``: forgotten."""

    seq: int
    id: str
    version: int
    scope: Scope
    row: Row | None
    queued_at: datetime


class Depth(Struct, frozen=True):
    """How much the outbox holds, and since when its oldest entry waits."""

    count: int
    oldest: datetime | None


# --- the server ----------------------------------------------------------------------------------


class TeamServer(Protocol):
    """Connects on first use, and again after the connection was lost.

    Each method raises a ``ConnectionError`` while the server cannot be used, and is idempotent.
    """

    @property
    def answer_s(self) -> float:
        """How long the last call took, or one under way takes, in seconds; 0 before the first."""

    async def about(self) -> About:
        """The team, the caller's membership, and what the team shares."""

    async def put(self, rows: Sequence[Row]) -> tuple[bool, ...]:
        """Append versions, all or none, committed on return.

        False for an (id, version) that is stored, and for an id that was forgotten. Raises
        ValueError for a row that cannot be stored, or that would change a memory's scope, and
        Locked where somebody else holds one of the memories.
        """

    async def locked(self, ids: Sequence[str]) -> frozenset[str]:
        """Those of ``ids`` that somebody else holds now, so that a put of them would wait."""

    async def forget(self, id: str, scopes: Sequence[Scope]) -> bool:  # noqa: A002
        """Delete a memory for everybody; its id, scope and the time stay as a tombstone.

        False where it is not in ``scopes``. Raises ForgetRefused where the team lets only who wrote
        it do that, and somebody else did, and Locked where somebody else holds the memory.
        """

    async def digests(self, keys: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], bytes]:
        """The digests of those (id, version) pairs that are there."""

    async def changes(self, after: Cursor, scopes: Sequence[Scope], *, limit: int = 500) -> Changes:
        """What changed in ``scopes`` beyond ``after``, in the feed's order; large rows fewer.

        Where the server's epoch is not the cursor's: nothing, and the cursor to begin with.
        """

    async def remaining(self, after: Cursor, scopes: Sequence[Scope]) -> int:
        """How many changes of ``scopes`` there are beyond ``after``."""

    def listen(self) -> AsyncGenerator[None, None]:
        """One item at the start, and one whenever something was changed, perhaps for many changes.

        Raises a ConnectionError when the connection is lost, and NoWakeUps where none can come.
        """

    async def tidy(self) -> int:
        """Add some of the latest vectors to the graph that search uses; for when there is time.

        How many are left, counted to 1,000: they are found as well, only slower.
        """

    async def close(self) -> None:
        """Close the connections. Idempotent."""
