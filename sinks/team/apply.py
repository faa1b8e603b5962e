"""Writes what came from the team into the replica, inside one transaction.

Most of it is new here and is written in bulk. Where a version comes under a number that this
machine used itself, what was made here is put after it (``merge.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection

from ..search.encoder import Encoder
from ..store.rows import Record, digest, naive, row_of, to_memory, to_scope
from ..store.writes import Head, add_records, add_tombstones, among, bury, heads
from .conflicts import Outcome, Settling, note_confirmed
from .outbox import Outbox, drop_ids, mark_received
from .validate import Arrival

# Through the primary key as long as they are few.
_FEW = 100


class Applying:
    """One slice of arrivals, for one transaction of the writer's thread."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        outbox: Outbox,
        *,
        encoder: Encoder,
        now: datetime,
    ) -> None:
        self._connection = connection
        self._now = now
        self.outcome = Outcome({}, {})
        self._settling = Settling(
            connection, outbox, encoder=encoder, now=now, outcome=self.outcome
        )

    def apply(self, arrivals: Sequence[Arrival]) -> Outcome:
        """Store what is new, bury what was forgotten. A tombstone beats every version."""
        known = heads(self._connection, list({each.id for each in arrivals}))
        at_home = [each for each in arrivals if self._is_at_home(each, known)]
        self.outcome.skipped += len(arrivals) - len(at_home)
        tombstones = [each for each in at_home if each.is_tombstone]
        gone = {each.id for each in tombstones}
        gone.update(id_ for id_, head in known.items() if head.forgotten)
        self._bury(tombstones, known)
        alive = [each for each in at_home if each.id not in gone]
        here = [each for each in alive if each.id in known]
        rest, crossed = self._confirm(here) if here else ([], set())
        new = [each for each in alive if each.id not in known]
        self._add([*new, *(each for each in rest if each.id not in crossed)], known)
        for arrival in rest:
            if arrival.id in crossed:
                self._settling.settle(arrival)
        self._settling.finish()
        return self.outcome

    @staticmethod
    def _is_at_home(arrival: Arrival, known: Mapping[str, Head]) -> bool:
        """Whether the memory is in the scope that it is known in here, if it is."""
        return arrival.id not in known or known[arrival.id].scope == arrival.scope

    # --- tombstones ------------------------------------------------------------------------------

    def _bury(self, tombstones: Sequence[Arrival], known: Mapping[str, Head]) -> None:
        scopes = {each.id: each.scope for each in tombstones}
        alive = [id_ for id_ in scopes if id_ in known and not known[id_].forgotten]
        if alive:
            bury(self._connection, alive, self._now)
        new = [(id_, scopes[id_]) for id_ in scopes if id_ not in known]
        at = naive(self._now)
        add_tombstones(self._connection, [(id_, scope, at, at) for id_, scope in new])
        if scopes:
            drop_ids(self._connection, list(scopes))
        self.outcome.forgotten.update((id_, to_scope(scopes[id_])) for id_ in alive)
        self.outcome.received += len(alive) + len(new)

    # --- what nobody here changed ----------------------------------------------------------------

    def _confirm(self, arrivals: Sequence[Arrival]) -> tuple[list[Arrival], set[str]]:
        """What is not here as it came, and the memories that have something else in its place.

        What is here as it came was sent from here, or pulled before.
        """
        there = self._bodies([each.key for each in arrivals])
        same = {e.key for e in arrivals if e.record and _is_same(e.record, there.get(e.key))}
        crossed = {e.id for e in arrivals if e.key in there and e.key not in same}
        confirmed: list[Arrival] = []
        rest: list[Arrival] = []
        for each in arrivals:  # where anything is crossed each is looked at in its turn
            is_done = each.key in same and each.id not in crossed
            (confirmed if is_done else rest).append(each)
        note_confirmed(self._connection, confirmed)
        return rest, crossed | self._unsent({each.id for each in rest})

    def _bodies(self, keys: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        for start in range(0, len(keys), _FEW):
            wanted, parameters = among("key", keys[start : start + _FEW])
            rows = self._connection.execute(
                f"SELECT key, body FROM store.versions WHERE {wanted}",  # noqa: S608 - placeholders
                parameters,
            )
            found.update(rows.fetchall())
        return found

    def _unsent(self, ids: Collection[str]) -> set[str]:
        if not ids:
            return set()
        wanted, parameters = among("id", list(ids))
        found = self._connection.execute(
            f"SELECT id FROM store.outbox WHERE {wanted}",  # noqa: S608 - placeholders
            parameters,
        )
        return {id_ for (id_,) in found.fetchall()}

    def _add(self, arrivals: Sequence[Arrival], known: Mapping[str, Head]) -> None:
        """Write versions that meet nothing. What was refused leaves no trace here."""
        records = [each.record for each in arrivals if each.record is not None]
        taken = add_records(self._connection, records)
        new = [record for record, was_taken in zip(records, taken, strict=True) if was_taken]
        foreign = {each.record.key for each in arrivals if each.record and each.is_foreign}
        marks = [(record, record.key in foreign) for record in new]
        mark_received(self._connection, marks, pulled=True)
        self.outcome.received += len(new)
        for record in new:
            head, led = known.get(record.id), self.outcome.current.get(record.id)
            before = max(head.version if head else 0, led.memory.version if led else 0)
            if record.version > before:
                self.outcome.current[record.id] = row_of(record)


def _is_same(record: Record, body: str | None) -> bool:
    if body is None or record.body == body:
        return body is not None
    return digest(record.memory) == digest(to_memory(body))
