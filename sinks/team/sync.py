"""Synchronises this machine's memories with its team's, in the background.

One loop pushes the outbox, one pulls the team's changes, one listens for notifications. Failures
are retried with exponential backoff and jitter, without limit; pushing and pulling are idempotent.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from datetime import datetime
from functools import partial
from typing import Any

import anyio
from msgspec.structs import replace
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from ...bus.values import Memory
from .protocol import Membership, NoWakeUps, TeamServer
from .pull import POLL_S, Puller
from .push import Pusher
from .sync_state import (
    LISTEN,
    PULL,
    PUSH,
    Echoes,
    Gate,
    Pace,
    Problem,
    SyncContext,
    SyncCounters,
    SyncState,
)

# The first pause is between 0 and this, the next between 0 and twice as much, and so on.
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 60.0
# Between polls where no notification comes through, and before that is tried again.
UNTOLD_POLL_S = 5.0
UNTOLD_S = 600.0
# Before a lost connection is opened again.
RELISTEN_S = 0.2
CLOSE_S = 1.0
UNREADABLE = "the team's server, or this machine, has what cannot be read: see the log"
TIDY_S = 1.0
# After a notification a member waits for up to this, times the members.
SPREAD_PER_MEMBER_S = 0.001
MAX_SPREAD_S = 0.1
# Notifications within this time are handled together; a flood of them is bounded by ``Pace``.
DEBOUNCE_S = 0.01
_log = logging.getLogger(__name__)


class AutoResetEvent:
    """Stays set until one waiter has returned."""

    def __init__(self) -> None:
        self._event = anyio.Event()

    def set(self) -> None:
        self._event.set()

    async def wait(self, at_most_s: float) -> bool:
        """Wait until it is set or the time is over; returns whether it was set."""
        with anyio.move_on_after(at_most_s):
            await self._event.wait()
        was_set, self._event = self._event.is_set(), anyio.Event()
        return was_set


class Sync:
    """``run`` it as long as ``membership`` holds; ``nudge`` it when something is to be sent.

    ``server`` makes the client of the team's server. ``clean`` redacts a memory by the current
    rules, None withholds it. ``random`` gives 0.0 to 1.0.
    """

    def __init__(
        self,
        here: SyncContext,
        membership: Membership,
        server: Callable[[], TeamServer],
        *,
        clean: Callable[[Memory], Memory | None],
        clock: Callable[[], datetime],
        random: Callable[[], float],
    ) -> None:
        self._make_server = server
        self._server: TeamServer | None = None
        self._random = random
        self._tally = SyncCounters(clock=clock)
        echoes, gate = Echoes(), Gate()
        self._pusher = Pusher(here, clean=clean, gate=gate, echoes=echoes, tally=self._tally)
        self._puller = Puller(
            here,
            membership,
            restored=self.nudge,
            received=self._release,
            contested=self._pusher.contested,
            gate=gate,
            echoes=echoes,
            tally=self._tally,
        )
        self._outgoing = AutoResetEvent()
        self._news = AutoResetEvent()
        self._sent = AutoResetEvent()
        self._reachable = anyio.Event()

    def nudge(self) -> None:
        """Something may wait in the outbox."""
        self._outgoing.set()

    def refresh(self) -> None:
        """The shared scopes have changed."""
        self._puller.refresh()
        self._news.set()
        self._outgoing.set()

    def state(self) -> SyncState:
        """The current state, without waiting."""
        answer_s = self._server.answer_s if self._server else 0.0
        return replace(self._tally.state(), answer_s=answer_s)

    async def run(self) -> None:
        """Send and receive until cancelled."""
        server = self._server = self._make_server()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._pull_loop, server)
                tasks.start_soon(self._push_loop, server)
                tasks.start_soon(self._listen_loop, server)
                tasks.start_soon(self._tidy_loop, server)
        finally:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await server.close()

    def _release(self) -> None:
        """After a pull, send the entries that were in conflict."""
        if self._pusher.release():
            self.nudge()

    # --- loops -----------------------------------------------------------------------------------

    async def _push_loop(self, server: TeamServer) -> None:
        while True:
            if await self._retry(PUSH, partial(self._pusher.push, server)):
                self._sent.set()
            await self._outgoing.wait(POLL_S)

    async def _pull_loop(self, server: TeamServer) -> None:
        pace = Pace()
        while True:
            wait_s = await self._retry(PULL, partial(self._puller.pull, server))
            if self._tally.is_polling:
                wait_s = min(wait_s, UNTOLD_POLL_S)
            # Jitter: members who lost the server together do not return together.
            if await self._news.wait(wait_s * (0.8 + 0.4 * self._random())):
                held_s = pace.wait_s(anyio.current_time())
                await anyio.sleep(held_s + self._random() * self._spread_s())

    def _spread_s(self) -> float:
        """All members are notified at once, so a larger team spreads its pulls over more time."""
        about = self._tally.about
        return min(MAX_SPREAD_S, len(about.members) * SPREAD_PER_MEMBER_S) if about else 0.0

    async def _listen_loop(self, server: TeamServer) -> None:
        while True:
            self._tally.is_polling = await self._retry(LISTEN, partial(self._listen, server))
            if self._tally.is_polling:
                self._news.set()  # the pull waits for a wake-up as yet
            await anyio.sleep(UNTOLD_S if self._tally.is_polling else RELISTEN_S)

    async def _listen(self, server: TeamServer) -> bool:
        """Wake the pull at each notification until the connection is lost.

        Returns whether none can come, so that the server has to be polled.
        """
        connected = False
        try:
            async with aclosing(server.listen()) as notifications:
                async for _ in notifications:
                    if not connected:  # end the pauses of the other loops
                        self._reachable.set()
                        self._reachable = anyio.Event()
                    connected = True
                    self._tally.is_polling = False
                    self._tally.succeed(LISTEN)
                    self._news.set()
                    await anyio.sleep(DEBOUNCE_S)
        except NoWakeUps:
            return True
        except ConnectionError:
            if not connected:
                raise
        return False

    async def _tidy_loop(self, server: TeamServer) -> None:
        """Let the server index what was sent, a little at a time and at low priority."""
        while True:
            await self._sent.wait(math.inf)
            with suppress(ConnectionError):
                while await server.tidy():  # noqa: ASYNC110 - it does a part each time
                    await anyio.sleep(TIDY_S)

    # --- trying again ----------------------------------------------------------------------------

    async def _retry(self, part: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """The result of ``work``, retried until it succeeds."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type((ConnectionError, ValueError)),
            wait=wait_random_exponential(multiplier=FIRST_PAUSE_S, max=MAX_PAUSE_S),
            sleep=self._pause,
            before_sleep=lambda attempt: self._note_failure(part, attempt),
        )
        result: Any = await retrying(work)
        if self._tally.succeed(part):
            _log.info("the team's server can be reached again", extra={"part": part})
        return result

    async def _pause(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._reachable.wait()

    def _note_failure(self, part: str, attempt: RetryCallState) -> None:
        error = attempt.outcome.exception() if attempt.outcome else None
        reason = str(getattr(error, "reason", "failed"))
        # The message of another error may quote what the server sent.
        message = str(error) if isinstance(error, ConnectionError) else UNREADABLE
        if self._tally.fail(part, Problem(reason, message)):
            extra = {"part": part, "reason": reason}
            _log.warning("the team's server cannot be reached", extra=extra)
