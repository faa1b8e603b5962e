"""Sends captures on their way, and waits for what becomes of them until the deadline."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from ...bus.bus import Bus
from ...bus.events import CaptureRequested, CaptureSettled, PromptSubmitted
from ...bus.prompts import Marked
from ...bus.values import Kept, Provenance
from ...config.ids import next_ulid
from ...stages.capture.namespaces import remembered_as
from ...stages.text.markup import REMEMBER
from .archives import RESERVE_S

# So much of a prompt is read for what it gives away, while its hook waits: 5 ms.
_HEARD_CHARS = 20_000


class CaptureService:
    """Fulfils the ``Keeper`` port over the bus.

    ``hear`` gets the session and the text of a prompt before anything of that is kept.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        new_id: Callable[[], str],
        store_problem: Callable[[], str],
        hear: Callable[[str, str], None] = lambda session, text: None,
    ) -> None:
        self._bus = bus
        self._new_id = new_id
        self._store_problem = store_problem
        self._hear = hear
        self._waiting: dict[str, tuple[anyio.Event, list[CaptureSettled]]] = {}

    def settle(self, event: CaptureSettled) -> None:
        """A capture was settled: wake whoever waits for it."""
        if entry := self._waiting.get(event.trace):
            entry[1].append(event)
            entry[0].set()

    async def keep(self, marked: Marked, *, prompt: PromptSubmitted, number: int) -> Kept:
        place = prompt.place
        if number == 0:
            self._hear(prompt.session, prompt.text[:_HEARD_CHARS])
        request = CaptureRequested(
            trace=self._new_id(),
            id=f"mem_{next_ulid(prompt.trace, number)}",
            text=marked.content,
            scope=place.project,
            namespace=_namespace_of(marked),
            tags=(marked.tag,) if marked.tag else (),
            own_words=True,
            own_namespace=marked.marker.lower() != REMEMBER and marked.namespace is not None,
            provenance=Provenance(
                hook="UserPromptSubmit",
                session=prompt.session,
                client=prompt.client,
                branch=place.branch or "",
            ),
            root=place.root,
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


def _namespace_of(marked: Marked) -> str | None:
    """Where a marked line goes; None where its text has to tell."""
    return remembered_as(marked.content) if marked.marker.lower() == REMEMBER else marked.namespace
