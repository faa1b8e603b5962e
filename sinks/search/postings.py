"""Text postings in memory: which rows have a term, and how often.

What is loaded is packed (terms sorted, the rows of each term one after another), in few parts of
which each is larger than those after it together. What is added since lies in small lists, which
become such a part when they have grown. One writer; a reader's ``lookup`` is safe beside it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ..models.arrays import first_of_each

# The lists are packed when they hold this many rows.
_PACK_ROWS = 512

Rows = npt.NDArray[np.uint32]
Counts = npt.NDArray[np.uint8]


class Packed(Struct, frozen=True):
    """Rows ``rows[starts[i]:starts[i+1]]`` have ``terms[i]``, ``counts`` times (at most 255)."""

    terms: npt.NDArray[np.uint32]
    starts: npt.NDArray[np.int64]
    rows: Rows
    counts: Counts

    def slice_of(self, term: int) -> slice:
        at = int(np.searchsorted(self.terms, np.uint32(term)))
        if at == len(self.terms) or self.terms[at] != term:
            return slice(0, 0)
        return slice(int(self.starts[at]), int(self.starts[at + 1]))

    def has(self, terms: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Whether each of ``terms`` is here: looked up, since they are few and these many."""
        if not len(self.terms):
            return np.zeros(len(terms), dtype=np.bool_)
        at = np.minimum(np.searchsorted(self.terms, terms), len(self.terms) - 1)
        return np.asarray(self.terms[at] == terms)

    @property
    def nbytes(self) -> int:
        return self.terms.nbytes + self.starts.nbytes + self.rows.nbytes + self.counts.nbytes


_NOTHING = Packed(
    np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint8)
)


class Postings:
    """The terms of the rows of one scope."""

    def __init__(self, base: Packed = _NOTHING) -> None:
        self._parts: tuple[Packed, ...] = (base,)
        self._recent: dict[int, tuple[list[int], list[int]]] = {}
        self._recent_rows = 0
        self._lock = threading.Lock()

    def add(self, row: int, terms: npt.NDArray[np.uint32]) -> None:
        """Note the terms of a new row, which is larger than every row before."""
        found, counts = np.unique(terms, return_counts=True)
        pairs = zip(found.tolist(), np.minimum(counts, 255).tolist(), strict=True)
        with self._lock:
            for term, count in pairs:
                rows, times = self._recent.setdefault(term, ([], []))
                rows.append(row)
                times.append(count)
            self._recent_rows += 1
        if self._recent_rows >= _PACK_ROWS:
            self._pack_lists()

    def load(self, rows: Rows, terms: npt.NDArray[np.uint32]) -> None:
        """Note many new rows at once: ``terms[i]`` occurs in ``rows[i]``, repeated as it does."""
        if self._recent:
            self._pack_lists()
        self._parts = _with_part(self._parts, _packed(rows, terms))

    def lookup(self, term: int) -> tuple[Rows, Counts]:
        """The rows that have ``term``, ascending, and how often; shared memory, read only."""
        with self._lock:
            parts = self._parts
            recent_rows, recent_counts = self._recent.get(term, ((), ()))
            rows = [np.array(recent_rows, dtype=np.uint32)]
            counts = [np.array(recent_counts, dtype=np.uint8)]
        places = [part.slice_of(term) for part in parts]
        if len(parts) == 1 and not len(rows[0]):
            return parts[0].rows[places[0]], parts[0].counts[places[0]]
        packed = list(zip(parts, places, strict=True))
        return (
            np.concatenate([part.rows[at] for part, at in packed] + rows),
            np.concatenate([part.counts[at] for part, at in packed] + counts),
        )

    def has(self, terms: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        """Whether any row had each of ``terms``, dead ones too."""
        with self._lock:
            parts = self._parts
            found = np.array([term in self._recent for term in terms.tolist()], dtype=np.bool_)
        for part in parts:
            found |= part.has(terms)
        return found

    def fold(self) -> None:
        """Make one part of all; readers wait for the exchange alone."""
        if not self._recent and len(self._parts) == 1:
            return
        self._exchange((_joined((*self._parts, _from_lists(self._recent))),))

    def _pack_lists(self) -> None:
        self._exchange(_with_part(self._parts, _from_lists(self._recent)))

    def _exchange(self, parts: tuple[Packed, ...]) -> None:
        """Have ``parts`` in place of all parts and lists."""
        with self._lock:
            self._parts = parts
            self._recent = {}
            self._recent_rows = 0

    def compacted(self, alive: npt.NDArray[np.bool_]) -> Postings:
        """A copy with the living rows alone, numbered anew."""
        self.fold()
        (base,) = self._parts
        keep = alive[base.rows]
        new_rows = (np.cumsum(alive) - 1).astype(np.uint32)
        kept_before = np.concatenate(([0], np.cumsum(keep)))[base.starts]
        filled = np.diff(kept_before) > 0
        packed = Packed(
            base.terms[filled],
            np.concatenate((kept_before[:-1][filled], kept_before[-1:])).astype(np.int64),
            new_rows[base.rows[keep]],
            base.counts[keep],
        )
        return Postings(packed)

    @property
    def nbytes(self) -> int:
        """Bytes of what is packed, and an estimate of what the lists take."""
        return sum(part.nbytes for part in self._parts) + len(self._recent) * 300


def _packed(rows: Rows, terms: npt.NDArray[np.uint32]) -> Packed:
    keys = (terms.astype(np.uint64) << np.uint64(32)) | rows
    keys.sort()
    at = first_of_each(keys)
    counts = np.diff(np.concatenate((at, [len(keys)])))
    keys = keys[at]
    return _grouped(
        (keys >> np.uint64(32)).astype(np.uint32),
        keys.astype(np.uint32),
        np.minimum(counts, 255).astype(np.uint8),
    )


def _grouped(terms: npt.NDArray[np.uint32], rows: Rows, counts: Counts) -> Packed:
    fresh = first_of_each(terms)
    starts = np.concatenate((fresh, [len(terms)])).astype(np.int64)
    return Packed(terms[fresh], starts, rows, counts)


def _from_lists(recent: dict[int, tuple[list[int], list[int]]]) -> Packed:
    terms = sorted(recent)
    lengths = [len(recent[term][0]) for term in terms]
    return Packed(
        np.array(terms, dtype=np.uint32),
        np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        np.array([row for term in terms for row in recent[term][0]], dtype=np.uint32),
        np.array([count for term in terms for count in recent[term][1]], dtype=np.uint8),
    )


def _with_part(parts: tuple[Packed, ...], part: Packed) -> tuple[Packed, ...]:
    """``parts`` and ``part``, joined so that each is larger than those after it together.

    So each row is copied a few times in all, and not once for every part after it.
    """
    parts = (*parts, part)
    while len(parts) > 1 and len(parts[-2].rows) <= 2 * len(parts[-1].rows):
        parts = (*parts[:-2], _joined(parts[-2:]))
    return parts


def _joined(parts: Sequence[Packed]) -> Packed:
    """All of ``parts``; rows grow from one to the next, so that each term's stay ascending."""
    filled = [part for part in parts if len(part.terms)]
    if len(filled) <= 1:
        return filled[0] if filled else _NOTHING
    terms = np.concatenate([part.terms for part in filled])
    terms.sort()
    terms = terms[first_of_each(terms)]
    sizes = np.zeros((len(filled), len(terms)), dtype=np.int64)
    for size, part in zip(sizes, filled, strict=True):
        size[np.searchsorted(terms, part.terms)] = np.diff(part.starts)
    starts = np.concatenate(([0], np.cumsum(sizes.sum(axis=0))))
    rows = np.empty(starts[-1], dtype=np.uint32)
    counts = np.empty(starts[-1], dtype=np.uint8)
    first = starts[:-1].copy()
    for size, part in zip(sizes, filled, strict=True):
        before = np.cumsum(size) - size
        to = np.repeat(first - before, size) + np.arange(len(part.rows))
        rows[to] = part.rows
        counts[to] = part.counts
        first += size
    return Packed(terms, starts, rows, counts)
