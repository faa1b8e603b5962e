"""Keeps this machine's memories and its team's in step, in the background.

One loop sends what waits in the outbox, one receives what the team has changed, one listens for
notifications. Nobody waits for any of it. What fails is tried again with exponential backoff and
jitter, for as long as it takes; what is sent or received twice counts once.
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
from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, wait_random_exponential

from ...bus.values import Memory
from .protocol import Membership, TeamServer
from .pull import POLL_S, Receiving
from .push import Sending
from .sync_state import LISTEN, PULL, PUSH, Echoes, Here, Problem, SyncState, Tally

# The first pause is between 0 and this, the next between 0 and twice as much, and so on.
FIRST_PAUSE_S = 0.5
MAX_PAUSE_S = 60.0
# Before a line that was lost is opened again.
RELISTEN_S = 0.2
CLOSE_S = 1.0
UNREADABLE = "the team's server, or this machine, has what cannot be read: see the log"
TIDY_S = 1.0
# After a notification a member waits for up to this, times the members.
SPREAD_S = 0.001
MAX_SPREAD_S = 0.1
# Anybody may send as many notifications as they like: those of this long are heard together, and
# after one about nothing it is not looked again for that long.
HEARD_S = 0.01
IDLE_S = 0.1
_log = logging.getLogger(__name__)


class Bell:
    """Rings until somebody has heard it."""

    def __init__(self) -> None:
        self._rung = anyio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self, at_most_s: float) -> bool:
        """Whether it rings, or has rung since the last time, before the time is over."""
        with anyio.move_on_after(at_most_s):
            await self._rung.wait()
        rung, self._rung = self._rung.is_set(), anyio.Event()
        return rung


class Sync:
    """``run`` it as long as ``membership`` holds; ``nudge`` it when something is to be sent.

    ``server`` makes the server of the team. ``clean`` is what may leave of a memory by the rules
    of today, None for nothing. ``random`` gives 0.0 to 1.0.
    """

    def __init__(
        self,
        here: Here,
        membership: Membership,
        server: Callable[[], TeamServer],
        *,
        clean: Callable[[Memory], Memory | None],
        clock: Callable[[], datetime],
        random: Callable[[], float],
    ) -> None:
        self._make_server = server
        self._random = random
        self._tally = Tally(clock=clock)
        echoes = Echoes()
        self._sending = Sending(here, clean=clean, echoes=echoes, tally=self._tally)
        self._receiving = Receiving(
            here,
            membership,
            restored=self.nudge,
            received=self._release,
            echoes=echoes,
            tally=self._tally,
        )
        self._outgoing = Bell()
        self._news = Bell()
        self._sent = Bell()
        self._reachable = anyio.Event()

    def nudge(self) -> None:
        """Something may wait in the outbox."""
        self._outgoing.ring()

    def refresh(self) -> None:
        """What is shared has changed."""
        self._receiving.refresh()
        self._news.ring()
        self._outgoing.ring()

    def state(self) -> SyncState:
        """How it goes, without waiting for anything."""
        return self._tally.state()

    async def run(self) -> None:
        """Send and receive until cancelled."""
        server = self._make_server()
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._keep_receiving, server)
                tasks.start_soon(self._keep_sending, server)
                tasks.start_soon(self._keep_listening, server)
                tasks.start_soon(self._keep_tidy, server)
        finally:
            with anyio.move_on_after(CLOSE_S, shield=True):
                await server.close()

    def _release(self) -> None:
        """What was contested can be sent, as it was reconciled with what came."""
        if self._sending.release():
            self.nudge()

    # --- loops -----------------------------------------------------------------------------------

    async def _keep_sending(self, server: TeamServer) -> None:
        await self._receiving.greeted.wait()
        while True:
            if await self._persist(PUSH, partial(self._sending.push, server)):
                self._sent.ring()
            await self._outgoing.wait(POLL_S)

    async def _keep_receiving(self, server: TeamServer) -> None:
        while True:
            wait_s = await self._persist(PULL, partial(self._receiving.pull, server))
            # Those who lost the server in the same moment do not look in the same moment.
            if await self._news.wait(wait_s * (0.8 + 0.4 * self._random())):
                idle_s = 0.0 if self._receiving.brought else IDLE_S
                await anyio.sleep(idle_s + self._random() * self._spread_s())

    def _spread_s(self) -> float:
        """Everybody is notified in the same moment: the larger the team, the less at once."""
        about = self._tally.about
        return min(MAX_SPREAD_S, len(about.members) * SPREAD_S) if about else 0.0

    async def _keep_listening(self, server: TeamServer) -> None:
        while True:
            await self._persist(LISTEN, partial(self._listen, server))
            await anyio.sleep(RELISTEN_S)

    async def _listen(self, server: TeamServer) -> None:
        """Ring at each notification until the line is lost; raises where there was none."""
        heard = False
        try:
            async with aclosing(server.listen()) as notifications:
                async for _ in notifications:
                    if not heard:
                        self._retry_now()
                    heard = True
                    self._tally.succeed(LISTEN)
                    self._news.ring()
                    await anyio.sleep(HEARD_S)
        except ConnectionError:
            if not heard:
                raise

    async def _keep_tidy(self, server: TeamServer) -> None:
        """Have the server put in order what was sent, a little at a time; that can always wait."""
        while True:
            await self._sent.wait(math.inf)
            with suppress(ConnectionError):
                while await server.tidy():  # noqa: ASYNC110 - it does a part each time
                    await anyio.sleep(TIDY_S)

    def _retry_now(self) -> None:
        """The server can be reached again: nobody needs to wait on."""
        self._reachable.set()
        self._reachable = anyio.Event()

    # --- trying again ----------------------------------------------------------------------------

    async def _persist(self, part: str, work: Callable[[], Awaitable[Any]]) -> Any:
        """What ``work`` returns, as soon as it does."""
        retrying = AsyncRetrying(
            retry=retry_if_exception_type((ConnectionError, ValueError)),
            wait=wait_random_exponential(multiplier=FIRST_PAUSE_S, max=MAX_PAUSE_S),
            sleep=self._pause,
            before_sleep=lambda attempt: self._note_failure(part, attempt),
        )
        result: Any = await retrying(work)
        if self._tally.succeed(part):
            _log.info("in touch with the team again", extra={"part": part})
        return result

    async def _pause(self, seconds: float) -> None:
        with anyio.move_on_after(seconds):
            await self._reachable.wait()

    def _note_failure(self, part: str, attempt: RetryCallState) -> None:
        error = attempt.outcome.exception() if attempt.outcome else None
        reason = str(getattr(error, "reason", "failed"))
        # What another error says may quote what the server sent.
        message = str(error) if isinstance(error, ConnectionError) else UNREADABLE
        if self._tally.fail(part, Problem(reason, message)):
            extra = {"part": part, "reason": reason}
            _log.warning("the team's memory is out of reach", extra=extra)
