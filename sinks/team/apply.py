"""Writes pulled changes into the replica, inside one transaction.

Most are new here and are written in bulk. Where this machine used the number of a version itself,
the local versions are merged after it (``merge.py``).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection

from ..search.index import Encoder
from ..store.rows import Record, digest, naive, row_of, to_memory, to_scope
from ..store.writes import (
    Head,
    add_records,
    add_tombstones,
    among,
    delete_leaving_tombstones,
    heads,
)
from .conflicts import ConflictResolver, Outcome, note_confirmed
from .outbox import Outbox, drop_ids, mark_received
from .validate import ValidatedChange

# Through the primary key as long as they are few.
_FEW = 100


class SliceApplier:
    """Applies one slice of changes, in one transaction of the writer's thread."""

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
        self._resolver = ConflictResolver(
            connection, outbox, encoder=encoder, now=now, outcome=self.outcome
        )

    def apply(self, arrivals: Sequence[ValidatedChange]) -> Outcome:
        """Store new versions and delete forgotten memories. A tombstone beats every version."""
        known = heads(self._connection, list({each.id for each in arrivals}))
        # Those that are new here, or stored in the scope that the change names.
        accepted = [e for e in arrivals if e.id not in known or known[e.id].scope == e.scope]
        self.outcome.skipped += len(arrivals) - len(accepted)
        tombstones = [each for each in accepted if each.is_tombstone]
        gone = {each.id for each in tombstones}
        gone.update(id_ for id_, head in known.items() if head.forgotten)
        self._delete(tombstones, known)
        alive = [each for each in accepted if each.id not in gone]
        here = [each for each in alive if each.id in known]
        rest, conflicting = self._confirm(here) if here else ([], set())
        new = [each for each in alive if each.id not in known]
        self._add([*new, *(each for each in rest if each.id not in conflicting)], known)
        for arrival in rest:
            if arrival.id in conflicting:
                self._resolver.resolve(arrival)
        self._resolver.finish()
        return self.outcome

    # --- tombstones ------------------------------------------------------------------------------

    def _delete(self, tombstones: Sequence[ValidatedChange], known: Mapping[str, Head]) -> None:
        scopes = {each.id: each.scope for each in tombstones}
        alive = [id_ for id_ in scopes if id_ in known and not known[id_].forgotten]
        if alive:
            delete_leaving_tombstones(self._connection, alive, self._now)
        new = [(id_, scopes[id_]) for id_ in scopes if id_ not in known]
        at = naive(self._now)
        add_tombstones(self._connection, [(id_, scope, at, at) for id_, scope in new])
        if scopes:
            drop_ids(self._connection, list(scopes))
        self.outcome.forgotten.update((id_, to_scope(scopes[id_])) for id_ in alive)
        self.outcome.received += len(alive) + len(new)

    # --- versions without a conflict -------------------------------------------------------------

    def _confirm(
        self, arrivals: Sequence[ValidatedChange]
    ) -> tuple[list[ValidatedChange], set[str]]:
        """The changes that are not stored yet, and the ids of the memories in conflict with them.

        A version that is stored with the same content was sent from here, or pulled before.
        """
        there = self._bodies([each.key for each in arrivals])
        same = {e.key for e in arrivals if e.record and _is_same(e.record, there.get(e.key))}
        conflicting = {e.id for e in arrivals if e.key in there and e.key not in same}
        confirmed: list[ValidatedChange] = []
        rest: list[ValidatedChange] = []
        for each in arrivals:  # those of a memory in conflict are resolved one by one
            is_done = each.key in same and each.id not in conflicting
            (confirmed if is_done else rest).append(each)
        note_confirmed(self._connection, confirmed)
        return rest, conflicting | self._unsent({each.id for each in rest})

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

    def _add(self, arrivals: Sequence[ValidatedChange], known: Mapping[str, Head]) -> None:
        """Write versions without a conflict. Refused ones, which have no record, are left out."""
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
