"""What the model said too late, waiting for the next hook of its session; each is told once.

One a session at most, the latest; of many sessions those that waited longest give up. What nobody
fetched in time is of no use any more.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ...bus.events import IntentRefined
from ...bus.signals import asked, emit

MAX_SESSIONS = 256
MAX_AGE_S = 600.0


def tell_late(event: IntentRefined, *, used: bool) -> None:
    """Tell how the question to the model ended whose answer came late."""
    outcome = "late_used" if used else "late_unused"
    emit(asked, "model", outcome=outcome, took_s=event.vote.took_ms / 1000)


class LateAnswers:
    """The refined intents that wait. ``now`` tells seconds of a clock that never goes back."""

    def __init__(
        self,
        *,
        now: Callable[[], float],
        max_sessions: int = MAX_SESSIONS,
        max_age_s: float = MAX_AGE_S,
    ) -> None:
        self._now = now
        self._max_sessions = max_sessions
        self._max_age_s = max_age_s
        self._waiting: OrderedDict[str, tuple[float, IntentRefined]] = OrderedDict()

    def put(self, event: IntentRefined) -> None:
        """Let ``event`` wait for its session's next hook."""
        session = event.classified.enriched.prompt.session
        self.drop(session)
        self._waiting[session] = (self._now(), event)
        while len(self._waiting) > self._max_sessions:
            self.drop(next(iter(self._waiting)))

    def take(self, session: str) -> IntentRefined | None:
        """What waits for ``session``, to be told by who takes it; None for nothing."""
        if session not in self._waiting:
            return None
        since, event = self._waiting.pop(session)
        if self._now() - since > self._max_age_s:
            tell_late(event, used=False)
            return None
        return event

    def drop(self, session: str) -> None:
        """Give up what waits for ``session``, because it is over or has something newer."""
        if entry := self._waiting.pop(session, None):
            tell_late(entry[1], used=False)

    def __len__(self) -> int:
        return len(self._waiting)
