"""How the synchronisation with a team goes: what is counted, and what whoever asks is told."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any

from msgspec import Struct

from ...bus.signals import emit, synced
from ..search.encoder import Encoder
from .protocol import About, Applied, Change, Depth
from .replica import Replica

# The parts that may be in trouble.
PUSH, PULL, LISTEN = "push", "pull", "listen"
MAX_ECHOES = 10_000


class Problem(Struct, frozen=True):
    """Why it does not go on: ``reason`` is a constant, ``message`` says what to do."""

    reason: str
    message: str


class SyncState(Struct, frozen=True, kw_only=True):
    """A moment of it. The counts are of this process.

    ``lag_s`` is how long ago this machine and the team last had the same, 0 while they have.
    ``remaining`` is how many changes are still to be received, None while nobody knows.
    ``outbox`` is how many versions waited when it was last looked.
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


class Here(Struct, frozen=True):
    """What of this machine takes part.

    ``encoder`` makes what retrieval needs of a text. ``turn`` is held while something is applied:
    nobody may read a memory to write it anew meanwhile. ``applied`` hears what was committed.
    """

    replica: Replica
    encoder: Encoder
    turn: AbstractAsyncContextManager[Any]
    applied: Callable[[Applied], Awaitable[None]]


class Echoes:
    """What this machine has sent comes back by the feed, and is nothing new."""

    def __init__(self) -> None:
        self._sent: set[tuple[str, int]] = set()

    def expect(self, keys: Iterable[tuple[str, int]]) -> None:
        """The server took these (id, version) pairs from here; version 0 for forgotten."""
        if len(self._sent) > MAX_ECHOES:
            self.clear()  # then they are taken for new, and applying them changes nothing
        self._sent.update(keys)

    def clear(self) -> None:
        """Expect nothing any more: another may have taken these places."""
        self._sent.clear()

    def without(self, changes: Sequence[Change]) -> tuple[Change, ...]:
        """``changes`` but for those that were expected; these are not expected any more."""
        keys = {(change.id, change.version) for change in changes} & self._sent
        self._sent -= keys
        return tuple(one for one in changes if (one.id, one.version) not in keys)


class Tally:
    """Counts, and knows since when the two are not in step."""

    def __init__(self, *, clock: Callable[[], datetime]) -> None:
        self._clock = clock
        self._in_step = clock()
        self._counts = dict.fromkeys(("sent", "received", "conflicts", "skipped"), 0)
        self._troubles: dict[str, Problem] = {}
        self.last_push: datetime | None = None
        self.last_pull: datetime | None = None
        self.outbox = 0
        self.remaining: int | None = None
        self.about: About | None = None

    def count(self, **facts: int) -> None:
        """Add to ``sent``, ``received``, ``conflicts`` or ``skipped``, and tell it."""
        if not any(facts.values()):
            return
        for name, number in facts.items():
            self._counts[name] += number
        emit(synced, "team", **{name: facts.get(name, 0) for name in self._counts})

    def fail(self, part: str, problem: Problem) -> bool:
        """``part`` does not get on; whether that is news."""
        known = self._troubles.get(part)
        self._troubles[part] = problem
        return known is None or known.reason != problem.reason

    def succeed(self, part: str) -> bool:
        """``part`` gets on; whether it did not before."""
        return self._troubles.pop(part, None) is not None

    def waiting(self, depth: Depth) -> None:
        """So much is to be sent; it may have waited since before this process."""
        self.outbox = depth.count
        self._in_step = min(self._in_step, depth.oldest or self._in_step)

    def pushed(self) -> None:
        """What could be sent was sent."""
        self.last_push = self._clock()
        self._look()

    def pulled(self) -> None:
        """All there was has been received."""
        self.remaining, self.last_pull = 0, self._clock()
        self._look()

    @property
    def _is_in_step(self) -> bool:
        looked = self.last_push is not None and self.last_pull is not None
        return looked and self._is_connected and not self.outbox and not self.remaining

    @property
    def _is_connected(self) -> bool:
        """What is heard by notification is also found without."""
        return self.about is not None and not self._troubles.keys() - {LISTEN}

    def _look(self) -> None:
        if self._is_in_step:
            self._in_step = self._clock()

    def state(self) -> SyncState:
        """All of it, as of now."""
        behind_s = (self._clock() - self._in_step).total_seconds()
        return SyncState(
            connected=self._is_connected,
            last_push=self.last_push,
            last_pull=self.last_pull,
            lag_s=0.0 if self._is_in_step else max(0.0, behind_s),
            outbox=self.outbox,
            remaining=self.remaining,
            problem=next(iter(self._troubles.values()), None),
            about=self.about,
            **self._counts,
        )
