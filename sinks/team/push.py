"""Sends what waits in the outbox to the team, cleaned by the rules of today."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence

import anyio.to_thread
from msgspec.structs import replace

from ...bus.values import Memory
from ..store.rows import Row, digest
from .protocol import Applied, Depth, Outgoing, TeamServer
from .sync_state import Echoes, Here, Tally

# Versions in one batch: one round trip, and one thing to repeat when the line breaks.
BATCH_ROWS = 200
# What a slow line carries within the time of one call.
BATCH_BYTES = 1_000_000
_log = logging.getLogger(__name__)


class Sending:
    """Empties the outbox.

    ``clean`` is asked about each version before it leaves: what it returns is what leaves, and
    takes its place here too; None keeps it here.
    """

    def __init__(
        self,
        here: Here,
        *,
        clean: Callable[[Memory], Memory | None],
        echoes: Echoes,
        tally: Tally,
    ) -> None:
        self._here = here
        self._replica = here.replica
        self._clean = clean
        self._echoes = echoes
        self._tally = tally
        # Entries of which somebody else made that version first: the next pull reconciles them,
        # and queues what becomes of them anew, be it before or after this is noted.
        self._contested: set[int] = set()
        # Entries that the server does not take; they wait, and hold nobody up.
        self._refused: set[int] = set()

    def release(self) -> bool:
        """Something was received: what was contested may be sent now; whether there is any."""
        contested = bool(self._contested)
        self._contested.clear()
        return contested

    async def push(self, server: TeamServer) -> bool:
        """Send until nothing is left that can be sent; whether there was anything.

        Raises ``ConnectionError``.
        """
        had_any = False
        while batch := await self._next():
            had_any = True
            for part in _parts(batch):
                await self._send(server, part)
        self._tally.pushed()
        return had_any

    async def _next(self) -> list[Outgoing]:
        held = self._contested | self._refused
        limit = BATCH_ROWS + len(held)
        waiting = await self._replica.outbox(limit=limit)
        if len(waiting) < limit:  # so that is all, or nearly: one version of each memory
            depth = Depth(len(waiting), waiting[0].queued_at if waiting else None)
        else:
            depth = await self._replica.depth()
        self._tally.waiting(depth)
        return [one for one in waiting if one.seq not in held]

    async def _send(self, server: TeamServer, batch: Sequence[Outgoing]) -> None:
        for one in batch:
            if one.row is None and await server.forget(one.id, [one.scope]):
                self._echoes.expect([(one.id, 0)])
        ready = await self._cleaned([one for one in batch if one.row is not None])
        held = await self._put(server, ready)
        done = [one for one in batch if one.seq not in held]
        leaving = {one.seq for one in ready}
        withheld = sum(one.row is not None and one.seq not in leaving for one in batch)
        await self._replica.sent([one.seq for one in done])
        self._tally.count(sent=len(done) - withheld, skipped=withheld)

    # --- cleaned ---------------------------------------------------------------------------------

    async def _cleaned(self, batch: Sequence[Outgoing]) -> list[Outgoing]:
        """What of ``batch`` may leave, as it may leave; what changed is changed here as well."""
        looked = await anyio.to_thread.run_sync(self._look_through, batch)
        for one, row in looked:
            if row is not None and row is not one.row and await self._replica.rewrite(row):
                await self._here.applied(Applied(stored=(row,)))
        return [replace(one, row=row) for one, row in looked if row is not None]

    def _look_through(self, batch: Sequence[Outgoing]) -> list[tuple[Outgoing, Row | None]]:
        return [(one, self._clean_row(one.row) if one.row else None) for one in batch]

    def _clean_row(self, row: Row) -> Row | None:
        clean = self._clean(row.memory)
        if clean is None:
            return None
        return row if clean == row.memory else Row(clean, self._here.encoder.encode(clean))

    # --- put -------------------------------------------------------------------------------------

    async def _put(self, server: TeamServer, batch: Sequence[Outgoing]) -> set[int]:
        """Put all of ``batch``; the numbers of what is not there as it should be, and waits on."""
        try:
            return await self._put_together(server, batch)
        except ValueError:
            pass
        held: set[int] = set()
        for one in batch:
            try:
                held |= await self._put_together(server, [one])
            except ValueError as error:
                facts = {"memory": one.id, "error": type(error).__name__}
                _log.warning("the team's server does not take a memory", extra=facts)
                self._refused.add(one.seq)
                self._tally.count(skipped=1)
                held.add(one.seq)
        return held

    async def _put_together(self, server: TeamServer, batch: Sequence[Outgoing]) -> set[int]:
        rows = {(one.id, one.version): one.row for one in batch if one.row is not None}
        if not rows:
            return set()
        taken = await server.put(list(rows.values()))
        there = [key for key, was_new in zip(rows, taken, strict=True) if not was_new]
        self._echoes.expect(rows.keys() - set(there))
        known = await server.digests(there) if there else {}
        # What is not there either was forgotten by somebody: that is on its way here.
        others = {key for key in there if key in known and known[key] != digest(rows[key].memory)}
        contested = {one.seq for one in batch if (one.id, one.version) in others}
        self._contested |= contested
        return contested


def _parts(batch: Sequence[Outgoing]) -> Iterator[list[Outgoing]]:
    """``batch`` in its order, so much at a time as a slow line carries; one entry at least."""
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
    """About how many bytes it is on its way."""
    if row is None:
        return 0
    made = row.encoding
    blobs = (made.vectors, made.words, made.lengths, made.terms)
    return len(row.memory.content.encode()) + sum(map(len, blobs))
