"""A circuit breaker: what failed several times in a row is left alone for a while."""

from __future__ import annotations

import enum
from collections.abc import Callable

FAILURES = 5
FIRST_PAUSE_S = 30.0
MAX_PAUSE_S = 600.0


class State(enum.Enum):
    """The values are those of the gauge."""

    CLOSED = 0
    HALF_OPEN = 1
    OPEN = 2


class CircuitBreaker:
    """Opens after ``failures`` in a row, for a pause that doubles with each probe that fails.

    After the pause one probe is let through (half-open): if it goes well the breaker closes,
    otherwise it opens again. ``now`` tells seconds of a clock that never goes back.
    """

    def __init__(
        self,
        *,
        now: Callable[[], float],
        failures: int = FAILURES,
        first_pause_s: float = FIRST_PAUSE_S,
        max_pause_s: float = MAX_PAUSE_S,
    ) -> None:
        self._now = now
        self._failures = failures
        self._first_pause_s = first_pause_s
        self._max_pause_s = max_pause_s
        self._pause_s = first_pause_s
        self._failed = 0
        self._open_until: float | None = None
        self._probing = False

    @property
    def state(self) -> State:
        if self._open_until is None:
            return State.CLOSED
        if self._probing or self._now() >= self._open_until:
            return State.HALF_OPEN
        return State.OPEN

    def admit(self) -> bool:
        """Whether to try now. Who is admitted must tell how it ended, by one of the three below."""
        state = self.state
        if state is State.HALF_OPEN and not self._probing:
            self._probing = True
            return True
        return state is State.CLOSED

    def succeed(self) -> None:
        """It went well."""
        self._failed = 0
        self._open_until = None
        self._probing = False
        self._pause_s = self._first_pause_s

    def fail(self, *, pause_s: float = 0.0) -> None:
        """It went wrong. ``pause_s``, if any, was asked for: then it opens at once, for so long."""
        self._failed += 1
        if self._open_until is not None:
            if not self._probing:
                return  # it was on its way when the breaker opened
            self._pause_s = min(2 * self._pause_s, self._max_pause_s)
        elif self._failed < self._failures and not pause_s:
            return
        self._probing = False
        self._open_until = self._now() + min(pause_s or self._pause_s, self._max_pause_s)

    def give_up(self) -> None:
        """Nobody waited for how it ends, so nothing was learned."""
        self._probing = False
