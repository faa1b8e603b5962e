"""Resolves conflicts between pulled versions and those of this machine.

One memory at a time: local versions are merged after the team's (``merge.py``), and those that
cannot be merged become a new memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection
from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Memory, Scope
from ..search.index import Encoder
from ..store.rows import Record, Row, digest, row_of, to_memory, to_record, to_row
from ..store.writes import (
    add_records,
    among,
    append_versions,
    delete_where,
    heads,
    move_heads,
    rewrite,
)
from .merge import Chain, MergedChain, merge_chain
from .outbox import Outbox, mark_received, noted_keys
from .validate import ValidatedChange

# Up to so many versions are looked up by key; a change may name a version of any number.
_FEW = 100
_CONTRADICTED = "both this and another memory supersede one: decide which of them holds"


class Outcome(Struct):
    """The effect of one slice: rows that became current, forgotten ids, and counts."""

    current: dict[str, Row]
    forgotten: dict[str, Scope]
    conflicts: int = 0
    received: int = 0
    skipped: int = 0


class ConflictResolver:
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
        # The versions that became current, by id; written in one statement at the end.
        self._moved: dict[str, Record] = {}

    def finish(self) -> None:
        """Write which versions became current."""
        move_heads(self._connection, list(self._moved.values()))

    def resolve(self, arrival: ValidatedChange) -> None:
        """Store a version that conflicts with local ones."""
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

    def _chain(self, arrival: ValidatedChange) -> Chain:
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

    def _append(self, arrival: ValidatedChange, chain: Chain) -> None:
        record = arrival.record
        if record is None:
            return
        append_versions(self._connection, [record])
        self._note_pulled(arrival, record)
        if record.version > max(chain.versions, default=0):
            self._lead(record)

    def _note_pulled(self, arrival: ValidatedChange, record: Record) -> None:
        mark_received(self._connection, [(record, arrival.is_foreign)], pulled=True)
        self._outcome.received += 1

    def _lead(self, record: Record) -> None:
        self._moved[record.id] = record
        self._outcome.current[record.id] = row_of(record)

    def _replace(self, arrival: ValidatedChange, chain: Chain) -> None:
        """Replace a pulled version by the server's, which was restored from a backup since."""
        record = arrival.record
        if record is None:
            return
        rewrite(self._connection, record)
        delete_where(self._connection, "received", "key", [record.key])
        self._note_pulled(arrival, record)
        if record.version == max(chain.versions):
            self._lead(record)

    def _merge(self, arrival: ValidatedChange, chain: Chain, merged: MergedChain) -> None:
        theirs = [arrival.record] if arrival.record else []
        made = [self._encoded(memory) for memory in merged.versions]
        keys = {number: f"{arrival.id}:{number}" for number in chain.versions}
        mine = [keys[number] for number in merged.replaced]
        delete_where(self._connection, "outbox", "key", mine)
        delete_where(self._connection, "received", "key", mine)
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
        """Write ``records`` in place of ``replaced``; delete those that have no successor."""
        fresh = {record.key: record for record in records}
        delete_where(
            self._connection, "versions", "key", [keys[n] for n in replaced if keys[n] not in fresh]
        )
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
        """Flag our successor of a memory that the team superseded by another one."""
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


def note_confirmed(connection: DuckDBPyConnection, arrivals: Sequence[ValidatedChange]) -> None:
    """Note that the team has these versions with the same content as they have here."""
    delete_where(connection, "outbox", "key", [each.key for each in arrivals])
    foreign = [each.record for each in arrivals if each.record and each.is_foreign]
    if foreign:  # rows of this table may have been lost with a damaged file
        noted = noted_keys(connection, [record.key for record in foreign])
        lost = [(record, True) for record in foreign if record.key not in noted]
        mark_received(connection, lost, pulled=True)
