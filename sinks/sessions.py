"""Remembers, for as long as the daemon runs, what each session was shown and when it was seen.

Bounded both ways: the sessions that were quiet longest go first, and of one session what was
shown first. What is forgotten can only be shown once more.
"""

from __future__ import annotations

from collections import OrderedDict
from datetime import datetime

from msgspec import Struct

MAX_SESSIONS = 512
MAX_SHOWN = 1024


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A session as ``status`` tells it. ``last_event`` is the agent's name of its last hook."""

    session: str
    client: str
    last_event: str
    events: int
    shown: int
    started_at: datetime
    seen_at: datetime


class _Session(Struct):
    shown: OrderedDict[tuple[str, int], None]
    kept: OrderedDict[str, None]
    lost: tuple[str, ...] = ()
    greeted: bool = False
    client: str = ""
    last_event: str = ""
    events: int = 0
    started_at: datetime | None = None
    seen_at: datetime | None = None


class Sessions:
    """The sessions seen lately. A session without a name is never remembered."""

    def __init__(self, *, max_sessions: int = MAX_SESSIONS, max_shown: int = MAX_SHOWN) -> None:
        self._max_sessions = max_sessions
        self._max_shown = max_shown
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def shown(self, session: str) -> frozenset[tuple[str, int]]:
        """The (id, version) pairs that this session has already seen."""
        known = self._sessions.get(session)
        return frozenset(known.shown) if known else frozenset()

    def show(self, session: str, shown: frozenset[tuple[str, int]]) -> None:
        """Note that the session has now seen these."""
        if not session:
            return
        seen = self._lately(session).shown
        for pair in sorted(shown):
            seen[pair] = None
            seen.move_to_end(pair)
        while len(seen) > self._max_shown:
            seen.popitem(last=False)

    def touch(self, session: str, *, client: str, event: str, now: datetime) -> None:
        """Note that an agent's hook was heard."""
        if not session:
            return
        known = self._lately(session)
        known.client = client or known.client
        known.last_event = event
        known.events += 1
        known.started_at = known.started_at or now
        known.seen_at = now

    def keep(self, session: str, memory_id: str) -> None:
        """Note that a memory was captured in this session."""
        if session:
            kept = self._lately(session).kept
            kept[memory_id] = None
            kept.move_to_end(memory_id)
            while len(kept) > self._max_shown:
                kept.popitem(last=False)

    def forget_shown(self, session: str) -> None:
        """Note that the session's context was emptied, so that everything may be shown again."""
        if known := self._sessions.get(session):
            ids = (*(memory_id for memory_id, _ in reversed(known.shown)), *reversed(known.kept))
            known.lost = tuple(dict.fromkeys(ids))
            known.shown.clear()
            known.greeted = False

    def lost(self, session: str) -> tuple[str, ...]:
        """What was shown or captured before the context was emptied last: ids, latest first."""
        known = self._sessions.get(session)
        return known.lost if known else ()

    def is_greeted(self, session: str) -> bool:
        """Whether the session was greeted, and its context still has that."""
        known = self._sessions.get(session)
        return known is not None and known.greeted

    def greet(self, session: str) -> None:
        """Note that the session was greeted."""
        if session:
            self._lately(session).greeted = True

    def end(self, session: str) -> None:
        """Note that the session is over. It may be resumed, and then still has what it saw."""
        if known := self._sessions.get(session):
            known.started_at = None

    def list(self) -> tuple[SessionInfo, ...]:
        """The sessions that were heard of, the latest first."""
        return tuple(
            SessionInfo(
                session=name,
                client=known.client,
                last_event=known.last_event,
                events=known.events,
                shown=len(known.shown),
                started_at=known.started_at,
                seen_at=known.seen_at,
            )
            for name, known in reversed(self._sessions.items())
            if known.started_at is not None and known.seen_at is not None
        )

    def __len__(self) -> int:
        return len(self._sessions)

    def _lately(self, session: str) -> _Session:
        """The session, now the latest; the one that was quiet longest goes where it is too many."""
        known = self._sessions.get(session)
        if known is None:
            known = self._sessions[session] = _Session(shown=OrderedDict(), kept=OrderedDict())
        self._sessions.move_to_end(session)
        while len(self._sessions) > self._max_sessions:
            self._sessions.popitem(last=False)
        return known
