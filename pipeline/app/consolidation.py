"""Has the user's language model sum up a session that is over, where ``llm.consolidate`` allows it.

It begins when the session's end was read, so no hook waits for it. What the daemon's end cuts off
is not made up for: what was said is kept, and is found without it.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from ...bus.events import CaptureRequested, CaptureSettled, SessionReviewed
from ...bus.sessions import Passage
from ...bus.signals import degraded, emit
from ...bus.values import AUTO_CAPTURED, Hit, Provenance, Query
from ...sinks.llm.language_model import LanguageModel
from ...stages.capture import consolidation
from ...stages.capture.consolidation import Consolidated
from ...stages.capture.review import is_known
from ...stages.ports import Recall
from .archives import Conversations, NotStored

WITHIN_S = 60.0
TAG = "consolidated"
_log = logging.getLogger(__name__)

Capture = Callable[[CaptureRequested], Awaitable[CaptureSettled]]


class Consolidation:
    """``clean`` redacts what leaves the machine; what is captured goes the way of all captures."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        conversations: Conversations,
        recall: Recall,
        capture: Capture,
        clean: Callable[[str], str],
        new_id: Callable[[], str],
    ) -> None:
        self._model = model
        self._conversations = conversations
        self._recall = recall
        self._capture = capture
        self._clean = clean
        self._new_id = new_id

    async def consolidate(self, event: SessionReviewed) -> None:
        """Keep what the model makes of the session, as far as what was said bears it out."""
        said = await self._conversations.all_of(event.place, event.session)
        cleaned = [replace(one, text=self._clean(one.text)) for one in said]
        if not (part := consolidation.read_part(cleaned)):
            return
        answer = await self._model.complete(
            consolidation.SYSTEM,
            consolidation.question(part),
            max_tokens=consolidation.MAX_ANSWER_TOKENS,
            within_s=WITHIN_S,
        )
        try:
            found = consolidation.read_answer(answer, part)
        except ValueError:
            emit(degraded, "consolidate", reason="model.no_answer")
            return
        try:
            kept = sum([await self._keep(event, one) for one in found])
        except NotStored:
            emit(degraded, "consolidate", reason="store.unavailable")
            return
        _log.info("a session was summed up", extra={"passages": len(part), "memories": kept})

    async def _keep(self, event: SessionReviewed, found: Consolidated) -> bool:
        """Capture one memory, unless it is known; whether it was kept."""
        if is_known(found.text, await self._like(event, found.text)):
            return False
        settled = await self._capture(
            CaptureRequested(
                trace=self._new_id(),
                id=found.memory_id,
                text=found.text,
                scope=event.place.project,
                namespace=found.namespace,
                tags=(AUTO_CAPTURED, TAG),
                explicit=False,
                provenance=Provenance(
                    hook="SessionEnd",
                    session=event.session,
                    client=event.client,
                    branch=event.place.branch or "",
                    said=_ids(found.sources),
                ),
                said_at=found.sources[-1].said_at,
                root=event.place.root,
            )
        )
        if not settled.kept.is_settled:
            raise NotStored
        return settled.kept.outcome != "declined"

    async def _like(self, event: SessionReviewed, text: str) -> tuple[Hit, ...]:
        query = Query(text=text, scopes=event.place.readable, limit=5)
        try:
            return (await self._recall.recall(query)).hits
        except ConnectionError:
            raise NotStored from None


def _ids(sources: tuple[Passage, ...]) -> str:
    return " ".join(one.id for one in sources)
