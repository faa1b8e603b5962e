"""Multinomial logistic regression on named features, with numpy alone, for both trainings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np

LEARNING_RATE = 0.05

Named = list[tuple[str, float]]
"""The features of one row: each with its name and how strong it is."""


def vocabulary(rows: Iterable[Named], min_rows: int) -> dict[str, int]:
    """The column of each feature that at least ``min_rows`` rows have."""
    counts = Counter(name for row in rows for name, _ in row)
    kept = sorted(name for name, count in counts.items() if count >= min_rows)
    return {name: at for at, name in enumerate(kept)}


def matrix(rows: Sequence[Named], index: dict[str, int]) -> np.ndarray:
    """One row a row, one column a feature."""
    made = np.zeros((len(rows), len(index)), dtype=np.float32)
    for at, row in enumerate(rows):
        for name, strength in row:
            column = index.get(name)
            if column is not None:
                made[at, column] = strength
    return made


def softmax(logits: np.ndarray) -> np.ndarray:
    """Each row of ``logits`` as probabilities."""
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    return odds / odds.sum(axis=1, keepdims=True)


def fit(
    x: np.ndarray,
    y: np.ndarray,
    weight: np.ndarray,
    *,
    classes: int,
    power: float,
    ridge: float,
    steps: int,
) -> np.ndarray:
    """Weights ((features + 1) × classes) that minimise ridge-penalised log loss, by Adam.

    The last row is the bias. ``power`` of 1 lets every class count the same, 0 every row.
    """
    counts = np.bincount(y, minlength=classes).clip(1)
    sample = (((len(y) / (classes * counts)) ** power)[y] * weight).astype(np.float32)
    sample /= sample.sum()
    target = np.eye(classes, dtype=np.float32)[y]
    parameters = np.zeros((x.shape[1] + 1, classes), dtype=np.float32)
    mean, square = np.zeros_like(parameters), np.zeros_like(parameters)
    for step in range(1, steps + 1):
        off = (softmax(x @ parameters[:-1] + parameters[-1]) - target) * sample[:, None]
        gradient = np.vstack([x.T @ off + ridge / len(y) * parameters[:-1], off.sum(axis=0)])
        mean = 0.9 * mean + 0.1 * gradient
        square = 0.99 * square + 0.01 * gradient**2
        rate = LEARNING_RATE * (1 - step / steps)
        parameters -= rate * (mean / (1 - 0.9**step)) / (np.sqrt(square / (1 - 0.99**step)) + 1e-8)
    return parameters
