"""A numpy array that grows at its end, for one writer and many readers.

A reader takes ``view`` and keeps a consistent prefix: growing copies into a new array and never
moves what a reader holds.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

_GROWTH = 1.5
_SMALLEST = 16


class Column:
    """Rows of one dtype; ``width`` 0 means one value a row, else that many."""

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
