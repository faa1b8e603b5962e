"""The bus: typed topics, one bounded inbox per subscriber, requests with a deadline.

An event's topic is its type. Each subscriber has its own inbox, first in, first out, and either
WAITs or DROPs when it is full. What a handler returns is published in its turn, under the same
deadline. A deadline is an absolute time of the event loop and travels beside the event.

Each delivery that an inbox accepted is settled exactly once: delivered, failed or dropped, and the
signal of that name tells which.
"""

from __future__ import annotations

import enum
import inspect
import logging
import math
from collections.abc import Awaitable, Callable, Iterable
from contextvars import ContextVar
from time import perf_counter
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import anyio
from anyio.abc import TaskGroup
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream

from .events import Event
from .signals import delivered, dropped, emit, failed

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
        self.workers = 0
        streams = anyio.create_memory_object_stream[Delivery](capacity)
        self.sender: MemoryObjectSendStream[Delivery] = streams[0]
        self.inbox: MemoryObjectReceiveStream[Delivery] = streams[1]

    @property
    def depth(self) -> int:
        """How many deliveries wait in the inbox."""
        return self.inbox.statistics().current_buffer_used

    @property
    def is_busy(self) -> bool:
        """Whether no worker waits for a delivery."""
        return self.inbox.statistics().tasks_waiting_receive == 0


R = TypeVar("R", bound=Event)

_log = logging.getLogger(__name__)
_inside: ContextVar[bool] = ContextVar("inside_a_handler", default=False)


class BusClosed(RuntimeError):
    """The bus takes no new events: it drains, or has ended."""


class Bus:
    """Delivers events. Use as ``async with Bus() as bus``; leaving drains it, then ends it.

    ``grace_s`` is how long leaving waits for work in progress before it is cancelled. Work that
    outlasted an earlier ``drain`` is not waited for again.
    """

    def __init__(self, *, grace_s: float = 5.0) -> None:
        self._grace_s = grace_s
        self._subscriptions: dict[type[Event], list[Subscription]] = {}
        self._pending: dict[str, PendingRequest] = {}
        self._workers: TaskGroup | None = None
        self._in_flight = 0
        self._idle: anyio.Event | None = None
        self._closing = False

    # --- subscribing -----------------------------------------------------------------------------

    def subscribe(
        self,
        event_type: type[E],
        handler: Handler[E],
        *,
        name: str,
        capacity: int = 1024,
        overflow: Overflow = Overflow.WAIT,
        concurrency: int = 1,
        fails_request: bool = True,
    ) -> Subscription:
        """Have ``handler`` called with every ``event_type``; what it returns is published.

        ``concurrency`` above 1 lets that many deliveries be handled at once, in no fixed order.
        ``fails_request`` False says that no reply depends on this subscriber, so that its failure
        does not end the request it happened in.
        """
        subscription = Subscription(
            name,
            handler,
            capacity=capacity,
            overflow=overflow,
            concurrency=concurrency,
            fails_request=fails_request,
        )
        self._subscriptions.setdefault(event_type, []).append(subscription)
        return subscription

    def depths(self) -> dict[str, int]:
        """How many deliveries wait, by subscriber."""
        return {s.name: s.depth for group in self._subscriptions.values() for s in group}

    # --- publishing ------------------------------------------------------------------------------

    async def publish(self, event: Event, *, deadline: float = math.inf) -> None:
        """Hand ``event`` to every subscriber of its type; return when each has accepted it.

        Raises ``BusClosed`` once the bus drains, unless a handler publishes.
        """
        if self._closing and not _inside.get():
            raise BusClosed("the bus takes no new events")
        await self._dispatch(event, deadline)

    async def request(self, event: Event, reply: type[R], *, within_s: float) -> R:
        """Publish ``event`` and return the first ``reply`` of the same trace.

        Raises ``TimeoutError`` after ``within_s`` seconds, ``StageFailed`` as soon as a stage
        fails on this trace, ``BusClosed`` once the bus drains, and ``ValueError`` when a request
        of this trace is already under way. Whatever it raises, nothing of it goes on.
        """
        if event.trace in self._pending:
            raise ValueError("a request of this trace is already under way")
        pending = self._pending[event.trace] = PendingRequest(reply)
        try:
            with anyio.fail_after(within_s) as scope:
                await self.publish(event, deadline=scope.deadline)
                await pending.done.wait()
        finally:
            del self._pending[event.trace]
            if pending.answer is None:
                pending.abandon()
        if pending.failure is not None:
            raise pending.failure
        return cast(R, pending.answer)

    async def _dispatch(self, event: Event, deadline: float) -> None:
        pending = self._pending.get(event.trace)
        if pending is not None and isinstance(event, pending.reply):
            pending.settle(answer=event)
        for subscription in self._subscriptions.get(type(event), ()):
            await self._hand_over(subscription, Delivery(event, deadline, pending))

    async def _hand_over(self, subscription: Subscription, delivery: Delivery) -> None:
        self._in_flight += 1
        if subscription.workers < subscription.concurrency and subscription.is_busy:
            self._start_worker(subscription)
        try:
            subscription.sender.send_nowait(delivery)
        except anyio.WouldBlock:
            if subscription.overflow is Overflow.DROP:
                self._drop(subscription, delivery, "full")
                return
            await self._wait_for_room(subscription, delivery)

    async def _wait_for_room(self, subscription: Subscription, delivery: Delivery) -> None:
        try:
            await subscription.sender.send(delivery)
        except BaseException:
            # A send that is cancelled may have been taken all the same, in the same instant: the
            # delivery is withdrawn here, so that it is neither handled nor counted a second time.
            self._settled(delivery)
            raise

    # --- delivering ------------------------------------------------------------------------------

    async def _work(self, subscription: Subscription) -> None:
        _inside.set(True)
        inbox = subscription.inbox
        while True:
            try:
                delivery = inbox.receive_nowait()
            except anyio.WouldBlock:
                delivery = await inbox.receive()
            if not delivery.settled:
                await self._deliver(subscription, delivery)
            # Hundreds of workers wait here; each would keep the last event that it had, with the
            # prompt, the candidates and all that they hold.
            del delivery

    async def _deliver(self, subscription: Subscription, delivery: Delivery) -> None:
        started = perf_counter()
        outcome = "shutdown"
        try:
            if delivery.pending is None and delivery.deadline == math.inf:
                await self._handle(subscription, delivery)
                outcome = ""
            else:
                outcome = await self._handle_in_time(subscription, delivery)
        except Exception as error:  # noqa: BLE001 - the hand-over: one delivery is lost, the next goes on
            outcome = "failed"
            self._fail(subscription, delivery, error)
        finally:
            self._settle(subscription, delivery, outcome, perf_counter() - started)

    async def _handle(self, subscription: Subscription, delivery: Delivery) -> None:
        said = subscription.handler(delivery.event)
        if inspect.isawaitable(said):
            said = await said
        if said is None:
            return
        for event in (said,) if isinstance(said, Event) else said:
            await self._dispatch(event, delivery.deadline)

    async def _handle_in_time(self, subscription: Subscription, delivery: Delivery) -> str:
        """Handle a delivery that can be cancelled; return why it was dropped, or nothing."""
        pending = delivery.pending
        if pending is not None and pending.abandoned:
            return "abandoned"
        if delivery.deadline <= anyio.current_time():
            return "deadline"
        with anyio.CancelScope(deadline=delivery.deadline) as scope:
            if pending is not None:
                pending.scopes.add(scope)
            try:
                await self._handle(subscription, delivery)
            finally:
                if pending is not None:
                    pending.scopes.discard(scope)
        if not scope.cancelled_caught:
            return ""
        return "deadline" if delivery.deadline <= anyio.current_time() else "abandoned"

    # --- settling --------------------------------------------------------------------------------

    def _settle(
        self, subscription: Subscription, delivery: Delivery, outcome: str, took_s: float
    ) -> None:
        if outcome == "":
            self._settled(delivery)
            event = type(delivery.event).__name__
            trace = delivery.event.trace
            emit(delivered, subscription.name, event=event, trace=trace, took_s=took_s)
        elif outcome == "failed":
            self._settled(delivery)
        else:
            self._drop(subscription, delivery, outcome)

    def _drop(self, subscription: Subscription, delivery: Delivery, reason: str) -> None:
        if not delivery.settled:
            self._settled(delivery)
            emit(dropped, subscription.name, event=type(delivery.event).__name__, reason=reason)

    def _fail(self, subscription: Subscription, delivery: Delivery, error: Exception) -> None:
        event, kind = type(delivery.event).__name__, type(error).__name__
        facts = {"event": event, "error": kind, "at": raised_at(error.__traceback__)}
        _log.error("a stage failed", extra={"stage": subscription.name, **facts})
        emit(failed, subscription.name, event=event, error=kind)
        if delivery.pending is not None and subscription.fails_request:
            failure = StageFailed(subscription.name)
            failure.__cause__ = error
            delivery.pending.settle(failure=failure)

    def _settled(self, delivery: Delivery) -> None:
        if delivery.settled:
            return
        delivery.settled = True
        self._in_flight -= 1
        if self._idle is not None and self._in_flight == 0:
            self._idle.set()

    # --- life ------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._workers = anyio.create_task_group()
        await self._workers.__aenter__()
        for group in self._subscriptions.values():
            for subscription in group:
                for _ in range(min(subscription.depth, subscription.concurrency)):
                    self._start_worker(subscription)
        return self

    def _start_worker(self, subscription: Subscription) -> None:
        """One more of them, when it is needed: all there may be are close to a thousand."""
        if self._workers is not None:
            subscription.workers += 1
            self._workers.start_soon(self._work, subscription, name=subscription.name)

    @property
    def _tasks(self) -> TaskGroup:
        if self._workers is None:
            raise RuntimeError("the bus has not been entered")
        return self._workers

    async def drain(self, grace_s: float) -> bool:
        """Close the entrances and wait until every delivery is settled; False if grace ran out."""
        self._closing = True
        return await self.settle(grace_s)

    async def settle(self, within_s: float) -> bool:
        """Wait until every delivery is settled; False if it takes longer."""
        with anyio.move_on_after(within_s):
            while self._in_flight:
                self._idle = anyio.Event()
                await self._idle.wait()
        return self._in_flight == 0

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        workers = self._tasks
        if kind is None and not self._closing:
            await self.drain(self._grace_s)
        self._closing = True
        workers.cancel_scope.cancel()
        handled = await workers.__aexit__(kind, error, traceback)
        for group in self._subscriptions.values():
            for subscription in group:
                self._drop_queued(subscription)
        return handled

    def _drop_queued(self, subscription: Subscription) -> None:
        """Tell of every delivery that nobody will handle any more, and close the inbox."""
        subscription.sender.close()
        while True:
            try:
                delivery = subscription.inbox.receive_nowait()
            except (anyio.WouldBlock, anyio.EndOfStream):
                break
            self._drop(subscription, delivery, "shutdown")
        subscription.inbox.close()


def raised_at(traceback: TracebackType | None) -> str:
    """``file.py:line`` of the innermost frame: enough to find the defect, and no text of it."""
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return f"{traceback.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{traceback.tb_lineno}"
