"""Captures what a review found: statements, closed blockers, records of tasks, one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import UTC, datetime

from ...bus.events import CaptureRequested, CaptureSettled, ReviewRequested
from ...bus.values import AUTO_CAPTURED, TO_DO, Hit, Memory, Provenance, Query, Scope
from ...config.settings import ReviewSettings, Settings
from ...sinks.project.reflog import Checkouts
from ...stages.capture import review
from ...stages.capture import task_record as task
from ...stages.capture.closings import Closing, find_closings, meant_by
from ...stages.capture.retractions import is_outdated
from ...stages.capture.review import Statement
from ...stages.ports import Recall
from ...stages.statements.open_work import OUTCOME, RESOLVED, is_open
from .archives import NotStored

# It chooses among so many times what it may keep: some of it will be known already.
_CHOICE = 4
# So many are looked at for the one that somebody says to be done: two may be meant.
_CLOSE_AMONG = 20
# Where the words for "done" alone are used, a task may be meant as well as a blocker.
_BY_TURNS = ("blockers", "tasks")
_MOST_RECORDS = 10

Capture = Callable[[CaptureRequested], Awaitable[CaptureSettled]]


def moment_of(settings: Settings, hook: str) -> ReviewSettings:
    """The settings of the moment that led to a review."""
    return settings.hook.pre_compact if hook == "PreCompact" else settings.hook.stop


class ReviewCaptures:
    """Sends captures on their way, one after another. Each method raises ``NotStored``."""

    def __init__(
        self,
        *,
        settings: Settings,
        recall: Recall,
        capture: Capture,
        new_id: Callable[[], str],
        clock: Callable[[], datetime],
        checkouts: Checkouts | None = None,
    ) -> None:
        self._settings = settings
        self._checkouts = checkouts or Checkouts()
        self._recall = recall
        self._capture = capture
        self._new_id = new_id
        self._clock = clock

    # --- what was said ---------------------------------------------------------------------------

    async def keep(
        self, event: ReviewRequested, found: Sequence[Statement], kept: list[str]
    ) -> list[Memory]:
        """Keep those of ``found`` that are earned and say something new; ``kept`` gets each text.

        What comes back are the blockers that were closed by it. The agent's labelled lines are kept
        beyond ``max_captures``, since they are deliberate.
        """
        closed: list[Memory] = []
        moment = moment_of(self._settings, event.hook)
        if not moment.auto_capture:
            return closed
        earned = [statement for statement in found if statement.note.earned]
        labelled = [statement for statement in earned if statement.is_labelled]
        stated = [statement for statement in earned if not statement.is_labelled]
        least, limit = moment.min_confidence, moment.max_captures
        for statement in review.choose(labelled, min_confidence=least, limit=len(labelled)):
            await self._keep_if_new(event, statement, kept, closed)
        most = len(kept) + limit
        chosen = review.choose(stated, min_confidence=least, limit=limit * _CHOICE)
        for statement in sorted(chosen, key=lambda s: -s.note.confidence_percent):
            if len(kept) < most and not review.repeats(statement.note.text, kept):
                await self._keep_if_new(event, statement, kept, closed)
        for statement in filter(review.may_outdate, found):
            if len(kept) < most and await self._outdates(event, statement):
                await self._keep_if_new(event, statement, kept, closed)
        return closed

    async def _outdates(self, event: ReviewRequested, statement: Statement) -> bool:
        """Whether a statement says that what a memory of the project tells is otherwise now."""
        hits = await self._like(event, statement.note.text, scopes=(event.place.project,))
        return is_outdated(statement.note.text, hits)

    async def _keep_if_new(
        self, event: ReviewRequested, statement: Statement, kept: list[str], closed: list[Memory]
    ) -> None:
        text = statement.note.text
        hits = await self._said_before(event, statement)
        if review.is_known(text, hits, strictly=statement.is_labelled):
            return
        if await self._keep(event, statement, closed):
            kept.append(text)

    async def _said_before(self, event: ReviewRequested, statement: Statement) -> tuple[Hit, ...]:
        """What is like a statement, and does not tell of the state before it.

        What is solved is not said by what still stands in the way, nor the other way round.
        """
        hits = await self._like(event, statement.note.text)
        if statement.note.kind == "resolution":
            return tuple(hit for hit in hits if not self._is_open_blocker(hit))
        if statement.note.kind == "blocker":
            said_at = _moment(statement.said_at_ms) or self._clock()
            return tuple(hit for hit in hits if not self._was_closed(hit.memory, said_at))
        return hits

    def _was_closed(self, memory: Memory, at: datetime) -> bool:
        is_over = memory.namespace in TO_DO and not is_open(memory, self._clock())
        return is_over and memory.updated_at < at

    def _is_open_blocker(self, hit: Hit) -> bool:
        return hit.memory.namespace == "blockers" and is_open(hit.memory, self._clock())

    async def _like(
        self,
        event: ReviewRequested,
        text: str,
        *namespaces: str,
        limit: int = 5,
        scopes: tuple[Scope, ...] = (),
    ) -> tuple[Hit, ...]:
        """What is like ``text`` in ``scopes``, or in all that may be read of the project."""
        query = Query(
            text=text,
            scopes=scopes or event.place.readable,
            limit=limit,
            namespaces=namespaces,
        )
        try:
            return (await self._recall.recall(query)).hits
        except ConnectionError:
            raise NotStored from None

    async def _keep(
        self, event: ReviewRequested, statement: Statement, closed: list[Memory]
    ) -> bool:
        """Send a statement on its way; whether it was kept, and not declined."""
        tags = review.tags_of(statement, event.hook)
        blocker = await self._blocker(event, statement)
        if blocker is not None:
            tags += (f"resolves-{blocker.id}",)
        said_at = _moment(statement.said_at_ms)
        provenance = await self._provenance(event, said_at, statement.file)
        settled = await self._capture_or_raise(
            CaptureRequested(
                trace=self._new_id(),
                id=review.memory_id(statement, event.place.project),
                text=statement.note.text,
                scope=event.place.project,
                before=event.place.before,
                namespace=statement.note.namespace,
                tags=tags,
                explicit=False,
                confidence_percent=statement.note.confidence_percent,
                provenance=provenance,
                said_at=said_at,
                root=event.place.root,
                own_words=statement.role == "user",
            )
        )
        is_kept = settled.kept.outcome != "declined"
        if blocker is not None and is_kept and await self._close(blocker):
            closed.append(blocker)
        return is_kept

    async def _blocker(self, event: ReviewRequested, statement: Statement) -> Memory | None:
        """The open blocker that a statement resolves, if it does and it is clear which.

        It is about just that, or says that what the blocker waits for is there.
        """
        if statement.note.kind != "resolution":
            return None
        hits = await self._like(event, statement.note.text, "blockers")
        at = statement.said_at_ms
        about = review.resolved([hit for hit in hits if self._was_open(event, hit.memory, at)])
        if about is not None:
            return about.memory
        for said in find_closings(statement.note.text):
            memory = await self._closed(event, said._replace(said_at_ms=at))
            if memory is not None and memory.namespace == "blockers":
                return memory
        return None

    async def close(self, event: ReviewRequested, said: Iterable[Closing]) -> list[Memory]:
        """Close each blocker or task that the user says to be done, where it is clear which.

        What was closed comes back as it was before.
        """
        closed: list[Memory] = []
        if not moment_of(self._settings, event.hook).auto_capture:
            return closed
        for closing in said:
            memory = await self._closed(event, closing)
            if memory is not None and await self._close(memory):
                closed.append(memory)
        return closed

    async def taken_back(self, event: ReviewRequested, said: Iterable[Statement]) -> list[Memory]:
        """What became of what was ``said`` and then taken back, if it is as it was kept then."""
        found: list[Memory] = []
        if not moment_of(self._settings, event.hook).auto_capture:
            return found
        for statement in said:
            id_ = review.memory_id(statement, event.place.project)
            hits = await self._like(event, statement.note.text, statement.note.namespace)
            known = (hit.memory for hit in hits if hit.memory.id == id_)
            found += [one for one in known if _is_as_kept(one) and one.holds(self._clock())]
        return found

    async def _closed(self, event: ReviewRequested, closing: Closing) -> Memory | None:
        """What ``closing`` means: a blocker before a task, which may be about the same.

        None where it is not clear which.
        """
        for namespace in ("blockers",) if closing.how else _BY_TURNS:
            hits = await self._like(event, closing.said, namespace, limit=_CLOSE_AMONG)
            memories = [hit.memory for hit in hits if self._may_close(event, hit.memory, closing)]
            if meant := meant_by(closing, memories):
                return meant[0] if len(meant) == 1 else None
        return None

    def _may_close(self, event: ReviewRequested, memory: Memory, closing: Closing) -> bool:
        """The record of the session's own task is judged by what is done in it."""
        recorded = OUTCOME.search(memory.content) is not None
        own = recorded and memory.provenance.session == event.session
        return not own and self._was_open(event, memory, closing.said_at_ms)

    def _was_open(self, event: ReviewRequested, memory: Memory, said_at_ms: int) -> bool:
        """Whether it is the project's own, and was open at ``said_at_ms`` as it still is."""
        now = self._clock()
        was_there = memory.updated_at <= (_moment(said_at_ms) or now)
        return memory.scope == event.place.project and was_there and is_open(memory, now)

    async def _close(self, memory: Memory) -> bool:
        """Mark a memory as resolved: what it says stays, and who said it, and can be found.

        Whether that was done: what somebody changed meanwhile is left as it is.
        """
        settled = await self._capture_or_raise(
            CaptureRequested(
                trace=self._new_id(),
                id=f"mem_{self._new_id()}",
                text=memory.content,
                scope=memory.scope,
                namespace=memory.namespace,
                tags=(RESOLVED, *memory.tags),
                explicit=False,
                provenance=memory.provenance,
                revises=memory.id,
                made_from=memory.version,
            )
        )
        return settled.kept.outcome != "declined"

    async def _provenance(
        self, event: ReviewRequested, said_at: datetime | None, file: str = ""
    ) -> Provenance:
        (then,) = await self._checkouts.find(event, [said_at])
        return Provenance(
            hook=event.hook,
            session=event.session,
            client=event.client,
            file=file,
            commit=then.commit,
            branch=then.branch,
        )

    async def _capture_or_raise(self, request: CaptureRequested) -> CaptureSettled:
        settled = await self._capture(request)
        if not settled.kept.is_settled:
            raise NotStored
        return settled

    # --- what was done ---------------------------------------------------------------------------

    async def record(self, event: ReviewRequested, works: Iterable[task.Work]) -> int:
        """Record those of ``works`` in which something was done, as they stand; how many."""
        if not self._settings.capture.tasks.enabled:
            return 0
        count = 0
        for work in works:
            if work.is_worth_recording and task.record(work) != work.recorded:
                count += await self._record(event, work)
        return count

    async def _record(self, event: ReviewRequested, work: task.Work) -> bool:
        """Send the record of ``work`` on its way, unless a later session did the same again.

        What somebody changed in the record meanwhile stays.
        """
        said_at = _moment(work.said_at_ms)
        known = None if work.memory_id else await self._record_of(event, work)
        if known is not None and _is_later(known, event, said_at):
            return False
        request = CaptureRequested(
            trace=self._new_id(),
            id=work.id,
            text=task.record(work),
            scope=event.place.project,
            before=event.place.before,
            namespace=task.NAMESPACE,
            tags=task.tags_of(work),
            explicit=False,
            confidence_percent=task.CONFIDENCE_PERCENT,
            provenance=await self._provenance(event, said_at),
            revises=known.id if known else work.memory_id or None,
            made_from=known.version if known else work.version,
            said_at=said_at,
            verbatim=True,
        )
        work.version = None  # of what does not come back, nobody knows which it is
        settled = await self._capture_or_raise(request)
        work.version = settled.memory.version if settled.memory else request.made_from
        work.memory_id = settled.kept.memory_id or work.memory_id
        work.recorded = request.text
        return True

    async def _record_of(self, event: ReviewRequested, work: task.Work) -> Memory | None:
        """The record of the same order in an earlier session: how it ended this time counts."""
        here = (event.place.project,)
        hits = await self._like(event, work.asked, task.NAMESPACE, limit=_MOST_RECORDS, scopes=here)
        records = (hit.memory for hit in hits if AUTO_CAPTURED in hit.memory.tags)
        return next((one for one in records if task.is_record_of(work, one.content)), None)


def _is_as_kept(memory: Memory) -> bool:
    """Whether nobody said ``memory`` again or changed it; what was found in its text is no change.

    Such a finding makes a new version, and leaves the time.
    """
    return memory.updated_at == memory.created_at


def _is_later(record: Memory, event: ReviewRequested, said_at: datetime | None) -> bool:
    """Whether a record tells of another session, which was asked the same after ``said_at``."""
    of_another = record.provenance.session != event.session
    return of_another and said_at is not None and record.updated_at > said_at


def _moment(said_at_ms: int) -> datetime | None:
    return datetime.fromtimestamp(said_at_ms / 1000, UTC) if said_at_ms else None
