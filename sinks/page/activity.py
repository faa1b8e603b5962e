"""What happened lately, for the screen that shows it live: kept in memory alone, and bounded.

Each entry is made when its event has been handled, beside the hot path, and refers to what the
event holds; nothing is redacted, looked up or rendered before somebody looks.
"""

from __future__ import annotations

import math
import statistics
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Literal, TypeVar

import anyio
from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import CaptureSettled, MemoriesShown, MemoryForgotten, ResponseReady
from ...bus.prompts import Verdict
from ...bus.sessions import SessionVerdict
from ...bus.values import AUTO_CAPTURED, Kept, Scope, Shown

MAX_ENTRIES = 200
_SHOWN_CHARS = 600
_HELD_CHARS = _SHOWN_CHARS + 4000
"""So many more are held, since a secret that was cut is known as one no longer."""
FORGOTTEN = "forgotten since"
_MAX_VERDICTS = 30
_MAX_BEHIND = 50

T = TypeVar("T", Kept, Verdict)
Kind = Literal["prompt", "moment", "capture", "forgotten"]


class Entry(Struct, frozen=True, kw_only=True):
    """Something that happened. ``number`` counts from 1; ``scopes`` are those that may see it."""

    number: int
    kind: Kind
    at: datetime
    scopes: tuple[Scope, ...]


class PromptSeen(Entry, frozen=True, kw_only=True):
    """A prompt was answered: what was considered for it, shown, and refused, and what was kept.

    ``text`` is its beginning, without markers and private spans, and not yet redacted.
    ``stages_ms`` is what each stage took.
    """

    session: str
    client: str
    text: str
    intent: str
    confidence_percent: int
    tokens: int
    abstained: str
    verdicts: tuple[Verdict, ...]
    sessions: tuple[SessionVerdict, ...]
    kept: tuple[Kept, ...]
    degraded: tuple[str, ...]
    stages_ms: dict[str, float]

    def told(self, clean: Callable[[str], str]) -> str:
        """What is shown of ``text``; ``clean`` redacts it."""
        return clean(self.text)[:_SHOWN_CHARS]


class MomentSeen(Entry, frozen=True, kw_only=True):
    """Memories were shown at a hook that is no prompt."""

    session: str
    hook: str
    shown: tuple[Shown, ...]


class CaptureSeen(Entry, frozen=True, kw_only=True):
    """A capture settled, and left a memory. ``automatic``: nobody asked for it."""

    id: str
    namespace: str
    summary: str
    outcome: str
    redacted: bool
    automatic: bool


class ForgottenSeen(Entry, frozen=True, kw_only=True):
    """A memory was forgotten."""

    id: str


class Activity:
    """The last ``MAX_ENTRIES`` of what happened. ``stages`` tells what each stage took."""

    def __init__(
        self, *, clock: Callable[[], datetime], stages: Callable[[str], dict[str, float]]
    ) -> None:
        self._clock = clock
        self._stages = stages
        self._entries: deque[Entry] = deque(maxlen=MAX_ENTRIES)
        self._number = 0
        self._watches: set[Watch] = set()

    def recent(self, scopes: frozenset[Scope], *, after: int = 0) -> list[Entry]:
        """What of it ``scopes`` may see, oldest first."""
        return [each for each in self._entries if each.number > after and scopes & {*each.scopes}]

    @property
    def latest(self) -> int:
        """The number of the last entry; 0 where nothing happened yet."""
        return self._number

    @property
    def watchers(self) -> int:
        return len(self._watches)

    def close(self) -> None:
        """Let go of whoever looks on."""
        for watch in self._watches:
            watch.close()

    @contextmanager
    def watching(self, scopes: frozenset[Scope]) -> Iterator[Watch]:
        """Watch what happens from now on, for as long as the context is open."""
        watch = Watch(scopes)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    # --- what happens ----------------------------------------------------------------------------

    def note_prompt(self, event: ResponseReady) -> None:
        """A prompt was answered; rehearsals are left out."""
        built = event.built
        if built is None or built.classified.enriched.prompt.rehearsal:
            return
        enriched, intent = built.classified.enriched, built.classified.intent
        prompt = enriched.prompt
        self._add(
            PromptSeen,
            kind="prompt",
            scopes=(prompt.place.project,),
            session=prompt.session,
            client=prompt.client,
            text=_beginning(enriched.parsed.as_typed),
            intent=intent.intent_type.value if intent else "",
            confidence_percent=intent.confidence_percent if intent else 0,
            tokens=built.tokens,
            abstained=built.abstained or "",
            verdicts=built.verdicts[:_MAX_VERDICTS],
            sessions=built.sessions,
            kept=enriched.kept,
            degraded=enriched.degraded,
            stages_ms=self._stages(event.trace),
        )

    def note_shown(self, event: MemoriesShown) -> None:
        self._add(
            MomentSeen,
            kind="moment",
            scopes=event.scopes[:1],  # the project's own; the rest is readable in every project
            session=event.session,
            hook=event.hook,
            shown=event.shown[:_MAX_VERDICTS],
        )

    def note_capture(self, event: CaptureSettled) -> None:
        """A capture settled; one that left no memory is told with its prompt."""
        if (memory := event.memory) is None:
            return
        self._add(
            CaptureSeen,
            kind="capture",
            scopes=(memory.scope,),
            id=memory.id,
            namespace=memory.namespace,
            summary=memory.summary,
            outcome=event.kept.outcome,
            redacted=bool(event.kept.redactions),
            automatic=AUTO_CAPTURED in memory.tags,
        )

    def note_forgotten(self, event: MemoryForgotten) -> None:
        """A memory was forgotten, and here its words are too."""
        kept = (_without(entry, event.id) for entry in self._entries)
        self._entries = deque(kept, maxlen=MAX_ENTRIES)
        self._add(ForgottenSeen, kind="forgotten", scopes=(event.scope,), id=event.id)

    def _add(self, seen: type[Entry], **facts: Any) -> None:
        """Note what was ``seen`` now, and wake whoever looks on."""
        self._number += 1
        entry = seen(number=self._number, at=self._clock(), **facts)
        self._entries.append(entry)
        for watch in self._watches:
            watch.note(entry)


def _beginning(text: str) -> str:
    """The first ``_HELD_CHARS`` of ``text``, cut between two words unless one is very long."""
    held = text[:_HELD_CHARS]
    if held == text:
        return text
    words = "".join(held.rsplit(maxsplit=1)[:1])
    return words if len(words) >= _SHOWN_CHARS else held


def _without(entry: Entry, memory_id: str) -> Entry:
    """``entry`` without the words of a memory."""
    if isinstance(entry, CaptureSeen) and entry.id == memory_id:
        return replace(entry, summary=FORGOTTEN)
    if isinstance(entry, PromptSeen):
        return replace(
            entry,
            kept=_without_summary(entry.kept, memory_id),
            verdicts=_without_summary(entry.verdicts, memory_id),
        )
    return entry


def _without_summary(told: tuple[T, ...], memory_id: str) -> tuple[T, ...]:
    return tuple(
        replace(one, summary=FORGOTTEN) if one.memory_id == memory_id else one for one in told
    )


class Watch:
    """One reader's view of what happens. One that reads too slowly misses the oldest of it."""

    def __init__(self, scopes: frozenset[Scope]) -> None:
        self._scopes = scopes
        self._waiting: deque[Entry] = deque(maxlen=_MAX_BEHIND)
        self._woken = anyio.Event()
        self.is_closed = False

    def note(self, entry: Entry) -> None:
        if self._scopes & {*entry.scopes}:
            self._waiting.append(entry)
            self._woken.set()

    def close(self) -> None:
        self.is_closed = True
        self._woken.set()

    async def next(self) -> list[Entry]:
        """What happened since the last time; waits for it."""
        await self._woken.wait()
        self._woken = anyio.Event()
        entries = list(self._waiting)
        self._waiting.clear()
        return entries


class Latency(Struct, frozen=True):
    """What the stages of the last prompts took together, in milliseconds."""

    prompts: int
    served: int
    median_ms: float
    most_ms: float


def latency_of(prompts: Sequence[PromptSeen]) -> Latency | None:
    """How long ``prompts`` took; None where there are none."""
    took = [math.fsum(prompt.stages_ms.values()) for prompt in prompts]
    if not took:
        return None
    served = sum(prompt.tokens > 0 for prompt in prompts)
    return Latency(len(prompts), served, statistics.median(took), max(took))
