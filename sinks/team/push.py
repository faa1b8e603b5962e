"""Pushes the outbox to the team, redacted by the current rules."""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator, Sequence

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.values import Memory
from ..store.rows import Row, digest
from .protocol import (
    Applied,
    Depth,
    ForgetRefused,
    Locked,
    Outgoing,
    QuotaExceeded,
    TeamServer,
    TeamUnavailable,
)
from .sync_state import LOCKED, QUOTA, Echoes, Gate, Problem, SyncContext, SyncCounters

# Versions in one batch: one round trip, repeated as a whole when the connection breaks.
BATCH_ROWS = 200
# What a slow connection carries within the time of one call.
BATCH_BYTES = 1_000_000
# The server says when its day is over: it is asked again after this.
QUOTA_S = 3_600.0
# What the server refused, or a deletion that it could not do in its time, is sent again after this.
HELD_S = 600.0
# And so is what somebody else's transaction holds on the server.
LOCKED_S = 30.0
# Reasons that one deletion alone may have, of a server that does all else.
_UNDONE = ("timeout", "failed")
USED_UP = "the team's quota of the day is used up: the rest stays queued"
_log = logging.getLogger(__name__)


class Pusher:
    """Empties the outbox, whenever ``gate`` is open.

    ``clean`` redacts each version before it is sent; the result replaces the stored one as well.
    None withholds it.
    """

    def __init__(
        self,
        here: SyncContext,
        *,
        clean: Callable[[Memory], Memory | None],
        gate: Gate,
        echoes: Echoes,
        tally: SyncCounters,
    ) -> None:
        self._context = here
        self._replica = here.replica
        self._clean = clean
        self._gate = gate
        self._echoes = echoes
        self._tally = tally
        # Entries whose version another member wrote first: the next pull merges them and queues
        # the result anew.
        self._conflicting: set[int] = set()
        # Entries that the server refused or failed to do, and when each may be sent again: one may
        # have been too far ahead of what the server had by then. Meanwhile they block no others.
        self._held: dict[int, float] = {}
        # Those of them that the server refused, and that somebody else's transaction holds.
        self._refused: set[int] = set()
        self._locked: set[int] = set()
        # Memories that the team keeps although they were forgotten here.
        self._kept: set[str] = set()
        # Entries beyond the day's quota. Of the others only deletions are sent until then.
        self._over: set[int] = set()
        self._over_until = -math.inf

    def contested(self) -> tuple[int, ...]:
        """The numbers of the entries whose place another version has on the server."""
        return tuple(self._conflicting)

    def release(self) -> bool:
        """After a pull the conflicting entries may be sent; returns whether there are any."""
        conflicting = bool(self._conflicting)
        self._conflicting.clear()
        return conflicting

    async def push(self, server: TeamServer) -> bool:
        """Send until nothing is left that can be sent; returns whether there was anything.

        Raises ``ConnectionError``.
        """
        had_any = False
        while batch := await self._let_go():
            had_any = True
            for part in _parts(batch):
                await self._send(server, part)
        if not self._locked:
            self._tally.succeed(LOCKED)
        self._tally.pushed()
        return had_any

    async def _let_go(self) -> list[Outgoing]:
        await self._gate.passed()
        return await self._next()

    async def _next(self) -> list[Outgoing]:
        now = anyio.current_time()
        is_over = now < self._over_until
        if not is_over:
            self._over.clear()
        self._held = {seq: until for seq, until in self._held.items() if now < until}
        self._locked &= self._held.keys()
        held = self._conflicting | self._over | self._held.keys()
        limit = BATCH_ROWS + len(held)
        waiting = await self._replica.outbox(limit=limit)
        if len(waiting) < limit:  # that is all, or nearly: one version of each memory
            oldest = min((one.queued_at for one in waiting), default=None)
            depth = Depth(len(waiting), oldest)
        else:
            depth = await self._replica.depth()
        self._tally.waiting(depth)
        return [
            one for one in waiting if one.seq not in held and not (is_over and one.row is not None)
        ]

    async def _send(self, server: TeamServer, batch: Sequence[Outgoing]) -> None:
        for one in batch:
            if one.row is None:
                await self._forget(server, one)
        ready = await self._cleaned([one for one in batch if one.row and self._is_new(one.row)])
        held = await self._put(server, ready) | self._over | self._held.keys()
        done = [one for one in batch if one.seq not in held]
        leaving = {one.seq for one in ready}
        withheld = sum(one.row is not None and one.seq not in leaving for one in batch)
        await self._replica.sent([one.seq for one in done])
        self._tally.count(sent=len(done) - withheld, skipped=withheld)

    async def _forget(self, server: TeamServer, one: Outgoing) -> None:
        try:
            if await server.forget(one.id, [one.scope]):
                self._echoes.expect([(one.id, 0)])
        except ForgetRefused:  # here it is gone, and the others keep it
            self._kept.add(one.id)
            _log.warning("the team keeps what was forgotten here", extra={"memory": one.id})
            self._tally.count(refused=1)
        except QuotaExceeded as error:  # by a deletion of what the team never had
            self._wait_for_quota(one, error)
        except Locked as error:
            self._wait_for_lock(one, error)
        except TeamUnavailable as error:
            if error.reason in _UNDONE:
                self._hold(one, HELD_S)
            raise
        except ValueError as error:
            self._refuse(one, error)

    def _is_new(self, row: Row) -> bool:
        """False for what brings back a memory that the team has kept."""
        return row.memory.provenance.brings_back not in self._kept

    # --- cleaned ---------------------------------------------------------------------------------

    async def _cleaned(self, batch: Sequence[Outgoing]) -> list[Outgoing]:
        """The redacted part of ``batch`` that may be sent; redactions are stored here as well."""
        cleaned = await anyio.to_thread.run_sync(
            lambda: [(one, self._clean_row(one.row) if one.row else None) for one in batch]
        )
        for one, row in cleaned:
            if row is not None and row is not one.row and await self._replica.rewrite(row):
                await self._context.applied(Applied(stored=(row,)))
        return [replace(one, row=row) for one, row in cleaned if row is not None]

    def _clean_row(self, row: Row) -> Row | None:
        clean = self._clean(row.memory)
        if clean is None:
            return None
        return row if clean == row.memory else Row(clean, self._context.encoder.encode(clean))

    # --- put -------------------------------------------------------------------------------------

    async def _put(self, server: TeamServer, batch: Sequence[Outgoing]) -> set[int]:
        """Put all of ``batch``; returns the numbers of the entries that stay queued."""
        try:
            return await self._put_together(server, batch)
        except Locked as error:
            return await self._put_unlocked(server, batch, error)
        except (ValueError, QuotaExceeded):
            return await self._put_each(server, batch)

    async def _put_unlocked(
        self, server: TeamServer, batch: Sequence[Outgoing], error: Locked
    ) -> set[int]:
        """Put what nobody else holds, without waiting for the rest; returns as ``_put``."""
        locked = await server.locked([one.id for one in batch])
        held = {self._wait_for_lock(one, error) for one in batch if one.id in locked}
        free = [one for one in batch if one.seq not in held]
        try:
            return held | await self._put_together(server, free)
        except (ValueError, QuotaExceeded, Locked):
            return held | await self._put_each(server, free)

    async def _put_each(self, server: TeamServer, batch: Sequence[Outgoing]) -> set[int]:
        """Put one by one, for some cannot be put; returns as ``_put``."""
        held: set[int] = set()
        for place, one in enumerate(batch):
            try:
                held |= await self._put_together(server, [one])
            except QuotaExceeded as error:
                self._wait_for_quota(one, error)
                return held | {later.seq for later in batch[place:]}
            except Locked as error:
                held.add(self._wait_for_lock(one, error))
            except ValueError as error:
                self._refuse(one, error)
                held.add(one.seq)
        return held

    def _refuse(self, one: Outgoing, error: ValueError) -> None:
        facts = {"memory": one.id, "error": type(error).__name__}
        _log.warning("the team's server refused a memory: it stays queued", extra=facts)
        self._hold(one, HELD_S)
        if one.seq not in self._refused:  # else it was counted
            self._refused.add(one.seq)
            self._tally.count(refused=1)

    def _hold(self, one: Outgoing, for_s: float) -> None:
        self._held[one.seq] = anyio.current_time() + for_s

    def _wait_for_lock(self, one: Outgoing, error: Locked) -> int:
        self._hold(one, LOCKED_S)
        self._locked.add(one.seq)
        if self._tally.fail(LOCKED, Problem(error.reason, str(error))):
            _log.warning("somebody's transaction holds what is to be sent: it stays queued")
        return one.seq

    def _wait_for_quota(self, one: Outgoing, error: QuotaExceeded) -> None:
        self._over.add(one.seq)
        self._over_until = anyio.current_time() + QUOTA_S
        if self._tally.fail(QUOTA, Problem(error.reason, str(error))):
            _log.warning(USED_UP)

    async def _put_together(self, server: TeamServer, batch: Sequence[Outgoing]) -> set[int]:
        rows = {(one.id, one.version): one.row for one in batch if one.row is not None}
        if not rows:
            return set()
        taken = await server.put(list(rows.values()))
        if any(taken):
            self._tally.succeed(QUOTA)
        there = [key for key, was_new in zip(rows, taken, strict=True) if not was_new]
        self._echoes.expect(rows.keys() - set(there))
        known = await server.digests(there) if there else {}
        # A version that is not there was forgotten by somebody; its tombstone will be pulled.
        others = {key for key in there if key in known and known[key] != digest(rows[key].memory)}
        conflicting = {one.seq for one in batch if (one.id, one.version) in others}
        self._conflicting |= conflicting
        return conflicting


def _parts(batch: Sequence[Outgoing]) -> Iterator[list[Outgoing]]:
    """Split ``batch``, in its order, into parts of at most BATCH_BYTES or one entry."""
    part: list[Outgoing] = []
    size = 0
    for one in batch:
        size += _size(one.row)
        if part and size > BATCH_BYTES:
            yield part
            part, size = [], _size(one.row)
        part.append(one)
    yield part


def _size(row: Row | None) -> int:
    if row is None:
        return 0
    made = row.encoding
    blobs = (made.vectors, made.words, made.lengths, made.terms)
    return len(row.memory.content.encode()) + sum(map(len, blobs))
