"""Remembers why each memory was shown in a session, for as long as the daemon runs. Bounded."""

from __future__ import annotations

from collections import OrderedDict

from msgspec import Struct

from ..bus.events import ContextBuilt

MAX_SESSIONS = 256
MAX_MEMORIES = 256


class Reason(Struct, frozen=True):
    """Why a memory was shown: its ``score`` then, and the stage's words."""

    score: float
    why: str


class Reasons:
    """The sessions that were quiet longest go first, and of one session what was shown first."""

    def __init__(
        self, *, max_sessions: int = MAX_SESSIONS, max_memories: int = MAX_MEMORIES
    ) -> None:
        self._max_sessions = max_sessions
        self._max_memories = max_memories
        self._sessions: OrderedDict[str, OrderedDict[str, Reason]] = OrderedDict()

    def note(self, event: ContextBuilt) -> None:
        """What went into a context, and why. Rehearsals and nameless sessions are left out."""
        prompt = event.classified.enriched.prompt
        shown = [verdict for verdict in event.verdicts if verdict.injected]
        if not shown or prompt.rehearsal or not prompt.session:
            return
        reasons = self._sessions.setdefault(prompt.session, OrderedDict())
        self._sessions.move_to_end(prompt.session)
        for verdict in shown:
            reasons[verdict.memory_id] = Reason(verdict.score, verdict.why)
            reasons.move_to_end(verdict.memory_id)
        while len(reasons) > self._max_memories:
            reasons.popitem(last=False)
        while len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    def of(self, session: str, memory_id: str) -> Reason | None:
        """Why a session was shown a memory, or None where that is not known any longer."""
        reasons = self._sessions.get(session)
        return reasons.get(memory_id) if reasons is not None else None
