"""What became of memories after they were shown: written when there is time, summed up in memory.

The events are in the store; what is looked up while memories are chosen is a sum for each memory,
made from them at the start and again after each write. What happened in the last seconds is lost
when the daemon is killed. A vote of the user is not: it is committed before it is answered.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Literal

import anyio
import duckdb
from duckdb import DuckDBPyConnection
from msgspec import Struct

from ...bus.signals import emit, used
from ...bus.values import UNASKED, Scope, UseEvent, Usefulness
from ..store import reads, uses
from ..store.store import Store
from ..store.uses import UseSum

KEEP_DAYS = 400
"""An event is kept so long; after that only how many there were."""
MOST_EACH = 400
"""So many events of one memory are kept, the newest."""
MOST_EVENTS = 200_000
"""So many events are kept of all memories; a hundred bytes each."""

_MOST_PENDING = 20_000
_COMPACT_EVERY = 5_000
_SLICE = 500
_PAUSE_S = 0.002
_TICK = timedelta(microseconds=1)
_UNKNOWN = Usefulness()
Sum = Callable[[Iterable[UseEvent]], Usefulness]
_log = logging.getLogger(__name__)


def count_nothing(events: Iterable[UseEvent]) -> Usefulness:
    """The sum where nothing is learned from use."""
    return _UNKNOWN


class UseRecord(Struct, frozen=True):
    """All that is known of the use of a memory: events, oldest first, and what older ones were."""

    events: tuple[UseEvent, ...] = ()
    older: UseSum = UseSum()


class UseCounts(Struct, frozen=True):
    """What was seen and what was made in each quarter of an hour; the memories used most.

    ``seen`` has kinds of events, ``made`` whether a memory was made unasked, both with how many.
    ``most_used`` has id, summary and number of uses.
    """

    seen: list[tuple[datetime, str, int]]
    made: list[tuple[datetime, bool, int]]
    most_used: list[tuple[str, str, int]]


class UseLog:
    """The uses of the memories in ``store``. ``open`` it after the store; ``load`` it later.

    ``sum_up`` makes the sum of the events of one memory, which come in the order in which they
    happened. ``usual`` is the evidence on all memories together. Until ``load`` has run, only the
    votes are known.
    """

    def __init__(self, store: Store, *, sum_up: Sum, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._sum_up = sum_up
        self._clock = clock
        self._lock = threading.Lock()
        self._loading = anyio.Lock()
        self._is_loaded = False
        # What was summed up or dropped before the stored uses are loaded: it is newer.
        self._newer: set[str] = set()
        self._pending: list[UseEvent] = []
        self._known: dict[str, Usefulness] = {}
        self._written = 0
        self.usual = _UNKNOWN

    def of(self, memory_id: str) -> Usefulness:
        """The evidence on a memory, as of a few seconds ago; all zero for one that was not used."""
        return self._known.get(memory_id, _UNKNOWN)

    # --- life ------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Read the votes. Raises ``StoreUnavailable``."""
        votes = await self._store.read(uses.last_votes)
        self._known = {
            id_: Usefulness(buried=True) for id_, vote in votes.items() if vote.kind == "buried"
        }

    async def load(self) -> None:
        """Sum up what is stored, once, in nobody's way. Raises ``StoreUnavailable``."""
        async with self._loading:
            if not self._is_loaded:
                await self._store.write(self._compact)
                await self._store.read(self._load)
                self._is_loaded = True
                self._newer.clear()

    def _load(self, cursor: DuckDBPyConnection) -> None:
        for number, (memory_id, events) in enumerate(uses.by_memory(cursor), 1):
            self._learn(memory_id, events, stored=True)
            if not number % _SLICE:
                time.sleep(_PAUSE_S)

    # --- write -----------------------------------------------------------------------------------

    def note(self, events: Iterable[UseEvent]) -> None:
        """Append ``events`` when there is time. Raises ``StoreUnavailable`` where it is closed."""
        noted = list(events)
        for event in noted:
            emit(used, "use", kind=event.kind)
        with self._lock:
            self._pending += noted
            del self._pending[:-_MOST_PENDING]
        if noted:
            self._store.write_later(self._flush)

    async def vote(
        self, ids: Sequence[str], kind: Literal["kept", "buried"]
    ) -> dict[str, datetime]:
        """Note the user's vote on ``ids``; committed on return. The same vote twice counts once.

        Returns from when on to ``retract`` it, for each of ``ids``. Raises ``StoreUnavailable``.
        """
        votes, now = await self._store.read(uses.last_votes), self._clock()
        # Each later than the one before, whatever the clock says: the last one counts.
        times = {id_: max(now, votes[id_].at + _TICK) if id_ in votes else now for id_ in ids}
        self.note(
            UseEvent(memory_id=id_, session="", at=at, kind=kind)
            for id_, at in times.items()
            if id_ not in votes or votes[id_].kind != kind
        )
        await self._store.flush()
        return times

    async def retract(self, memory_id: str, since: datetime) -> None:
        """Take back the votes on a memory from ``since`` on. Raises ``StoreUnavailable``."""

        def work() -> None:
            with self._store.database.transaction() as connection:
                uses.retract_votes(connection, memory_id, since)
                self._sum_anew(connection, [memory_id])

        await self._store.flush()
        await self._store.write(work)

    def drop(self, memory_id: str) -> None:
        """Forget the sum of a memory that was forgotten; its events went with it."""
        self._learn(memory_id, ())
        self._known.pop(memory_id, None)

    async def counts(
        self, scopes: Sequence[Scope], since: datetime, uses_are: Collection[str], *, limit: int
    ) -> UseCounts:
        """What happened to the memories of ``scopes`` from ``since`` on.

        Raises ``StoreUnavailable``.
        """
        await self._store.flush()
        return await self._store.read(
            lambda cursor: UseCounts(
                uses.by_time(cursor, scopes, since),
                reads.made_by_time(cursor, scopes, sorted(UNASKED), since),
                uses.most_seen(cursor, scopes, uses_are, limit=limit),
            )
        )

    def _flush(self) -> None:
        """Write what is pending, and sum up anew what it concerns; on the writer's thread."""
        with self._lock:
            new, self._pending = self._pending, []
        if not new:
            return
        try:
            with self._store.database.transaction() as connection:
                uses.add(connection, new)
                self._sum_anew(connection, list({event.memory_id for event in new}))
        except (duckdb.Error, OSError):
            with self._lock:
                self._pending = [*new, *self._pending][-_MOST_PENDING:]
            raise
        self._written += len(new)
        if self._written >= _COMPACT_EVERY:
            self._compact()

    def _compact(self) -> None:
        self._written = 0
        before = self._clock() - timedelta(days=KEEP_DAYS)
        with self._store.database.transaction() as connection:
            gone = uses.compact(connection, before, each=MOST_EACH, total=MOST_EVENTS)
            self._sum_anew(connection, sorted(gone))
        if gone:
            _log.info("old uses of memories were summed up", extra={"memories": len(gone)})

    def _sum_anew(self, connection: DuckDBPyConnection, ids: Sequence[str]) -> None:
        events = uses.of(connection, ids)
        for memory_id in ids:
            self._learn(memory_id, events.get(memory_id, ()))

    def _learn(self, memory_id: str, events: Sequence[UseEvent], *, stored: bool = False) -> None:
        with self._lock:
            if stored and memory_id in self._newer:
                return
            if not stored and not self._is_loaded:
                self._newer.add(memory_id)
            before, use = self.of(memory_id), self._sum_up(events)
            self._known[memory_id] = use
            self.usual = Usefulness(
                helped=max(0.0, self.usual.helped + use.helped - before.helped),
                idle=max(0.0, self.usual.idle + use.idle - before.idle),
            )

    # --- read ------------------------------------------------------------------------------------

    async def in_session(self, session: str) -> list[UseEvent]:
        """What was shown in a session, in that order. Raises ``StoreUnavailable``."""
        await self._store.flush()
        return await self._store.read(lambda cursor: uses.shown_in(cursor, session))

    async def records(self, ids: Sequence[str]) -> dict[str, UseRecord]:
        """All that is known of those of ``ids`` that were used. Raises ``StoreUnavailable``.

        What is stored is summed up first: ``of`` and ``usual`` say as much as the records then.
        """
        await self.load()
        await self._store.flush()

        def read(cursor: DuckDBPyConnection) -> dict[str, UseRecord]:
            events, older = uses.of(cursor, ids), uses.sums(cursor, ids)
            return {
                id_: UseRecord(tuple(events.get(id_, ())), older.get(id_, UseSum()))
                for id_ in {*events, *older}
            }

        return await self._store.read(read) if ids else {}
