"""The calls about the use of memories: what became of them, and the user's votes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from ...bus.results import UseResult, UseSeen, VotesResult
from ...bus.usage import UseEvent
from ...bus.values import Place
from ...stages.injection.usefulness import VOTES
from ..app.app import App
from .params import Table, VoteParams, find_memory
from .undo import Journal

if TYPE_CHECKING:
    from ...sinks.memories.use_log import UseRecord

_LAST = 10
_DIGITS = 4
_SHOWINGS = frozenset({"shown", "untraceable"})


class UseCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App, journal: Journal) -> None:
        self._app = app
        self._journal = journal
        self.table: Table = {"bury": (VoteParams, self.bury), "keep": (VoteParams, self.keep)}

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
        ids, began = [memory.id for memory in memories], self._app.clock()
        await archive.uses.vote(ids, kind)
        for memory in memories:
            self._journal.note("keep" if kind == "kept" else "bury", memory, at=began)
        return VotesResult(memories=await uses_of(self._app, ids))


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
