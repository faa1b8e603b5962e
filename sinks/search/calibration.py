"""From the raw parts of a match to an absolute relevance: the probability, 0–1, that it answers.

A logistic model on parts that mean the same in every query and in a store of any size; what is
normalised within one query only orders. ``perf/fit_relevance.py`` fits the weights and prints them
as they stand here, with how well they do on projects that they were not fitted on.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from msgspec import Struct

Floats = npt.NDArray[np.float32]


class Features(Struct, frozen=True):
    """The raw parts of the candidates of one query, one value a candidate.

    ``text`` is BM25; ``share`` the share, 0–1, of the question's terms that the candidate holds,
    weighted by rarity; ``vector`` the best cosine; ``late``, ``soft``, ``sharp``, ``rarest`` and
    ``back`` are told in ``late.Coverage``. ``weight`` is the sum of the question's word weights,
    ``memories`` how many memories the searched scopes hold, and ``broad`` whether the question asks
    for all there is and not for one answer.
    """

    text: Floats
    share: Floats
    vector: Floats
    late: Floats
    coverage_p2: Floats
    coverage_p4: Floats
    rare_term_coverage: Floats
    reverse_coverage: Floats
    weight: float
    memories: int
    broad: bool = False


def only_text(text: Floats, share: Floats, memories: int, *, broad: bool = False) -> Features:
    """The parts where text search is all there is."""
    no = np.zeros_like(text)
    return Features(text, share, no, no, no, no, no, no, 0.0, memories, broad)


FEATURES = (
    "lead", "vector", "few", "soft", "sharp", "rarest", "back", "vector lead", "covered weight",
    "held terms", "broad", "broad soft", "broad covered weight",
)  # fmt: skip
WEIGHTS: tuple[float, ...] = (
    4.316, 2.196, 3.039, 7.141, -5.377, 0.582, 7.260, 3.660,
    -0.245, 0.558, -0.313, 2.714, -0.099,
)  # fmt: skip
BIAS = -5.135

TEXT_FEATURES = ("share", "share lead", "few", "held terms", "broad", "broad share")
TEXT_WEIGHTS: tuple[float, ...] = (1.942, 4.396, 3.481, 0.856, -0.191, 2.503)
TEXT_BIAS = -4.177

# Of the log-odds by words, of those by reading, and of the latter again where they are negative.
READ_WEIGHTS: tuple[float, ...] = (0.857, 0.487, 0.108)
READ_BIAS = 1.233
_SMALLEST = 1e-6

# What an unrelated memory reaches: a lone candidate is ahead of that, not of nothing.
_UNRELATED = 0.15
_UNRELATED_VECTOR = 0.2


def features(parts: Features) -> Floats:
    """``FEATURES``, shape (candidates, features).

    ``sharp`` weighs against ``soft``: of two memories that cover a question as well, the one that
    says it in other words is likelier to answer than to share a phrase with it.
    """
    whole = 0.35 * parts.share + 0.4 * parts.vector + 0.25 * parts.coverage_p2
    narrow, broad = np.float32(not parts.broad), np.float32(parts.broad)
    covered = np.log1p(parts.weight * parts.coverage_p2)
    return np.stack(
        (
            narrow * _lead(whole, _UNRELATED),
            parts.vector,
            _few(parts),
            parts.coverage_p2,
            parts.coverage_p4,
            parts.rare_term_coverage,
            parts.reverse_coverage,
            narrow * _lead(parts.vector, _UNRELATED_VECTOR),
            covered,
            np.log1p(parts.text),
            np.full_like(parts.text, broad),
            broad * parts.coverage_p2,
            broad * covered,
        ),
        axis=1,
    )


def text_features(parts: Features) -> Floats:
    """``TEXT_FEATURES``, shape (candidates, features)."""
    narrow, broad = np.float32(not parts.broad), np.float32(parts.broad)
    return np.stack(
        (
            parts.share,
            narrow * _lead(parts.share, _UNRELATED),
            _few(parts),
            np.log1p(parts.text),
            np.full_like(parts.text, broad),
            broad * parts.share,
        ),
        axis=1,
    )


def relevance(parts: Features) -> Floats:
    """The probability that each candidate answers the question."""
    return _logistic(features(parts) @ np.array(WEIGHTS, dtype=np.float32) + BIAS)


def text_relevance(parts: Features) -> Floats:
    """The same from text search alone."""
    return _logistic(text_features(parts) @ np.array(TEXT_WEIGHTS, dtype=np.float32) + TEXT_BIAS)


def reranked_relevance(by_words: float, read: float) -> float:
    """The same of a memory that was read with the question.

    ``by_words`` is the relevance by words, 0–1; ``read`` what the cross-encoder says, log-odds.
    """
    by_words = min(1 - _SMALLEST, max(_SMALLEST, by_words))
    parts = (math.log(by_words / (1 - by_words)), read, min(read, 0.0))
    told = READ_BIAS + sum(w * part for w, part in zip(READ_WEIGHTS, parts, strict=True))
    return 1 / (1 + math.exp(-told))


def _few(parts: Features) -> Floats:
    """Large in a store of few memories, where leads are wide by chance."""
    return np.full(len(parts.text), 1 / max(parts.memories, 1), dtype=np.float32)


def _lead(values: Floats, unrelated: float) -> Floats:
    """How far each value is ahead of the best of the others, or behind it."""
    if len(values) < 2:
        return values - np.float32(unrelated)
    second, first = np.partition(values, len(values) - 2)[-2:]
    lead: Floats = values - np.where(values >= first, max(second, unrelated), first)
    return lead


def _logistic(values: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-values)), dtype=np.float32)
