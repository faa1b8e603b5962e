"""The calls about sessions: which are remembered, what was said in them, search, and forget."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

import anyio
import anyio.to_thread
import msgspec

from ...bus.events import ForgetRequested, ForgetSettled, ReviewRequested
from ...bus.results import CopyResult
from ...bus.sessions import (
    AllowedResult,
    ForgetSessionsResult,
    FoundSession,
    FoundSessions,
    LearnedResult,
    ListedSession,
    Passage,
    SaidResult,
    SessionHit,
    SessionInfo,
    SessionResult,
    SessionsResult,
    ShownResult,
    UnreadResult,
)
from ...bus.values import LEARN, UNASKED, Memory, Place, Scope
from ...sinks.passages.forgotten import EPOCH, FOREVER
from ..app.app import App
from ..entrance.places import Places
from .params import (
    AllowSessionsParams,
    CallRefused,
    FilesParams,
    ForgetSessionsParams,
    LearnParams,
    SearchSessionsParams,
    SessionParams,
    SessionsParams,
    Table,
    find_session,
)
from .transfer import copy_answer, look_for_copies

if TYPE_CHECKING:
    from ...sinks.passages.archive import PassageArchive

QUERY_S = 10.0
FORGET_S = 60.0
EVERY = 1_000_000
PAGE = 500


class SessionCalls:
    """Each method of ``table`` answers one call. They see the sessions of one project.

    Where sessions are switched off, or still being loaded, they raise ``RecallUnavailable``, all
    but ``learn``, which keeps memories then, and ``unread``.
    """

    def __init__(self, app: App, places: Places) -> None:
        self._app = app
        self._places = places
        self.table: Table = {
            "sessions": (SessionsParams, self.list),
            "session": (SessionParams, self.show),
            "search_sessions": (SearchSessionsParams, self.search),
            "learn": (LearnParams, self.learn),
            "unread_transcripts": (FilesParams, self.unread),
            "forget_sessions": (ForgetSessionsParams, self.forget),
            "allow_sessions": (AllowSessionsParams, self.allow),
        }

    async def list(self, params: SessionsParams, place: Place) -> SessionsResult:
        archive = await self._archive()
        found = await archive.list(place.own, limit=params.limit)
        return SessionsResult(sessions=tuple(map(_listed, found)))

    async def show(self, params: SessionParams, place: Place) -> SessionResult:
        archive = await self._archive()
        info = await _the_one(archive, place.own, params.id)
        said = await archive.show(info.scope, info.session)
        return SessionResult(
            id=info.session,
            urn=_urn(info.session),
            scope=str(info.scope),
            client=info.client,
            branch=info.branch,
            began_at=info.began_at,
            ended_at=info.ended_at,
            said=tuple(map(_said, said)),
            shown=await self._shown(info.session, place),
        )

    async def _shown(self, session: str, place: Place) -> tuple[ShownResult, ...]:
        memories = await self._app.archive.get()
        events = await memories.uses.in_session(session)
        held = await memories.store.get([event.memory_id for event in events], place.readable)
        summaries = {memory.id: memory.summary for memory in held}
        return tuple(
            ShownResult(
                id=event.memory_id,
                summary=summaries[event.memory_id],
                moment=event.moment,
                at=event.at,
            )
            for event in events
            if event.memory_id in summaries
        )

    async def search(self, params: SearchSessionsParams, place: Place) -> FoundSessions:
        archive = await self._archive()
        hits = [
            hit
            for scope in place.own
            for hit in await archive.find(params.query, scope, most=params.limit, searched=True)
        ]
        found = _best_first([hit for hit in hits if hit.passages])[: params.limit]
        return FoundSessions(query=params.query, sessions=tuple(map(_found, found)))

    async def unread(self, params: FilesParams, place: Place) -> UnreadResult:
        """How much of each transcript was not read yet."""
        return UnreadResult(unread=await self._app.reviewer.unread_bytes(params.files))

    async def learn(self, params: LearnParams, place: Place) -> LearnedResult:
        """Keep what is worth it of a transcript, under its own project, as its hooks would have."""
        await self._app.archive.get()
        event = ReviewRequested(
            trace=self._app.new_id(),
            session=params.session,
            client=params.client,
            place=await self._places.find({}, params.cwd),
            transcript=params.transcript,
            hook=LEARN,
            agent=params.agent,
            last=params.ended,
            again=params.again,
        )
        return await self._app.reviewer.learn(event)

    async def forget(self, params: ForgetSessionsParams, place: Place) -> ForgetSessionsResult:
        """Forget one session, those that began in a span, all of a project, or all there are.

        What was captured from them unasked is forgotten too.
        """
        archive = await self._archive()
        if [params.id is not None, params.since is not None, params.all].count(True) != 1:
            raise CallRefused("name one session, or a first date, or all")
        gone: list[SessionInfo] = []
        passages = 0
        if params.id is not None:
            info = await _the_one(archive, place.own, params.id)
            self._app.reviewer.forget(info.session)  # what it has read is not kept any more
            for scope in place.own:  # a session may go on under the scope of today
                passages += await archive.forget_session(scope, info.session)
            gone = [info]
        else:
            since, until = params.since or EPOCH, params.until or FOREVER
            scopes = archive.scopes if params.everywhere else place.own
            for scope in scopes:
                kept = await archive.list((scope,), limit=EVERY)
                found = [info for info in kept if since <= info.began_at <= until]
                for info in found:
                    self._app.reviewer.forget(info.session)
                gone += found
                passages += await archive.forget_span(scope, since, until)
        for info in gone:
            self._app.reviewer.forget(info.session)
        memories = await self._forget_captured(gone, place.own)
        if params.now:
            await (await self._app.archive.get()).compact()
        copies, unread = await self._copies(gone)
        return ForgetSessionsResult(
            sessions=len(gone),
            passages=passages,
            memories=memories,
            copies=copies,
            unread=unread or msgspec.UNSET,
        )

    async def allow(self, params: AllowSessionsParams, place: Place) -> AllowedResult:
        """Let what was said be learned from transcripts again that was forgotten by a span."""
        archive = await self._archive()
        spans = await archive.allow(None if params.everywhere else place.own)
        return AllowedResult(spans=spans)

    async def _forget_captured(self, gone: Sequence[SessionInfo], own: Sequence[Scope]) -> int:
        """Forget what was captured from these sessions unasked; how many memories.

        What was captured under one of a project's ``own`` names may lie under another.
        """
        store = (await self._app.archive.get()).store
        count = 0
        for scope in dict.fromkeys((*own, *(info.scope for info in gone))):
            scopes = own if scope in own else (scope,)
            sessions = {info.session for info in gone if info.scope in scopes}
            after = ""
            while sessions and (page := await store.page((scope,), after=after, limit=PAGE)):
                after = page[-1].id
                for memory in page:
                    if _is_of(memory, sessions):
                        count += await self._forget_memory(memory.id, scopes)
        return count

    async def _forget_memory(self, memory_id: str, scopes: Sequence[Scope]) -> bool:
        event = ForgetRequested(trace=self._app.new_id(), id=memory_id, scopes=tuple(scopes))
        settled = await self._app.bus.request(event, ForgetSettled, within_s=FORGET_S)
        return settled.found

    async def _copies(self, gone: Sequence[SessionInfo]) -> tuple[tuple[CopyResult, ...], str]:
        """The copies of the database that may still hold one of these sessions.

        And why that may not be all; "" where it is.
        """
        if not gone:
            return (), ""
        since = min(info.began_at for info in gone)
        found, unread = await look_for_copies(self._app)
        return tuple(copy_answer(copy) for copy in found if copy.may_hold(since)), unread

    async def _archive(self) -> PassageArchive:
        with anyio.fail_after(QUERY_S):
            return await self._app.passages.get()


async def _the_one(archive: PassageArchive, scopes: Sequence[Scope], given: str) -> SessionInfo:
    """The session whose id is ``given`` or begins with it. Raises ``CallRefused``."""
    listed = await archive.list(scopes, limit=EVERY)
    # One that went on under another scope of its project is there twice, the newer first.
    known = {info.session: info for info in reversed(listed)}
    found = find_session(given, known)
    if found is None:
        raise CallRefused(f"no session {given} is remembered of {scopes[0]}")
    return known[found]


def _is_of(memory: Memory, sessions: Collection[str]) -> bool:
    """Whether ``memory`` was captured unasked, from nothing but these ``sessions``."""
    origins = (memory.provenance, *memory.sources)
    return all(one.hook in UNASKED and one.session in sessions for one in origins)


def _listed(info: SessionInfo) -> ListedSession:
    return ListedSession(
        id=info.session,
        urn=_urn(info.session),
        client=info.client,
        branch=info.branch,
        began_at=info.began_at,
        ended_at=info.ended_at,
        passages=info.passages,
        opening=info.opening,
    )


def _best_first(hits: Sequence[SessionHit]) -> list[SessionHit]:
    """``hits`` of several scopes; what a newer session replaces stays after that one."""
    held = {(hit.scope, hit.session): hit for hit in hits}

    def place(hit: SessionHit) -> tuple[float, str, bool]:
        first = held.get((hit.scope, hit.replaced_by), hit)
        return -first.relevance, first.session, first is not hit

    return sorted(hits, key=place)


def _found(hit: SessionHit) -> FoundSession:
    return FoundSession(
        id=hit.session,
        urn=_urn(hit.session),
        began_at=hit.began_at,
        relevance=round(hit.relevance, 4),
        replaces=hit.replaces or None,
        replaced_by=hit.replaced_by or None,
        said=tuple(map(_said, hit.passages)),
    )


def _said(passage: Passage) -> SaidResult:
    return msgspec.convert(passage, SaidResult, from_attributes=True)


def _urn(session: str) -> str:
    return f"subcog://session/{session}"
