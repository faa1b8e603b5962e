"""The searchable memories of one scope: what is filtered on, their terms and their passages.

A row is one memory as it was added; a newer version takes a new row and the old one dies. When
more rows are dead than alive, the living are copied together.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ...bus.values import Encoding, Memory, Query
from .postings import Postings
from .vectors import Column, Passages

# Okapi BM25's usual constants.
_K1 = 1.2
_B = 0.75

_FOREVER = np.iinfo(np.int64).max
# Rows that are loaded at once: bounds what loading takes for a moment.
_LOAD_ROWS = 20_000
_FEWEST_DEAD = 64

Floats = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.int64]
Terms = npt.NDArray[np.uint32]


class Entry(Struct, frozen=True):
    """A memory to add: its terms, and its encoding if it is of the model in use.

    ``grams`` are those of a text that is not English; they make it no longer.
    """

    memory: Memory
    terms: Terms
    encoding: Encoding | None
    grams: Terms = np.zeros(0, dtype=np.uint32)

    @property
    def found_by(self) -> Terms:
        return np.concatenate((self.terms, self.grams)) if len(self.grams) else self.terms


class Found(Struct, frozen=True):
    """The rows of each term of a query that are searched, how often they have it."""

    rows: list[npt.NDArray[np.uint32]]
    counts: list[npt.NDArray[np.uint8]]


class Table:
    """What a memory is filtered by, a column each. Names are kept as numbers."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.lengths = Column(np.float32)
        self.alive = Column(np.bool_)
        self.namespaces = Column(np.int32)
        self.branches = Column(np.int32)
        self.created = Column(np.int64)
        self.ends = Column(np.int64)
        self.tagged: dict[str, list[int]] = {}
        self.superseded: list[int] = []
        self._numbers: dict[str, int] = {"": 0}
        self._names: list[str] = [""]
        self.any_end = False

    def number(self, name: str) -> int:
        """The number of ``name``; -1 where no memory has it."""
        return self._numbers.get(name, -1)

    def extend(self, entries: Sequence[Entry]) -> None:
        memories = [entry.memory for entry in entries]
        for row, memory in enumerate(memories, len(self.ids)):
            for tag in memory.tags:
                self.tagged.setdefault(tag.casefold(), []).append(row)
            if memory.superseded_by is not None:
                self.superseded.append(row)
        self.lengths.extend([len(entry.terms) for entry in entries])
        self.alive.extend(np.ones(len(entries), dtype=np.bool_))
        self.namespaces.extend([self._numbered(m.namespace) for m in memories])
        self.branches.extend([self._numbered(m.provenance.branch) for m in memories])
        self.created.extend([microseconds(m.created_at) for m in memories])
        ends = [_FOREVER if m.valid_to is None else microseconds(m.valid_to) for m in memories]
        self.any_end = self.any_end or any(end != _FOREVER for end in ends)
        self.ends.extend(ends)
        self.ids.extend([m.id for m in memories])

    def namespace(self, row: int) -> str:
        """The namespace of the memory in ``row``."""
        return self._names[int(self.namespaces.view[row])]

    def _numbered(self, name: str) -> int:
        number = self._numbers.setdefault(name, len(self._numbers))
        if number == len(self._names):
            self._names.append(name)
        return number

    def compacted(self, alive: Flags) -> Table:
        """A copy with the living rows alone, numbered anew."""
        copy = Table()
        rows = np.flatnonzero(alive)
        for name in ("lengths", "alive", "namespaces", "branches", "created", "ends"):
            getattr(copy, name).extend(getattr(self, name).view[rows])
        copy.ids = [self.ids[row] for row in rows]
        new_rows = np.cumsum(alive) - 1
        for tag, tagged in self.tagged.items():
            living = [int(new_rows[row]) for row in tagged if alive[row]]
            if living:
                copy.tagged[tag] = living
        copy.superseded = [int(new_rows[row]) for row in self.superseded if alive[row]]
        copy._numbers = dict(self._numbers)
        copy._names = list(self._names)
        copy.any_end = self.any_end
        return copy

    @property
    def nbytes(self) -> int:
        """Bytes of the columns, and an estimate of what ids and tags take."""
        columns = (
            self.lengths, self.alive, self.namespaces, self.branches, self.created, self.ends
        )  # fmt: skip
        tags = sum(len(rows) * 16 + 120 for rows in self.tagged.values())
        return sum(column.nbytes for column in columns) + len(self.ids) * 90 + tags


class ScopeIndex:
    """One writer; a search works on the rows that were there when it began."""

    def __init__(self, dimensions: int) -> None:
        self.table = Table()
        self.postings = Postings()
        self.passages = Passages(dimensions)
        self.row_of: dict[str, int] = {}
        self.terms_total = 0.0
        self.rows = 0

    def __len__(self) -> int:
        return len(self.row_of)

    @property
    def nbytes(self) -> int:
        parts = self.table.nbytes + self.postings.nbytes + self.passages.nbytes
        return parts + len(self.row_of) * 100

    def widen(self, dimensions: int) -> None:
        """Take passages of ``dimensions`` from now on. Only while no row has any."""
        passages = Passages(dimensions)
        passages.extend(0, [None] * self.rows)
        self.passages = passages

    def add(self, entry: Entry) -> None:
        """Add one memory; an older version of it dies."""
        self.remove(entry.memory.id)
        self.postings.add(self.rows, entry.found_by)
        self._append([entry])

    def extend(self, entries: Sequence[Entry]) -> None:
        """Add many memories at once, the same as adding each but many times faster."""
        newest = {entry.memory.id: entry for entry in entries}
        for known in newest.keys() & self.row_of.keys():
            self.remove(known)
        fresh = list(newest.values())
        for start in range(0, len(fresh), _LOAD_ROWS):
            part = fresh[start : start + _LOAD_ROWS]
            found_by = [entry.found_by for entry in part]
            lengths = [len(terms) for terms in found_by]
            rows = np.repeat(np.arange(self.rows, self.rows + len(part), dtype=np.uint32), lengths)
            terms = np.concatenate(found_by)
            self.postings.load(rows, terms)
            self._append(part)

    def _append(self, entries: Sequence[Entry]) -> None:
        """The row count is raised last: until then no reader sees the new rows."""
        self.passages.extend(self.rows, [entry.encoding for entry in entries])
        self.table.extend(entries)
        for row, entry in enumerate(entries, self.rows):
            self.row_of[entry.memory.id] = row
        self.terms_total += sum(len(entry.terms) for entry in entries)
        self.rows += len(entries)

    def remove(self, memory_id: str) -> bool:
        """Take a memory out; False if it is not here."""
        row = self.row_of.pop(memory_id, None)
        if row is None:
            return False
        self.table.alive.view[row] = False
        self.terms_total -= float(self.table.lengths.view[row])
        self.passages.forget(row)
        return True

    @property
    def needs_compaction(self) -> bool:
        """Whether enough rows are dead to be worth ``compacted``."""
        return self.rows - len(self) > max(_FEWEST_DEAD, len(self))

    def compacted(self) -> ScopeIndex:
        """A copy without the dead."""
        alive = self.table.alive.view
        copy = ScopeIndex(1)
        copy.table = self.table.compacted(alive)
        copy.postings = self.postings.compacted(alive)
        copy.passages = self.passages.compacted(alive)
        copy.row_of = {memory_id: row for row, memory_id in enumerate(copy.table.ids)}
        copy.terms_total = self.terms_total
        copy.rows = len(copy.table.ids)
        return copy

    # --- search ----------------------------------------------------------------------------------

    def allowed(self, query: Query, now: datetime, rows: int) -> Flags | None:
        """Which of the first ``rows`` rows pass the query's filters; None if all do."""
        table = self.table
        flags: list[Flags] = []
        if len(self) != self.rows:
            flags.append(table.alive.view[:rows])
        if table.any_end:
            flags.append(table.ends.view[:rows] > microseconds(now))
        if query.namespaces:
            numbers = [table.number(name) for name in query.namespaces]
            flags.append(np.isin(table.namespaces.view[:rows], numbers))
        if query.since is not None:
            flags.append(table.created.view[:rows] >= microseconds(query.since))
        if query.until is not None:
            flags.append(table.created.view[:rows] <= microseconds(query.until))
        flags.extend(self._having(tag, rows) for tag in query.tags)
        return np.logical_and.reduce(flags) if flags else None

    def _having(self, tag: str, rows: int) -> Flags:
        flags = np.zeros(rows, dtype=np.bool_)
        tagged = np.array(self.table.tagged.get(tag.casefold(), ()), dtype=np.int64)
        flags[tagged[tagged < rows]] = True
        return flags

    def find(self, terms: Terms, rows: int) -> Found:
        """The living among the first ``rows`` rows that have each of ``terms``."""
        alive = self.table.alive.view if len(self) != self.rows else None
        found = Found([], [])
        for term in terms.tolist():
            having, counts = self.postings.lookup(term)
            end = np.searchsorted(having, rows)
            having, counts = having[:end], counts[:end]
            if alive is not None:
                living = alive[having]
                having, counts = having[living], counts[living]
            found.rows.append(having)
            found.counts.append(counts)
        return found

    def known(self, terms: Terms) -> Terms:
        """Those of ``terms`` that a living memory has."""
        likely = terms[self.postings.has(terms)]
        living = [len(rows) > 0 for rows in self.find(likely, self.rows).rows]
        return likely[np.array(living, dtype=np.bool_)]

    def bm25(self, found: Found, idf: Floats, mean_length: float, rows: int) -> Floats:
        """The BM25 score of each of the first ``rows`` rows; ``idf`` is one weight a term."""
        scores = np.zeros(rows, dtype=np.float32)
        norms = _K1 * (1 - _B + _B * self.table.lengths.view[:rows] / max(mean_length, 1.0))
        for having, counts, weight in zip(found.rows, found.counts, idf, strict=True):
            if not weight:
                continue
            times = counts.astype(np.float32)
            scores[having] += weight * (_K1 + 1) * times / (times + norms[having])
        return scores


def microseconds(moment: datetime) -> int:
    """Microseconds since 1970, for comparing."""
    return int(moment.timestamp() * 1_000_000)
