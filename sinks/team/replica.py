"""The replica: this machine's copy of a team's memory, and the outbox.

It lives in the store's file and writes through the store's one writer; each method raises
StoreUnavailable as the store's do.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import TypeVar

import anyio.to_thread
from duckdb import DuckDBPyConnection
from msgspec.structs import replace

from ...bus.values import Scope
from ..models.embedder import Encoder
from ..store.rows import Row, fingerprint_of, to_record, to_scope
from ..store.store import Store
from ..store.writes import heads, move_heads, rewrite
from . import membership, outbox
from .apply import Outcome, SliceApplier
from .membership import Removed, remove_others
from .outbox import Outbox
from .protocol import Applied, Changes, Cursor, Depth, Membership, Outgoing, Sharing
from .validate import ValidatedChange, validate

_log = logging.getLogger(__name__)

T = TypeVar("T")

_Write = Callable[[Sequence[ValidatedChange], Cursor | None], Outcome]

# Changes in one transaction, for which a concurrent capture waits.
_SLICE = 500


class Replica:
    """The team's part of ``store``, whose change queue is ``queue``; empty without a team."""

    def __init__(self, store: Store, queue: Outbox, *, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._database = store.database
        self._queue = queue
        self._clock = clock

    # --- the team --------------------------------------------------------------------------------

    async def membership(self) -> Membership | None:
        """The team that was joined; None where none was."""
        return await self._store.read(membership.read_membership)

    async def join(self, joined: Membership, shared: Sequence[Sharing] = ()) -> int:
        """Note the membership and share those scopes, all or nothing; a second time updates it.

        Returns how many versions were queued. Raises ValueError where another team was joined, and
        for a user's scope.
        """

        def work(connection: DuckDBPyConnection) -> int:
            membership.write_membership(connection, joined)
            return sum(
                self._share(connection, each.scope, each.name, each.sends) for each in shared
            )

        return await self._change(work)

    async def note_who_forgets(self, authors_alone: bool) -> None:
        """Note whether the team lets only who wrote a memory forget it."""

        def work(connection: DuckDBPyConnection) -> None:
            if joined := membership.read_membership(connection):
                told = replace(joined, authors_alone=authors_alone)
                membership.write_membership(connection, told)

        await self._change(work)

    async def cursor(self) -> Cursor:
        """The place up to which the team's feed was applied."""
        return await self._store.read(membership.read_cursor)

    async def rejoin(self, epoch: int) -> int:
        """After the server was restored: pull from the beginning and queue all local versions.

        Returns how many were queued. What is being sent meanwhile stays queued too: the server may
        have taken it before it was set back.
        """
        return await self._change(partial(self._rejoin, epoch=epoch))

    def _rejoin(self, connection: DuckDBPyConnection, epoch: int) -> int:
        joined = membership.read_membership(connection)
        if joined is None:
            return 0
        membership.write_membership(connection, replace(joined, epoch=epoch))
        membership.write_cursor(connection, Cursor(epoch))
        membership.mark_backfilled(connection)
        now = self._clock()
        self._queue.renumber(connection, now)
        return self._queue.queue_again(connection, now)

    async def leave(self) -> Applied:
        """Leave the team and remove other members' versions; local ones stay."""
        return await self._remove(None)

    # --- what is shared --------------------------------------------------------------------------

    async def shared(self) -> tuple[Sharing, ...]:
        return await self._store.read(membership.read_shared)

    async def declined(self) -> tuple[Scope, ...]:
        """The scopes that were unshared here."""
        return await self._store.read(membership.read_declined)

    async def share(self, scope: Scope, name: str, *, sends: bool) -> int:
        """Share a scope; where it ``sends``, all is queued that the team may lack.

        Returns how many versions were queued, beside deletions. A scope that sends goes on sending.
        Raises ValueError for a user's scope, and where no team was joined.
        """
        return await self._change(partial(self._share, scope=scope, name=name, sends=sends))

    def _share(self, connection: DuckDBPyConnection, scope: Scope, name: str, sends: bool) -> int:
        if not membership.put_shared(connection, scope, name, sends=sends):
            return 0
        now = self._clock()
        self._queue.queue_tombstones(connection, str(scope), now)
        return self._queue.queue_own(connection, str(scope), now)

    async def backfilled(self, scopes: Sequence[Scope]) -> None:
        """Note that those were pulled from the feed's beginning."""
        await self._change(partial(membership.mark_backfilled, scopes=scopes))

    async def drop_empty(self, scopes: Collection[Scope]) -> None:
        """Share no longer those of ``scopes`` that this machine only receives, and nothing came."""
        if scopes:
            await self._change(partial(membership.drop_empty, scopes=scopes))

    async def unshare(self, scope: Scope) -> Applied:
        """Stop sharing a scope: drop its queued versions and other members' versions of it.

        What was forgotten while it was shared is still sent.
        """
        return await self._remove(scope)

    async def received(self) -> Mapping[Scope, int]:
        """How many memories here are others' alone, by scope: they go when the team is left."""
        return await self._store.read(_received)

    # --- outgoing --------------------------------------------------------------------------------

    async def outbox(self, *, limit: int) -> tuple[Outgoing, ...]:
        """The oldest entries, at most one version of a memory; deletions come first."""
        return await self._store.read(partial(outbox.page, limit=limit))

    async def sent(self, seqs: Sequence[int]) -> None:
        """Delete entries that the team's server has."""
        if seqs:
            await self._change(partial(outbox.drop_numbers, numbers=seqs))

    async def rewrite(self, row: Row) -> bool:
        """Put ``row`` in place of a version that was not sent yet.

        True where it is the current one, so that the indexes need it. Nothing is done where that
        version was sent, or is gone.
        """
        record = to_record(row)

        def work(connection: DuckDBPyConnection) -> bool:
            waits = "SELECT 1 FROM store.outbox WHERE key = ?"
            if not connection.execute(waits, [record.key]).fetchall():
                return False
            self._database.mark_uncompacted()
            rewrite(connection, record)
            self._database.fingerprints.update([fingerprint_of(record)])
            is_current = heads(connection, [record.id])[record.id].version == record.version
            if is_current:
                move_heads(connection, [record])
            return is_current

        return await self._change(work)

    async def depth(self) -> Depth:
        """The size of the outbox and the age of its oldest entry."""
        return await self._store.read(outbox.depth)

    # --- incoming --------------------------------------------------------------------------------

    async def apply(
        self,
        changes: Changes,
        *,
        member: str,
        encoder: Encoder,
        moves: bool = True,
        authors_alone: bool = False,
    ) -> Applied:
        """Store what came from the team's feed, some hundred changes a transaction.

        The cursor is written along, unless ``moves`` is False, for changes that lie behind it.
        Idempotent. What cannot be stored is skipped and logged without its text. The caller holds
        the write lock. Where the store fails in between, the slices before that are not reported:
        pass no more than 500 changes. ``authors_alone`` forget in this team.
        """
        write = partial(self._apply, encoder=encoder, authors_alone=authors_alone)
        total = Outcome({}, {})
        for start in range(0, len(changes.changes) or 1, _SLICE):
            some = changes.changes[start : start + _SLICE]
            is_last = start + _SLICE >= len(changes.changes)
            cursor = changes.cursor if is_last else some[-1].cursor
            receives = self._queue.joined.receives
            arrivals, refused = await anyio.to_thread.run_sync(
                partial(validate, some, receives, member=member, encoder=encoder)
            )
            _log_skipped(refused)
            total.skipped += refused.total()
            _join(total, await self._take(arrivals, write, cursor if moves else None))
        return Applied(
            stored=tuple(total.current.values()),
            forgotten=tuple(total.forgotten.items()),
            conflicts=total.conflicts,
            received=total.received,
            skipped=total.skipped,
        )

    async def give_way(self, seqs: Sequence[int], *, encoder: Encoder) -> Applied:
        """Renumber those entries that the team has another version in the place of.

        For what could not be stored here, so that pulling has not done it. The caller holds the
        write lock.
        """
        outcome = await self._store.write(partial(self._give_way, seqs, encoder))
        return Applied(stored=tuple(outcome.current.values()))

    def _give_way(self, seqs: Sequence[int], encoder: Encoder) -> Outcome:
        with self._database.transaction() as connection:
            found = outbox.contested(connection, seqs)
        refused = [ValidatedChange(*place) for place in found]
        return self._apply(refused, None, encoder=encoder, authors_alone=False)

    async def _take(
        self, arrivals: Sequence[ValidatedChange], write: _Write, cursor: Cursor | None
    ) -> Outcome:
        """Write a slice; where the database refuses it, bisect to the change at fault."""
        try:
            return await self._store.write(partial(write, arrivals, cursor))
        except ValueError:
            if len(arrivals) <= 1:
                _log_skipped(Counter({"database": 1}))
                outcome = await self._store.write(partial(write, [], cursor))
                outcome.skipped += 1
                return outcome
        middle = len(arrivals) // 2
        outcome = await self._take(arrivals[:middle], write, None)
        _join(outcome, await self._take(arrivals[middle:], write, cursor))
        return outcome

    def _apply(
        self,
        arrivals: Sequence[ValidatedChange],
        cursor: Cursor | None,
        *,
        encoder: Encoder,
        authors_alone: bool,
    ) -> Outcome:
        """On the writer's thread: all of it, or nothing."""
        box = self._queue
        # The team may have been left, or a scope been unshared, since they were pulled.
        wanted = [each for each in arrivals if to_scope(each.scope) in box.joined.receives]
        with self._database.transaction() as connection:
            buried = self._database.tombstones
            outcome = SliceApplier(
                connection,
                box,
                buried,
                encoder=encoder,
                now=self._clock(),
                authors_alone=authors_alone,
            ).apply(wanted)
            if outcome.forgotten:
                self._database.mark_uncompacted()
            if box.joined.member and cursor not in (None, membership.read_cursor(connection)):
                membership.write_cursor(connection, cursor)
        self._database.note_current(outcome.current.values(), outcome.forgotten)
        if outcome.skipped:
            _log_skipped(Counter({"known in another scope, or forgotten": outcome.skipped}))
        return outcome

    # --- on the writer's thread ------------------------------------------------------------------

    async def _change(self, work: Callable[[DuckDBPyConnection], T]) -> T:
        return await self._store.write(partial(self._changed, work))

    def _changed(self, work: Callable[[DuckDBPyConnection], T]) -> T:
        with self._database.transaction() as connection:
            result = work(connection)
            joined = membership.read_joined(connection)
        self._queue.joined = joined
        return result

    async def _remove(self, scope: Scope | None) -> Applied:
        removed = await self._store.write(partial(self._removed, scope))
        return Applied(stored=removed.current, forgotten=tuple(removed.gone.items()))

    def _removed(self, scope: Scope | None) -> Removed:
        def work(connection: DuckDBPyConnection) -> Removed:
            removed = remove_others(connection, scope, self._clock())
            if removed.gone or removed.current:
                self._database.mark_uncompacted()
            if scope is None:
                membership.clear_team(connection)
            else:
                membership.drop_shared(connection, scope)
                outbox.withhold(connection, str(scope))
            return removed

        removed = self._changed(work)
        self._database.note_current(removed.current, removed.gone)
        return removed


def _received(cursor: DuckDBPyConnection) -> dict[Scope, int]:
    found = cursor.execute(
        "SELECT scope, count(*) FROM (SELECT v.scope, v.id FROM store.versions v LEFT JOIN "
        "(SELECT key FROM store.received WHERE author <> '') r ON r.key = v.key "
        "GROUP BY ALL HAVING count(r.key) = count(*)) GROUP BY scope"
    ).fetchall()
    return {to_scope(scope): count for scope, count in found}


def _join(total: Outcome, more: Outcome) -> None:
    total.current |= more.current
    for memory_id in more.forgotten:
        total.current.pop(memory_id, None)
    total.forgotten |= more.forgotten
    total.conflicts += more.conflicts
    total.received += more.received
    total.skipped += more.skipped


def _log_skipped(refused: Counter[str]) -> None:
    for reason, count in refused.items():
        _log.warning("changes of the team were skipped", extra={"reason": reason, "count": count})
