"""The classifier of statements: a linear model on words, cues and place, and nothing else.

Its weights are in ``signals.json``, written by ``perf/train_captures.py``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from ...config.linear_model import LinearModel, logistic
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

MARK = "#"
"""Before the name of a mark, since a word may be spelled like one."""

OUTPUTS = ("worth keeping", *(f"{kind}: {namespace}" for kind, namespace in MATTERS))


class SignalModel:
    """Weighs statements. Never changes after it was made."""

    def __init__(self, model: LinearModel) -> None:
        self._model = model

    def score(self, seen: Features) -> float:
        """The log-odds of being worth keeping, before they are calibrated."""
        model = self._model
        total = model.total(seen.grams) * seen.scale + model.total(_marks(seen))
        return (model.bias[0] + total) / model.divisor

    def worth(self, seen: Features) -> float:
        """The probability of being worth keeping."""
        return logistic(self._model.slope * self.score(seen) + self._model.shift)

    def matter(self, seen: Features) -> tuple[str, str]:
        """The kind and the namespace of a statement, were it worth keeping."""
        model = self._model
        columns = zip(model.bias, model.totals(seen.grams), model.totals(_marks(seen)), strict=True)
        totals = [bias + words * seen.scale + marks for bias, words, marks in columns][1:]
        return MATTERS[totals.index(max(totals))]


def _marks(seen: Features) -> set[str]:
    return {MARK + mark for mark in seen.marks}


@cache
def load(path: Path = WEIGHTS) -> SignalModel:
    """The model with the weights of ``path``, read once.

    Raises ``OSError`` if there is no such file and ``ValueError`` if it holds no such weights.
    """
    return SignalModel(LinearModel.load(path, outputs=OUTPUTS))
