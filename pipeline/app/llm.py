"""The language model's part of a daemon; made, and imported, only where a model is named."""

from __future__ import annotations

import logging
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from importlib.util import find_spec

import anyio
import anyio.to_thread
from cachetools import LRUCache
from msgspec.structs import replace

from ...bus.bus import BusClosed
from ...bus.events import (
    CaptureRequested,
    CaptureSettled,
    ContextBuilt,
    IntentClassified,
    IntentRefined,
    PromptEnriched,
    SessionReviewed,
)
from ...bus.sessions import Passage
from ...bus.signals import degraded, emit
from ...bus.values import AUTO_CAPTURED, Hit, Provenance, Query, Scope
from ...config.settings import Settings
from ...sinks.llm.circuit_breaker import CircuitBreaker
from ...sinks.llm.language_model import LanguageModel, PromptSpec
from ...sinks.llm.worker_process import Configure, ModelProcess
from ...sinks.sessions import Sessions, emit_late
from ...stages.capture import consolidation
from ...stages.capture.consolidation import Consolidated
from ...stages.capture.review import is_known
from ...stages.classify import ModelRacer, changes_context, with_intent
from ...stages.language.search_intent import MAX_CLEAN_CHARS, SYSTEM, ends, question, read_answer
from ...stages.ports import Recall
from .archives import NotStored
from .conversations import Conversations
from .review_captures import Capture

# -P: the directory it starts in may be an agent's project, and nothing is imported from there.
COMMAND = (sys.executable, "-P", "-m", "subcog.sinks.llm.worker")
MISSING = "litellm is not installed: pip install 'subcog[llm]'"
WINDOW = 200
MAX_OPEN = 1024
# For the answer to leave, and for what a busy machine adds to anything.
FLOOR_S = 0.012
# The stages after the race take prompts one by one, about so long for each, so that of many races
# under one deadline those that were called last must end first.
EACH_S = 0.001

Inject = Callable[[IntentClassified], ContextBuilt]
Current = Callable[[PromptEnriched], Awaitable[PromptEnriched]]
WITHIN_S = 60.0
CAPTURE_S = 30.0
TAG = "consolidated"
_log = logging.getLogger(__name__)


class LanguageModelService:
    """The model as a racer, and what it says too late. ``async with asking.running()`` around it.

    ``publish`` sends an event on its way; ``clean`` redacts a text before it leaves the machine.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        sessions: Sessions,
        publish: Callable[[IntentRefined], Awaitable[None]],
        clean: Callable[[str], str],
    ) -> None:
        search = settings.search_intent
        self._settings = search
        self._name = settings.llm.model
        self._publish = publish
        self.reserve = Reserve(now=time.perf_counter)
        self._sessions = sessions
        self.model = LanguageModel(
            ModelProcess(
                COMMAND, Configure(model=settings.llm.model, api_base=settings.llm.api_base)
            ),
            PromptSpec(
                system=SYSTEM,
                question=question,
                read=read_answer,
                clean=lambda text: clean(ends(text, MAX_CLEAN_CHARS)),
            ),
            late_s=search.llm_late_ms / 1000,
            breaker=CircuitBreaker(now=time.monotonic),
            problem="" if find_spec("litellm") else MISSING,
        )
        self.racer = ModelRacer(
            self.model,
            policy=search.llm_policy if search.enabled and search.use_llm else "never",
            timeout_s=search.llm_timeout_ms / 1000,
            need_s=self.reserve.need_s,
            refined=self._refined,
        )

    def running(self) -> AbstractAsyncContextManager[None]:
        return self.model.running()

    def warm(self) -> None:
        """A session begins: load what its first question needs."""
        self.model.warm()

    # --- what comes late -------------------------------------------------------------------------

    async def _refined(self, event: IntentRefined) -> bool:
        try:
            await self._publish(event)
        except BusClosed:
            return False
        return True

    def refine(self, event: IntentRefined) -> None:
        """Let what ``event`` changes wait for its session's next hook."""
        named = event.classified.enriched.prompt.session
        if named and changes_context(event, settings=self._settings):
            self._sessions.put_late_answer(event)
        else:
            emit_late(event, used=False)

    async def late_context(
        self, session: str, *, project: Scope, current: Current, inject: Inject, by: str = ""
    ) -> str:
        """What the model's late answer adds for ``session``, once; empty for nothing.

        ``by`` is the trace of the hook that it goes out with.

        What was found in another project than ``project`` is not told in this one. ``current``
        leaves of what was found what is still so.
        """
        if (event := self._sessions.take_late_answer(session, by=by)) is None:
            return ""
        try:
            text = await self._told(event, project=project, current=current, inject=inject)
        except anyio.get_cancelled_exc_class():  # this hook has no time for it
            self._sessions.return_late_answer(event)
            raise
        except ConnectionError:
            emit_late(event, used=False)
            raise
        emit_late(event, used=bool(text))
        return text

    async def _told(
        self, event: IntentRefined, *, project: Scope, current: Current, inject: Inject
    ) -> str:
        if event.classified.enriched.prompt.place.project != project:
            return ""
        found = await current(event.classified.enriched)
        return inject(with_intent(event, found)).text

    # --- telling ---------------------------------------------------------------------------------

    def status(self) -> dict[str, object]:
        """What ``subcog status`` shows."""
        return {"model": self._name, **self.model.status()}

    def gauges(self) -> dict[str, tuple[str, float]]:
        """What the metrics read at each scrape."""
        state = self.model.breaker.value
        about = "The circuit breaker of the language model: 0 closed, 1 half-open, 2 open."
        return {"subcog_llm_breaker_state": (about, state)}


class Reserve:
    """How much of a prompt's time the stages after the race need: a moving 99th percentile.

    Measured from ``begin`` to ``end`` of each trace; ``now`` tells seconds.
    """

    def __init__(self, *, now: Callable[[], float], floor_s: float = FLOOR_S) -> None:
        self._now = now
        self._floor_s = floor_s
        self._open: LRUCache[str, float] = LRUCache(MAX_OPEN)
        self._took_s: deque[float] = deque(maxlen=WINDOW)

    def begin(self, trace: str) -> None:
        """The race of ``trace`` is over."""
        self._open[trace] = self._now()

    def end(self, trace: str) -> None:
        """The answer of ``trace`` is ready."""
        if (began := self._open.pop(trace, None)) is not None:
            self._took_s.append(self._now() - began)

    def need_s(self, racing: int = 1) -> float:
        """What to leave of a prompt's time while so many race."""
        took_s = sorted(self._took_s)
        p99_s = took_s[len(took_s) * 99 // 100] if took_s else 0.0
        return max(self._floor_s, p99_s) + racing * EACH_S


class Consolidation:
    """Has the model sum up a session that is over, where ``llm.consolidate`` allows it.

    ``clean`` redacts what leaves the machine; what is captured goes the way of all captures. What
    the daemon's end cuts off is not made up for: what was said is kept, and is found without it.
    """

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
        if not (read := consolidation.read_part(said)):
            return
        part = await anyio.to_thread.run_sync(self._cleaned, read)
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

    def _cleaned(self, said: Sequence[Passage]) -> tuple[Passage, ...]:
        return tuple(replace(one, text=self._clean(one.text)) for one in said)

    async def _keep(self, event: SessionReviewed, found: Consolidated) -> bool:
        """Capture one memory, unless it is known or its sources are gone; whether it was kept.

        The model takes its time, in which the session, or a part of it, may have been forgotten.
        """
        if is_known(found.text, await self._like(event, found.text)):
            return False
        async with self._conversations.holding(event.place, event.session) as kept:
            if not all(one.id in kept for one in found.sources):
                return False
            settled = await self._captured(event, found)
        if not settled.kept.is_settled:
            raise NotStored
        return settled.kept.outcome != "declined"

    async def _captured(self, event: SessionReviewed, found: Consolidated) -> CaptureSettled:
        """Nothing can be forgotten meanwhile, so it may not take for ever. Raises ``NotStored``."""
        try:
            with anyio.fail_after(CAPTURE_S):
                return await self._capture(self._request(event, found))
        except TimeoutError:
            raise NotStored from None

    def _request(self, event: SessionReviewed, found: Consolidated) -> CaptureRequested:
        return CaptureRequested(
            trace=self._new_id(),
            id=found.memory_id,
            text=found.text,
            scope=event.place.project,
            before=event.place.before,
            namespace=found.namespace,
            tags=(AUTO_CAPTURED, TAG),
            questions=found.questions,
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

    async def _like(self, event: SessionReviewed, text: str) -> tuple[Hit, ...]:
        query = Query(text=text, scopes=event.place.readable, limit=5)
        try:
            return (await self._recall.recall(query)).hits
        except ConnectionError:
            raise NotStored from None


def _ids(sources: tuple[Passage, ...]) -> str:
    return " ".join(one.id for one in sources)
