"""The classifier of statements: a linear model on words, cues and place, and nothing else.

Its weights are in ``signals.json``, written by ``perf/train_captures.py``.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import msgspec

from .features import Features

WEIGHTS = Path(__file__).with_name("signals.json")

MATTERS: tuple[tuple[str, str], ...] = (
    ("decision", "decisions"),
    ("learning", "learnings"),
    ("learning", "gotchas"),
    ("learning", "tech-debt"),
    ("learning", "context"),
    ("blocker", "blockers"),
    ("resolution", "blockers"),
    ("preference", "preferences"),
    ("progress", "progress"),
    ("progress", "tasks"),
    ("pattern", "patterns"),
)
"""Each kind with the namespace that it belongs to."""

Columns = tuple[int, ...]


class SignalWeights(msgspec.Struct, frozen=True, kw_only=True):
    """The file of weights, in hundredths: worth first, then one a matter, as in ``MATTERS``.

    ``slope`` and ``shift`` make a probability of the sum of worths that fits held-out statements.
    """

    about: str
    slope: float
    shift: float
    bias: Columns
    grams: dict[str, Columns]
    marks: dict[str, Columns]


class SignalModel:
    """Weighs statements. Never changes after it was made."""

    def __init__(self, weights: SignalWeights) -> None:
        self._slope, self._shift, self._bias = weights.slope, weights.shift, weights.bias
        self._grams = _Table(weights.grams)
        self._marks = _Table(weights.marks)

    def score(self, seen: Features) -> float:
        """The log-odds of being worth keeping, before ``slope`` and ``shift``."""
        of_words = self._grams.worth(seen.grams) * seen.scale
        return (self._bias[0] + of_words + self._marks.worth(seen.marks)) / 100

    def worth(self, seen: Features) -> float:
        """The probability of being worth keeping."""
        odds = self._slope * self.score(seen) + self._shift
        return 1 / (1 + math.exp(-max(-30.0, min(30.0, odds))))

    def matter(self, seen: Features) -> tuple[str, str]:
        """The kind and the namespace of a statement, were it worth keeping."""
        of_words = self._grams.matters(seen.grams)
        of_marks = self._marks.matters(seen.marks)
        totals = [
            bias + word * seen.scale + mark
            for bias, word, mark in zip(self._bias[1:], of_words, of_marks, strict=True)
        ]
        return MATTERS[totals.index(max(totals))]


class _Table:
    """The weights of one sort of features."""

    def __init__(self, columns: dict[str, Columns]) -> None:
        self._columns = columns
        self._worths = {name: row[0] for name, row in columns.items()}
        self._names = frozenset(columns)

    def worth(self, names: set[str]) -> int:
        worths = self._worths
        return sum([worths[name] for name in names & self._names])

    def matters(self, names: set[str]) -> list[int]:
        """The sum of each matter's weights."""
        rows = [self._columns[name] for name in names & self._names]
        return [sum(column) for column in zip((0,) * (len(MATTERS) + 1), *rows, strict=True)][1:]


@cache
def load(path: Path = WEIGHTS) -> SignalModel:
    """The model with the weights of ``path``, read once.

    Raises ``OSError`` if there is no such file, ``msgspec.DecodeError`` if it is no weights.
    """
    return SignalModel(msgspec.json.decode(path.read_bytes(), type=SignalWeights))
