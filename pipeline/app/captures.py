"""Captures what is marked: publishes the request, and waits for the result until the deadline.

Beside it stands the redaction of what comes out of the store: a text is read for secrets once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

import anyio
import anyio.to_thread

from ...bus.bus import Bus
from ...bus.events import CaptureRequested, CaptureSettled, PromptSubmitted
from ...bus.ids import next_ulid
from ...bus.values import Kept, Marked, Provenance
from .lazy_archive import RESERVE_S

MAX_TEXTS = 50_000


class CaptureService:
    """Fulfils the ``Keeper`` port over the bus."""

    def __init__(self, bus: Bus, *, new_id: Callable[[], str], store_problem: Callable[[], str]):
        self._bus = bus
        self._new_id = new_id
        self._store_problem = store_problem
        self._waiting: dict[str, tuple[anyio.Event, list[CaptureSettled]]] = {}

    def settle(self, event: CaptureSettled) -> None:
        """A capture was settled: wake whoever waits for it."""
        if entry := self._waiting.get(event.trace):
            entry[1].append(event)
            entry[0].set()

    async def keep(self, marked: Marked, *, prompt: PromptSubmitted, number: int) -> Kept:
        place = prompt.place
        request = CaptureRequested(
            trace=self._new_id(),
            id=f"mem_{next_ulid(prompt.trace, number)}",
            text=marked.content,
            scope=place.project,
            namespace=marked.namespace,
            tags=(marked.tag,) if marked.tag else (),
            provenance=Provenance(
                hook="UserPromptSubmit",
                session=prompt.session,
                client=prompt.client,
                branch=place.branch or "",
            ),
        )
        return (await self.capture(request)).kept

    async def capture(self, request: CaptureRequested) -> CaptureSettled:
        """Send ``request`` on its way, and return what became of it, or that it is pending."""
        done, answers = self._waiting[request.trace] = (anyio.Event(), [])
        try:
            await self._bus.publish(request)
            left_s = anyio.current_effective_deadline() - anyio.current_time()
            with anyio.move_on_after(max(0.0, left_s - RESERVE_S)):
                await done.wait()
        finally:
            del self._waiting[request.trace]
        return answers[0] if answers else self._unsettled(request)

    def _unsettled(self, request: CaptureRequested) -> CaptureSettled:
        kept = Kept(
            outcome="pending",
            namespace=request.namespace or "",
            reason=self._store_problem() or "it is still being stored",
        )
        return CaptureSettled(trace=request.trace, kept=kept)


class RedactionCache:
    """Redacts texts, and remembers which of them had nothing to redact; not the texts themselves.

    By Python's own hash, which is keyed anew in each process: nobody can make two texts meet.
    """

    def __init__(self, redact: Callable[[str], str], *, max_texts: int = MAX_TEXTS) -> None:
        self._redact = redact
        self._max_texts = max_texts
        self._spotless: dict[int, None] = {}
        self._lock = threading.Lock()  # a review cleans in a thread

    def __call__(self, text: str) -> str:
        key = hash(text)
        if key in self._spotless:
            return text
        cleaned = self._redact(text)
        if cleaned == text:
            with self._lock:
                self._spotless[key] = None
                if len(self._spotless) > self._max_texts:
                    del self._spotless[next(iter(self._spotless))]
        return cleaned
