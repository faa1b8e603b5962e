"""The bus: typed topics, one bounded inbox per subscriber, requests with a deadline.

An event's topic is its type. Each subscriber has its own inbox, first in, first out, and either
WAITs or DROPs when it is full. What a handler returns is published in its turn, under the same
deadline. A deadline is an absolute time of the event loop and travels beside the event.

Each letter that an inbox accepted is settled exactly once: delivered, failed or dropped, and the
signal of that name tells which.
"""

from __future__ import annotations

import inspect
import logging
import math
from contextvars import ContextVar
from time import perf_counter
from types import TracebackType
from typing import Self, TypeVar, cast

import anyio
from anyio.abc import TaskGroup

from .events import Event
from .inbox import E, Handler, Letter, Overflow, StageFailed, Subscription, Waiter
from .signals import delivered, dropped, failed, tell

R = TypeVar("R", bound=Event)

_log = logging.getLogger(__name__)
_inside: ContextVar[bool] = ContextVar("inside_a_handler", default=False)


class BusClosed(RuntimeError):
    """The bus takes no new events: it drains, or has ended."""


class Bus:
    """Delivers events. Use as ``async with Bus() as bus``; leaving drains it, then ends it.

    ``grace_s`` is how long leaving waits for work in progress before it is cancelled.
    """

    def __init__(self, *, grace_s: float = 5.0) -> None:
        self._grace_s = grace_s
        self._subscriptions: dict[type[Event], list[Subscription]] = {}
        self._asked: dict[str, Waiter] = {}
        self._workers: TaskGroup | None = None
        self._unsettled = 0
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
        leads_on: bool = True,
    ) -> Subscription:
        """Have ``handler`` called with every ``event_type``; what it returns is published.

        ``concurrency`` above 1 lets that many letters be handled at once, in no fixed order.
        ``leads_on`` False says that no reply depends on this subscriber, so that its failure
        does not end the request it happened in.
        """
        subscription = Subscription(
            name,
            handler,
            capacity=capacity,
            overflow=overflow,
            concurrency=concurrency,
            leads_on=leads_on,
        )
        self._subscriptions.setdefault(event_type, []).append(subscription)
        if self._workers is not None:
            self._start(subscription)
        return subscription

    def depths(self) -> dict[str, int]:
        """How many letters wait, by subscriber."""
        return {s.name: s.depth for group in self._subscriptions.values() for s in group}

    # --- publishing ------------------------------------------------------------------------------

    async def publish(self, event: Event, *, deadline: float = math.inf) -> None:
        """Hand ``event`` to every subscriber of its type; return when each has accepted it.

        Raises ``BusClosed`` once the bus drains, unless a handler publishes.
        """
        if self._closing and not _inside.get():
            raise BusClosed("the bus takes no new events")
        await self._spread(event, deadline)

    async def request(self, event: Event, reply: type[R], *, within_s: float) -> R:
        """Publish ``event`` and return the first ``reply`` of the same trace.

        Raises ``TimeoutError`` after ``within_s`` seconds, ``StageFailed`` as soon as a stage
        fails on this trace, ``BusClosed`` once the bus drains, and ``ValueError`` when a request
        of this trace is already under way. Whatever it raises, nothing of it goes on.
        """
        if event.trace in self._asked:
            raise ValueError("a request of this trace is already under way")
        waiter = self._asked[event.trace] = Waiter(reply)
        try:
            with anyio.fail_after(within_s) as scope:
                await self.publish(event, deadline=scope.deadline)
                await waiter.done.wait()
        finally:
            del self._asked[event.trace]
            if waiter.answer is None:
                waiter.abandon()
        if waiter.failure is not None:
            raise waiter.failure
        return cast(R, waiter.answer)

    async def _spread(self, event: Event, deadline: float) -> None:
        waiter = self._asked.get(event.trace)
        if waiter is not None and isinstance(event, waiter.reply):
            waiter.settle(answer=event)
        for subscription in self._subscriptions.get(type(event), ()):
            await self._hand_over(subscription, Letter(event, deadline, waiter))

    async def _hand_over(self, subscription: Subscription, letter: Letter) -> None:
        self._unsettled += 1
        try:
            subscription.entrance.send_nowait(letter)
        except anyio.WouldBlock:
            if subscription.overflow is Overflow.DROP:
                self._drop(subscription, letter, "full")
                return
            await self._wait_for_room(subscription, letter)

    async def _wait_for_room(self, subscription: Subscription, letter: Letter) -> None:
        try:
            await subscription.entrance.send(letter)
        except BaseException:
            # A send that is cancelled may have been taken all the same, in the same instant: the
            # letter is withdrawn here, so that it is neither handled nor counted a second time.
            self._settled(letter)
            raise

    # --- delivering ------------------------------------------------------------------------------

    async def _work(self, subscription: Subscription) -> None:
        _inside.set(True)
        inbox = subscription.inbox
        while True:
            try:
                letter = inbox.receive_nowait()
            except anyio.WouldBlock:
                letter = await inbox.receive()
            if not letter.settled:
                await self._deliver(subscription, letter)

    async def _deliver(self, subscription: Subscription, letter: Letter) -> None:
        started = perf_counter()
        outcome = "shutdown"
        try:
            if letter.waiter is None and letter.deadline == math.inf:
                await self._handle(subscription, letter)
                outcome = ""
            else:
                outcome = await self._handle_in_time(subscription, letter)
        except Exception as error:  # noqa: BLE001 - the hand-over: one letter is lost, the next goes on
            outcome = "failed"
            self._fail(subscription, letter, error)
        finally:
            self._settle(subscription, letter, outcome, perf_counter() - started)

    async def _handle(self, subscription: Subscription, letter: Letter) -> None:
        said = subscription.handler(letter.event)
        if inspect.isawaitable(said):
            said = await said
        if said is None:
            return
        for event in (said,) if isinstance(said, Event) else said:
            await self._spread(event, letter.deadline)

    async def _handle_in_time(self, subscription: Subscription, letter: Letter) -> str:
        """Handle a letter that can be cancelled; return why it was dropped, or nothing."""
        waiter = letter.waiter
        if waiter is not None and waiter.abandoned:
            return "abandoned"
        if letter.deadline <= anyio.current_time():
            return "deadline"
        with anyio.CancelScope(deadline=letter.deadline) as scope:
            if waiter is not None:
                waiter.scopes.add(scope)
            try:
                await self._handle(subscription, letter)
            finally:
                if waiter is not None:
                    waiter.scopes.discard(scope)
        if not scope.cancelled_caught:
            return ""
        return "deadline" if letter.deadline <= anyio.current_time() else "abandoned"

    # --- settling --------------------------------------------------------------------------------

    def _settle(
        self, subscription: Subscription, letter: Letter, outcome: str, took_s: float
    ) -> None:
        if outcome == "":
            self._settled(letter)
            event = type(letter.event).__name__
            trace = letter.event.trace
            tell(delivered, subscription.name, event=event, trace=trace, took_s=took_s)
        elif outcome == "failed":
            self._settled(letter)
        else:
            self._drop(subscription, letter, outcome)

    def _drop(self, subscription: Subscription, letter: Letter, reason: str) -> None:
        if not letter.settled:
            self._settled(letter)
            tell(dropped, subscription.name, event=type(letter.event).__name__, reason=reason)

    def _fail(self, subscription: Subscription, letter: Letter, error: Exception) -> None:
        event, kind = type(letter.event).__name__, type(error).__name__
        _log.error(
            "a stage failed",
            extra={"stage": subscription.name, "event": event, "error": kind, "at": _place(error)},
        )
        tell(failed, subscription.name, event=event, error=kind)
        if letter.waiter is not None and subscription.leads_on:
            failure = StageFailed(subscription.name)
            failure.__cause__ = error
            letter.waiter.settle(failure=failure)

    def _settled(self, letter: Letter) -> None:
        if letter.settled:
            return
        letter.settled = True
        self._unsettled -= 1
        if self._idle is not None and self._unsettled == 0:
            self._idle.set()

    # --- life ------------------------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        self._workers = anyio.create_task_group()
        await self._workers.__aenter__()
        for group in self._subscriptions.values():
            for subscription in group:
                self._start(subscription)
        return self

    def _start(self, subscription: Subscription) -> None:
        for _ in range(subscription.concurrency):
            self._tasks.start_soon(self._work, subscription, name=subscription.name)

    @property
    def _tasks(self) -> TaskGroup:
        if self._workers is None:
            raise RuntimeError("the bus has not been entered")
        return self._workers

    async def drain(self, grace_s: float) -> bool:
        """Close the entrances and wait until every letter is settled; False if grace ran out."""
        self._closing = True
        with anyio.move_on_after(grace_s):
            while self._unsettled:
                self._idle = anyio.Event()
                await self._idle.wait()
        return self._unsettled == 0

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        workers = self._tasks
        if kind is None:
            await self.drain(self._grace_s)
        self._closing = True
        workers.cancel_scope.cancel()
        handled = await workers.__aexit__(kind, error, traceback)
        for group in self._subscriptions.values():
            for subscription in group:
                self._empty(subscription)
        return handled

    def _empty(self, subscription: Subscription) -> None:
        """Tell of every letter that nobody will handle any more, and close the inbox."""
        subscription.entrance.close()
        while True:
            try:
                letter = subscription.inbox.receive_nowait()
            except (anyio.WouldBlock, anyio.EndOfStream):
                break
            self._drop(subscription, letter, "shutdown")
        subscription.inbox.close()


def _place(error: Exception) -> str:
    """File and line where ``error`` was raised: enough to find it, and never its text."""
    traceback = error.__traceback__
    if traceback is None:
        return ""
    while traceback.tb_next is not None:
        traceback = traceback.tb_next
    return f"{traceback.tb_frame.f_code.co_filename.rsplit('/', 1)[-1]}:{traceback.tb_lineno}"
