"""Builds and connects the parts of a daemon. The one place that knows them all."""

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
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from ...bus.bus import Bus
from ...config.build import read_build
from ...config.ids import ulid_of
from ...config.load import SettingsError
from ...config.paths import Paths, agent_folders
from ...config.settings import RedactionSettings, Settings
from ...sinks.code.watch import CodeWatch
from ...sinks.indexes.guide_index import GuideIndex
from ...sinks.mcp.port import Changes
from ...sinks.page.activity import Activity
from ...sinks.project.git import head_commit, top_of
from ...sinks.project.identity import Projects, Succession
from ...sinks.project.instructions import InstructionFiles
from ...sinks.project.kinship import Kinship
from ...sinks.project.reflog import Checkouts
from ...sinks.sessions import Sessions
from ...sinks.telemetry.logs import AuditLog, DegradationLog, PromptLog
from ...sinks.transcripts.reader import Transcripts
from ...stages.breaches.stated import warning_keys
from ...stages.enrichment.guide_parser import read_guide
from ...stages.injection.instructions import InstructionFile
from ...stages.injection.usefulness import Learned, usefulness
from ...stages.language.code_names import code_names
from ...stages.moments.warn import lifts
from ...stages.redaction.redact import Redactor
from ...stages.redaction.rules import BadAllowance
from ...stages.redaction.values import KnownSecrets
from ...stages.statements.comparison import contradicts, holds_beside, says_same
from ...stages.statements.outdated import amends, replaces
from ...stages.statements.remainder import leaves_clause
from ...stages.text.markup import parts_of
from .archives import LazyArchive, RedactionCache
from .captures import CaptureService
from .conversations import Conversations
from .failures import FailureCaptures
from .handlers import Handlers
from .review import SessionReviewer
from .review_captures import ReviewCaptures
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


def _finish_restore(database: Path) -> None:
    """Put back what a restore had set aside that was killed then. Raises ``OSError``."""
    from ...sinks.store.wal import replacement_of

    if not replacement_of(database).exists():
        return
    from ...sinks.repair.exchange import finish

    if (aside := finish(database)) is not None:
        told = {"file": str(aside)}
        _log.warning("a restore was interrupted: the former database was put back", extra=told)


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
        self.build = read_build()
        self.bus = Bus(grace_s=settings.daemon.drain_s)
        self.archive = LazyArchive()
        self.opening = anyio.Lock()
        self.sessions = Sessions()
        self.changes = Changes(is_busy=self._is_indexing)
        self.local: LocalClassifier | None = None
        self.redactor = _load_redactor(settings.redaction)
        self.projects = Projects(
            Succession(paths.earlier_scopes), Kinship(paths.kinship), self.redactor.finds
        )
        self.audit_log = AuditLog(paths.state / "audit.jsonl", clock=clock)
        self.degradation_log = DegradationLog(now=time.monotonic)
        self.clean = RedactionCache(self._redacted)
        self.prompt_log = PromptLog(
            paths.traces, settings=settings.trace, clock=clock, clean=self._redacted
        )
        self.activity = Activity(clock=clock, stages=self.prompt_log.stages)
        self.llm = self._build_llm() if _is_llm_used(settings) else None
        self.captures = CaptureService(
            self.bus,
            new_id=new_id,
            store_problem=lambda: self.archive.problem,
            hear=self._note_secrets,
        )
        self.lore = GuideIndex(
            archive=self.archive.get,
            loaded=lambda: self.archive.loaded,
            read=read_guide,
            clock=clock,
        )
        self.code = CodeWatch(names=code_names, find_top=top_of, head=head_commit)
        checkouts = Checkouts()
        self.passages = Conversations(
            settings.sessions, checkouts, memories=self.archive, clean=self.clean
        )
        self.reviewer = self._build_reviewer(checkouts)
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
            InstructionFile, folders=agent_folders(os.environ), enabled=context.skip_instructed
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
        self.handlers = Handlers(self)
        handlers = self.handlers.table()
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

    def _build_reviewer(self, checkouts: Checkouts) -> SessionReviewer:
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
                checkouts=checkouts,
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

    def _is_indexing(self) -> bool:
        """Whether what was stored or forgotten is still on its way to the indexes."""
        depths = self.bus.depths()
        return any(depths[stage] for stage in INDEXING)

    def _redacted(self, text: str, known: KnownSecrets | None = None) -> str:
        return self.redactor.redact(text, known).text

    def _note_secrets(self, session: str, text: str) -> None:
        """Know what ``text`` gives away when more of ``session`` is kept."""
        self.redactor.redact(text, self.sessions.state(session).part(KnownSecrets))

    def known_secrets(self, session: str) -> KnownSecrets:
        """What was given away in ``session``; what is noted there is kept as long as its record."""
        state = self.sessions.find(session)
        return KnownSecrets() if state is None else state.part(KnownSecrets)

    # --- memory ----------------------------------------------------------------------------------

    async def load(self) -> None:
        """Open the archive in the background of a daemon that answers already."""
        started = time.perf_counter()
        try:
            archive = await anyio.to_thread.run_sync(self._build_archive)
            await archive.open(partial(self.archive.open, archive))
        except OSError as error:
            told = {"error": type(error).__name__, "problem": str(error)}
            _log.error("cannot open the memory store", extra=told)
            self.archive.fail(str(error))
            self.passages.fail(str(error))
            return
        self.archive.arrive(archive)
        self.team.restart()
        _log.info("ready", extra={"took_s": round(time.perf_counter() - started, 3)})
        await self._load_sessions(archive)
        if archive.count:  # else the first memory brings it
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
            parts=parts_of,
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
        if (archive := self.archive.loaded) is None:
            return
        try:
            await archive.build_topics()
        except ConnectionError:  # as a restore may close it meanwhile
            if self.archive.loaded is archive:
                raise

    async def read_warnings(self) -> None:
        """Read what memories warn of that no earlier start has read, slowly; else do nothing."""
        if (archive := self.archive.loaded) is not None:
            await archive.read_warnings()

    def _build_archive(self) -> Archive:
        # These import numpy, DuckDB and the tokenizer: what needs no model is answered meanwhile.
        self.local = _load_local_classifier()
        from ...sinks.indexes.key_cache import KeyCache
        from ...sinks.memories.comparison import Judge
        from ...sinks.memories.repository import Archive
        from ...sinks.team.outbox import Outbox
        from ...sinks.team.replica import Replica

        folder = self.settings.embedding.model
        outbox = Outbox()
        _finish_restore(self.paths.database)
        store = self.build_store(self.paths.database, outbox)
        self.team.attach(Replica(store, outbox, clock=self.clock))
        archive = Archive(
            store,
            model_folder=Path(folder) if folder else None,
            merge_similarity=self.settings.capture.merge_similarity,
            judge=Judge(contradicts, replaces, says_same, holds_beside, leaves_clause, lifts),
            clock=self.clock,
            warning_keys=KeyCache(warning_keys, self.paths.warning_keys, self.build),
            anchors=self.code.anchors,
            usefulness=usefulness,
        )
        archive.without_index = "" if self.settings.store.warm_index else "index.off"
        archive.contradictions.enabled = self.settings.capture.find_contradictions
        return archive

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
