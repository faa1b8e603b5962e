"""The parts of a delivery: a letter, the inbox it lands in, and who waits for its reply."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from .events import Event

E = TypeVar("E", bound=Event)
Said = Event | Iterable[Event] | None
Handler = Callable[[E], Said | Awaitable[Said]]


class StageFailed(RuntimeError):
    """A stage raised on the trace of a request; ``__cause__`` is what it raised."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        super().__init__(f"the stage {stage} failed")


class Overflow(enum.Enum):
    """What happens to an event that finds a full inbox."""

    WAIT = "wait"
    DROP = "drop"


class Waiter:
    """A request that waits for its reply."""

    def __init__(self, reply: type[Event]) -> None:
        self.reply = reply
        self.done = anyio.Event()
        self.answer: Event | None = None
        self.failure: StageFailed | None = None
        self.abandoned = False
        self.scopes: set[anyio.CancelScope] = set()

    def settle(self, *, answer: Event | None = None, failure: StageFailed | None = None) -> None:
        if not self.done.is_set():
            self.answer, self.failure = answer, failure
            self.done.set()

    def abandon(self) -> None:
        """Nobody waits any more: cancel what is being done for it."""
        self.abandoned = True
        for scope in tuple(self.scopes):
            scope.cancel()


class Letter:
    """An event on its way to one subscriber."""

    __slots__ = ("deadline", "event", "settled", "waiter")

    def __init__(self, event: Event, deadline: float, waiter: Waiter | None) -> None:
        self.event = event
        self.deadline = deadline
        self.waiter = waiter
        self.settled = False


class Subscription:
    """One subscriber: its inbox and its handler."""

    def __init__(
        self,
        name: str,
        handler: Handler[Any],
        *,
        capacity: int,
        overflow: Overflow,
        concurrency: int,
        leads_on: bool,
    ) -> None:
        self.name = name
        self.handler = handler
        self.overflow = overflow
        self.concurrency = concurrency
        self.leads_on = leads_on
        streams = anyio.create_memory_object_stream[Letter](capacity)
        self.entrance: MemoryObjectSendStream[Letter] = streams[0]
        self.inbox: MemoryObjectReceiveStream[Letter] = streams[1]

    @property
    def depth(self) -> int:
        """How many letters wait in the inbox."""
        return self.inbox.statistics().current_buffer_used
