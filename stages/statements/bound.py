"""The most that a pair of statements can reach, from a third of what is measured of it.

Where that is too little for a contradiction, the rest need not be measured: of near duplicates,
which share most of their words, nine pairs in ten.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain, compress
from operator import mul

from ...config.linear_model import LinearModel
from .contradiction import SUBJECT, Pair

_MARGIN = 1e-6
# Features that are 0 unless what stands at the same place in ``Bound.most`` holds.
_CONDITIONAL = (
    ("names", "names neat", "values close", "values only", "values clear"),
    ("default", "default differs"),
    ("denial", "denial neat", "denied act", "poles neat", "permission", "permission neat",
     "opposed clear", "opposed qualified"),
    ("change known", "known held", "replaced", "replaced wholly", "replaced neat",
     "replaced alone"),
    ("new", "new neat"),
    ("universal narrowed", "universal newer", "excepts", "excepts close"),
)  # fmt: skip
_SAME = "nothing apart"


class Bound:
    """An upper bound of the log-odds that ``model`` gives a pair. Immutable."""

    def __init__(self, model: LinearModel) -> None:
        weights = {name: row[0] for name, row in model.weights.items()}
        known = {_SAME, *SUBJECT, *chain.from_iterable(_CONDITIONAL)}
        self._always = model.bias[0] + _most(weights, weights.keys() - known)
        self._subject = [weights[name] for name in SUBJECT]
        self._conditional = [_most(weights, names) for names in _CONDITIONAL]
        self._same = weights[_SAME]
        self._scale, self._shift = model.slope / model.divisor, model.shift

    def most(self, pair: Pair) -> float:
        """At least the log-odds of ``pair``."""
        newer, older = pair.newer, pair.older
        opposed = newer.denies != older.denies or pair.poles or pair.permission
        wide = older.universal or newer.universal or newer.excepts
        holds = (pair.value_count, pair.default, opposed, newer.replaced, newer.is_new, wide)
        total: float = self._always + sum(map(mul, self._subject, pair.subject))
        total += sum(compress(self._conditional, holds))
        total += 0.0 if pair.any_apart else self._same
        return self._scale * total + self._shift + _MARGIN


def _most(weights: dict[str, float], names: Iterable[str]) -> float:
    return sum(max(0.0, weights[name]) for name in names)
