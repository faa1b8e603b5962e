"""Text postings in memory: which rows have a term, and how often.

A packed base (terms sorted, the rows of each term one after another) takes what is loaded; what is
added since lies in small lists and is folded into the base when it has grown. One writer; a
reader's ``lookup`` is safe beside it.
"""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt
from msgspec import Struct

# The lists are folded in when they hold this many rows, or this share of the base's if more.
_FOLD_ROWS = 512
_FOLD_SHARE = 0.05

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


_NOTHING = Packed(
    np.zeros(0, np.uint32), np.zeros(1, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint8)
)


class Postings:
    """The terms of the rows of one scope."""

    def __init__(self, base: Packed = _NOTHING, base_rows: int = 0) -> None:
        self._base = base
        self._base_rows = base_rows
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
        if self._recent_rows >= max(_FOLD_ROWS, _FOLD_SHARE * self._base_rows):
            self.fold()

    def load(self, rows: Rows, terms: npt.NDArray[np.uint32], row_count: int) -> None:
        """Note many new rows at once: ``terms[i]`` occurs in ``rows[i]``, repeated as it does."""
        self.fold()
        self._base = _joined(self._base, _packed(rows, terms))
        self._base_rows += row_count

    def lookup(self, term: int) -> tuple[Rows, Counts]:
        """The rows that have ``term``, ascending, and how often; shared memory, read only."""
        with self._lock:
            base = self._base
            rows, counts = self._recent.get(term, ((), ()))
            recent_rows = np.array(rows, dtype=np.uint32)
            recent_counts = np.array(counts, dtype=np.uint8)
        at = base.slice_of(term)
        if not len(recent_rows):
            return base.rows[at], base.counts[at]
        return (
            np.concatenate((base.rows[at], recent_rows)),
            np.concatenate((base.counts[at], recent_counts)),
        )

    def fold(self) -> None:
        """Take the recent rows into the base; readers wait for the exchange alone."""
        if not self._recent:
            return
        base = _joined(self._base, _from_lists(self._recent))
        with self._lock:
            self._base = base
            self._base_rows += self._recent_rows
            self._recent = {}
            self._recent_rows = 0

    def kept(self, alive: npt.NDArray[np.bool_]) -> Postings:
        """A copy with the living rows alone, numbered anew."""
        self.fold()
        base = self._base
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
        return Postings(packed, int(alive.sum()))

    @property
    def nbytes(self) -> int:
        """Bytes of the base, and an estimate of what the lists take."""
        base = self._base
        packed = base.terms.nbytes + base.starts.nbytes + base.rows.nbytes + base.counts.nbytes
        return packed + len(self._recent) * 300


def _packed(rows: Rows, terms: npt.NDArray[np.uint32]) -> Packed:
    keys = (terms.astype(np.uint64) << np.uint64(32)) | rows
    keys.sort()
    at = _fresh(keys)
    counts = np.diff(np.concatenate((at, [len(keys)])))
    keys = keys[at]
    return _grouped(
        (keys >> np.uint64(32)).astype(np.uint32),
        keys.astype(np.uint32),
        np.minimum(counts, 255).astype(np.uint8),
    )


def _fresh(values: npt.NDArray[np.unsignedinteger]) -> npt.NDArray[np.int64]:
    """Where each distinct value begins; ``values`` are sorted, which ``np.unique`` cannot use."""
    fresh = np.ones(len(values), dtype=np.bool_)
    fresh[1:] = values[1:] != values[:-1]
    return np.flatnonzero(fresh)


def _grouped(terms: npt.NDArray[np.uint32], rows: Rows, counts: Counts) -> Packed:
    """Pack parallel arrays that are sorted by term."""
    fresh = _fresh(terms)
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


def _joined(old: Packed, new: Packed) -> Packed:
    """Both; the rows of ``new`` are larger than those of ``old``, so each term's stay ascending."""
    if not len(old.terms):
        return new
    terms = np.concatenate((old.terms, new.terms))
    terms.sort()
    terms = terms[_fresh(terms)]
    sizes = np.zeros((2, len(terms)), dtype=np.int64)
    sizes[0, np.searchsorted(terms, old.terms)] = np.diff(old.starts)
    sizes[1, np.searchsorted(terms, new.terms)] = np.diff(new.starts)
    starts = np.concatenate(([0], np.cumsum(sizes.sum(axis=0))))
    rows = np.empty(starts[-1], dtype=np.uint32)
    counts = np.empty(starts[-1], dtype=np.uint8)
    for part, first, size in (
        (old, starts[:-1], sizes[0]),
        (new, starts[:-1] + sizes[0], sizes[1]),
    ):
        before = np.cumsum(size) - size
        to = np.repeat(first - before, size) + np.arange(len(part.rows))
        rows[to] = part.rows
        counts[to] = part.counts
    return Packed(terms, starts, rows, counts)
