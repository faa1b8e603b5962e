"""From the raw parts of a match to an absolute relevance: the probability, 0–1, that it answers.

A logistic model on parts that mean the same in every query and in a store of any size; what is
normalised within one query only orders. The weights were fitted by ``perf/fit_relevance.py``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Floats = npt.NDArray[np.float32]


class Parts(Struct, frozen=True):
    """The raw parts of the candidates of one query, one value a candidate but for ``weight``.

    ``text`` is BM25; ``share`` the share, 0–1, of the question's terms that the candidate holds,
    weighted by rarity; ``vector`` the best cosine; ``late``, ``soft``, ``exact`` and ``rarest``
    are told in ``late.Coverage``; ``weight`` is the sum of the question's word weights.
    """

    text: Floats
    share: Floats
    vector: Floats
    late: Floats
    soft: Floats
    exact: Floats
    rarest: Floats
    weight: float


def features(parts: Parts) -> Floats:
    """What the model sees, shape (candidates, len(WEIGHTS))."""
    many = np.full(len(parts.text), np.log1p(parts.weight), dtype=np.float32)
    return np.stack(
        (
            parts.share,
            parts.vector,
            parts.soft,
            parts.exact,
            parts.rarest,
            _lead(parts.vector),
            _lead(parts.soft),
            _lead(parts.share),
            many,
            many * parts.soft,
        ),
        axis=1,
    )


WEIGHTS: tuple[float, ...] = (1.0, 4.0, 3.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
BIAS = -4.0
# Text search alone knows the share of the question's terms and no more.
TEXT_WEIGHTS = (6.0,)
TEXT_BIAS = -3.0


def relevance(parts: Parts) -> Floats:
    """The probability that each candidate answers the question."""
    return _logistic(features(parts) @ np.array(WEIGHTS, dtype=np.float32) + BIAS)


def text_relevance(share: Floats) -> Floats:
    """The same from text search alone."""
    return _logistic(share * TEXT_WEIGHTS[0] + TEXT_BIAS)


def _lead(values: Floats) -> Floats:
    """How far each value is ahead of the best of the others, or behind it; 0 for a lone one."""
    if len(values) < 2:
        return np.zeros_like(values)
    second, first = np.partition(values, len(values) - 2)[-2:]
    lead: Floats = np.where(values >= first, values - second, values - first)
    return lead


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)), dtype=np.float32)
