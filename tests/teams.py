"""A team's server as a simple rule, for tests of what a machine has of it.

An id and a version are unique, and the first that comes has them; what was forgotten stays so.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from subcog.bus.values import Scope
from subcog.sinks.models.embedder import Encoder
from subcog.sinks.store.rows import Row, digest
from subcog.sinks.store.store import Store
from subcog.sinks.team.protocol import Applied, Change, Changes, Cursor, Membership, Outgoing

ORG = Scope("org", "local")
SHOP = Scope("project", "github.com/them/shop")
EPOCH = 1
ENCODER = Encoder()


def membership(member: str = "alice", team: str = "shop") -> Membership:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    return Membership(team=team, member=member, epoch=EPOCH, joined_at=at, server="host:5432/db")


class Team:
    """What the server has: rows by (id, version), and the feed in its order."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, int], Row] = {}
        self.authors: dict[tuple[str, int], str] = {}
        self.gone: set[str] = set()
        self.feed: list[Change] = []
        self._seq = 0

    def put(self, member: str, row: Row) -> bool:
        memory = row.memory
        key = (memory.id, memory.version)
        if key in self.rows or memory.id in self.gone:
            return False
        before = self.rows.get((memory.id, memory.version - 1))
        kept = before and before.memory.content_hash == memory.content_hash
        author = self.authors[memory.id, memory.version - 1] if kept else member
        self.rows[key], self.authors[key] = row, author
        self._say(memory.id, memory.version, memory.scope, author, row)
        return True

    def forget(self, memory_id: str, scope: Scope) -> None:
        if memory_id not in self.gone:
            self.gone.add(memory_id)
            for key in [key for key in self.rows if key[0] == memory_id]:
                del self.rows[key]
            self.feed = [each for each in self.feed if each.id != memory_id]
            self._say(memory_id, 0, scope, "", None)

    def changes(self, after: Cursor, scopes: Sequence[Scope], limit: int = 500) -> Changes:
        found = [each for each in self.feed if each.cursor > after and each.scope in scopes]
        some = tuple(found[:limit])
        return Changes(some, some[-1].cursor if some else after, behind=len(found) > limit)

    def take(self, member: str, outgoing: Outgoing) -> bool:
        """Whether the entry of an outbox is done with."""
        if outgoing.row is None:
            self.forget(outgoing.id, outgoing.scope)
            return True
        if self.put(member, outgoing.row):
            return True
        there = self.rows.get((outgoing.id, outgoing.version))
        return there is not None and digest(there.memory) == digest(outgoing.row.memory)

    def _say(self, id_: str, version: int, scope: Scope, author: str, row: Row | None) -> None:
        self._seq += 1
        self.feed.append(_change(id_, version, scope, author, row, self._seq))


def change(row: Row, author: str = "bob", *, seq: int = 1) -> Change:
    """That ``author`` wrote ``row``, at place ``seq`` of the feed."""
    memory = row.memory
    return _change(memory.id, memory.version, memory.scope, author, row, seq)


def tombstone(memory_id: str, scope: Scope, *, seq: int = 1) -> Change:
    """That a memory was forgotten."""
    return _change(memory_id, 0, scope, "", None, seq)


def _change(id_: str, version: int, scope: Scope, author: str, row: Row | None, seq: int) -> Change:
    return Change(Cursor(EPOCH, seq, seq), id_, version, scope, author, row)


def feed(*changes: Change, cursor: Cursor | None = None) -> Changes:
    """Those changes, as the server hands them over."""
    return Changes(changes, cursor or changes[-1].cursor, behind=False)


async def join(store: Store, member: str = "alice", *, sends: Sequence[Scope] = (ORG,)) -> None:
    """Make ``store`` the replica of a member that sends ``sends``."""
    await store.replica.join(membership(member))
    for scope in sends:
        await store.replica.share(scope, scope.id, sends=True)


async def push(store: Store, team: Team, member: str) -> int:
    """Send what is in the outbox; how much the server took, or had."""
    done = 0
    while entries := await store.replica.outbox(limit=100):
        taken = [each for each in entries if team.take(member, each)]
        await store.replica.sent([each.seq for each in taken])
        done += len(taken)
        if len(taken) < len(entries):
            break
    return done


async def pull(store: Store, team: Team, member: str, limit: int = 500) -> Applied:
    """Receive one answer of the server."""
    shared = [each.scope for each in await store.replica.shared()]
    changes = team.changes(await store.replica.cursor(), shared, limit)
    return await apply(store, changes, member)


async def apply(store: Store, changes: Changes, member: str = "alice", **how: bool) -> Applied:
    return await store.replica.apply(changes, member=member, encoder=ENCODER, **how)
