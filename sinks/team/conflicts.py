"""Settles what came from the team where this machine has something else in its place.

One memory at a time: what was made here is put after what the team has (``merge.py``), and what
cannot be is kept beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection
from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Memory, Scope
from ..search.encoder import Encoder
from ..store.rows import Record, Row, digest, row_of, to_memory, to_record, to_row
from ..store.writes import (
    add_records,
    among,
    append_versions,
    delete_versions,
    heads,
    move_heads,
    rewrite,
)
from .merge import Chain, MergedChain, merge_chain
from .outbox import Outbox, drop_keys, drop_received, mark_received, noted_keys
from .validate import Arrival

# So many keys are looked up; somebody may have made a version of any number.
_FEW = 100
_CONTRADICTED = "both this and another memory supersede one: decide which of them holds"


class Outcome(Struct):
    """What one slice did: the rows that became current, what is gone, and how much of what."""

    current: dict[str, Row]
    forgotten: dict[str, Scope]
    conflicts: int = 0
    received: int = 0
    skipped: int = 0


class Settling:
    """For one transaction of the writer's thread; ``finish`` it. Counts in ``outcome``."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        outbox: Outbox,
        *,
        encoder: Encoder,
        now: datetime,
        outcome: Outcome,
    ) -> None:
        self._connection = connection
        self._outbox = outbox
        self._encoder = encoder
        self._now = now
        self._outcome = outcome
        # Which versions became current; written in one statement, which costs as much as for one.
        self._moved: dict[str, Record] = {}

    def finish(self) -> None:
        """Make current what is."""
        move_heads(self._connection, list(self._moved.values()))

    def settle(self, arrival: Arrival) -> None:
        """Store a version of a memory that something here stands in the way of."""
        chain = self._chain(arrival)
        there = chain.versions.get(arrival.version)
        if there and arrival.record and digest(there.memory) == digest(arrival.record.memory):
            note_confirmed(self._connection, [arrival])
            return
        if there and arrival.record and arrival.version in chain.pulled:
            self._replace(arrival, chain)
            return
        mine = chain.unconfirmed(arrival.version)
        if not mine or mine[0] > arrival.version:
            self._append(arrival, chain)
        elif arrival.record is not None or arrival.version in mine:
            theirs = row_of(arrival.record) if arrival.record else None
            merged = merge_chain(chain, mine, arrival.version, theirs, self._now)
            self._merge(arrival, chain, merged)

    def _chain(self, arrival: Arrival) -> Chain:
        moved = self._moved.get(arrival.id)
        last = moved.version if moved else heads(self._connection, [arrival.id])[arrival.id].version
        if last <= _FEW:
            wanted, parameters = among("v.key", [f"{arrival.id}:{n + 1}" for n in range(last)])
        else:
            wanted, parameters = among("v.id", [arrival.id])
        found = self._connection.execute(
            "SELECT v.version, v.key IN (SELECT key FROM store.outbox), "  # noqa: S608 - placeholders
            "v.key IN (SELECT key FROM store.received WHERE pulled), "
            "body, model, vectors, words, lengths, terms FROM store.versions v "
            f"WHERE {wanted}",
            parameters,
        ).fetchall()
        return Chain(
            versions={version: to_row(tuple(columns)) for version, _, _, *columns in found},
            unsent=frozenset(version for version, is_unsent, *_ in found if is_unsent),
            pulled=frozenset(version for version, _, pulled, *_ in found if pulled),
        )

    def _append(self, arrival: Arrival, chain: Chain) -> None:
        """Nothing that was made here stands in its way."""
        record = arrival.record
        if record is None:
            return
        append_versions(self._connection, [record])
        self._note_pulled(arrival, record)
        if record.version > max(chain.versions, default=0):
            self._lead(record)

    def _note_pulled(self, arrival: Arrival, record: Record) -> None:
        mark_received(self._connection, [(record, arrival.is_foreign)], pulled=True)
        self._outcome.received += 1

    def _lead(self, record: Record) -> None:
        """Make a version that is written already the current one."""
        self._moved[record.id] = record
        self._outcome.current[record.id] = row_of(record)

    def _replace(self, arrival: Arrival, chain: Chain) -> None:
        """The server has it otherwise than it once had: it was set back."""
        record = arrival.record
        if record is None:
            return
        rewrite(self._connection, record)
        drop_received(self._connection, [record.key])
        self._note_pulled(arrival, record)
        if record.version == max(chain.versions):
            self._lead(record)

    def _merge(self, arrival: Arrival, chain: Chain, merged: MergedChain) -> None:
        theirs = [arrival.record] if arrival.record else []
        made = [self._encoded(memory) for memory in merged.versions]
        keys = {number: f"{arrival.id}:{number}" for number in chain.versions}
        mine = [keys[number] for number in merged.replaced]
        drop_keys(self._connection, mine)
        drop_received(self._connection, mine)
        self._put_in_place(theirs + made, keys, merged.replaced)
        for record in theirs:
            self._note_pulled(arrival, record)
        self._outbox.note(self._connection, made, self._now)
        left = {n: row for n, row in chain.versions.items() if n not in merged.replaced}
        rows = left | {each.version: row_of(each) for each in theirs + made}
        self._lead(to_record(rows[max(rows)]))
        self._fork(merged.fork)
        for ours, others in merged.contradicting:
            self._contradict(ours, others)
        self._outcome.conflicts += bool(merged.fork or merged.contradicting)

    def _put_in_place(
        self, records: Sequence[Record], keys: Mapping[int, str], replaced: Iterable[int]
    ) -> None:
        """Write ``records`` where ``replaced`` were; what is left of those goes."""
        fresh = {record.key: record for record in records}
        delete_versions(self._connection, [keys[n] for n in replaced if keys[n] not in fresh])
        there = set(keys.values())
        for record in records:
            if record.key in there:
                rewrite(self._connection, record)
        append_versions(self._connection, [each for each in records if each.key not in there])

    def _fork(self, versions: Sequence[Memory]) -> None:
        records = [self._encoded(memory) for memory in versions]
        taken = add_records(self._connection, records)
        new = [record for record, was_taken in zip(records, taken, strict=True) if was_taken]
        self._outbox.note(self._connection, new, self._now)
        self._outcome.current.update((each.id, row_of(each)) for each in new)

    def _contradict(self, ours: str, others: str) -> None:
        """Flag our successor of a memory, which they let another one supersede."""
        memory = self._current(ours)
        if memory is None or memory.contradicts == others:
            return
        flagged = self._encoded(
            replace(
                memory,
                version=memory.version + 1,
                contradicts=others,
                updated_at=self._now,
                provenance=replace(memory.provenance, gate=_CONTRADICTED),
            )
        )
        append_versions(self._connection, [flagged])
        self._outbox.note(self._connection, [flagged], self._now)
        self._lead(flagged)

    def _current(self, memory_id: str) -> Memory | None:
        if memory_id in self._moved:
            return self._moved[memory_id].memory
        found = self._connection.execute(
            "SELECT body FROM store.versions WHERE key = "
            "(SELECT key FROM store.memories WHERE id = ?)",
            [memory_id],
        ).fetchall()
        return to_memory(found[0][0]) if found else None

    def _encoded(self, memory: Memory) -> Record:
        return to_record(Row(memory, self._encoder.encode(memory)))


def note_confirmed(connection: DuckDBPyConnection, arrivals: Sequence[Arrival]) -> None:
    """Versions that are here as they came: they were sent from here, or pulled before."""
    drop_keys(connection, [each.key for each in arrivals])
    foreign = [each.record for each in arrivals if each.record and each.is_foreign]
    if foreign:  # what a salvage lost of this table
        noted = noted_keys(connection, [record.key for record in foreign])
        lost = [(record, True) for record in foreign if record.key not in noted]
        mark_received(connection, lost, pulled=True)
