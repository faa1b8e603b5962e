"""From the raw features of a match to its relevance: the probability, 0–1, that it answers.

A logistic model on features that mean the same in every query and in a store of any size; what is
normalised within one query only orders. ``perf/fit_relevance.py`` and ``perf/fit_reading.py`` fit
the weights and print how well they do on projects that they were not fitted on.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ...config.linear_model import LinearModel

Floats = npt.NDArray[np.float32]


class Features(Struct, frozen=True):
    """The raw features of the candidates of one query, one value a candidate.

    ``text`` is BM25; ``share`` the share, 0–1, of the question's terms that the candidate holds,
    weighted by idf; ``vector`` the best cosine; ``late`` and the coverages are those of
    ``ranking.Coverage``. ``weight`` is the sum of the question's word weights,
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


def text_only(text: Floats, share: Floats, memories: int, *, broad: bool = False) -> Features:
    """The features where text search is all there is."""
    no = np.zeros_like(text)
    return Features(text, share, no, no, no, no, no, no, 0.0, memories, broad)


FEATURES = (
    "lead", "vector", "few", "coverage p2", "coverage p4", "rare term coverage",
    "reverse coverage", "vector lead", "covered weight", "held terms", "broad",
    "broad coverage p2", "broad covered weight",
)  # fmt: skip
WEIGHTS = Path(__file__).with_name("relevance.json")

# "few" is large in a store of few memories, where leads are wide by chance.
TEXT_FEATURES = ("share", "share lead", "few", "held terms", "broad", "broad share")
TEXT_WEIGHTS = Path(__file__).with_name("text_relevance.json")

RERANK_FEATURES = ("first stage log-odds", "reranker log-odds", "negative reranker log-odds")
RERANK_WEIGHTS = Path(__file__).with_name("reranked_relevance.json")
_SMALLEST = 1e-6

# What an unrelated memory reaches: a lone candidate is ahead of that, not of nothing.
_UNRELATED = 0.15
_UNRELATED_VECTOR = 0.2


def feature_matrix(features: Features) -> Floats:
    """``FEATURES``, shape (candidates, features).

    ``coverage_p4`` weighs against ``coverage_p2``: of two memories that cover a question as well,
    the one that says it in other words is likelier to answer than to share a phrase with it.
    """
    whole = 0.35 * features.share + 0.4 * features.vector + 0.25 * features.coverage_p2
    narrow, broad = np.float32(not features.broad), np.float32(features.broad)
    covered = np.log1p(features.weight * features.coverage_p2)
    return np.stack(
        (
            narrow * lead(whole, _UNRELATED),
            features.vector,
            np.full_like(features.text, 1 / max(features.memories, 1)),
            features.coverage_p2,
            features.coverage_p4,
            features.rare_term_coverage,
            features.reverse_coverage,
            narrow * lead(features.vector, _UNRELATED_VECTOR),
            covered,
            np.log1p(features.text),
            np.full_like(features.text, broad),
            broad * features.coverage_p2,
            broad * covered,
        ),
        axis=1,
    )


def text_feature_matrix(features: Features) -> Floats:
    """``TEXT_FEATURES``, shape (candidates, features)."""
    narrow, broad = np.float32(not features.broad), np.float32(features.broad)
    return np.stack(
        (
            features.share,
            narrow * lead(features.share, _UNRELATED),
            np.full_like(features.text, 1 / max(features.memories, 1)),
            np.log1p(features.text),
            np.full_like(features.text, broad),
            broad * features.share,
        ),
        axis=1,
    )


def relevance(features: Features) -> Floats:
    """The probability that each candidate answers the question."""
    return probabilities(feature_matrix(features), load(WEIGHTS, FEATURES))


def text_relevance(features: Features) -> Floats:
    """The same from text search alone."""
    return probabilities(text_feature_matrix(features), load(TEXT_WEIGHTS, TEXT_FEATURES))


def reranked_relevance(first_stage: float, score: float) -> float:
    """The same of a memory that was reranked.

    ``first_stage`` is its relevance by search alone, 0–1; ``score`` the cross-encoder's log-odds.
    """
    first_stage = min(1 - _SMALLEST, max(_SMALLEST, first_stage))
    values = (math.log(first_stage / (1 - first_stage)), score, min(score, 0.0))
    return load(RERANK_WEIGHTS, RERANK_FEATURES).probability(values)


@cache
def load(path: Path, features: tuple[str, ...]) -> LinearModel:
    """The weights of ``path``, read once."""
    return LinearModel.load(path, features=features)


def lead(values: Floats, unrelated: float) -> Floats:
    """How far each value is ahead of the best of the others, or behind it."""
    if len(values) < 2:
        return values - np.float32(unrelated)
    second, first = np.partition(values, len(values) - 2)[-2:]
    ahead: Floats = values - np.where(values >= first, max(second, unrelated), first)
    return ahead


def probabilities(matrix: Floats, model: LinearModel) -> Floats:
    """The probability of each row of ``matrix``, shape (candidates, features)."""
    log_odds = matrix @ np.array(model.column(), dtype=np.float32) + model.bias[0] / model.divisor
    return np.asarray(1 / (1 + np.exp(-log_odds)), dtype=np.float32)
