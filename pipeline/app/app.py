"""Where every part is chosen and connected. The one place that knows them all."""

from __future__ import annotations

import logging
import os
import pwd
import secrets
import time
from collections.abc import AsyncIterator, Callable
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
    ImportAdmitted,
    ImportRequested,
    IntentClassified,
    IntentRefined,
    PromptEnriched,
    QueryAnswered,
    QueryRequested,
    ResponseReady,
    StoreRequested,
)
from ...bus.ids import ulid_of
from ...bus.signals import emit, settled
from ...bus.values import Hit, Kept, Scope
from ...config.load import SettingsError
from ...config.paths import Paths
from ...config.settings import RedactionSettings, Settings
from ...sinks.indexes.guide_index import GuideIndex
from ...sinks.mcp.notifications import Changes
from ...sinks.project.identity import Projects
from ...sinks.reasons import Reasons
from ...sinks.sessions import Sessions
from ...sinks.telemetry.audit_log import Audit
from ...sinks.telemetry.degradation_log import DegradationLog
from ...sinks.telemetry.prompt_log import Traces
from ...sinks.transcripts.reader import Transcripts
from ...stages.capture.detect import detect
from ...stages.classify import classify
from ...stages.enrich import Knowledge, enrich
from ...stages.enrichment.guide_parser import read_guide
from ...stages.inject import MAX_TOKENS, inject
from ...stages.parse import parse
from ...stages.ports import RecallUnavailable
from ...stages.redaction.admit import admit
from ...stages.redaction.allowlist import BadAllowance
from ...stages.redaction.redact import Redactor, redact, with_warning
from ...stages.respond import respond
from .captures import Keeper
from .lazy_archive import LazyArchive
from .redaction_cache import Cleaner
from .reminding import Reminding
from .review import Reviewing
from .routes import ROUTES
from .team import Team

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from ...sinks.models.intent_classifier import LocalClassifier
    from ...sinks.store.change_queue import ChangeQueue
    from ...sinks.store.store import Store
    from .llm import Asking

INDEXING = ("index", "index_many", "unindex", "topics", "topics_many", "untopic")
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
        _log.error("the local classifier cannot be loaded", extra={"error": type(error).__name__})
        return None


def _is_model_wanted(settings: Settings) -> bool:
    """Whether these settings may lead to a question to a language model at all."""
    search = settings.search_intent
    used = search.enabled and search.use_llm and search.llm_policy != "never"
    return used and bool(settings.llm.model)


class App:
    """The parts of one daemon. ``async with app.running()`` runs them; ``load`` brings memory."""

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
        self.projects = Projects()
        self.sessions = Sessions()
        self.reasons = Reasons()
        self.changes = Changes(is_busy=self._is_indexing)
        self.local: LocalClassifier | None = None
        self.redactor = _load_redactor(settings.redaction)
        self.audit = Audit(paths.state / "audit.jsonl", clock=clock)
        self.setbacks = DegradationLog(now=time.monotonic)
        self.clean = Cleaner(self._redacted)
        self.traces = Traces(
            paths.state / "traces.jsonl",
            settings=settings.trace,
            clock=clock,
            clean=self._redacted,
        )
        self.asking = self._build_asking() if _is_model_wanted(settings) else None
        self.keeper = Keeper(self.bus, new_id=new_id, store_problem=lambda: self.archive.problem)
        self.lore = GuideIndex(
            archive=self.archive.get,
            loaded=lambda: self.archive.loaded,
            read=read_guide,
            clock=clock,
        )
        self.reviewing = self._build_reviewing()
        self.reminding = Reminding(
            settings.hook,
            archive=self.archive,
            projects=self.projects,
            sessions=self.sessions,
            clock=clock,
            clean=self.clean,
        )
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

    def _build_reviewing(self) -> Reviewing:
        return Reviewing(
            self.bus,
            settings=self.settings,
            transcripts=Transcripts(self.paths.state / "transcripts.json"),
            recall=self.archive,
            capture=self.keeper.capture,
            clean=self.clean,
            new_id=self.new_id,
            clock=self.clock,
        )

    def _build_asking(self) -> Asking:
        # With no model named, nothing of this is imported.
        from .llm import Asking

        return Asking(self.settings, publish=self.bus.publish, clean=self._redacted)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Run the stages, and the model's part outside of them: what it says late is for them."""
        async with AsyncExitStack() as parts:
            self.audit.watch()
            parts.callback(self.audit.unwatch)
            self.traces.watch()
            parts.callback(self.traces.unwatch)
            self.setbacks.watch()
            parts.callback(self.setbacks.unwatch)
            if self.asking is not None:
                await parts.enter_async_context(self.asking.running())
            await parts.enter_async_context(self.bus)
            yield

    def _handlers(self) -> dict[str, Callable[[Any], Any]]:
        """The function of each stage, with what it needs from outside."""
        search, late = self.settings.search_intent, self.archive
        return {
            "parse": parse,
            "enrich": partial(
                enrich,
                recall=late,
                keeper=self.keeper,
                projects=self.projects,
                limit=search.context.max_count,
                min_relevance=search.context.least_relevance,
                knowledge=Knowledge(self.lore, self.clock, self.clean),
            ),
            "classify": self.classify,
            "inject": self._inject,
            "respond": self._respond,
            "refine": self._refine,
            "greet": self.reminding.greet,
            "remind": self.reminding.remind,
            "remedy": self.reminding.remedy,
            "use_shown": late.handler(lambda archive, event: archive.count_shown(event)),
            "reasons_shown": self.reasons.note_shown,
            "preserve": self.reviewing.preserve,
            "finish_turn": self.reviewing.finish_turn,
            "finish_session": self.reviewing.finish_session,
            "review": self.reviewing.review,
            "detect": partial(detect, max_chars=self.settings.capture.max_chars),
            "redact": partial(redact, redactor=self.redactor),
            "store": self._store,
            "forget": late.handler(lambda archive, event: archive.forget(event)),
            "supersede": late.handler(lambda archive, event: archive.changing.answer(event)),
            "expire": late.handler(lambda archive, event: archive.changing.expire(event)),
            "restore": late.handler(lambda archive, event: archive.changing.restore(event)),
            "admit": self._admit,
            "import": late.handler(lambda archive, event: archive.importing.store(event)),
            "use": late.handler(lambda archive, event: archive.count_uses(event)),
            "index_many": late.handler(lambda archive, event: archive.add_many(event)),
            "topics_many": late.handler(lambda archive, event: archive.note_many(event)),
            "index": late.handler(lambda archive, event: archive.add(event)),
            "unindex": late.handler(lambda archive, event: archive.remove(event)),
            "topics": late.handler(lambda archive, event: archive.note(event)),
            "untopic": late.handler(lambda archive, event: archive.unnote(event)),
            "settle": self._settle,
            "reasons": self.reasons.note,
            "trace": self.traces.note,
            "reader": late.handler(lambda archive, event: archive.bring_reader()),
            "reader_many": late.handler(lambda archive, event: archive.bring_reader()),
            "lore": self.lore.stored,
            "lore_many": self.lore.stored_many,
            "unlore": self.lore.forgotten,
            "warm": self.lore.warm,
            "push": self.team.nudge,
            "push_many": self.team.nudge,
            "push_gone": self.team.nudge,
            "announce": self.changes.stored,
            "announce_many": self.changes.stored_many,
            "announce_gone": self.changes.forgotten,
            "answer": self._answer,
        }

    def _is_indexing(self) -> bool:
        """Whether what was stored or forgotten is still on its way to the indexes."""
        depths = self.bus.depths()
        return any(depths[stage] for stage in INDEXING)

    def _settle(self, event: CaptureSettled) -> None:
        if event.memory is not None:
            self.sessions.keep(event.memory.provenance.session, event.memory.id)
        emit(settled, "settle", outcome=event.kept.outcome)
        warns = self.settings.redaction.mode == "warn"
        self.keeper.settle(with_warning(event) if warns else event)

    def _redacted(self, text: str) -> str:
        return self.redactor.redact(text).text

    async def classify(self, event: PromptEnriched) -> IntentClassified:
        """What a prompt searches for, by every racer there is."""
        if self.asking is None:
            return await classify(event, local=self.local)
        answer = await classify(event, local=self.local, model=self.asking.racer)
        self.asking.reserve.begin(event.trace)
        return answer

    def _inject(self, event: IntentClassified, max_tokens: int = MAX_TOKENS) -> ContextBuilt:
        search = self.settings.search_intent
        room = replace(search.context, max_tokens=min(search.context.max_tokens, max_tokens))
        return inject(
            event,
            settings=replace(search, context=room),
            sessions=self.sessions,
            now=self.clock(),
            clean=self.clean,
        )

    def _respond(self, event: ContextBuilt) -> ResponseReady:
        if self.asking is not None:
            self.asking.reserve.end(event.trace)
        suggest = self.settings.hook.user_prompt.suggest_captures
        return respond(event, suggest=suggest, clean=self.clean)

    def _refine(self, event: IntentRefined) -> None:
        if self.asking is not None:
            self.asking.refine(event)

    async def late_context(self, session: str, *, project: Scope, max_tokens: int) -> str:
        """What the model said too late for the session's last prompt in ``project``, told once."""
        if self.asking is None:
            return ""
        choose = partial(self._inject, max_tokens=max_tokens)
        return await self.asking.late_context(
            session, project=project, current=self._current, inject=choose
        )

    async def _current(self, hits: tuple[Hit, ...], scopes: tuple[Scope, ...]) -> tuple[Hit, ...]:
        """Those of ``hits`` whose memory is still kept, in the same version."""
        archive = await self.archive.get()
        found = await archive.store.get([hit.memory.id for hit in hits], scopes)
        kept = {(memory.id, memory.version) for memory in found}
        return tuple(hit for hit in hits if (hit.memory.id, hit.memory.version) in kept)

    async def _store(self, event: StoreRequested) -> tuple[Event, ...]:
        try:
            archive = await self.archive.get()
        except RecallUnavailable as error:
            kept = Kept(outcome="failed", namespace=event.namespace, reason=str(error))
            return (CaptureSettled(trace=event.trace, kept=kept),)
        return await archive.keeping.keep(event)

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
            _log.error("the memories cannot be opened", extra={"error": type(error).__name__})
            self.archive.fail(str(error))
            return
        self.archive.arrive(archive)
        self.team.restart()
        _log.info("ready", extra={"took_s": round(time.perf_counter() - started, 3)})
        if archive.index.count:  # else the first memory brings it
            await archive.bring_reader()

    async def build_topics(self) -> None:
        """Note what every memory is about; after ``load``, and in nobody's way."""
        if (archive := self.archive.loaded) is not None:
            await archive.build_topics()

    def _build_archive(self) -> Archive:
        # These import numpy, DuckDB and the tokenizer: what needs no model is answered meanwhile.
        self.local = _load_local_classifier()
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
            clock=self.clock,
        )

    def build_store(self, path: Path, queue: ChangeQueue | None = None) -> Store:
        """A store of the file at ``path``, not open yet; ``queue`` is told of each write."""
        from ...sinks.store.store import Store

        limit_mb = self.settings.store.memory_limit_mb
        return Store(path, memory_limit_mb=limit_mb, clock=self.clock, queue=queue)

    async def unload(self) -> None:
        """Close the archive, if it was opened."""
        if (archive := self.archive.loaded) is not None:
            await archive.close()
