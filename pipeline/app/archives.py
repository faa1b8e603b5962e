"""The memories and what was said in sessions, before they are loaded.

Each has one that stands for it from the daemon's first moment on: who needs it waits for it, as
long as there is time. What comes out of them is redacted anew, each text once.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Generic, TypeVar

import anyio
from msgspec.structs import replace

from ...bus.events import Event, PromptEnriched, ReviewRequested
from ...bus.prompts import Span
from ...bus.sessions import Message, Passage, SessionHit
from ...bus.signals import degraded, emit, fell_back
from ...bus.values import Memory, Place, Query, Recalled, Scope, Usefulness
from ...config.settings import SessionsSettings
from ...sinks.project.reflog import Checkout
from ...stages.ports import RecallUnavailable
from ...stages.redaction.known import KnownSecrets
from ...stages.sessions.exchanges import Utterance
from ...stages.sessions.last_session import tells_of_work
from .checkouts import Checkouts

if TYPE_CHECKING:
    from ...sinks.memories.repository import Archive
    from ...sinks.passages.archive import PassageArchive

E = TypeVar("E", bound=Event)
T = TypeVar("T")
Published = Event | tuple[Event, ...] | None
# What the stages after a search still need, in seconds; waiting for the archive leaves it to them.
RESERVE_S = 0.03
# So long a session's start waits for the passages of a daemon that has only just started.
_PATIENCE_S = 0.1
# So many of the newest sessions are looked through for one that tells of some work.
_LAST_SESSIONS = 4
MAX_TEXTS = 50_000
LESSER_SEARCHES = ("reranker.cut", "index.loading", "index.failed", "index.off")
"""Why a search went without the whole index, or did not rerank all of its candidates."""
_log = logging.getLogger(__name__)


class NotStored(ConnectionError):
    """The store takes nothing now; the transcript is to be read again later."""


def _left_s() -> float:
    """How long may still be waited, so that the stages after have what they need."""
    left_s = anyio.current_effective_deadline() - anyio.current_time()
    return max(0.0, left_s - RESERVE_S)


def _tell_degraded(by: str) -> None:
    """Count a search that was lesser for one of ``LESSER_SEARCHES``."""
    if by in LESSER_SEARCHES:
        emit(degraded, "search", reason=by)


class _Awaited(Generic[T]):
    """Stands for a part that is loaded later, and may be closed and loaded again.

    ``loaded`` is the part, or None while it loads or where it cannot be opened; ``problem`` says
    why it cannot, in words for the user. ``name`` is what it is called until then.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._settled = anyio.Event()
        self.loaded: T | None = None
        self.problem = ""

    def arrive(self, part: T) -> None:
        """Use ``part`` from now on."""
        self.loaded, self.problem = part, ""
        self._settled.set()

    def depart(self) -> T | None:
        """The part leaves, and whoever needs one waits for the next; what left."""
        self._settled = anyio.Event()
        part, self.loaded = self.loaded, None
        return part

    def fail(self, problem: str) -> None:
        """Loading failed for this reason."""
        self.problem = problem
        self._settled.set()

    async def wait_until_settled(self) -> None:
        """Return when loading is over, well or badly."""
        await self._settled.wait()

    async def get(self) -> T:
        """The part, when it is there; raises ``RecallUnavailable`` when time runs out."""
        await self._wait(self._settled)
        return self._there(self.loaded)

    async def _wait(self, event: anyio.Event) -> None:
        with anyio.move_on_after(_left_s()):
            await event.wait()

    def _there(self, part: T | None) -> T:
        if part is None:
            raise RecallUnavailable(self.problem or f"the {self._name} are still being loaded")
        return part


class LazyArchive(_Awaited["Archive"]):
    """Stands for the archive of memories.

    Fulfils ``Recall``, ``Catalogue``, ``Chronicle``, ``Failures``, ``Spelling`` and ``Uses``.

    ``settled_at`` is when loading was over, in seconds since 1970; in the future until then.
    """

    def __init__(self, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__("memories")
        self._clock = clock
        self.settled_at = math.inf
        self._readable = anyio.Event()
        self._opened: Archive | None = None

    @property
    def settled(self) -> bool:
        """Whether loading is over, well or badly."""
        return self._settled.is_set()

    def open(self, part: Archive) -> None:
        """``part`` answers what its store alone can answer; its indexes are still being filled."""
        self._opened = part
        self._readable.set()

    def arrive(self, part: Archive) -> None:
        self.settled_at = self._clock()
        self.open(part)
        super().arrive(part)

    def depart(self) -> Archive | None:
        self._readable, self._opened = anyio.Event(), None
        return super().depart()

    def fail(self, problem: str) -> None:
        self.settled_at, self._opened = self._clock(), None
        self._readable.set()
        super().fail(problem)

    async def opened(self) -> Archive:
        """The archive as soon as its store is open.

        Raises ``RecallUnavailable`` when time runs out.
        """
        await self._wait(self._readable)
        return self._there(self._opened)

    async def recall(self, query: Query) -> Recalled:
        """Answer ``query``; tells what took over where there is less than a whole search."""
        try:
            recalled = await self._search(query)
        except RecallUnavailable:
            emit(fell_back, "search", to="none", reason="unavailable")
            raise
        if recalled.degraded:
            part, _, reason = recalled.degraded.partition(".")
            to = "sql" if part == "index" else recalled.mode
            emit(fell_back, part, to=to, reason=reason)
            _tell_degraded(recalled.degraded)
        return recalled

    async def _search(self, query: Query) -> Recalled:
        """By the index in memory; by SQL while it is loaded, or where there is none.

        Half of the time there is the index is waited for, the other half is for SQL.
        """
        with anyio.move_on_after(_left_s() / 2):
            await self._settled.wait()
        if self.loaded is None and not self.settled:
            return await self._search_by_sql(await self.opened(), query, "index.loading")
        archive = self._there(self.loaded)
        if not archive.without_index:
            try:
                return await archive.recall(query)
            except (LookupError, ValueError) as error:
                archive.drop_index(error)
        return await self._search_by_sql(archive, query, archive.without_index)

    async def _search_by_sql(self, archive: Archive, query: Query, reason: str) -> Recalled:
        try:
            with anyio.move_on_after(left_s := _left_s()):
                return await archive.recall_by_sql(query, reason, within_s=left_s)
        except ConnectionError as error:
            raise RecallUnavailable(str(error)) from None
        raise RecallUnavailable(f"the {self._name} could not be searched in time without an index")

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        return await (await self.opened()).latest(scopes, limit=limit, namespaces=namespaces)

    async def fetch(self, ids: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.opened()).fetch(ids, scopes)

    async def made(
        self,
        scopes: tuple[Scope, ...],
        *,
        limit: int,
        namespaces: tuple[str, ...] = (),
        within: Span | None = None,
        by_use: bool = False,
    ) -> tuple[Memory, ...]:
        archive = await self.opened()
        return await archive.store.made(
            scopes, limit=limit, namespaces=namespaces, within=within, by_use=by_use
        )

    async def naming(self, file: str, scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.get()).naming(file, scopes)

    async def warning(self, keys: Sequence[str], scopes: tuple[Scope, ...]) -> tuple[Memory, ...]:
        return await (await self.get()).warning(keys, scopes)

    async def subjects(self, scopes: tuple[Scope, ...], *, limit: int) -> tuple[str, ...]:
        """What several memories are about; empty as long as no index knows it."""
        await self.opened()
        return () if self.loaded is None else await self.loaded.subjects(scopes, limit=limit)

    def meant(self, words: Sequence[str], scopes: tuple[Scope, ...]) -> Mapping[str, str]:
        """What each misspelt one of ``words`` was meant as; nothing until all is loaded."""
        archive = self.loaded
        if archive is None or archive.without_index or archive.search.reranker is None:
            return {}
        try:
            return archive.index.meant(words, scopes)
        except (LookupError, ValueError):  # a damaged index: the search that follows drops it
            return {}

    def of(self, memory_id: str) -> Usefulness:
        return self.loaded.uses.of(memory_id) if self.loaded else Usefulness()

    @property
    def usual(self) -> Usefulness:
        return self.loaded.uses.usual if self.loaded else Usefulness()

    async def current(self, found: PromptEnriched) -> PromptEnriched:
        """``found`` without the memories that are no longer stored, or say something else now."""
        held = [one.memory.id for one in found.candidates]
        held += [one.memory.id for one in found.bearing]
        stored = await (await self.opened()).store.get(held, found.prompt.place.readable)
        kept = {memory.seen_key for memory in stored}
        return replace(
            found,
            candidates=tuple(one for one in found.candidates if one.memory.seen_key in kept),
            bearing=tuple(one for one in found.bearing if one.memory.seen_key in kept),
        )

    def handler(
        self, method: Callable[[Archive, E], Published | Awaitable[Published]]
    ) -> Callable[[E], Awaitable[Published]]:
        """A bus handler that calls ``method`` of the archive, once it is there."""

        async def handle(event: E) -> Published:
            said = method(await self.get(), event)
            return await said if isinstance(said, Awaitable) else said

        return handle

    def counter(
        self, method: Callable[[Archive, E], Awaitable[None]]
    ) -> Callable[[E], Awaitable[Published]]:
        """The same for a method that counts uses.

        A use that cannot be counted, since the database cannot be had, harms no answer: it is a
        degradation, and no failure of a stage.
        """
        handle = self.handler(method)

        async def count(event: E) -> Published:
            try:
                return await handle(event)
            except ConnectionError:
                emit(degraded, "use", reason="store.unavailable")
                return None

        return count


class Conversations(_Awaited["PassageArchive"]):
    """Stands for the archive of passages; fulfils ``ports.Conversations``."""

    def __init__(
        self,
        settings: SessionsSettings,
        checkouts: Checkouts | None = None,
        *,
        memories: LazyArchive | None = None,
        clean: Callable[[str], str] = str,
    ) -> None:
        """``clean`` redacts the names of branches; what was said is redacted already.

        The store of ``memories`` tells what was forgotten before sessions were switched off.
        """
        super().__init__("sessions")
        self._settings = settings
        self._checkouts = checkouts or Checkouts()
        self._memories = memories
        self._clean = clean

    async def get(self) -> PassageArchive:
        """The archive, when it is there.

        Raises ``RecallUnavailable`` when time runs out, or where sessions are switched off.
        """
        if not self._settings.enabled:
            raise RecallUnavailable("sessions are switched off: sessions.enabled is false")
        return await super().get()

    def concerns(self, place: Place) -> bool:
        """Whether anything of the project at ``place`` is kept and quoted."""
        return self._settings.enabled and self._settings.excluded(place.root) is None

    async def find(self, text: str, place: Place, *, session: str) -> tuple[SessionHit, ...]:
        if not self.concerns(place):
            return ()
        archive = await self.get()
        found = list(await archive.find(text, place.project, session=session))
        earlier = set(place.before).intersection(archive.scopes) if place.before else ()
        for scope in earlier:
            found += await archive.find(text, scope, session=session)
        return tuple(found)

    async def current(self, found: tuple[SessionHit, ...]) -> tuple[SessionHit, ...]:
        """``found`` without the passages that are no longer kept."""
        ids = [one.id for hit in found for one in hit.passages]
        if not ids:
            return found
        stored = await (await self.get()).get(ids, {hit.scope for hit in found})
        kept = {one.id for one in stored}
        return tuple(
            replace(hit, passages=tuple(one for one in hit.passages if one.id in kept))
            for hit in found
        )

    async def said(
        self, place: Place, span: Span | None, *, session: str, limit: int
    ) -> tuple[SessionHit, ...]:
        if not self.concerns(place):
            return ()
        archive = await self.get()
        return await archive.said(place.project, span, session=session, limit=limit)

    async def before(self, place: Place, session: str) -> tuple[Passage, ...]:
        """What was said in the newest session of the project at ``place`` other than ``session``.

        One that tells of no work is passed over. Empty where there is none, nothing is kept of this
        project, or it cannot be read now.
        """
        if not self.concerns(place):
            return ()
        try:
            with anyio.move_on_after(_PATIENCE_S):
                await self._settled.wait()
            if (archive := self.loaded) is None:
                return ()
            for one in await archive.list(place.own, limit=_LAST_SESSIONS):
                if one.session == session:
                    continue
                if tells_of_work(said := await archive.show(one.scope, one.session)):
                    return said
        except OSError as error:
            _log.warning("cannot read the last session", extra={"error": type(error).__name__})
        return ()

    async def all_of(self, place: Place, session: str) -> tuple[Passage, ...]:
        """All that is kept of ``session``; empty where nothing is, or it cannot be read now."""
        if not self.concerns(place) or (archive := self.loaded) is None:
            return ()
        return await archive.show(place.project, session)

    @asynccontextmanager
    async def holding(self, place: Place, session: str) -> AsyncIterator[Collection[str]]:
        """The ids of what is kept of ``session``; nothing is forgotten until the block ends."""
        if (archive := self.loaded) is None:
            yield ()
            return
        async with archive.holding(place.project, session) as ids:
            yield ids

    async def keep(self, event: ReviewRequested, said: Sequence[Utterance]) -> int:
        """Keep what was read of the session of ``event``; how many passages are new.

        Raises ``NotStored`` while there is nothing to store it in.
        """
        if not said or not self.concerns(event.place):
            return 0
        try:
            archive = await self.get()
            checkouts = await self._checkouts.find(event, [_moment(one) for one in said])
            passages = [self._passage(event, *each) for each in zip(said, checkouts, strict=True)]
            return await archive.add(passages, event.place.before)
        except ConnectionError:
            raise NotStored from None

    async def unforgotten(
        self, event: ReviewRequested, messages: Sequence[Message]
    ) -> Sequence[Message]:
        """``messages`` of the session of ``event`` without those that were forgotten with it.

        Nothing is learned from those either. Raises ``NotStored`` while that cannot be told.
        """
        try:
            has_forgotten = await self._has_forgotten()
        except ConnectionError:
            raise NotStored from None
        forgot = partial(has_forgotten, event.place.own, event.session)
        return [one for one in messages if not (one.said_at_ms and forgot(_moment(one)))]

    async def _has_forgotten(self) -> Callable[[Collection[Scope], str, datetime], bool]:
        if self._settings.enabled or self._memories is None:
            return (await self.get()).has_forgotten
        from ...sinks.passages.archive import read_forgotten

        return (await read_forgotten((await self._memories.opened()).store)).has_all

    def _passage(self, event: ReviewRequested, said: Utterance, then: Checkout) -> Passage:
        return Passage(
            id=said.id,
            session=event.session,
            scope=event.place.project,
            speaker=said.speaker,
            text=said.text,
            said_at=_moment(said),
            client=event.client,
            branch=self._clean(then.branch),
            files=said.files,
        )


def _moment(said: Message | Utterance) -> datetime:
    return datetime.fromtimestamp(said.said_at_ms / 1000, UTC)


class RedactionCache:
    """Redacts texts, and remembers which of them had nothing to redact; not the texts themselves.

    By Python's own hash, which is keyed anew in each process: nobody can make two texts meet.
    """

    def __init__(
        self,
        redact: Callable[[str, KnownSecrets | None], str],
        *,
        max_texts: int = MAX_TEXTS,
    ) -> None:
        self._redact = redact
        self._max_texts = max_texts
        self._spotless: dict[int, None] = {}
        self._lock = threading.Lock()  # a review cleans in a thread

    def __call__(self, text: str, known: KnownSecrets | None = None) -> str:
        """``text`` redacted, with what is ``known`` of its session."""
        key = hash(text)
        if key in self._spotless:
            return known.hide(text)[0] if known else text
        cleaned = self._redact(text, known)
        if cleaned == text:
            with self._lock:
                self._spotless[key] = None
                if len(self._spotless) > self._max_texts:
                    del self._spotless[next(iter(self._spotless))]
        return cleaned
