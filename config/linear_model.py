"""The one form of every fitted linear model: named features, one weight for each output.

A model with one output gives the log-odds and the probability of one thing (logistic regression); a
model with several gives the probability of each of them (multinomial). The weights are data files
beside the code that uses them; ``perf/fit.py`` writes them.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from itertools import repeat
from operator import add, itemgetter, mul
from pathlib import Path

import msgspec

Row = tuple[int | float, ...]
"""The weights of one feature, one for each output. Whole numbers stay so: they take less memory."""

_LARGEST_LOG_ODDS = 30.0


class LinearModel(msgspec.Struct, frozen=True, kw_only=True):
    """Immutable. ``bias`` and ``weights`` are in ``1 / divisor``: 100 where they are hundredths.

    ``slope`` and ``shift`` calibrate: they make of a sum of weights the log-odds that fit held-out
    data best (Platt's scaling; the slope is the inverse of a temperature).
    """

    about: str
    bias: Row
    weights: dict[str, Row]
    outputs: tuple[str, ...] = ("",)
    divisor: float = 1.0
    slope: float = 1.0
    shift: float = 0.0

    @classmethod
    def load(
        cls,
        path: Path,
        *,
        features: Sequence[str] | None = None,
        outputs: Sequence[str] | None = None,
    ) -> LinearModel:
        """Read ``path``, which has to have just these ``features`` and ``outputs``, where given.

        Raises ``OSError`` if there is no such file and ``ValueError`` if it is no such model.
        """
        try:
            model = msgspec.json.decode(path.read_bytes(), type=cls)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path.name} is not a linear model: {error}") from error
        if outputs is not None and tuple(outputs) != model.outputs:
            raise ValueError(f"{path.name} is a model of {model.outputs}, not of {tuple(outputs)}")
        if features is not None and tuple(features) != tuple(model.weights):
            raise ValueError(f"{path.name} weighs {[*model.weights]}, not {[*features]}")
        if {len(row) for row in (model.bias, *model.weights.values())} != {len(model.outputs)}:
            raise ValueError(f"{path.name} has not one weight for each output everywhere")
        if not model.divisor:
            raise ValueError(f"{path.name} has a divisor of zero")
        return model

    # --- features with values, in the order of ``weights``: one output ----------------------------

    def log_odds(self, values: Sequence[float]) -> float:
        """The calibrated log-odds of the first output."""
        if len(values) != len(self.weights):
            raise ValueError(f"{len(values)} values for {len(self.weights)} weights")
        first = map(itemgetter(0), self.weights.values())
        total: float = self.bias[0] + sum(map(mul, first, values))
        return self.slope * total / self.divisor + self.shift

    def probability(self, values: Sequence[float]) -> float:
        """The probability of the first output, 0–1."""
        return logistic(self.log_odds(values))

    # --- features that are there or not ----------------------------------------------------------

    def total(self, names: AbstractSet[str]) -> float:
        """The sum of the first output's weights of the known ``names``, without bias."""
        weights = self.weights
        return sum([weights[name][0] for name in weights.keys() & names])

    def totals(self, names: AbstractSet[str]) -> list[float]:
        """The same for every output."""
        weights = self.weights
        rows = [weights[name] for name in weights.keys() & names]
        return [sum(column) for column in zip((0,) * len(self.outputs), *rows, strict=True)]

    # --- features with strengths: several outputs ------------------------------------------------

    def probabilities(self, features: Iterable[tuple[str, float]]) -> list[float]:
        """The probability of each output, together 1.0; unknown features count nothing."""
        totals = list(self.bias)
        for name, strength in features:
            row = self.weights.get(name)
            if row is not None:
                totals = list(map(add, totals, map(mul, repeat(strength), row)))
        largest = max(totals)
        scale = self.slope / self.divisor
        odds = [math.exp(scale * (total - largest)) for total in totals]
        together = sum(odds)
        return [one / together for one in odds]

    def column(self) -> list[float]:
        """The weights of the first output, in the order of ``weights``, for arrays."""
        return [row[0] / self.divisor for row in self.weights.values()]

    @property
    def named(self) -> Mapping[str, float]:
        """The weights of the first output by feature."""
        return dict(zip(self.weights, self.column(), strict=True))


def logistic(log_odds: float) -> float:
    """The probability that has ``log_odds``, which count to ±30."""
    return 1 / (1 + math.exp(-max(-_LARGEST_LOG_ODDS, min(_LARGEST_LOG_ODDS, log_odds))))
