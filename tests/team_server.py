"""A team's server in memory: (id, version) is unique and the first wins; nothing else is clever."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime

import anyio
import anyio.lowlevel
from msgspec.structs import replace

from subcog.bus.values import Scope
from subcog.sinks.store.rows import Row, digest
from subcog.sinks.team.protocol import (
    About,
    Change,
    Changes,
    Cursor,
    ForgetRefused,
    Locked,
    Project,
    QuotaExceeded,
    TeamUnavailable,
)

TEAM = "acme"


class FakeTeam:
    """What is on the server.

    ``gate`` hides what came from that place of the feed on, as a transaction under way does.
    """

    def __init__(self) -> None:
        self.epoch = 1
        self.founded = datetime(2026, 1, 1, tzinfo=UTC)
        self.versions: dict[tuple[str, int], tuple[Row, str]] = {}
        self.forgotten: set[str] = set()
        self.projects: list[Project] = []
        self.feed: list[tuple[int, Scope, str, int]] = []
        self.gate: int | None = None
        self.bells: set[anyio.Event] = set()
        self.is_down = False
        self.refuses: set[str] = set()
        self.locked: set[str] = set()
        self.fails_to_forget: dict[str, Exception] = {}
        self.takes = 1_000_000  # of each member
        self.authors_alone = False
        self._last = 0

    def note(self, scope: Scope, memory_id: str, version: int) -> None:
        self._last += 1
        self.feed.append((self._last, scope, memory_id, version))
        self.announce()

    def announce(self) -> None:
        for bell in self.bells:
            bell.set()

    @contextmanager
    def away(self) -> Iterator[None]:
        """Nobody can reach it meanwhile."""
        self.is_down = True
        self.announce()
        yield
        self.is_down = False


class FakeServer:
    """The server as ``member`` sees it; counts its calls."""

    def __init__(self, team: FakeTeam, member: str) -> None:
        self.team = team
        self.member = member
        self.name = TEAM
        self.calls: dict[str, int] = {}
        self.closed = False
        self.answer_s = 0.0

    async def _call(self, name: str) -> None:
        self.calls[name] = self.calls.get(name, 0) + 1
        await anyio.lowlevel.checkpoint()
        if self.team.is_down:
            raise TeamUnavailable("unreachable", "the server is away")

    async def close(self) -> None:
        self.closed = True

    async def about(self) -> About:
        await self._call("about")
        members, projects = ("ann", "ben", "cem"), tuple(self.team.projects)
        team = self.team
        return About(
            self.name, self.member, members, team.epoch, 1, "native", projects, team.founded
        )

    # --- writing ---------------------------------------------------------------------------------

    async def put(self, rows: Sequence[Row]) -> tuple[bool, ...]:
        await self._call("put")
        if any(row.memory.id in self.team.refuses for row in rows):
            raise ValueError("refused")
        if self.team.locked & {row.memory.id for row in rows}:
            raise Locked("locked", "somebody holds it")
        if self.team.takes < len(rows):
            raise QuotaExceeded("quota", "used up")
        self.team.takes -= len(rows)
        return tuple(self._put(row) for row in rows)

    def _put(self, row: Row) -> bool:
        memory = row.memory
        key = (memory.id, memory.version)
        if key in self.team.versions or memory.id in self.team.forgotten:
            return False
        self.team.versions[key] = (row, self.member)
        self.team.note(memory.scope, *key)
        return True

    async def locked(self, ids: Sequence[str]) -> frozenset[str]:
        await self._call("locked")
        return frozenset(ids) & self.team.locked

    async def forget(self, id: str, scopes: Sequence[Scope]) -> bool:  # noqa: A002
        await self._call("forget")
        if error := self.team.fails_to_forget.get(id):
            raise error
        there = [key for key in self.team.versions if key[0] == id]
        if not there or (scope := self.team.versions[there[0]][0].memory.scope) not in scopes:
            return False
        if self.team.authors_alone and self.team.versions[there[0]][1] != self.member:
            raise ForgetRefused
        for key in there:
            del self.team.versions[key]
        self.team.forgotten.add(id)
        self.team.feed = [entry for entry in self.team.feed if entry[2] != id]
        self.team.note(scope, id, 0)
        return True

    # --- reading ---------------------------------------------------------------------------------

    async def digests(self, keys: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], bytes]:
        await self._call("digests")
        found = {key: self.team.versions[key] for key in keys if key in self.team.versions}
        return {key: digest(row.memory) for key, (row, _) in found.items()}

    async def changes(self, after: Cursor, scopes: Sequence[Scope], *, limit: int = 500) -> Changes:
        await self._call("changes")
        team = self.team
        if after.epoch != team.epoch:
            return Changes((), Cursor(team.epoch), behind=True)
        open_ = [entry for entry in team.feed if team.gate is None or entry[0] < team.gate]
        fresh = [entry for entry in open_ if entry[0] > after.seq and entry[1] in scopes]
        page = fresh[:limit]
        ends = page if len(page) < len(fresh) else open_
        last = max((entry[0] for entry in ends), default=after.seq)
        behind = len(page) < len(fresh) or len(open_) < len(team.feed)
        cursor = Cursor(team.epoch, 1, max(last, after.seq))
        return Changes(tuple(self._change(*entry) for entry in page), cursor, behind=behind)

    def _change(self, at: int, scope: Scope, memory_id: str, version: int) -> Change:
        cursor = Cursor(self.team.epoch, 1, at)
        if version == 0 or (memory_id, version) not in self.team.versions:
            return Change(cursor, memory_id, 0, scope, "", None)
        row, author = self.team.versions[memory_id, version]
        provenance = replace(row.memory.provenance, author=author)
        signed = replace(row, memory=replace(row.memory, provenance=provenance))
        return Change(cursor, memory_id, version, scope, author, signed)

    async def remaining(self, after: Cursor, scopes: Sequence[Scope]) -> int:
        await self._call("remaining")
        return sum(seq > after.seq and scope in scopes for seq, scope, *_ in self.team.feed)

    async def tidy(self) -> int:
        await self._call("tidy")
        return 0

    async def listen(self) -> AsyncGenerator[None, None]:
        await self._call("listen")
        while True:
            bell = anyio.Event()
            self.team.bells.add(bell)
            try:
                yield
                await bell.wait()
            finally:
                self.team.bells.discard(bell)
            if self.team.is_down:
                raise TeamUnavailable("unreachable", "the server is away")
