"""Reviews a session's transcript: captures what is worth it, and records the tasks.

A hook hands over and leaves; this goes on in the background, one look at a session at a time. Only
when everything of it is settled is a transcript noted as read so far, so that nothing is lost with
the daemon; and what is read twice has the same identity, so that it is stored once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import Literal

import anyio
import anyio.to_thread
from msgspec import Struct, field
from msgspec.structs import replace

from ...bus.bus import Bus, BusClosed, StageFailed
from ...bus.events import (
    ChangeSettled,
    CompactionStarted,
    Event,
    ExpireRequested,
    ResponseReady,
    RestoreRequested,
    ReviewRequested,
    SessionEnded,
    SessionReviewed,
    TurnEnded,
)
from ...bus.sessions import LearnedResult, Message
from ...bus.signals import degraded, emit
from ...bus.values import LEARN, Ended, Memory, Noted, Scope
from ...config.settings import Settings
from ...sinks.sessions import Sessions
from ...sinks.transcripts.reader import Mark, Slice, Transcripts, TranscriptUnreadable
from ...stages.capture import task_record as task
from ...stages.capture.review import (
    MAX_FOUND,
    LastSaid,
    SessionReader,
    Statement,
    batches,
    choose,
)
from ...stages.moments.preserve import preserve
from ...stages.redaction.values import KnownSecrets
from ...stages.sessions.exchanges import UNREAD, ExchangeReader
from ...stages.text.markup import has_private, is_machine, own_text
from .archives import RESERVE_S, NotStored
from .conversations import Conversations
from .review_captures import ReviewCaptures, moment_of

_MAX_POINTS = 32
_CHANGE_S = 10.0
# A compaction waits this part of its time for the whole review, then looks at the end alone: at so
# many of its batches.
_BEFORE_GLANCE = 0.4
_GLANCED = 3
# A client writes its last word into the transcript a moment after it says that it stopped.
_LAST_WORD_S = 0.1
_LAST_WORD_TRIES = 5
# So many of the user's last messages, and so much of each, are read for what they give away.
_HEARD, _HEARD_CHARS = 50, 20_000


class ReviewState(Struct):
    """What reviews of one session in one project remember: its latest points, the open task.

    It is as the last review left it that came to its end, for the next one begins there again.
    """

    turn: anyio.Lock = field(default_factory=anyio.Lock)
    points: list[Noted] = field(default_factory=list)
    work: task.Work | None = None
    last: LastSaid = LastSaid()
    exchanges: ExchangeReader | None = None
    has_heard: bool = False


class Reviews(dict[Scope, ReviewState]):
    """The reviews of a session by project: what was said in one is not told in another."""


class Progress(Struct):
    """A review while it goes on: who waits for it may look at what there is so far."""

    done: anyio.Event
    found: tuple[Statement, ...] = ()
    kept: list[str] = field(default_factory=list)


class SessionReviewer:
    """The part of PreCompact, Stop, SubagentStop and SessionEnd that no hook waits for."""

    def __init__(
        self,
        bus: Bus,
        *,
        settings: Settings,
        sessions: Sessions,
        transcripts: Transcripts,
        captures: ReviewCaptures,
        conversations: Conversations,
        clean: Callable[[str, KnownSecrets | None], str],
        new_id: Callable[[], str],
    ) -> None:
        self._bus = bus
        self._settings = settings
        self._transcripts = transcripts
        self._captures = captures
        self._conversations = conversations
        self._clean = clean
        self._new_id = new_id
        self._sessions = sessions
        self._awaited: dict[str, Progress] = {}
        self._newest: dict[tuple[str, str], str] = {}
        # How often each session was forgotten.
        self._forgets: Counter[str] = Counter()
        self._one_at_a_time = anyio.CapacityLimiter(1)

    # --- the moments -----------------------------------------------------------------------------

    def finish_turn(self, event: TurnEnded) -> ReviewRequested:
        """A turn is over: look at what was said in it."""
        hook = "SubagentStop" if event.agent else "Stop"
        return _request(event, event.trace, hook, agent=event.agent, said=event.said)

    def finish_session(self, event: SessionEnded) -> ReviewRequested:
        """A session is over: look once more, and record how its task ended."""
        return _request(event, event.trace, "SessionEnd", last=True)

    async def preserve(self, event: CompactionStarted) -> ResponseReady:
        """Say what a summary must keep, as far as that is found in time; the review goes on."""
        request = _request(event, self._new_id(), "PreCompact")
        progress = self._awaited[request.trace] = Progress(anyio.Event())
        glance: tuple[Statement, ...] = ()
        try:
            await self._bus.publish(request)
            left_s = anyio.current_effective_deadline() - anyio.current_time() - RESERVE_S
            with anyio.move_on_after(max(0.0, left_s)):
                with anyio.move_on_after(max(0.0, left_s) * _BEFORE_GLANCE):
                    await progress.done.wait()
                if not (progress.done.is_set() and self._points(event)):
                    glance = await self._glance(request)
                await progress.done.wait()
        finally:
            self._awaited.pop(request.trace, None)
        new = (statement.note for statement in (*progress.found, *glance))
        points = [*self._points(event), *new]
        clean = self._cleaner(event)
        body = preserve(event.client, points, captured=len(progress.kept), clean=clean)
        return ResponseReady(trace=event.trace, body=body)

    def _points(self, event: CompactionStarted) -> list[Noted]:
        state = self._reviews(event).get(event.place.project)
        return state.points if state else []

    async def _glance(self, event: ReviewRequested) -> tuple[Statement, ...]:
        """What the end of a transcript says: there is too much of it, or it was read before us."""
        study = self._study(event, None)
        try:
            messages = await self._transcripts.end_of(event.transcript)
        except TranscriptUnreadable:
            return ()
        for batch in tuple(batches(messages))[-_GLANCED:]:
            await anyio.to_thread.run_sync(study.read, batch)
        return study.found

    async def unread_bytes(self, paths: Sequence[str]) -> dict[str, int]:
        """How much of each transcript was not read yet; 0 for what cannot be read."""
        return await self._transcripts.unread_bytes(paths)

    def forget(self, session: str) -> None:
        """Forget the open task and the points of ``session``, all of which is forgotten.

        A review that goes on keeps nothing of what it has read so far.
        """
        self._forgets[session] += 1
        if state := self._sessions.find(session):
            state.part(Reviews).clear()

    # --- the review ------------------------------------------------------------------------------

    async def review(self, event: ReviewRequested) -> SessionReviewed | None:
        """Look through what is new in a transcript, and keep what is worth it."""
        awaited = self._awaited.get(event.trace)
        progress = awaited or Progress(anyio.Event())
        state = self._reviews(event).setdefault(event.place.project, ReviewState())
        key = (event.session, event.transcript)
        self._newest[key] = event.trace
        try:
            async with state.turn:
                # Who comes later reads what is there for this one too.
                is_newest = self._newest.get(key) == event.trace
                if awaited is not None or event.last or is_newest:
                    await self._review(event, state, progress)
        except NotStored:
            emit(degraded, "review", reason="store.unavailable")
            return None
        finally:
            progress.done.set()
            if self._newest.get(key) == event.trace:
                del self._newest[key]
            if event.last:
                self._reviews(event).pop(event.place.project, None)
        return _reviewed(event) if event.last else None

    async def learn(self, event: ReviewRequested) -> LearnedResult:
        """Review a transcript for somebody who waits. Raises ``NotStored``.

        The session may go on meanwhile: what both reviews find has one identity.
        """
        return await self._review(event, ReviewState(), Progress(anyio.Event()))

    async def _review(
        self, event: ReviewRequested, state: ReviewState, progress: Progress
    ) -> LearnedResult:
        mark, passages, tasks = None, 0, 0
        exchanges, work = await self._exchanges(event, state), deepcopy(state.work)
        last, forgets = state.last, self._forgets[event.session]
        if state.work is not None:
            state.work.version = None  # if this fails midway, nobody knows which it is

        if not state.has_heard:
            await self._hear(event)
            state.has_heard = True
        async for part in self._parts(event):
            study, earlier = self._study(event, work, last), progress.found
            forgotten = await self._conversations.forgotten(event)
            for batch in batches(part.messages):
                # Of all reviews one computes at a time, or who asks something would wait for them.
                read = partial(_read, batch, study, exchanges, forgotten)
                await anyio.to_thread.run_sync(read, limiter=self._one_at_a_time)
                wanted = (one for one in earlier if one not in study.taken_back)
                progress.found = choose((*wanted, *study.found), min_confidence=0, limit=MAX_FOUND)
            gone = {one.note.text for one in study.taken_back}
            state.points = [point for point in state.points if point.text not in gone]
            passages += await self._conversations.keep(event, exchanges.take())
            async with self._conversations.holding(event.place, event.session):
                if forgets != self._forgets[event.session]:
                    forgets = self._forgets[event.session]
                    study, progress.found = self._study(event, None), ()
                    exchanges.forget()
                tasks += await self._settle(event, study, progress)
            mark, work, last = part.mark, study.work, study.last
        if work is not None:
            async with self._conversations.holding(event.place, event.session):
                if forgets == self._forgets[event.session]:
                    work.ended = event.last
                    tasks += await self._captures.record(event, [work])
                else:
                    work = None
        state.points = [*state.points, *(s.note for s in progress.found)][-_MAX_POINTS:]
        state.work = work
        if not event.agent:
            state.exchanges, state.last = exchanges, last
        if mark is not None and mark.inode:
            await self._transcripts.keep(event.transcript, mark)
        return LearnedResult(passages=passages, memories=len(progress.kept), tasks=tasks)

    async def _hear(self, event: ReviewRequested) -> None:
        """Know what the user gave away lately, before a restart or after it was said otherwise."""
        with suppress(TranscriptUnreadable):
            messages = await self._transcripts.end_of(event.transcript)
            said = [one.text for one in messages if one.role == "user" and one.text]
            read = partial(_clean_all, said[-_HEARD:], self._cleaner(event))
            await anyio.to_thread.run_sync(read, limiter=self._one_at_a_time)

    async def _settle(
        self, event: ReviewRequested, study: SessionReader, progress: Progress
    ) -> int:
        """Keep what is worth it of a slice; the number of tasks that ended in it."""
        solved = await self._captures.keep(event, study.found, progress.kept)
        for memory in (*solved, *await self._captures.close(event, study.closings)):
            self._sessions.note_closed(event.session, _ended(memory, "closed as done"))
        for memory in await self._captures.taken_back(event, study.taken_back):
            await self._take_back(event, memory)
        return await self._captures.record(event, study.finished)

    async def _take_back(self, event: ReviewRequested, memory: Memory) -> None:
        """End ``memory``, and note that the user is to be told. Raises ``NotStored``.

        What it had superseded is in force again before: else neither would be found.
        """
        scopes, old = (event.place.project,), memory.supersedes or ""
        restore = RestoreRequested(trace=self._new_id(), id=old, scopes=scopes, undoes=True)
        is_back = bool(old) and await self._changed(restore)
        expire = ExpireRequested(trace=self._new_id(), id=memory.id, scopes=scopes)
        if await self._changed(expire):
            ended = replace(_ended(memory, "taken back"), restored=old if is_back else "")
            self._sessions.note_closed(event.session, ended)

    async def _changed(self, change: Event) -> bool:
        """Whether ``change`` was made, and not declined. Raises ``NotStored``."""
        try:
            settled = await self._bus.request(change, ChangeSettled, within_s=_CHANGE_S)
        except (TimeoutError, StageFailed, BusClosed):
            raise NotStored from None
        return settled.memory is not None

    def _study(
        self, event: ReviewRequested, work: task.Work | None, last: LastSaid | None = None
    ) -> SessionReader:
        return SessionReader(
            session=event.session,
            root=event.place.tops[0],
            agent=bool(event.agent),
            work=work,
            last=last,
            min_confidence=moment_of(self._settings, event.hook).min_confidence,
            clean=self._cleaner(event),
        )

    def _cleaner(self, event: CompactionStarted | ReviewRequested) -> Callable[[str], str]:
        """Redacts what the session of ``event`` says, by what was given away there before too."""
        # An old session that is learned from is not to push a living one out.
        learned = isinstance(event, ReviewRequested) and event.hook == LEARN
        state = self._sessions.find(event.session)
        if state is None and not learned:
            state = self._sessions.state(event.session)
        known = state.part(KnownSecrets) if state else KnownSecrets()
        return lambda text: self._clean(text, known)

    async def _exchanges(self, event: ReviewRequested, state: ReviewState) -> ExchangeReader:
        """The reader of the session's exchanges; a sub-agent's transcript has one of its own."""
        if state.exchanges is not None and not event.agent:
            return state.exchanges.fork()
        return ExchangeReader(
            event.session,
            clean=self._cleaner(event),
            own=_own_words,
            relative=partial(task.within, root=event.place.tops[0]),
            agent=bool(event.agent),
            is_forgotten=await self._conversations.was_forgotten(event),
        )

    async def _parts(self, event: ReviewRequested) -> AsyncIterator[Slice]:
        """What is new in the transcript, up to the last word that the client told of."""
        mark = Mark() if event.again else None
        awaited = event.said.strip()
        try:
            for _ in range(_LAST_WORD_TRIES if awaited else 1):
                async for part in self._transcripts.unread(event.transcript, mark):
                    mark = part.mark
                    if awaited and any(said.text.strip() == awaited for said in part.messages):
                        awaited = ""
                    yield part
                if not awaited:
                    return
                await anyio.sleep(_LAST_WORD_S)
        except TranscriptUnreadable:
            if event.transcript:
                emit(degraded, "review", reason="transcript.unreadable")
            if awaited:
                yield Slice((Message(role="assistant", text=event.said),), Mark())

    def _reviews(self, event: CompactionStarted | ReviewRequested) -> Reviews:
        return self._sessions.state(event.session).part(Reviews)


def _ended(memory: Memory, how: Literal["closed as done", "taken back"]) -> Ended:
    return Ended(memory_id=memory.id, version=memory.version, summary=memory.summary, how=how)


def _read(
    batch: Sequence[Message],
    study: SessionReader,
    exchanges: ExchangeReader,
    forgotten: Callable[[Message], bool],
) -> None:
    study.read(exchanges.read(batch, forgotten))


def _clean_all(texts: Sequence[str], clean: Callable[[str], str]) -> None:
    for text in texts:
        clean(text[:_HEARD_CHARS])


def _own_words(text: str) -> str:
    """What the speaker wrote; "" where no person and no model did."""
    own = own_text(text)
    if not own and has_private(text):
        return UNREAD
    return "" if is_machine(own) else own


def _reviewed(event: ReviewRequested) -> SessionReviewed:
    return SessionReviewed(
        trace=event.trace, session=event.session, client=event.client, place=event.place
    )


def _request(
    event: CompactionStarted | TurnEnded | SessionEnded,
    trace: str,
    hook: str,
    *,
    agent: str = "",
    said: str = "",
    last: bool = False,
) -> ReviewRequested:
    return ReviewRequested(
        trace=trace,
        session=event.session,
        client=event.client,
        place=event.place,
        transcript=event.transcript,
        hook=hook,
        agent=agent,
        said=said,
        last=last,
    )
