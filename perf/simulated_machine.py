"""Machines of a team that are simulated: the daemon's own engine, over a replica that is a list.

Real is all that decides what is asked of the server and when (``sinks/team/sync.py``), and each
statement (``PostgresStore``). A machine keeps no database, and shares the connections and the one
listener of its team's store with the others, where a real one has its own.
"""

from __future__ import annotations

import asyncio
import itertools
import random
import time
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime

from msgspec.structs import replace

from subcog.bus.values import Encoding, Memory, Scope
from subcog.config.ids import ulid_of
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder, Encoder
from subcog.sinks.store.rows import Row
from subcog.sinks.team.postgres.store import PostgresStore
from subcog.sinks.team.protocol import (
    About,
    Applied,
    Changes,
    Cursor,
    Depth,
    Membership,
    Outgoing,
    Sharing,
)
from subcog.sinks.team.sync import Sync
from subcog.sinks.team.sync_state import SyncContext

from .prose import ORGANISATION, memory
from .team_costs import now

TEXTS = 500


@dataclass
class Tally:
    """What happened, over all machines."""

    lag_ms: list[float] = field(default_factory=list)
    put_ms: list[float] = field(default_factory=list)
    pull_ms: list[float] = field(default_factory=list)
    empty: int = 0
    gated: int = 0
    received: int = 0
    twice: int = 0
    wake_ups: int = 0

    def clear(self) -> None:
        """Forget what happened until now."""
        vars(self).update(vars(Tally()))


class Texts:
    """Rows to write: new ids over texts that are made and encoded once."""

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        when = datetime(2026, 1, 1, tzinfo=UTC)
        made = [memory(rng, ORGANISATION, when, f"text-{number}") for number in range(TEXTS)]
        encodings = Embedder.load(None).encode_many([searchable(one) for one in made])
        self._rows: list[tuple[Memory, Encoding]] = list(zip(made, encodings, strict=True))

    def row(self) -> Row:
        text, encoding = self._rng.choice(self._rows)
        id_ = f"mem_{ulid_of(int(time.time() * 1000), self._rng.randbytes(10))}"
        return Row(replace(text, id=id_), encoding)


class Team:
    """What the machines of one team share: the store, its listener, and what was written."""

    def __init__(self, url: str, name: str, tally: Tally) -> None:
        self.name = name
        self.tally = tally
        self.written: dict[str, float] = {}
        self.machines: list[Machine] = []
        self.bells: set[asyncio.Event] = set()
        self.store = PostgresStore(url, clock=now)

    async def listen(self) -> None:
        async for _ in self.store.listen():
            for bell in self.bells:
                bell.set()


class Line:
    """A machine's way to the server: what it asks is counted, and goes by its team's store."""

    def __init__(self, team: Team) -> None:
        self._team = team
        self._store = team.store

    async def about(self) -> About:
        return await self._store.about()

    async def put(self, rows: Sequence[Row]) -> tuple[bool, ...]:
        began = time.perf_counter()
        taken = await self._store.put(rows)
        self._team.tally.put_ms.append((time.perf_counter() - began) * 1000)
        return taken

    async def forget(self, id: str, scopes: Sequence[Scope]) -> bool:  # noqa: A002
        return await self._store.forget(id, scopes)

    async def digests(self, keys: Sequence[tuple[str, int]]) -> Mapping[tuple[str, int], bytes]:
        return await self._store.digests(keys)

    async def changes(self, after: Cursor, scopes: Sequence[Scope], *, limit: int = 500) -> Changes:
        began, tally = time.perf_counter(), self._team.tally
        found = await self._store.changes(after, scopes, limit=limit)
        tally.pull_ms.append((time.perf_counter() - began) * 1000)
        if not found.changes:
            tally.empty += 1
            tally.gated += found.behind
        return found

    async def remaining(self, after: Cursor, scopes: Sequence[Scope]) -> int:
        return await self._store.remaining(after, scopes)

    async def listen(self) -> AsyncGenerator[None, None]:
        bell = asyncio.Event()
        self._team.bells.add(bell)
        try:
            yield
            while True:
                await bell.wait()
                bell.clear()
                self._team.tally.wake_ups += 1
                yield
        finally:
            self._team.bells.discard(bell)

    async def tidy(self) -> int:
        return await self._store.tidy()

    async def close(self) -> None:
        """The team's store is closed at the end."""


class Replica:
    """What the engine asks of a machine's database, without one."""

    def __init__(self, team: Team, cursor: Cursor) -> None:
        self._team = team
        self._cursor = cursor
        self._outbox: dict[int, Outgoing] = {}
        self._numbers = itertools.count()
        self._own: set[str] = set()
        self.has: set[str] = set()

    def write(self, row: Row) -> None:
        one = row.memory
        self._team.written[one.id] = time.perf_counter()
        self._own.add(one.id)
        self.has.add(one.id)
        seq = next(self._numbers)
        self._outbox[seq] = Outgoing(seq, one.id, one.version, one.scope, row, now())

    async def cursor(self) -> Cursor:
        return self._cursor

    async def shared(self) -> tuple[Sharing, ...]:
        return (Sharing(ORGANISATION, "organisation", sends=True),)

    async def declined(self) -> tuple[Scope, ...]:
        return ()

    async def depth(self) -> Depth:
        oldest = next(iter(self._outbox.values()), None)
        return Depth(len(self._outbox), oldest.queued_at if oldest else None)

    async def outbox(self, *, limit: int) -> tuple[Outgoing, ...]:
        return tuple(itertools.islice(self._outbox.values(), limit))

    async def sent(self, seqs: Sequence[int]) -> None:
        for seq in seqs:
            del self._outbox[seq]

    async def apply(
        self, changes: Changes, *, member: str, encoder: Encoder, moves: bool = True
    ) -> Applied:
        came, tally = time.perf_counter(), self._team.tally
        for change in changes.changes:
            if change.id in self._own:
                continue  # a pull may overtake the answer to the put
            tally.received += 1
            tally.twice += change.id in self.has
            self.has.add(change.id)
            tally.lag_ms.append((came - self._team.written[change.id]) * 1000)
        self._cursor = changes.cursor
        return Applied(received=len(changes.changes))


class Machine:
    """One member's daemon, as far as the team's server sees it."""

    def __init__(self, team: Team, cursor: Cursor, rng: random.Random) -> None:
        self._team = team
        self._rng = rng
        self.replica = Replica(team, cursor)
        # The replica is no subclass of the real one: it shares nothing with it but these methods.
        here = SyncContext(self.replica, Encoder(), nullcontext(), _nobody)  # type: ignore[arg-type]
        self.sync = Sync(
            here,
            Membership(team.name, "", cursor.epoch, now(), ""),
            lambda: Line(team),
            clean=lambda one: one,
            clock=now,
            random=rng.random,
        )

    async def capture(self, texts: Texts, per_hour: float, until: float) -> None:
        """Write at random moments, on average so many an hour."""
        while True:
            pause_s = self._rng.expovariate(per_hour / 3600)
            if time.perf_counter() + pause_s > until:
                return
            await asyncio.sleep(pause_s)
            self.replica.write(texts.row())
            self.sync.nudge()

    @property
    def is_in_step(self) -> bool:
        """Whether it has said hello, and has nothing to send or to receive that it knows of."""
        return self.sync.state().lag_s == 0.0

    @property
    def missing(self) -> int:
        """How many of the team's memories it has not got."""
        return len(self._team.written.keys() - self.replica.has)


async def _nobody(_: Applied) -> None:
    """No index follows."""
