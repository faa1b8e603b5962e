"""How each stage is called: the handlers of the routes, with what they need from outside."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.events import (
    CaptureDetected,
    CaptureSettled,
    ContextBuilt,
    Event,
    ForgetRequested,
    ImportAdmitted,
    ImportRequested,
    IntentClassified,
    IntentRefined,
    MemoriesShown,
    PromptEnriched,
    QueryAnswered,
    QueryRequested,
    ResponseReady,
    SessionReviewed,
    SessionStarted,
    StoreRequested,
)
from ...bus.signals import emit, settled
from ...bus.values import AUTO_CAPTURED, Kept, Memory, Place, Scope, Shown
from ...stages.capture import task_record as task
from ...stages.classify import classify, may_search
from ...stages.enrich import Knowledge, enrich
from ...stages.enrichment.hindsight import Hindsight
from ...stages.inject import MAX_TOKENS, inject
from ...stages.injection.instructions import Instructed, Known
from ...stages.injection.usefulness import MOST_LOWERED
from ...stages.moments.greet import Background, greet
from ...stages.moments.remedy import remedy
from ...stages.moments.remind import remind
from ...stages.moments.reminder import KnownAtAct
from ...stages.moments.warn import warn
from ...stages.parse import parse
from ...stages.ports import RecallUnavailable
from ...stages.redaction.admit import admit, detect
from ...stages.redaction.redact import redact, with_warning
from ...stages.respond import respond
from ...stages.sessions.last_session import SOURCES, last_session
from ...stages.statements.open_work import RESOLVED
from .archives import Published

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from .app import App


class Handlers:
    """What each stage of ``app`` is called with, and what is done beside it."""

    def __init__(self, app: App) -> None:
        self._app = app

    def table(self) -> dict[str, Callable[[Any], Any]]:
        """The function of each stage, with what it needs from outside."""
        app, late = self._app, self._app.archive
        search, hook = app.settings.search_intent, app.settings.hook
        known = KnownAtAct(app.code, app.learned)
        return {
            "parse": partial(parse, spelling=late),
            "read_instructions": lambda event: self.refresh_instructions(event.place, event.client),
            "enrich": partial(
                enrich,
                recall=late,
                keeper=app.captures,
                projects=app.projects,
                limit=search.context.max_count,
                min_relevance=max(0.0, search.context.least_relevance - MOST_LOWERED),
                knowledge=Knowledge(app.lore, late, app.clock, app.clean, app.code, late),
                conversations=app.passages,
                hindsight=Hindsight(late, app.clock),
                may_search=lambda parsed: self._model_races() or may_search(parsed, app.local),
            ),
            "classify": self.classify,
            "inject": self._inject,
            "respond": self._respond,
            "refine": self._refine,
            "greet": self._greet,
            "warn": self._moment(warn, hook.pre_tool_use, warnings=late, known=known),
            "remind": self._moment(
                remind, hook.post_tool_use, recall=late, catalogue=late, known=known
            ),
            "remedy": self._moment(remedy, hook.post_tool_use_failure, recall=late, known=known),
            "note_begun": app.failures.note_begun,
            "note_failure": app.failures.note_failure,
            "note_mend": app.failures.note_mend,
            **app.uses.handlers,
            "use_shown": late.counter(lambda archive, event: archive.count_shown(event)),
            "reasons_shown": app.sessions.note_shown_reasons,
            "preserve": app.reviewer.preserve,
            "finish_turn": app.reviewer.finish_turn,
            "finish_session": app.reviewer.finish_session,
            "review": app.reviewer.review,
            "consolidate": self._consolidate,
            "detect": partial(detect, max_chars=app.settings.capture.max_chars),
            "redact": self._redact,
            "store": self._store,
            "anchor": late.handler(lambda archive, event: archive.captures.anchor(event)),
            "contradict": late.handler(lambda archive, event: archive.contradictions.note(event)),
            "forget": self._forget,
            "supersede": self._change(lambda archive, event: archive.lifecycle.supersede(event)),
            "expire": self._change(lambda archive, event: archive.lifecycle.expire(event)),
            "restore": self._change(lambda archive, event: archive.lifecycle.restore(event)),
            "admit": self._admit,
            "import": self._change(lambda archive, event: archive.bulk_import.store(event)),
            "use": late.counter(lambda archive, event: archive.count_uses(event)),
            "index": late.handler(lambda archive, event: archive.index_stored(event)),
            "unindex": late.handler(lambda archive, event: archive.unindex(event)),
            "topics": late.handler(lambda archive, event: archive.mentions.note(event)),
            "untopic": late.handler(lambda archive, event: archive.mentions.drop(event)),
            "settle": self._settle,
            "reasons": app.sessions.note_reasons,
            "trace": app.prompt_log.note,
            "record_prompt": app.activity.note_prompt,
            "record_shown": app.activity.note_shown,
            "record_capture": app.activity.note_capture,
            "record_forgotten": app.activity.note_forgotten,
            "load_reranker": late.handler(lambda archive, event: archive.load_reranker()),
            "guides": app.lore.stored,
            "unguide": app.lore.forgotten,
            "warm": app.lore.warm,
            "push": app.team.nudge,
            "push_gone": app.team.nudge,
            "announce": app.changes.stored,
            "announce_gone": app.changes.forgotten,
            "answer": self._answer,
        }

    def _moment(
        self, stage: Callable[..., Awaitable[Published]], settings: Any, **ports: Any
    ) -> Callable[[Event], Awaitable[Published]]:
        """The handler of a stage that brings something up unasked, under its hook's settings."""

        async def handle(event: Event) -> Published:
            return await stage(
                event,
                sessions=self._app.sessions,
                settings=settings,
                now=self._app.clock(),
                clean=self._app.clean,
                **ports,
            )

        return handle

    async def _greet(self, event: SessionStarted) -> Published:
        settings, told = self._app.settings.hook.session_start, ""
        facts = await anyio.to_thread.run_sync(  # the disk may hang since the place was found
            self._app.projects.facts, event.place.root, abandon_on_cancel=True
        )
        if settings.enabled and event.source in SOURCES:
            said = await self._app.passages.before(event.place, event.session)
            told = last_session(said, now=self._app.clock(), clean=self._app.clean)
        await self.refresh_instructions(event.place, event.client)
        instructed = self._instructed(event.place, event.client)
        about = Background(facts, told, self._app.code, self._app.learned, instructed)
        archive = self._app.archive
        stage = self._moment(greet, settings, recall=archive, catalogue=archive, about=about)
        return await stage(event)

    async def _consolidate(self, event: SessionReviewed) -> None:
        if self._app.consolidation is not None:
            await self._app.consolidation.consolidate(event)

    def _settle(self, event: CaptureSettled) -> None:
        if (memory := event.memory) is not None:
            is_merged = event.kept.outcome == "merged" and memory.sources
            session = (memory.sources[-1] if is_merged else memory.provenance).session
            self._app.sessions.note_capture(session, memory.id)
            # A revision may be of what another session kept, and is no news there.
            is_new = event.kept.outcome == "stored" and memory.version == 1
            # Of a resolution the user is told what it closed.
            is_news = is_new and memory.namespace != task.NAMESPACE and RESOLVED not in memory.tags
            if is_news and AUTO_CAPTURED in memory.tags:
                self._app.sessions.note_unasked(session, memory.id, memory.namespace)
                if old := event.kept.supersedes:
                    self._app.sessions.note_replaced(session, old)
                elif (other := event.other) is not None and other.is_asked_for:
                    self._app.sessions.note_denied(session, other.id, by=memory.id)
        emit(settled, "settle", outcome=event.kept.outcome)
        warns = self._app.settings.redaction.mode == "warn"
        self._app.captures.settle(with_warning(event) if warns else event)

    def _model_races(self) -> bool:
        return self._app.llm is not None and self._app.llm.racer.is_asked(decisive=False)

    async def classify(self, event: PromptEnriched) -> IntentClassified:
        """What a prompt searches for, by every racer there is."""
        if self._app.llm is None:
            return await classify(event, local=self._app.local)
        answer = await classify(event, local=self._app.local, model=self._app.llm.racer)
        self._app.llm.reserve.begin(event.trace)
        return answer

    def _inject(self, event: IntentClassified, max_tokens: int = MAX_TOKENS) -> ContextBuilt:
        search, prompt = self._app.settings.search_intent, event.enriched.prompt
        room = replace(search.context, max_tokens=min(search.context.max_tokens, max_tokens))
        return inject(
            event,
            settings=replace(search, context=room),
            quoting=self._app.settings.sessions,
            sessions=self._app.sessions,
            now=self._app.clock(),
            clean=self._app.clean,
            count_topic=self._count_topic,
            known=Known(self._app.learned, self._instructed(prompt.place, prompt.client)),
        )

    async def refresh_instructions(self, place: Place, client: str) -> None:
        """Read what the agent's own files say at ``place``, as far as they changed."""
        await self._app.instructions.refresh(place.root, client)

    def _instructed(self, place: Place, client: str) -> Instructed:
        return Instructed(self._app.instructions.known(place.root, client))

    def _count_topic(self, topic: str, scopes: tuple[Scope, ...]) -> int:
        archive = self._app.archive.loaded
        return 0 if archive is None else archive.topics.count_about(topic, scopes)

    def _respond(self, event: ContextBuilt) -> ResponseReady:
        if self._app.llm is not None:
            self._app.llm.reserve.end(event.trace)
        wanted, prompt = self._app.settings.hook.user_prompt, event.classified.enriched.prompt
        by_a_person = not (prompt.rehearsal or event.classified.enriched.parsed.machine)
        tells = wanted.notices and by_a_person  # what nobody reads now is told with the next prompt
        sessions, to = self._app.sessions, {"session": prompt.session, "by": event.trace}
        return respond(
            event,
            suggest=wanted.suggest_captures,
            notices=tells,
            kept=sessions.take_unasked(**to) if tells else (),
            replaced=sessions.take_replaced(**to) if tells else (),
            denied=sessions.take_denied(**to) if tells else (),
            closed=sessions.take_closed(**to) if tells else (),
            clean=self._app.clean,
        )

    def _refine(self, event: IntentRefined) -> None:
        if self._app.llm is not None:
            self._app.llm.refine(event)

    async def late_context(
        self, session: str, *, project: Scope, max_tokens: int, hook: str, by: str
    ) -> str:
        """The model's late answer to the session's last prompt in ``project``, once; or "".

        ``by`` is the trace of the ``hook`` that it goes out with.
        """
        if self._app.llm is None:
            return ""
        built: list[ContextBuilt] = []

        def choose(event: IntentClassified) -> ContextBuilt:
            built.append(self._inject(replace(event, trace=by), max_tokens))
            return built[-1]

        text = await self._app.llm.late_context(
            session, project=project, current=self._current, inject=choose, by=by
        )
        for one in built:
            if (shown := _shown_late(one, session, hook)).shown:
                await self._app.bus.publish(shown)
        return text

    async def _current(self, found: PromptEnriched) -> PromptEnriched:
        """``found`` as far as it is still so."""
        current = await self._app.archive.current(found)
        return replace(current, sessions=await self._app.passages.current(found.sessions))

    async def _store(self, event: StoreRequested) -> tuple[Event, ...]:
        try:
            archive = await self._app.archive.get()
        except RecallUnavailable as error:
            kept = Kept(outcome="failed", namespace=event.namespace, reason=str(error))
            return (CaptureSettled(trace=event.trace, kept=kept),)
        return await archive.captures.store(event)

    async def _forget(self, event: ForgetRequested) -> Event:
        """Forget the passages of sessions that say a memory, then the memory itself.

        In this order, since what fails can be asked for again as long as the memory is there.
        Raises ``RecallUnavailable`` where nothing was forgotten.
        """
        archive = await self._app.archive.get()
        if versions := await archive.store.history(event.id, event.scopes):
            await self._forget_saying(archive, versions, event.scopes)
        return await self._follow(await archive.forget(event))

    def _change(
        self, method: Callable[[Archive, Any], Awaitable[Sequence[Event]]]
    ) -> Callable[[Event], Awaitable[Event]]:
        """The handler of a stage that commits by ``method`` of the archive, once it is there."""

        async def handle(event: Event) -> Event:
            return await self._follow(await method(await self._app.archive.get(), event))

        return handle

    async def _follow(self, committed: Sequence[Event]) -> Event:
        """Publish what was committed; the last of it, which settles the request, comes back."""
        *followed, settled = committed
        with anyio.CancelScope(shield=True):
            for one in followed:  # on a trace of its own, which no deadline of the request ends
                await self._app.bus.publish(replace(one, trace=self._app.new_id()))
        return settled

    async def _forget_saying(
        self, archive: Archive, versions: Sequence[Memory], scopes: Sequence[Scope]
    ) -> None:
        """Forget what says any of the ``versions`` of a memory, also under an earlier scope."""
        texts = dict.fromkeys(version.content for version in versions)
        if not self._app.settings.sessions.enabled:  # what was kept before is still there
            from ...sinks.passages.archive import forget_unloaded

            await forget_unloaded(archive.store, scopes, texts)
            return
        try:
            passages = await self._app.passages.get()
        except RecallUnavailable as error:
            raise RecallUnavailable(
                f"{versions[0].id} is not forgotten, since sessions that say it cannot be: {error}"
            ) from None
        for scope, text in product(scopes, texts):
            await passages.forget_saying(scope, text)

    def _redact(self, event: CaptureDetected) -> StoreRequested | CaptureSettled:
        known = self._app.known_secrets(event.request.provenance.session)
        return redact(event, redactor=self._app.redactor, known=known)

    async def _admit(self, event: ImportRequested) -> ImportAdmitted:
        max_chars = self._app.settings.capture.max_chars
        work = partial(admit, event, redactor=self._app.redactor, max_chars=max_chars)
        return await anyio.to_thread.run_sync(work)

    async def _answer(self, event: QueryRequested) -> QueryAnswered:
        recalled = await self._app.archive.recall(event.query)
        return QueryAnswered(trace=event.trace, query=event.query, recalled=recalled)


def _shown_late(built: ContextBuilt, session: str, hook: str) -> MemoriesShown:
    """What a late answer showed: the prompt that asked for it has been counted long ago."""
    return MemoriesShown(
        trace=built.trace,
        session=session,
        hook=hook,
        shown=tuple(
            Shown(memory_id=one.memory_id, score=one.score, why=one.why)
            for one in built.verdicts
            if one.injected
        ),
        scopes=built.classified.enriched.prompt.place.readable,
    )
