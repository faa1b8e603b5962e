"""The passages of the memories of one scope: their vectors and their words.

Nearest passages are found by the signs of the vectors' components (32 bytes a passage) and
then scored exactly; on 100,000 passages that takes half a
millisecond and finds the same ten as scoring all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ...bus.values import Encoding

_GROWTH = 1.5
_SMALLEST = 16


Floats = npt.NDArray[np.float32]


class Column:
    """An array that grows at its end, for one writer and many readers.

    A reader takes ``view`` and keeps a consistent prefix: growing copies into a new array.
    Rows of one dtype; ``width`` 0 means one value a row, else that many.
    """

    def __init__(self, dtype: npt.DTypeLike, width: int = 0) -> None:
        shape = (_SMALLEST, width) if width else (_SMALLEST,)
        self._rows: npt.NDArray[Any] = np.zeros(shape, dtype=dtype)
        self._used = 0

    def __len__(self) -> int:
        return self._used

    @property
    def view(self) -> npt.NDArray[Any]:
        """What is filled; shares memory."""
        return self._rows[: self._used]

    @property
    def nbytes(self) -> int:
        return self._rows.nbytes

    def extend(self, rows: npt.ArrayLike) -> None:
        """Add rows at the end."""
        added = np.asarray(rows, dtype=self._rows.dtype)
        needed = self._used + len(added)
        if needed > len(self._rows):
            self._grow(needed)
        self._rows[self._used : needed] = added
        self._used = needed

    def _grow(self, needed: int) -> None:
        size = max(needed, int(len(self._rows) * _GROWTH))
        grown = np.empty((size, *self._rows.shape[1:]), dtype=self._rows.dtype)
        grown[: self._used] = self.view
        self._rows = grown


def quantised(vectors: npt.NDArray[np.generic]) -> tuple[npt.NDArray[np.int8], Floats]:
    """Vectors as bytes, shape (vectors, dimensions), and what each is multiplied by to get back."""
    floats = vectors.astype(np.float32)
    scales = np.abs(floats).max(axis=1, initial=1e-9) / np.float32(127)
    floats /= scales[:, None]
    return np.rint(floats, out=floats).astype(np.int8), scales


# How many of the passages nearest by sign are scored exactly: enough for an exact top ten to
# 100,000 passages; five times that beyond.
RESCORED = 400
_MANY = 100_000
_SPREAD_STEP = 4096
# Picking a passage out of the columns costs about so many times as much as reading it in order.
_PICKED = 6
# Further by sign than any passage can be.
_FAR = 0xFFFF

Rows = npt.NDArray[np.int64]


class Passages:
    """Rows are memories; each has a run of passages. One writer, many readers."""

    def __init__(self, dimensions: int) -> None:
        self._dimensions = dimensions
        # A byte a component and a scale a passage: half of float16, and faster to score.
        self._vectors = Column(np.int8, dimensions)
        self._scales = Column(np.float32)
        # A column for each 64 components: one after another they are read twice as fast.
        self._signs = [Column(np.uint64) for _ in range(-(-dimensions // 64))]
        self._owners = Column(np.uint32)
        self._word_starts = Column(np.int64)
        self._word_counts = Column(np.uint16)
        self._words = Column(np.uint16)
        self._firsts = Column(np.int64)
        self._numbers = Column(np.int32)
        # In how many memories each word of the model's vocabulary occurs.
        self._document_frequency = np.zeros(0, dtype=np.int32)

    def __len__(self) -> int:
        return len(self._owners)

    @property
    def nbytes(self) -> int:
        columns = (
            self._vectors, self._scales, *self._signs, self._owners, self._word_starts,
            self._word_counts, self._words, self._firsts, self._numbers,
        )  # fmt: skip
        return self._document_frequency.nbytes + sum(column.nbytes for column in columns)

    def extend(self, first_row: int, encodings: Sequence[Encoding | None]) -> None:
        """Add the passages of the rows from ``first_row`` on; None is a row without any."""
        given = [encoding for encoding in encodings if encoding is not None]
        vectors = np.frombuffer(b"".join(e.vectors for e in given), dtype="<f2")
        small, scales = quantised(vectors.reshape(-1, self._dimensions))
        words = np.frombuffer(b"".join(e.words for e in given), dtype="<u2")
        counts = np.frombuffer(b"".join(e.lengths for e in given), dtype="<u2")
        numbers = np.array([0 if e is None else len(e.lengths) // 2 for e in encodings], np.int32)
        owners = np.repeat(np.arange(first_row, first_row + len(encodings)), numbers)
        self._append(small, scales, words, counts, numbers, owners)

    def _append(
        self,
        vectors: npt.NDArray[np.int8],
        scales: Floats,
        words: npt.NDArray[np.uint16],
        counts: npt.NDArray[np.uint16],
        numbers: npt.NDArray[np.int32],
        owners: npt.NDArray[np.int64],
    ) -> None:
        first = len(self._owners) + np.cumsum(numbers) - numbers
        start = len(self._words) + np.cumsum(counts, dtype=np.int64) - counts
        self._count(words, np.repeat(owners, counts), 1)
        self._words.extend(words)
        self._word_starts.extend(start)
        self._word_counts.extend(counts)
        self._vectors.extend(vectors)
        self._scales.extend(scales)
        for column, signs in zip(self._signs, _signs(vectors), strict=True):
            column.extend(signs)
        self._owners.extend(owners)
        self._firsts.extend(first)
        self._numbers.extend(numbers)

    def forget(self, row: int) -> None:
        """Take the words of ``row`` out of the counts; its passages stay until ``compacted``."""
        words, _ = self.words(self.of(np.array([row])))
        self._count(words, np.full(len(words), row), -1)

    def _count(self, words: npt.NDArray[np.uint16], owners: npt.NDArray[np.int64], by: int) -> None:
        """Count each word once a memory, ``by`` 1 or -1; ``owners`` ascend."""
        if not len(words):
            return
        rows = owners - owners[0]
        # Half as wide, they are sorted in half the time.
        kind = np.uint32 if rows[-1] <= 0xFFFF else np.uint64
        keys = (rows.astype(kind) << kind(16)) | words
        keys.sort()
        fresh = np.ones(len(keys), dtype=np.bool_)
        fresh[1:] = keys[1:] != keys[:-1]
        found = np.bincount((keys[fresh] & kind(0xFFFF)).astype(np.uint16))
        if len(found) > len(self._document_frequency):
            size = -(-len(found) // _SPREAD_STEP) * _SPREAD_STEP
            self._document_frequency = np.pad(
                self._document_frequency, (0, size - len(self._document_frequency))
            )
        self._document_frequency[: len(found)] += by * found.astype(np.int32)

    def document_frequency(self, words: npt.NDArray[np.uint16]) -> Floats:
        """In how many memories each of ``words`` occurs."""
        known = words < len(self._document_frequency)
        found = np.zeros(len(words), dtype=np.float32)
        found[known] = self._document_frequency[words[known]]
        return found

    def nearest(
        self,
        vector: Floats,
        count: int,
        rows: int,
        allowed: npt.NDArray[np.bool_] | None,
        *,
        rescored: int = 0,
    ) -> Rows:
        """``count`` of the first ``rows`` rows, those with the passages nearest to ``vector``.

        ``allowed``, one flag a row, leaves rows out; None allows all. ``rescored`` is how many of
        the nearest by sign are scored exactly; 0 means enough for an exact top ten.
        """
        owners = self._owners.view
        owners = owners[: np.searchsorted(owners, rows)]
        pool, flags = self._wanted(allowed, owners)
        total = len(owners) if pool is None else len(pool)
        rescored = rescored or (RESCORED if len(owners) < _MANY else 5 * RESCORED)
        if total > rescored:
            pool = self._nearest_by_sign(vector, len(owners), pool, flags, rescored)
        elif pool is None:
            pool = np.arange(total)
        scores = self.similarities(vector, pool)
        best = pool[np.argsort(-scores, kind="stable")]
        found, first = np.unique(owners[best], return_index=True)
        return found[np.argsort(first)][:count].astype(np.int64)

    def _wanted(
        self, allowed: npt.NDArray[np.bool_] | None, owners: npt.NDArray[np.uint32]
    ) -> tuple[Rows | None, npt.NDArray[np.bool_] | None]:
        """The passages of the rows ``allowed``, and a flag each passage where these are many."""
        if allowed is None:
            return None, None
        # Few are picked out of the columns; of many all are read, which costs less than picking.
        if np.count_nonzero(allowed) * _PICKED < len(allowed):
            return self.of(np.flatnonzero(allowed)), None
        flags = allowed[owners]
        return np.flatnonzero(flags), flags

    def _nearest_by_sign(
        self,
        vector: Floats,
        passages: int,
        pool: Rows | None,
        flags: npt.NDArray[np.bool_] | None,
        count: int,
    ) -> Rows:
        """About ``count`` of ``pool``, or of the first ``passages``, nearest by sign, or more."""
        picked = pool if flags is None else None
        distance = np.zeros(passages if picked is None else len(picked), dtype=np.uint16)
        for column, sign in zip(self._signs, _signs(vector[None, :]), strict=True):
            signs = column.view[:passages] if picked is None else column.view[picked]
            distance += np.bitwise_count(signs ^ sign)
        if flags is not None:
            distance[~flags] = _FAR
        # Counting the distances finds the limit ten times as fast as partitioning them.
        enough = np.searchsorted(np.cumsum(np.bincount(distance)), count)
        near = np.flatnonzero(distance <= enough)
        return near if picked is None else picked[near]

    def similarities(self, vector: Floats, passages: Rows) -> Floats:
        """The cosine of ``vector`` with each of ``passages``."""
        scores: Floats = self._vectors.view[passages].astype(np.float32) @ vector
        scores *= self._scales.view[passages]
        return scores

    def of(self, rows: Rows) -> Rows:
        """The passages of ``rows``, row by row."""
        numbers = self._numbers.view[rows].astype(np.int64)
        return _runs(self._firsts.view[rows], numbers)

    def numbers(self, rows: Rows) -> Rows:
        """How many passages each of ``rows`` has."""
        return self._numbers.view[rows].astype(np.int64)

    def words(self, passages: Rows) -> tuple[npt.NDArray[np.uint16], Rows]:
        """The words of ``passages``, one after another, and how many each has."""
        counts = self._word_counts.view[passages].astype(np.int64)
        return self._words.view[_runs(self._word_starts.view[passages], counts)], counts

    def means(self, rows: Rows) -> Floats:
        """The direction of the whole of each row: its passages' vectors, weighted by their words.

        Shape (rows, dimensions); all zero for a row without passages.
        """
        passages = self.of(rows)
        weights = self._word_counts.view[passages] * self._scales.view[passages]
        weighted = self._vectors.view[passages].astype(np.float32)
        weighted *= weights.astype(np.float32)[:, None]
        totals = np.zeros((len(rows), self._dimensions), dtype=np.float32)
        np.add.at(totals, np.repeat(np.arange(len(rows)), self.numbers(rows)), weighted)
        totals /= np.linalg.norm(totals, axis=1)[:, None] + np.float32(1e-9)
        return totals

    def compacted(self, alive: npt.NDArray[np.bool_]) -> Passages:
        """A copy with the passages of the living rows alone, numbered anew."""
        rows = np.flatnonzero(alive)
        passages = self.of(rows)
        words, counts = self.words(passages)
        copy = Passages(self._dimensions)
        numbers = self.numbers(rows)
        copy._append(
            self._vectors.view[passages],
            self._scales.view[passages],
            words,
            counts.astype(np.uint16),
            numbers.astype(np.int32),
            np.repeat(np.arange(len(rows)), numbers),
        )
        return copy


def _signs(vectors: npt.NDArray[np.int8] | Floats) -> npt.NDArray[np.uint64]:
    """One bit a component, set where it is positive, shape (words of 64 bits, vectors)."""
    bits = np.packbits(vectors > 0, axis=1)
    spare = -bits.shape[1] % 8
    if spare:
        bits = np.pad(bits, ((0, 0), (0, spare)))
    return np.ascontiguousarray(np.ascontiguousarray(bits).view(np.uint64).T)


def _runs(starts: Rows, lengths: Rows) -> Rows:
    """The numbers ``starts[i] … starts[i] + lengths[i] - 1`` of each i, one run after another."""
    before = np.cumsum(lengths) - lengths
    return np.repeat(starts - before, lengths) + np.arange(int(lengths.sum()))
