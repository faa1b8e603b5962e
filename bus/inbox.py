"""The parts of a delivery: a delivery, the inbox it lands in, and who waits for its reply."""

from __future__ import annotations

import enum
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeVar

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from .events import Event

E = TypeVar("E", bound=Event)
Published = Event | Iterable[Event] | None
Handler = Callable[[E], Published | Awaitable[Published]]


class StageFailed(RuntimeError):
    """A stage raised on the trace of a request; ``__cause__`` is what it raised."""

    def __init__(self, stage: str) -> None:
        self.stage = stage
        super().__init__(f"the stage {stage} failed")


class Overflow(enum.Enum):
    """What happens to an event that finds a full inbox."""

    WAIT = "wait"
    DROP = "drop"


class PendingRequest:
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


class Delivery:
    """An event on its way to one subscriber."""

    __slots__ = ("deadline", "event", "pending", "settled")

    def __init__(self, event: Event, deadline: float, pending: PendingRequest | None) -> None:
        self.event = event
        self.deadline = deadline
        self.pending = pending
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
        fails_request: bool,
    ) -> None:
        self.name = name
        self.handler = handler
        self.overflow = overflow
        self.concurrency = concurrency
        self.fails_request = fails_request
        streams = anyio.create_memory_object_stream[Delivery](capacity)
        self.sender: MemoryObjectSendStream[Delivery] = streams[0]
        self.inbox: MemoryObjectReceiveStream[Delivery] = streams[1]

    @property
    def depth(self) -> int:
        """How many deliveries wait in the inbox."""
        return self.inbox.statistics().current_buffer_used
