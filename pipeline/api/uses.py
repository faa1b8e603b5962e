"""The calls about the use of memories: what became of them, by day, and the user's votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from itertools import starmap
from typing import TYPE_CHECKING, Literal

from anyio import to_thread

from ...bus.results import UseResult, UseSeen, VotesResult
from ...bus.service_results import DayStats, MostUsed, StatsResult
from ...bus.values import Place, UseEvent
from ...sinks.telemetry.logs import PromptOutcome, prompt_outcomes
from ...stages.injection.usefulness import HELPED, VOTES
from ..app.app import App
from .params import StatsParams, Table, VoteParams, find_memory
from .undo import Journal, What

if TYPE_CHECKING:
    from ...sinks.memories.use_log import UseRecord

_LAST = 10
_MOST_USED = 5
_DIGITS = 4
_SHOWINGS = frozenset({"shown", "untraceable"})


class UseCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App, journal: Journal) -> None:
        self._app = app
        self._journal = journal
        self.table: Table = {
            "bury": (VoteParams, self.bury),
            "keep": (VoteParams, self.keep),
            "stats": (StatsParams, self.stats),
        }

    async def bury(self, params: VoteParams, place: Place) -> VotesResult:
        return await self._vote(params, place, "buried")

    async def keep(self, params: VoteParams, place: Place) -> VotesResult:
        return await self._vote(params, place, "kept")

    async def _vote(
        self, params: VoteParams, place: Place, kind: Literal["kept", "buried"]
    ) -> VotesResult:
        """Vote on all of them, or on none where one is not there."""
        archive = await self._app.archive.get()
        memories = [await find_memory(archive, given, place) for given in params.ids]
        ids, command = [m.id for m in memories], self._app.new_id()
        times = await archive.uses.vote(ids, kind)
        for memory in memories:
            what: What = "keep" if kind == "kept" else "bury"
            self._journal.note(what, memory, at=times[memory.id], command=command)
        return VotesResult(memories=await uses_of(self._app, ids))

    async def stats(self, params: StatsParams, place: Place) -> StatsResult:
        """What was shown, used and kept in the last days."""
        from ...sinks.store.reads import Filter

        today = self._app.clock().astimezone().date()
        first = today - timedelta(days=params.days - 1)
        since = datetime.combine(first, time()).astimezone()
        archive, scopes = await self._app.archive.get(), place.readable
        counted = await archive.uses.counts(scopes, since, HELPED, limit=_MOST_USED)
        held = await archive.store.list(scopes, Filter(), limit=1)
        unused = await archive.store.list(scopes, Filter(unused=True), limit=1)
        traces, project = self._app.paths.traces, place.project.id
        answered = await to_thread.run_sync(lambda: tuple(prompt_outcomes(traces, project)))
        counts = Counts(counted.seen, counted.made, answered)
        return StatsResult(
            days=tuple(counts.of(first + timedelta(days=day)) for day in range(params.days)),
            memories=held.total,
            unused=unused.total,
            most_used=tuple(starmap(MostUsed, counted.most_used)),
            log_since=counts.log_since,
        )


class Counts:
    """What was counted, by day of this machine's clock."""

    def __init__(
        self,
        seen: Iterable[tuple[datetime, str, int]],
        made: Iterable[tuple[datetime, bool, int]],
        answered: Iterable[PromptOutcome],
    ) -> None:
        self._counts: Counter[tuple[date, str]] = Counter()
        self.log_since: datetime | None = None
        for at, kind, count in seen:
            self._add(at, "used" if kind in HELPED else kind, count)
        for at, is_automatic, count in made:
            self._add(at, "automatic" if is_automatic else "asked", count)
        for prompt in answered:
            self._add(prompt.time, "prompts", 1)
            self._add(prompt.time, "served", int(not prompt.inject.abstained))
            self._add(prompt.time, "tokens", prompt.inject.tokens)
            self.log_since = min(prompt.time, self.log_since or prompt.time)

    def _add(self, at: datetime, what: str, count: int) -> None:
        self._counts[at.astimezone().date(), what] += count

    def of(self, day: date) -> DayStats:
        """The counts of one day; the log's are None for days before it begins."""

        def count(what: str) -> int:
            return self._counts[day, what]

        is_logged = self.log_since is not None and self.log_since.astimezone().date() <= day
        return DayStats(
            day=day.isoformat(),
            prompts=count("prompts") if is_logged else None,
            served=count("served") if is_logged else None,
            tokens=count("tokens") if is_logged else None,
            shown=count("shown"),
            used=count("used"),
            corrected=count("corrected"),
            asked=count("asked"),
            automatic=count("automatic"),
        )


async def uses_of(
    app: App, ids: Sequence[str], *, known_only: bool = False
) -> tuple[UseResult, ...]:
    """What is known of the use of each of ``ids``; with ``known_only`` of those that were used."""
    archive = await app.archive.get()
    records = await archive.uses.records(ids)
    return tuple(
        _answer(app, id_, records.get(id_))
        for id_ in dict.fromkeys(ids)
        if id_ in records or not known_only
    )


def _answer(app: App, memory_id: str, record: UseRecord | None) -> UseResult:
    events: Sequence[UseEvent] = record.events if record else ()
    learned = app.learned
    older = record.older if record else None
    counts: Counter[str] = Counter(event.kind for event in events)
    sessions = {event.session for event in events if event.kind == "shown"}
    votes = [event.kind for event in events if event.kind in VOTES]
    low, high = learned.interval(memory_id)
    return UseResult(
        id=memory_id,
        shown=counts.pop("shown", 0) + (older.shown if older else 0),
        sessions=len(sessions) + (older.sessions if older else 0),
        counts=dict(counts),
        last=tuple(map(_seen, [e for e in events if e.kind not in _SHOWINGS][: -_LAST - 1 : -1])),
        vote=votes[-1] if votes else None,
        buried=learned.is_buried(memory_id),
        mean=round(learned.mean(memory_id), _DIGITS),
        low=round(low, _DIGITS),
        high=round(high, _DIGITS),
        floor_shift=round(learned.shift(memory_id), _DIGITS) + 0.0,  # and no -0.0
    )


def _seen(event: UseEvent) -> UseSeen:
    return UseSeen(
        kind=event.kind,
        at=event.at,
        session=event.session,
        moment=event.moment,
        detail=event.detail,
    )
