"""Builds and connects the parts of a daemon. The one place that knows them all."""

from __future__ import annotations

import logging
import os
import pwd
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.bus import Bus
from ...bus.events import (
    CaptureSettled,
    ContextBuilt,
    Event,
    ForgetRequested,
    ImportAdmitted,
    ImportRequested,
    IntentClassified,
    IntentRefined,
    PromptEnriched,
    QueryAnswered,
    QueryRequested,
    ResponseReady,
    SessionReviewed,
    SessionStarted,
    StoreRequested,
)
from ...bus.ids import ulid_of
from ...bus.signals import emit, settled
from ...bus.values import AUTO_CAPTURED, Kept, Place, Scope
from ...config.load import SettingsError
from ...config.paths import Paths
from ...config.settings import RedactionSettings, Settings
from ...sinks.code.watch import CodeWatch
from ...sinks.indexes.guide_index import GuideIndex
from ...sinks.mcp.port import Changes
from ...sinks.page.activity import Activity
from ...sinks.project.git import head_commit, top_of
from ...sinks.project.identity import Projects, Succession
from ...sinks.project.instructions import InstructionFiles, user_folders
from ...sinks.project.kinship import Kinship
from ...sinks.sessions import Sessions
from ...sinks.telemetry.logs import AuditLog, DegradationLog, PromptLog
from ...sinks.transcripts.reader import Transcripts
from ...stages.actions.failures import failing_shapes
from ...stages.capture import task_record as task
from ...stages.classify import classify, may_search
from ...stages.enrich import Knowledge, enrich
from ...stages.enrichment.guide_parser import read_guide
from ...stages.enrichment.hindsight import Hindsight
from ...stages.inject import MAX_TOKENS, inject
from ...stages.injection.instructions import Instructed, InstructionFile, Known
from ...stages.injection.usefulness import MOST_LOWERED, Learned, usefulness
from ...stages.language.code_names import code_names
from ...stages.moments.greet import Background, greet
from ...stages.moments.remedy import remedy
from ...stages.moments.remind import remind
from ...stages.moments.reminder import KnownAtAct
from ...stages.moments.warn import warn
from ...stages.parse import parse
from ...stages.ports import RecallUnavailable
from ...stages.redaction.admit import admit, detect
from ...stages.redaction.redact import Redactor, redact, with_warning
from ...stages.redaction.rules import BadAllowance
from ...stages.respond import respond
from ...stages.sessions.quote import SOURCES, last_session
from ...stages.statements.comparison import amends, contradicts, settles
from .archives import Conversations, LazyArchive, Published, RedactionCache
from .captures import CaptureService, ReviewCaptures
from .failures import FailureCaptures
from .review import SessionReviewer
from .routes import ROUTES
from .team import Team
from .uses import UseWatcher

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from ...sinks.models.intent_classifier import LocalClassifier
    from ...sinks.store.store import Store
    from ...sinks.store.writes import ChangeQueue
    from .llm import Consolidation, LanguageModelService

INDEXING = ("index", "unindex", "topics", "untopic")
_log = logging.getLogger(__name__)


def utc_now() -> datetime:
    """Now, aware, UTC."""
    return datetime.now(UTC)


def new_ulid() -> str:
    """A new identifier of this moment."""
    return ulid_of(time.time_ns() // 1_000_000, secrets.token_bytes(10))


def user_name() -> str:
    """Who runs this process, as the system knows them."""
    return pwd.getpwuid(os.getuid()).pw_name


def _load_redactor(settings: RedactionSettings) -> Redactor:
    try:
        return Redactor.load(mode=settings.mode, personal=settings.personal, allow=settings.allow)
    except BadAllowance as error:
        raise SettingsError(f"redaction.allow: {error}") from None


def _load_local_classifier() -> LocalClassifier | None:
    """The local classifier; without its weights the keywords decide alone."""
    from ...sinks.models.intent_classifier import LocalClassifier

    try:
        return LocalClassifier.load()
    except (OSError, ValueError) as error:
        _log.error("cannot load the local intent classifier", extra={"error": type(error).__name__})
        return None


def _is_llm_used(settings: Settings) -> bool:
    """Whether these settings may lead to a question to a language model at all."""
    search = settings.search_intent
    races = search.enabled and search.use_llm and search.llm_policy != "never"
    return bool(settings.llm.model) and (races or settings.llm.consolidate)


class App:
    """The parts of one daemon. ``async with app.running()`` runs them; ``load`` opens the store."""

    def __init__(
        self,
        settings: Settings,
        paths: Paths,
        *,
        clock: Callable[[], datetime] = utc_now,
        new_id: Callable[[], str] = new_ulid,
    ) -> None:
        self.settings = settings
        self.paths = paths
        self.clock = clock
        self.new_id = new_id
        self.user = user_name()
        self.bus = Bus(grace_s=settings.daemon.drain_s)
        self.archive = LazyArchive()
        self.opening = anyio.Lock()
        self.projects = Projects(Succession(paths.earlier_scopes), Kinship(paths.kinship))
        self.sessions = Sessions()
        self.changes = Changes(is_busy=self._is_indexing)
        self.local: LocalClassifier | None = None
        self.redactor = _load_redactor(settings.redaction)
        self.audit_log = AuditLog(paths.state / "audit.jsonl", clock=clock)
        self.degradation_log = DegradationLog(now=time.monotonic)
        self.clean = RedactionCache(self._redacted)
        self.prompt_log = PromptLog(
            paths.traces, settings=settings.trace, clock=clock, clean=self._redacted
        )
        self.activity = Activity(clock=clock, stages=self.prompt_log.stages)
        self.llm = self._build_llm() if _is_llm_used(settings) else None
        self.captures = CaptureService(
            self.bus, new_id=new_id, store_problem=lambda: self.archive.problem
        )
        self.lore = GuideIndex(
            archive=self.archive.get,
            loaded=lambda: self.archive.loaded,
            read=read_guide,
            clock=clock,
        )
        self.code = CodeWatch(names=code_names, find_top=top_of, head=head_commit)
        self.passages = Conversations(settings.sessions)
        self.reviewer = self._build_reviewer()
        self.consolidation = self._build_consolidation() if settings.llm.consolidate else None
        self.failures = FailureCaptures(
            settings=settings.capture.failures,
            sessions=self.sessions,
            known=self.archive,
            publish=self.bus.publish,
            clean=self.clean,
            new_id=new_id,
        )
        context = settings.search_intent.context
        self.learned = Learned(self.archive, moves_floors=context.learn_from_use)
        self.instructions = InstructionFiles(
            InstructionFile, folders=user_folders(os.environ), enabled=context.skip_instructed
        )
        self.uses = UseWatcher(self.archive, sessions=self.sessions, clock=clock)
        self.team = Team(
            settings.team.url,
            archive=self.archive,
            publish=self.bus.publish,
            redactor=self.redactor,
            new_id=new_id,
            clock=clock,
        )
        handlers = self._handlers()
        for route in ROUTES:
            self.bus.subscribe(
                route.consumes,
                handlers[route.stage],
                name=route.stage,
                concurrency=route.concurrency,
                capacity=route.capacity,
                overflow=route.overflow,
                fails_request=bool(route.produces),
            )

    def _build_reviewer(self) -> SessionReviewer:
        return SessionReviewer(
            self.bus,
            settings=self.settings,
            sessions=self.sessions,
            transcripts=Transcripts(self.paths.state / "transcripts.json"),
            captures=ReviewCaptures(
                settings=self.settings,
                recall=self.archive,
                capture=self.captures.capture,
                new_id=self.new_id,
                clock=self.clock,
            ),
            conversations=self.passages,
            clean=self.clean,
            new_id=self.new_id,
        )

    def _build_llm(self) -> LanguageModelService:
        # With no model named, nothing of this is imported.
        from .llm import LanguageModelService

        return LanguageModelService(
            self.settings, sessions=self.sessions, publish=self.bus.publish, clean=self._redacted
        )

    def _build_consolidation(self) -> Consolidation | None:
        if self.llm is None:
            return None
        from .llm import Consolidation

        return Consolidation(
            self.llm.model,
            conversations=self.passages,
            recall=self.archive,
            capture=self.captures.capture,
            clean=self._redacted,
            new_id=self.new_id,
        )

    async def _consolidate(self, event: SessionReviewed) -> None:
        if self.consolidation is not None:
            await self.consolidation.consolidate(event)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the stages, and the model's part outside of them: what it says late is for them."""
        async with AsyncExitStack() as parts:
            for log in (self.audit_log, self.prompt_log, self.degradation_log):
                log.watch()
                parts.callback(log.unwatch)
            if self.llm is not None:
                await parts.enter_async_context(self.llm.running())
            await parts.enter_async_context(self.bus)
            yield

    def _handlers(self) -> dict[str, Callable[[Any], Any]]:
        """The function of each stage, with what it needs from outside."""
        search, hook, late = self.settings.search_intent, self.settings.hook, self.archive
        known = KnownAtAct(self.code, self.learned)
        return {
            "parse": parse,
            "read_instructions": lambda event: self.refresh_instructions(event.place, event.client),
            "enrich": partial(
                enrich,
                recall=late,
                keeper=self.captures,
                projects=self.projects,
                limit=search.context.max_count,
                min_relevance=max(0.0, search.context.least_relevance - MOST_LOWERED),
                knowledge=Knowledge(self.lore, late, self.clock, self.clean, self.code),
                conversations=self.passages,
                hindsight=Hindsight(late, self.clock),
                may_search=lambda parsed: self._model_races() or may_search(parsed, self.local),
            ),
            "classify": self.classify,
            "inject": self._inject,
            "respond": self._respond,
            "refine": self._refine,
            "greet": self._greet,
            "warn": self._moment(warn, hook.pre_tool_use, failures=late, known=known),
            "remind": self._moment(remind, hook.post_tool_use, catalogue=late, known=known),
            "remedy": self._moment(remedy, hook.post_tool_use_failure, known=known),
            "note_failure": self.failures.note_failure,
            "note_mend": self.failures.note_mend,
            **self.uses.handlers,
            "use_shown": late.counter(lambda archive, event: archive.count_shown(event)),
            "reasons_shown": self.sessions.note_shown_reasons,
            "preserve": self.reviewer.preserve,
            "finish_turn": self.reviewer.finish_turn,
            "finish_session": self.reviewer.finish_session,
            "review": self.reviewer.review,
            "consolidate": self._consolidate,
            "detect": partial(detect, max_chars=self.settings.capture.max_chars),
            "redact": partial(redact, redactor=self.redactor),
            "store": self._store,
            "anchor": late.handler(lambda archive, event: archive.captures.anchor(event)),
            "forget": self._forget,
            "supersede": late.handler(lambda archive, event: archive.lifecycle.supersede(event)),
            "expire": late.handler(lambda archive, event: archive.lifecycle.expire(event)),
            "restore": late.handler(lambda archive, event: archive.lifecycle.restore(event)),
            "admit": self._admit,
            "import": late.handler(lambda archive, event: archive.bulk_import.store(event)),
            "use": late.counter(lambda archive, event: archive.count_uses(event)),
            "index": late.handler(lambda archive, event: archive.index_stored(event)),
            "unindex": late.handler(lambda archive, event: archive.unindex(event)),
            "topics": late.handler(lambda archive, event: archive.note_topics(event)),
            "untopic": late.handler(lambda archive, event: archive.drop_topics(event)),
            "settle": self._settle,
            "reasons": self.sessions.note_reasons,
            "trace": self.prompt_log.note,
            "record_prompt": self.activity.note_prompt,
            "record_shown": self.activity.note_shown,
            "record_capture": self.activity.note_capture,
            "record_forgotten": self.activity.note_forgotten,
            "load_reranker": late.handler(lambda archive, event: archive.load_reranker()),
            "guides": self.lore.stored,
            "unguide": self.lore.forgotten,
            "warm": self.lore.warm,
            "push": self.team.nudge,
            "push_gone": self.team.nudge,
            "announce": self.changes.stored,
            "announce_gone": self.changes.forgotten,
            "answer": self._answer,
        }

    def _moment(
        self, stage: Callable[..., Awaitable[Published]], settings: Any, **ports: Any
    ) -> Callable[[Event], Awaitable[Published]]:
        """The handler of a stage that brings something up unasked, under its hook's settings."""

        async def handle(event: Event) -> Published:
            return await stage(
                event,
                recall=self.archive,
                sessions=self.sessions,
                settings=settings,
                now=self.clock(),
                clean=self.clean,
                **ports,
            )

        return handle

    async def _greet(self, event: SessionStarted) -> Published:
        settings, told = self.settings.hook.session_start, ""
        facts = await anyio.to_thread.run_sync(self.projects.facts, event.place.root)
        if settings.enabled and event.source in SOURCES:
            said = await self.passages.before(event.place, event.session)
            told = last_session(said, now=self.clock(), clean=self.clean)
        await self.refresh_instructions(event.place, event.client)
        instructed = self._instructed(event.place, event.client)
        about = Background(facts, told, self.code, self.learned, instructed)
        stage = self._moment(greet, settings, catalogue=self.archive, about=about)
        return await stage(event)

    def _is_indexing(self) -> bool:
        """Whether what was stored or forgotten is still on its way to the indexes."""
        depths = self.bus.depths()
        return any(depths[stage] for stage in INDEXING)

    def _settle(self, event: CaptureSettled) -> None:
        if (memory := event.memory) is not None:
            session = memory.provenance.session
            self.sessions.note_capture(session, memory.id)
            is_news = event.kept.outcome == "stored" and memory.namespace != task.NAMESPACE
            if is_news and AUTO_CAPTURED in memory.tags:
                self.sessions.note_unasked(session, memory.id, memory.namespace)
        emit(settled, "settle", outcome=event.kept.outcome)
        warns = self.settings.redaction.mode == "warn"
        self.captures.settle(with_warning(event) if warns else event)

    def _redacted(self, text: str) -> str:
        return self.redactor.redact(text).text

    def _model_races(self) -> bool:
        return self.llm is not None and self.llm.racer.is_asked(decisive=False)

    async def classify(self, event: PromptEnriched) -> IntentClassified:
        """What a prompt searches for, by every racer there is."""
        if self.llm is None:
            return await classify(event, local=self.local)
        answer = await classify(event, local=self.local, model=self.llm.racer)
        self.llm.reserve.begin(event.trace)
        return answer

    def _inject(self, event: IntentClassified, max_tokens: int = MAX_TOKENS) -> ContextBuilt:
        search, prompt = self.settings.search_intent, event.enriched.prompt
        room = replace(search.context, max_tokens=min(search.context.max_tokens, max_tokens))
        return inject(
            event,
            settings=replace(search, context=room),
            quoting=self.settings.sessions,
            sessions=self.sessions,
            now=self.clock(),
            clean=self.clean,
            count_topic=self._count_topic,
            known=Known(self.learned, self._instructed(prompt.place, prompt.client)),
        )

    async def refresh_instructions(self, place: Place, client: str) -> None:
        """Read what the agent's own files say at ``place``, as far as they changed."""
        await self.instructions.refresh(place.root, client)

    def _instructed(self, place: Place, client: str) -> Instructed:
        return Instructed(self.instructions.known(place.root, client))

    def _count_topic(self, topic: str, scopes: tuple[Scope, ...]) -> int:
        archive = self.archive.loaded
        return 0 if archive is None else archive.topics.count_about(topic, scopes)

    def _respond(self, event: ContextBuilt) -> ResponseReady:
        if self.llm is not None:
            self.llm.reserve.end(event.trace)
        wanted, prompt = self.settings.hook.user_prompt, event.classified.enriched.prompt
        tells = wanted.notices and not prompt.rehearsal
        return respond(
            event,
            suggest=wanted.suggest_captures,
            notices=tells,
            kept=self.sessions.take_unasked(prompt.session) if tells else (),
            clean=self.clean,
        )

    def _refine(self, event: IntentRefined) -> None:
        if self.llm is not None:
            self.llm.refine(event)

    async def late_context(self, session: str, *, project: Scope, max_tokens: int) -> str:
        """The model's late answer to the session's last prompt in ``project``, once; or ""."""
        if self.llm is None:
            return ""
        choose = partial(self._inject, max_tokens=max_tokens)
        return await self.llm.late_context(
            session, project=project, current=self.archive.current, inject=choose
        )

    async def _store(self, event: StoreRequested) -> tuple[Event, ...]:
        try:
            archive = await self.archive.get()
        except RecallUnavailable as error:
            kept = Kept(outcome="failed", namespace=event.namespace, reason=str(error))
            return (CaptureSettled(trace=event.trace, kept=kept),)
        return await archive.captures.store(event)

    async def _forget(self, event: ForgetRequested) -> tuple[Event, ...]:
        """Forget a memory, and the passages of sessions that say it."""
        archive = await self.archive.get()
        found = await archive.store.get([event.id], event.scopes)
        events = await archive.forget(event)
        if self.settings.sessions.enabled:
            passages = await self.passages.get()
            for memory in found:
                await passages.forget_saying(memory.scope, memory.content)
        return events

    async def _admit(self, event: ImportRequested) -> ImportAdmitted:
        max_chars = self.settings.capture.max_chars
        work = partial(admit, event, redactor=self.redactor, max_chars=max_chars)
        return await anyio.to_thread.run_sync(work)

    async def _answer(self, event: QueryRequested) -> QueryAnswered:
        recalled = await self.archive.recall(event.query)
        return QueryAnswered(trace=event.trace, query=event.query, recalled=recalled)

    # --- memory ----------------------------------------------------------------------------------

    async def load(self) -> None:
        """Open the archive in the background of a daemon that answers already."""
        started = time.perf_counter()
        try:
            archive = await anyio.to_thread.run_sync(self._build_archive)
            await archive.open()
        except OSError as error:
            _log.error("cannot open the memory store", extra={"error": type(error).__name__})
            self.archive.fail(str(error))
            self.passages.fail(str(error))
            return
        self.archive.arrive(archive)
        self.team.restart()
        _log.info("ready", extra={"took_s": round(time.perf_counter() - started, 3)})
        await self._load_sessions(archive)
        if archive.index.count:  # else the first memory brings it
            await archive.load_reranker()

    async def reopen(self) -> None:
        """Open the database again: it could not be opened, or another file lies there now."""
        async with self.opening:
            if (archive := self.archive.loaded) is not None:
                self.passages.depart()
                self.archive.depart()
                await archive.close()
            await self.load()
        await self.build_topics()

    async def _load_sessions(self, archive: Archive) -> None:
        """Open what was said in sessions; memories are found meanwhile."""
        settings = self.settings.sessions
        if not settings.enabled:
            return
        from ...sinks.passages.archive import Bounds, PassageArchive

        passages = PassageArchive(
            archive.store,
            bounds=Bounds(settings.days, settings.max_passages),
            floor=settings.min_relevance,
            clock=self.clock,
            amends=amends,
        )
        try:
            await passages.open(archive.encoder.embedder)
        except (OSError, ValueError) as error:
            _log.error("cannot load the sessions", extra={"error": type(error).__name__})
            self.passages.fail(f"the sessions cannot be loaded: {error}")
            return
        self.passages.arrive(passages)

    async def build_topics(self) -> None:
        """Note what every memory is about; after ``load``, and in nobody's way."""
        if (archive := self.archive.loaded) is not None:
            await archive.build_topics()

    def _build_archive(self) -> Archive:
        # These import numpy, DuckDB and the tokenizer: what needs no model is answered meanwhile.
        self.local = _load_local_classifier()
        from ...sinks.memories.capture import Judge
        from ...sinks.memories.repository import Archive
        from ...sinks.team.outbox import Outbox
        from ...sinks.team.replica import Replica

        folder = self.settings.embedding.model
        outbox = Outbox()
        store = self.build_store(self.paths.database, outbox)
        self.team.attach(Replica(store, outbox, clock=self.clock))
        return Archive(
            store,
            model_folder=Path(folder) if folder else None,
            merge_similarity=self.settings.capture.merge_similarity,
            judge=Judge(contradicts, settles),
            clock=self.clock,
            failing_shapes=failing_shapes,
            anchors=self.code.anchors,
            usefulness=usefulness,
        )

    def build_store(self, path: Path, queue: ChangeQueue | None = None) -> Store:
        """A store of the file at ``path``, not open yet; ``queue`` is told of each write."""
        from ...sinks.store.store import Store

        limit_mb = self.settings.store.memory_limit_mb
        return Store(path, memory_limit_mb=limit_mb, clock=self.clock, queue=queue)

    async def unload(self) -> None:
        """Close the archive, if it was opened."""
        self.passages.depart()
        if (archive := self.archive.loaded) is not None:
            await archive.close()
