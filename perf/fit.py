"""What every fit of a linear model shares: the regressions, the folds, and how weights are written.

With numpy alone. ``fit_*.py`` and ``train_*.py`` say what is learned from and which features there
are; the product reads what ``write`` makes with ``config/linear_model.py``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
import numpy.typing as npt

from subcog.config.linear_model import LinearModel, Row

LEARNING_RATE = 0.05
NEWTON_STEPS = 60

Array = npt.NDArray[np.float64]

Named = list[tuple[str, float]]
"""The features of one row: each with its name and how strong it is."""


def vocabulary(rows: Iterable[Named], min_rows: int) -> dict[str, int]:
    """The column of each feature that at least ``min_rows`` rows have."""
    counts = Counter(name for row in rows for name, _ in row)
    kept = sorted(name for name, count in counts.items() if count >= min_rows)
    return {name: at for at, name in enumerate(kept)}


class Sparse(NamedTuple):
    """A matrix of which most is zero: each ``strength`` that is not, with its row and column."""

    row: npt.NDArray[np.intp]
    column: npt.NDArray[np.intp]
    strength: npt.NDArray[np.float32]
    shape: tuple[int, int]

    def __matmul__(self, dense: np.ndarray) -> np.ndarray:
        columns = (
            np.bincount(self.row, self.strength * one[self.column], minlength=self.shape[0])
            for one in dense.T
        )
        return np.stack(list(columns), axis=1).astype(np.float32)

    @property
    def T(self) -> Sparse:  # noqa: N802 - numpy's name for it
        return Sparse(self.column, self.row, self.strength, self.shape[::-1])

    def rows(self, mask: npt.NDArray[np.bool_]) -> Sparse:
        """Those rows for which ``mask`` holds."""
        kept, moved = mask[self.row], np.cumsum(mask) - 1
        shape = (int(mask.sum()), self.shape[1])
        return Sparse(moved[self.row[kept]], self.column[kept], self.strength[kept], shape)


def matrix(rows: Sequence[Named], index: dict[str, int]) -> Sparse:
    """One row a row, one column a feature."""
    entries = [
        (at, index[name], strength)
        for at, row in enumerate(rows)
        for name, strength in row
        if name in index
    ]
    row, column, strength = zip(*entries, strict=True) if entries else ((), (), ())
    shape = (len(rows), len(index))
    return Sparse(np.array(row, int), np.array(column, int), np.array(strength, np.float32), shape)


def softmax(logits: np.ndarray) -> np.ndarray:
    """Each row of ``logits`` as probabilities."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def logistic(
    x: Array, y: Array, weight: Array, ridge: float | Sequence[float]
) -> tuple[Array, float]:
    """Weights and bias of a logistic regression, by Newton's method.

    ``weight`` is how much each row counts, ``ridge`` the penalty on each weight; the bias has none.
    """
    rows = np.c_[np.ones(len(x)), x]
    penalty = np.diag(np.concatenate(([0.0], np.broadcast_to(ridge, x.shape[1]))))
    found = np.zeros(rows.shape[1])
    for _ in range(NEWTON_STEPS):
        guess = 1 / (1 + np.exp(-rows @ found))
        slope = rows.T @ (weight * (guess - y)) + penalty @ found
        curvature = (rows.T * (weight * guess * (1 - guess))) @ rows + penalty
        found -= np.linalg.solve(curvature + 1e-9 * np.eye(len(curvature)), slope)
    return found[1:], float(found[0])


def folds(count: int, parts: int, seed: int = 7) -> Iterator[npt.NDArray[np.bool_]]:
    """Which of ``count`` things each of ``parts`` folds holds out, at random."""
    part_of = np.empty(count, dtype=int)
    part_of[np.random.default_rng(seed).permutation(count)] = np.arange(count) % parts
    for part in range(parts):
        yield part_of == part


def hundredths(
    parameters: Array, index: dict[str, int], smallest: int
) -> tuple[Row, dict[str, Row]]:
    """Bias (the last row) and weights in hundredths, without features that make no difference."""
    whole = np.rint(parameters * 100).astype(int)
    kept = {name: at for name, at in index.items() if np.abs(whole[at]).max() >= smallest}
    weights = {name: tuple(whole[at].tolist()) for name, at in kept.items()}
    return tuple(whole[-1].tolist()), weights


def binary(about: str, names: Sequence[str], weights: Array, bias: float) -> LinearModel:
    """A model of one output with the features ``names``."""
    rows = {name: (round(w, 3),) for name, w in zip(names, weights.tolist(), strict=True)}
    return LinearModel(about=about, bias=(round(bias, 3),), weights=rows)


def write(model: LinearModel, path: Path) -> None:
    """Write the weights, a feature a line where they are few enough to be read."""
    packed = msgspec.json.encode(model)
    path.write_bytes((msgspec.json.format(packed) if len(packed) < 10_000 else packed) + b"\n")
    print(f"wrote {len(packed) / 1024:.0f} KB to {path}")


def multinomial(
    x: Sparse,
    allowed: npt.NDArray[np.bool_],
    weight: np.ndarray,
    *,
    power: float,
    ridge: float,
    steps: int,
) -> np.ndarray:
    """Weights ((features + 1) × classes) that minimise ridge-penalised log loss, by Adam.

    ``allowed`` (rows × classes) tells the classes that a row may be of, often one: what is wanted
    is that these together are likely. The last row of the weights is the bias. ``power`` of 1 lets
    every class count the same, 0 every row.
    """
    shares = allowed / allowed.sum(axis=1, keepdims=True)
    counts = shares.sum(axis=0).clip(1)
    sample = (shares @ (len(shares) / (len(counts) * counts)) ** power * weight).astype(np.float32)
    sample /= sample.sum()
    parameters = np.zeros((x.shape[1] + 1, len(counts)), dtype=np.float32)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    for step in range(1, steps + 1):
        guess = softmax(x @ parameters[:-1] + parameters[-1])
        target = guess * allowed
        target /= target.sum(axis=1, keepdims=True)
        off = (guess - target) * sample[:, None]
        pull = ridge / len(shares) * parameters[:-1]
        gradient = np.vstack([x.T @ off + pull, off.sum(axis=0)])
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        rate = LEARNING_RATE * (1 - step / steps)
        parameters -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return parameters
