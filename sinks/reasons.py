"""Remembers why each memory was shown in a session, for as long as the daemon runs. Bounded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping

from msgspec import Struct

from ..bus.events import ContextBuilt, MemoriesShown

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
        if not prompt.rehearsal:
            shown = {v.memory_id: Reason(v.score, v.why) for v in event.verdicts if v.injected}
            self._remember(prompt.session, shown)

    def note_shown(self, event: MemoriesShown) -> None:
        """What went into a context at another moment, and why."""
        hook, shown = event.hook, event.shown
        reasons = {one.memory_id: Reason(one.score, f"{hook}: {one.why}") for one in shown}
        self._remember(event.session, reasons)

    def _remember(self, session: str, shown: Mapping[str, Reason]) -> None:
        if not shown or not session:
            return
        reasons = self._sessions.setdefault(session, OrderedDict())
        self._sessions.move_to_end(session)
        for memory_id, reason in shown.items():
            reasons[memory_id] = reason
            reasons.move_to_end(memory_id)
        while len(reasons) > self._max_memories:
            reasons.popitem(last=False)
        while len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)

    def of(self, session: str, memory_id: str) -> Reason | None:
        """Why a session was shown a memory, or None where that is not known any longer."""
        reasons = self._sessions.get(session)
        return reasons.get(memory_id) if reasons is not None else None
