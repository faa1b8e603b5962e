"""Writes pulled changes into the replica, inside one transaction.

Most are new here and are written in bulk. Where this machine used the number of a version itself,
the local versions are merged after it (``merge.py``), one memory at a time, and those that cannot
be merged become a new memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from duckdb import DuckDBPyConnection
from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Memory, Scope
from ..models.embedder import Encoder
from ..store.rows import Record, Row, digest, naive, row_of, to_memory, to_record, to_row, to_scope
from ..store.tombstones import Tombstones, wording_of
from ..store.writes import (
    Head,
    add_records,
    add_tombstones,
    append_versions,
    delete_where,
    heads,
    move_heads,
    rewrite,
)
from .membership import LEFT_BEHIND, is_foreign, select, select_by_key
from .merge import Chain, MergedChain, merge_chain
from .outbox import Outbox, drop_versions, mark_received, noted_keys
from .validate import ValidatedChange, rightly_signed

# Up to so many versions are looked up by key; a change may name a version of any number.
_FEW_VERSIONS = 100
_IN_CHAIN = (
    "v.version, v.key IN (SELECT key FROM store.outbox), "
    "v.key IN (SELECT key FROM store.received WHERE pulled), "
    "body, model, vectors, words, lengths, terms"
)
_CONTRADICTED = "both this and another memory supersede one: decide which of them holds"


class Outcome(Struct):
    """The effect of one slice: rows that became current, forgotten ids, and counts."""

    current: dict[str, Row]
    forgotten: dict[str, Scope]
    conflicts: int = 0
    received: int = 0
    skipped: int = 0


class ConflictResolver(Struct, kw_only=True):
    """Resolves conflicts between pulled versions and those of this machine.

    For one transaction of the writer's thread; ``finish`` it. Counts in ``outcome``.
    """

    connection: DuckDBPyConnection
    outbox: Outbox
    encoder: Encoder
    now: datetime
    outcome: Outcome
    # The versions that became current, by id; written in one statement at the end.
    moved: dict[str, Record] = {}

    def finish(self) -> None:
        """Write which versions became current."""
        move_heads(self.connection, list(self.moved.values()))

    def resolve(self, arrival: ValidatedChange) -> None:
        """Store a version that conflicts with local ones."""
        chain = self._chain(arrival)
        there = chain.versions.get(arrival.version)
        if there and arrival.record and digest(there.memory) == digest(arrival.record.memory):
            here = {arrival.key: there.memory}
            note_confirmed(self.connection, [arrival], here, self.outbox.joined.member)
            return
        if there and arrival.record and arrival.version in chain.pulled:
            self._replace(arrival, chain)
            return
        mine = chain.unconfirmed(arrival.version)
        if there and there.memory.provenance.gate == LEFT_BEHIND:
            self._come_back(arrival, chain, [n for n in mine if n > arrival.version])
        elif not mine or mine[0] > arrival.version:
            self._append(arrival, chain)
        elif arrival.record is not None or arrival.version in mine:
            theirs = row_of(arrival.record) if arrival.record else None
            merged = merge_chain(chain, mine, arrival.version, theirs, self.now)
            self._merge(arrival, chain, merged)

    def _chain(self, arrival: ValidatedChange) -> Chain:
        moved = self.moved.get(arrival.id)
        last = moved.version if moved else heads(self.connection, [arrival.id])[arrival.id].version
        column, values = "v.id", [arrival.id]
        if last <= _FEW_VERSIONS:
            column, values = "v.key", [f"{arrival.id}:{n + 1}" for n in range(last)]
        found = select(self.connection, _IN_CHAIN, "versions v", column, values)
        return Chain(
            versions={version: to_row(tuple(columns)) for version, _, _, *columns in found},
            unsent=frozenset(version for version, is_unsent, *_ in found if is_unsent),
            pulled=frozenset(version for version, _, pulled, *_ in found if pulled),
        )

    def _append(self, arrival: ValidatedChange, chain: Chain) -> None:
        record = arrival.record
        if record is None:
            return
        append_versions(self.connection, [record])
        self._note_pulled(arrival, record)
        if record.version > max(chain.versions, default=0):
            self._lead(record)

    def _note_pulled(self, arrival: ValidatedChange, record: Record) -> None:
        mark_received(self.connection, [(record, arrival.is_foreign)], pulled=True)
        self.outcome.received += 1

    def _lead(self, record: Record) -> None:
        self.moved[record.id] = record
        self.outcome.current[record.id] = row_of(record)

    def _replace(self, arrival: ValidatedChange, chain: Chain) -> None:
        """Replace a pulled version by the server's, which was restored from a backup since."""
        record = arrival.record
        if record is None:
            return
        rewrite(self.connection, record)
        for table in ("received", "outbox"):
            delete_where(self.connection, table, "key", [record.key])
        self._note_pulled(arrival, record)
        if record.version == max(chain.versions):
            self._lead(record)

    def _come_back(self, arrival: ValidatedChange, chain: Chain, since: Sequence[int]) -> None:
        """Put the team's text in the place of what noted that it had left; ``since`` are later."""
        if not since:
            self._replace(arrival, chain)
        elif arrival.record:
            theirs = row_of(arrival.record)
            merged = merge_chain(chain, since, arrival.version, theirs, self.now)
            self._merge(arrival, chain, merged)

    def _merge(self, arrival: ValidatedChange, chain: Chain, merged: MergedChain) -> None:
        theirs = [arrival.record] if arrival.record else []
        made = [self._encoded(memory) for memory in merged.versions]
        keys = {number: f"{arrival.id}:{number}" for number in chain.versions}
        mine = [keys[number] for number in merged.replaced]
        delete_where(self.connection, "outbox", "key", mine)
        delete_where(self.connection, "received", "key", mine)
        self._put_in_place(theirs + made, keys, merged.replaced)
        for record in theirs:
            self._note_pulled(arrival, record)
        self.outbox.note(self.connection, made, self.now)
        left = {n: row for n, row in chain.versions.items() if n not in merged.replaced}
        rows = left | {each.version: row_of(each) for each in theirs + made}
        self._lead(to_record(rows[max(rows)]))
        self._fork(merged.fork)
        for ours, others in merged.contradicting:
            self._contradict(ours, others)
        self.outcome.conflicts += bool(merged.fork or merged.contradicting)

    def _put_in_place(
        self, records: Sequence[Record], keys: Mapping[int, str], replaced: Iterable[int]
    ) -> None:
        """Write ``records`` in place of ``replaced``; delete those that have no successor."""
        fresh = {record.key: record for record in records}
        delete_where(
            self.connection, "versions", "key", [keys[n] for n in replaced if keys[n] not in fresh]
        )
        there = set(keys.values())
        for record in records:
            if record.key in there:
                rewrite(self.connection, record)
        append_versions(self.connection, [each for each in records if each.key not in there])

    def _fork(self, versions: Sequence[Memory]) -> None:
        records = [self._encoded(memory) for memory in versions]
        taken = add_records(self.connection, records)
        new = [record for record, was_taken in zip(records, taken, strict=True) if was_taken]
        self.outbox.note(self.connection, new, self.now)
        self.outcome.current.update((each.id, row_of(each)) for each in new)

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
                updated_at=self.now,
                provenance=replace(memory.provenance, gate=_CONTRADICTED),
            )
        )
        append_versions(self.connection, [flagged])
        self.outbox.note(self.connection, [flagged], self.now)
        self._lead(flagged)

    def _current(self, memory_id: str) -> Memory | None:
        if memory_id in self.moved:
            return self.moved[memory_id].memory
        found = self.connection.execute(
            "SELECT body FROM store.versions WHERE key = "
            "(SELECT key FROM store.memories WHERE id = ?)",
            [memory_id],
        ).fetchall()
        return to_memory(found[0][0]) if found else None

    def _encoded(self, memory: Memory) -> Record:
        return to_record(Row(memory, self.encoder.encode(memory)))


def note_confirmed(
    connection: DuckDBPyConnection,
    arrivals: Sequence[ValidatedChange],
    here: Mapping[str, Memory],
    member: str,
) -> None:
    """Note that the team has these versions with the same content as they have ``here``, by key.

    Whether ``member`` captured them as well is told by these alone: to the team every source is
    somebody else's.
    """
    delete_where(connection, "outbox", "key", [each.key for each in arrivals])
    foreign = [
        each.record
        for each in arrivals
        if each.record and each.is_foreign and is_foreign(here[each.key], member)
    ]
    if foreign:  # rows of this table may have been lost with a damaged file
        noted = noted_keys(connection, [record.key for record in foreign])
        lost = [(record, True) for record in foreign if record.key not in noted]
        mark_received(connection, lost, pulled=True)


class SliceApplier:
    """Applies one slice of changes, in one transaction of the writer's thread."""

    def __init__(
        self,
        connection: DuckDBPyConnection,
        outbox: Outbox,
        tombstones: Tombstones,
        *,
        encoder: Encoder,
        now: datetime,
        authors_alone: bool = False,
    ) -> None:
        self._connection = connection
        self._tombstones = tombstones
        self._now = now
        self._member = outbox.joined.member
        self._authors_alone = authors_alone
        self.outcome = Outcome({}, {})
        self._resolver = ConflictResolver(
            connection=connection, outbox=outbox, encoder=encoder, now=now, outcome=self.outcome
        )

    def apply(self, arrivals: Sequence[ValidatedChange]) -> Outcome:
        """Store new versions and delete forgotten memories. A tombstone beats every version.

        Versions with a text that was forgotten here are left out, unless the memory has it here, or
        who forgot it in the team takes that back by them.
        """
        known = heads(self._connection, list({each.id for each in arrivals}))
        # Those that are new here, or stored in the scope that the change names.
        accepted = [e for e in arrivals if e.id not in known or known[e.id].scope == e.scope]
        if self._authors_alone:
            accepted = [each for each in accepted if self._is_rightful(each, known)]
        self.outcome.skipped += len(arrivals) - len(accepted)
        tombstones = [each for each in accepted if each.is_tombstone]
        gone = {each.id for each in tombstones}
        gone.update(id_ for id_, head in known.items() if head.forgotten)
        self._delete(tombstones, known)
        alive = self._without_forgotten([each for each in accepted if each.id not in gone])
        alive = self._rightly_signed(alive)
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

    def _is_rightful(self, arrival: ValidatedChange, known: Mapping[str, Head]) -> bool:
        """Whether, of a team where authors alone forget, this may be applied.

        The server checked the right to delete what it had (``author``). Of what it never had only
        a machine that has the memory can tell who wrote it.
        """
        if not arrival.is_tombstone or arrival.author or not arrival.forgotten_by:
            return True
        found = select(self._connection, "version, body", "versions", "id", [arrival.id])
        if not found:
            return arrival.id in known  # as forgotten
        _, first = min(found)
        return (to_memory(first).provenance.author or self._member) in arrival.forgotten_by

    def _delete(self, tombstones: Sequence[ValidatedChange], known: Mapping[str, Head]) -> None:
        scopes = {each.id: each.scope for each in tombstones}
        alive = [id_ for id_ in scopes if id_ in known and not known[id_].forgotten]
        if alive:
            self._tombstones.delete(self._connection, alive, self._now, by_team=True)
        new = [(id_, scopes[id_]) for id_ in scopes if id_ not in known]
        at = naive(self._now)
        add_tombstones(self._connection, [(id_, scope, at, at) for id_, scope in new])
        if scopes:
            drop_versions(self._connection, list(scopes))
        self.outcome.forgotten.update((id_, to_scope(scopes[id_])) for id_ in alive)
        self.outcome.received += len(alive) + len(new)

    def _without_forgotten(self, arrivals: Sequence[ValidatedChange]) -> list[ValidatedChange]:
        """``arrivals``, where those that must not come back have lost what they say."""
        for each in arrivals:
            if each.record and each.brings_back:
                self._tombstones.lift(self._connection, each.brings_back, each.record, self._now)
        records = [each.record for each in arrivals if each.record]
        barred = {record.key for record in self._tombstones.barred_among(records)}
        if not barred:
            return list(arrivals)
        here = self._wordings({e.id for e in arrivals if e.key in barred})
        kept: list[ValidatedChange] = []
        for each in arrivals:
            is_here = each.record and (each.id, wording_of(each.record.memory.content)) in here
            if each.key in barred and not is_here:
                kept.append(replace(each, record=None))
                self.outcome.skipped += 1
            else:
                kept.append(each)
        return kept

    def _wordings(self, ids: Collection[str]) -> set[tuple[str, str]]:
        """What each of these memories says or said here, as (id, wording)."""
        found = select(self._connection, "id, body", "versions", "id", ids)
        return {(id_, wording_of(to_memory(body).content)) for id_, body in found}

    def _rightly_signed(self, arrivals: Sequence[ValidatedChange]) -> list[ValidatedChange]:
        """``arrivals``, where what its named author cannot have written has no author's name."""
        later = {each.id for each in arrivals if each.record and each.version > 1}
        if not later:
            return list(arrivals)
        found = select(self._connection, "body", "versions", "id", later)
        return rightly_signed(arrivals, [to_memory(body) for (body,) in found])

    # --- versions without a conflict -------------------------------------------------------------

    def _confirm(
        self, arrivals: Sequence[ValidatedChange]
    ) -> tuple[list[ValidatedChange], set[str]]:
        """The changes that are not stored yet, and the ids of the memories in conflict with them.

        A version that is stored with the same content was sent from here, or pulled before.
        """
        keys = [each.key for each in arrivals]
        there = dict(select_by_key(self._connection, "key, body", keys))
        same = {e.key for e in arrivals if e.record and _is_same(e.record, there.get(e.key))}
        conflicting = {e.id for e in arrivals if e.key in there and e.key not in same}
        confirmed: list[ValidatedChange] = []
        rest: list[ValidatedChange] = []
        for each in arrivals:  # those of a memory in conflict are resolved one by one
            is_done = each.key in same and each.id not in conflicting
            (confirmed if is_done else rest).append(each)
        here = {each.key: to_memory(there[each.key]) for each in confirmed if each.is_foreign}
        note_confirmed(self._connection, confirmed, here, self._member)
        return rest, conflicting | self._unsent({each.id for each in rest})

    def _unsent(self, ids: Collection[str]) -> set[str]:
        if not ids:
            return set()
        return {id_ for (id_,) in select(self._connection, "id", "outbox", "id", ids)}

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
