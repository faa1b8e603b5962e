"""What the daemon remembers of each session while it runs: one record a session, one eviction.

A sub-agent has a context of its own, and so a record of its own ("SESSION/AGENT"). Bounded both
ways: the session that was used least recently goes first, and of one session its oldest entries.
What is evicted can at worst be shown once more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any, TypeVar, cast

from cachetools import FIFOCache, LRUCache
from msgspec import Struct

from ..bus.events import ContextBuilt, IntentRefined, MemoriesShown
from ..bus.signals import asked, emit
from ..bus.values import Ended

MAX_SESSIONS = 512
MAX_SHOWN = 1024
MAX_REASONS = 256
MAX_PROMPT_CHARS = 1000
_ANEW = ("startup", "clear")
BEGINS_ANEW = ("startup", "resume")
"""Sources of a SessionStart with which the agent's process begins, wherever the user is."""
MAX_LATE_AGE_S = 600.0
"""A late answer of the language model that no hook fetched for so long is discarded."""

P = TypeVar("P")


class SessionInfo(Struct, frozen=True, kw_only=True):
    """A session as the MCP resource shows it. ``last_event`` is its last hook."""

    session: str
    client: str
    last_event: str
    events: int
    shown: int
    started_at: datetime
    seen_at: datetime


class Reason(Struct, frozen=True):
    """Why a memory was shown: its ``score`` then, and the stage's explanation."""

    score: float
    why: str


class SessionState:
    """All that is remembered of one session.

    ``shown`` and ``captured`` are what its context holds, oldest first, ``warned`` what it was
    shown before an action; ``kept_unasked`` has the namespaces of what the user was not told of
    yet, by id, ``closed`` what their words closed or took back, ``replaced`` the memories that
    were superseded by what was kept unasked, and ``denied`` those that it contradicts, by what;
    ``lost`` is what it held before it was emptied last. ``late_answer`` (and when it came) waits
    for the next hook. ``begins``: it started anew, and had no prompt yet. ``project_dir`` is where
    the session started.
    """

    def __init__(self, max_shown: int = MAX_SHOWN) -> None:
        self.shown: FIFOCache[tuple[str, int], None] = FIFOCache(max_shown)
        self.warned: FIFOCache[tuple[str, int], None] = FIFOCache(max_shown)
        self.captured: FIFOCache[str, None] = FIFOCache(max_shown)
        self.kept_unasked: FIFOCache[str, str] = FIFOCache(max_shown)
        self.closed: FIFOCache[str, Ended] = FIFOCache(max_shown)
        self.replaced: FIFOCache[str, None] = FIFOCache(max_shown)
        self.denied: FIFOCache[str, str] = FIFOCache(max_shown)
        self.reasons: FIFOCache[str, Reason] = FIFOCache(MAX_REASONS)
        self.lost: tuple[str, ...] = ()
        self.greeted = False
        self.begins = False
        self.last_prompt = ""
        self.late_answer: tuple[float, IntentRefined] | None = None
        self.project_dir = ""
        self.client = ""
        self.last_event = ""
        self.events = 0
        self.started_at: datetime | None = None
        self.seen_at: datetime | None = None
        self._parts: dict[type, Any] = {}

    def part(self, kind: type[P]) -> P:
        """What another room keeps here, by its type; made on first use."""
        if kind not in self._parts:
            self._parts[kind] = kind()
        return cast(P, self._parts[kind])

    def drop_late_answer(self) -> None:
        """Discard the late answer, if any: it was of no use."""
        if self.late_answer is not None:
            emit_late(self.late_answer[1], used=False)
            self.late_answer = None


class _States(LRUCache[str, SessionState]):
    def popitem(self) -> tuple[str, SessionState]:
        name, state = super().popitem()
        state.drop_late_answer()
        return name, state


def emit_late(event: IntentRefined, *, used: bool) -> None:
    """Emit ``asked`` for the question to the model whose answer came after its deadline."""
    outcome = "late_used" if used else "late_unused"
    emit(asked, "model", outcome=outcome, took_s=event.vote.took_ms / 1000)


def _append(entries: FIFOCache[Any, Any], new: Mapping[Any, Any]) -> None:
    """Put ``new`` at the end of ``entries``, also what was there before."""
    for key, value in new.items():
        entries.pop(key, None)
        entries[key] = value


class Sessions:
    """The sessions used lately. ``now`` gives monotonic seconds.

    A session without a name is never remembered: its ``state`` is a new one at every call. ``by``
    is the trace of the hook that does something: see ``kept_on_failure``.
    """

    def __init__(
        self,
        *,
        max_sessions: int = MAX_SESSIONS,
        max_shown: int = MAX_SHOWN,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._max_shown = max_shown
        self._now = now
        self._states = _States(max_sessions)
        self._take_backs: dict[str, list[Callable[[], None]]] = {}

    def state(self, session: str) -> SessionState:
        """The record of ``session``, made if need be, now the most recently used."""
        state = self._states.get(session)
        if state is None:
            state = SessionState(self._max_shown)
            if session:
                self._states[session] = state
        return state

    def find(self, session: str) -> SessionState | None:
        """The record of ``session``, if there is one."""
        return self._states.get(session)

    def __len__(self) -> int:
        return len(self._states)

    # --- what its context holds ------------------------------------------------------------------

    def shown(self, session: str) -> frozenset[tuple[str, int]]:
        """The (id, version) pairs that this session has already seen."""
        state = self.find(session)
        return frozenset(state.shown) if state else frozenset()

    def show(self, session: str, shown: frozenset[tuple[str, int]], *, by: str = "") -> None:
        """Note that the session has now seen these."""
        self._mark(self.state(session).shown, shown, by)

    def warned(self, session: str) -> frozenset[tuple[str, int]]:
        """The (id, version) pairs of which this session was warned before an action."""
        state = self.find(session)
        return frozenset(state.warned) if state else frozenset()

    def warn(self, session: str, warned: frozenset[tuple[str, int]], *, by: str = "") -> None:
        """Note that the session was warned of these."""
        self._mark(self.state(session).warned, warned, by)

    def _mark(
        self,
        entries: FIFOCache[tuple[str, int], None],
        keys: frozenset[tuple[str, int]],
        by: str,
    ) -> None:
        new = keys.difference(entries)
        _append(entries, dict.fromkeys(sorted(keys)))

        def unmark() -> None:
            for key in new:
                entries.pop(key, None)

        self._may_take_back(by, unmark)

    @contextmanager
    def kept_on_failure(self, by: str) -> Iterator[Callable[[], None]]:
        """Where the block raises, nothing counts as shown, warned or greeted ``by`` its hook.

        What went out with it waits again: a late answer of the model, and what the user is to be
        told. Yields what does that later, where an answer is made and does not arrive. What other
        hooks of the session did meanwhile stays.
        """
        is_outer = by not in self._take_backs
        done = self._take_backs.setdefault(by, [])

        def take_back() -> None:
            while done:
                done.pop()()

        try:
            yield take_back
        except BaseException:  # a hook that hangs up cancels
            take_back()
            raise
        finally:
            if is_outer:
                del self._take_backs[by]

    def _may_take_back(self, by: str, undo: Callable[[], None]) -> None:
        """Have ``undo`` called where the answer of the hook ``by`` is not made or not received."""
        if (done := self._take_backs.get(by)) is not None:
            done.append(undo)

    def note_capture(self, session: str, memory_id: str) -> None:
        """Note that a memory was captured in this session."""
        _append(self.state(session).captured, {memory_id: None})

    def note_unasked(self, session: str, memory_id: str, namespace: str) -> None:
        """Note that a memory was kept without anybody having asked for it."""
        _append(self.state(session).kept_unasked, {memory_id: namespace})

    def take_unasked(self, session: str, *, by: str = "") -> tuple[str, ...]:
        """The namespaces of what was kept unasked since the last call, the oldest first."""
        state = self.find(session)
        return tuple(self._take_all(state.kept_unasked, by).values()) if state else ()

    def note_closed(self, session: str, ended: Ended) -> None:
        """Note that the user's words closed a memory, or took it back."""
        _append(self.state(session).closed, {ended.memory_id: ended})

    def take_closed(self, session: str, *, by: str = "") -> tuple[Ended, ...]:
        """What the user's words closed or took back since the last call."""
        state = self.find(session)
        return tuple(self._take_all(state.closed, by).values()) if state else ()

    def note_replaced(self, session: str, memory_id: str) -> None:
        """Note that a memory was superseded without anybody having asked for it."""
        _append(self.state(session).replaced, {memory_id: None})

    def take_replaced(self, session: str, *, by: str = "") -> tuple[str, ...]:
        """What was superseded unasked since the last call, by id."""
        state = self.find(session)
        return tuple(self._take_all(state.replaced, by)) if state else ()

    def note_denied(self, session: str, memory_id: str, *, by: str) -> None:
        """Note that a memory that somebody asked for is contradicted by the memory ``by``."""
        _append(self.state(session).denied, {memory_id: by})

    def take_denied(self, session: str, *, by: str = "") -> tuple[tuple[str, str], ...]:
        """What was contradicted unasked since the last call, each with what contradicts it."""
        state = self.find(session)
        return tuple(self._take_all(state.denied, by).items()) if state else ()

    def _take_all(self, entries: FIFOCache[str, P], by: str) -> dict[str, P]:
        """Empty ``entries``, which the user is told now; what was in it."""
        taken = dict(entries)
        entries.clear()

        def put_back() -> None:
            later = dict(entries)
            entries.clear()
            _append(entries, taken | later)

        self._may_take_back(by, put_back)
        return taken

    def forget_shown(self, session: str) -> None:
        """Note that the session's context was emptied, so that everything may be shown again."""
        if state := self.find(session):
            shown, captured = list(state.shown), list(state.captured)
            latest = [*(memory_id for memory_id, _ in reversed(shown)), *reversed(captured)]
            state.lost = tuple(dict.fromkeys(latest))
            state.shown.clear()
            state.warned.clear()
            state.greeted = False
            state.last_prompt = ""

    def lost(self, session: str) -> tuple[str, ...]:
        """What was shown or captured before the context was emptied last: ids, latest first."""
        state = self.find(session)
        return state.lost if state else ()

    def is_greeted(self, session: str) -> bool:
        """Whether the session was greeted, and its context still has that."""
        state = self.find(session)
        return state is not None and state.greeted

    def greet(self, session: str, *, by: str = "") -> None:
        """Note that the session was greeted."""
        state = self.state(session)
        if not state.greeted:
            self._may_take_back(by, partial(setattr, state, "greeted", False))
        state.greeted = True

    # --- why it was shown ------------------------------------------------------------------------

    def note_reasons(self, event: ContextBuilt) -> None:
        """Note why memories went into a prompt's context. Rehearsals are left out."""
        prompt = event.classified.enriched.prompt
        shown = {v.memory_id: Reason(v.score, v.why) for v in event.verdicts if v.injected}
        if shown and not prompt.rehearsal:
            _append(self.state(prompt.session).reasons, shown)

    def note_shown_reasons(self, event: MemoriesShown) -> None:
        """Note why memories went into a context at another hook."""
        shown = {s.memory_id: Reason(s.score, f"{event.hook}: {s.why}") for s in event.shown}
        if shown:
            _append(self.state(event.session).reasons, shown)

    def reason(self, session: str, memory_id: str) -> Reason | None:
        """Why a session was shown a memory, or None where that is not known any longer."""
        state = self.find(session)
        return state.reasons.get(memory_id) if state else None

    # --- what its hooks say ----------------------------------------------------------------------

    def touch(self, session: str, *, client: str, event: str, now: datetime) -> None:
        """Note a hook of the session."""
        state = self.state(session)
        state.client = client or state.client
        state.last_event = event
        state.events += 1
        state.started_at = state.started_at or now
        state.seen_at = now

    def project_dir(self, session: str, *, given: str, start: str = "", source: str = "") -> str:
        """The project's directory of ``session``, or "" where no hook has named it.

        ``given`` is what this hook says of it itself; ``start`` is where a session that starts is,
        and ``source`` why it starts. Hooks over HTTP, and all hooks of Codex, report the agent's
        present directory, which follows its ``cd``: what the session's start said holds for all of
        it, also when it starts again in the middle, after a compaction.
        """
        state = self.find(session)
        if state and state.project_dir and source not in BEGINS_ANEW:
            start = ""
        if session and (named := given or start):
            state = self.state(session)
            state.project_dir = named
        return state.project_dir if state else given

    def note_start(self, session: str, source: str) -> None:
        """Note why ``session`` starts: anew, or in the middle of what its context holds."""
        self.state(session).begins = source in _ANEW

    def begins(self, session: str) -> bool:
        """Whether the session was seen to start anew, and had no prompt yet."""
        state = self.find(session)
        return state is not None and state.begins

    def follow(self, session: str, prompt: str) -> str:
        """The beginning of the prompt before ``prompt`` in ``session``, which is the next one's."""
        state = self.state(session)
        state.begins = False
        before, state.last_prompt = state.last_prompt, prompt[:MAX_PROMPT_CHARS]
        return before

    def end(self, session: str) -> None:
        """Note that the session is over. It may be resumed, and then still has what it saw."""
        if state := self.find(session):
            state.started_at = None
            state.drop_late_answer()

    def info(self, session: str) -> SessionInfo | None:
        """What the hooks of ``session`` have said; None where it is over or unknown."""
        state = self.find(session)
        if state is None or state.started_at is None or state.seen_at is None:
            return None
        return SessionInfo(
            session=session,
            client=state.client,
            last_event=state.last_event,
            events=state.events,
            shown=len(state.shown),
            started_at=state.started_at,
            seen_at=state.seen_at,
        )

    # --- what the language model answered too late -----------------------------------------------

    def put_late_answer(self, event: IntentRefined) -> None:
        """Let ``event`` wait for its session's next hook, in place of an older one."""
        state = self.state(event.classified.enriched.prompt.session)
        state.drop_late_answer()
        state.late_answer = (self._now(), event)

    def return_late_answer(self, event: IntentRefined) -> None:
        """Let ``event``, which a hook took and did not tell, wait again unless a newer one does."""
        if self.state(event.classified.enriched.prompt.session).late_answer is None:
            self.put_late_answer(event)

    def take_late_answer(self, session: str, *, by: str = "") -> IntentRefined | None:
        """What waits for ``session``, once; the caller calls ``emit_late``."""
        state = self.find(session)
        if state is None or state.late_answer is None:
            return None
        taken = state.late_answer
        if self._now() - taken[0] > MAX_LATE_AGE_S:
            state.drop_late_answer()
            return None
        state.late_answer = None

        def put_back() -> None:
            state.late_answer = state.late_answer or taken

        self._may_take_back(by, put_back)
        return taken[1]
