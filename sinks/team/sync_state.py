"""The state of the synchronisation with a team: counters, echoes, and problems."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

import anyio
from msgspec import Struct

from ...bus.signals import emit, synced
from ..models.embedder import Encoder
from .protocol import About, Applied, Change, Depth
from .replica import Replica

# The parts that may fail on their own.
PUSH, PULL, LISTEN = "push", "pull", "listen"
# No failures: the day's quota is used up; somebody's transaction holds some of what is to be sent.
QUOTA, LOCKED = "quota", "locked"
_MINOR = frozenset((LISTEN, QUOTA, LOCKED))
MAX_ECHOES = 10_000
_COUNTED = ("sent", "received", "conflicts", "skipped", "refused")


class Pace:
    """Lets ``burst`` things happen at once, and after that one every ``every_s`` seconds."""

    def __init__(self, burst: int = 10, every_s: float = 0.5) -> None:
        self._ahead_s = burst * every_s
        self._every_s = every_s
        self._next = -math.inf

    def wait_s(self, now: float) -> float:
        """How long the thing that is due at ``now`` has to wait; counts it."""
        self._next = max(self._next, now - self._ahead_s) + self._every_s
        return max(0.0, self._next - now)


class Gate:
    """Closed at first. What would leave this machine waits until it is open."""

    def __init__(self) -> None:
        self._opened = anyio.Event()

    def open(self) -> None:
        self._opened.set()

    def close(self) -> None:
        if self._opened.is_set():  # else somebody waits for this one
            self._opened = anyio.Event()

    async def passed(self) -> None:
        """Wait until it is open."""
        await self._opened.wait()


class Problem(Struct, frozen=True):
    """Why it is stuck: ``reason`` is a constant, ``message`` says what to do."""

    reason: str
    message: str


class SyncState(Struct, frozen=True, kw_only=True):
    """A snapshot. The counts are since the start of this process.

    ``lag_s`` is how long ago this machine and the team last had the same, 0 while they have.
    ``remaining`` is how many changes are still to be received, None while unknown.
    ``fetching`` is how many projects are listed whose earlier changes are still to be received.
    ``outbox`` is how many versions were queued at the last push.
    ``refused`` is how many changes of this machine the server did not take.
    ``answer_s`` is how long the server takes to answer.
    ``is_polling``: no notification comes through, so news come by polling alone.
    """

    connected: bool
    last_push: datetime | None
    last_pull: datetime | None
    lag_s: float
    outbox: int
    received: int
    sent: int
    conflicts: int
    skipped: int
    remaining: int | None
    problem: Problem | None
    about: About | None
    fetching: int = 0
    refused: int = 0
    is_polling: bool = False
    answer_s: float = 0.0


class SyncContext(Struct, frozen=True):
    """What the synchronisation needs of this machine.

    ``write_lock`` is held while changes are applied, against concurrent read-modify-write.
    ``applied`` is called with what was committed.
    """

    replica: Replica
    encoder: Encoder
    write_lock: AbstractAsyncContextManager[Any]
    applied: Callable[[Applied], Awaitable[None]]


class Echoes:
    """Versions sent from here, which come back by the feed and need not be applied."""

    def __init__(self) -> None:
        self._sent: set[tuple[str, int]] = set()

    def expect(self, keys: Iterable[tuple[str, int]]) -> None:
        """The server accepted these (id, version) pairs from here; version 0 for a deletion."""
        if len(self._sent) > MAX_ECHOES:
            self.clear()  # unexpected echoes are applied, which changes nothing
        self._sent.update(keys)

    def clear(self) -> None:
        """Expect nothing any more, after the server was restored."""
        self._sent.clear()

    def without(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """``changes`` without the expected ones, which are not expected any more."""
        keys = {(change.id, change.version) for change in changes} & self._sent
        self._sent -= keys
        return tuple(one for one in changes if (one.id, one.version) not in keys)


class SyncCounters:
    """Counts, and tracks since when this machine and the team differ."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._in_step = clock()
        self._counts = dict.fromkeys(_COUNTED, 0)
        self._problems: dict[str, Problem] = {}
        self.last_push: datetime | None = None
        self.last_pull: datetime | None = None
        self.outbox = 0
        self.remaining: int | None = None
        self.fetching = 0
        self.about: About | None = None
        self.is_polling = False

    def count(self, **facts: int) -> None:
        """Add to ``sent``, ``received``, ``conflicts``, ``skipped`` or ``refused``; tell it."""
        if not any(facts.values()):
            return
        for name, number in facts.items():
            self._counts[name] += number
        emit(synced, "team", **{name: facts.get(name, 0) for name in self._counts})

    def fail(self, part: str, problem: Problem) -> bool:
        """``part`` failed; returns whether the reason is new."""
        known = self._problems.get(part)
        self._problems[part] = problem
        return known is None or known.reason != problem.reason

    def succeed(self, part: str) -> bool:
        """``part`` succeeded; returns whether it had failed before."""
        return self._problems.pop(part, None) is not None

    def waiting(self, depth: Depth) -> None:
        """So much is queued; it may have waited since before this process."""
        self.outbox = depth.count
        self._in_step = min(self._in_step, depth.oldest or self._in_step)

    def pushed(self) -> None:
        self.last_push = self._clock()
        self._update_in_step()

    def pulled(self) -> None:
        """The feed was pulled to its end."""
        self.remaining, self.last_pull = 0, self._clock()
        self._update_in_step()

    @property
    def _is_in_step(self) -> bool:
        synced_once = self.last_push is not None and self.last_pull is not None
        nothing_left = not (self.outbox or self.remaining or self.fetching)
        return synced_once and self._is_connected and nothing_left

    @property
    def _is_connected(self) -> bool:
        """A failed listener does not count, for changes are also polled; nor what waits."""
        return self.about is not None and not self._problems.keys() - _MINOR

    def _update_in_step(self) -> None:
        if self._is_in_step:
            self._in_step = self._clock()

    def _worst(self) -> Problem | None:
        """The problem that is told: the one that parts this machine from the team, if any."""
        parts = sorted(self._problems, key=_MINOR.__contains__)
        return self._problems[parts[0]] if parts else None

    def state(self) -> SyncState:
        """A snapshot."""
        behind_s = (self._clock() - self._in_step).total_seconds()
        return SyncState(
            connected=self._is_connected,
            last_push=self.last_push,
            last_pull=self.last_pull,
            lag_s=0.0 if self._is_in_step else max(0.0, behind_s),
            outbox=self.outbox,
            remaining=self.remaining,
            fetching=self.fetching,
            problem=self._worst(),
            about=self.about,
            is_polling=self.is_polling,
            **self._counts,
        )
