"""Search by the words of a question in a language that the models do not know.

A memory covers a word by holding it, or by holding its grams: the share of them, weighted by idf
and squared, since a few of them occur in any text. How much of the question is covered orders, and
with how far that is ahead of the rest it makes the relevance; ``perf/fit_languages.py`` fits it.
Of two memories about one subject both cover its words, so a lead is one over the third best.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import numpy as np
from msgspec import Struct

from ...bus.values import Query, Scope
from ..models.embedder import EncodedQuery
from .calibration import load, probabilities
from .ranking import (
    CANDIDATES,
    Candidate,
    Collection,
    Ranking,
    ScopeQuery,
    begin,
    collection_of,
    count_allowed,
)
from .scope_index import Floats, Rows, ScopeIndex, Terms

FEATURES = ("share", "share lead", "covered weight", "few")
WEIGHTS = Path(__file__).with_name("words_relevance.json")

# As many memories that lack a word are assumed: in a store of three every word is rare.
_PRIOR_MEMORIES = 100


class Covered(Struct, frozen=True):
    """What was found: the scope's query and the row of each candidate, and what it covers.

    ``scores`` is the weight of the words that it covers, ``weight`` that of the whole question.
    """

    places: list[tuple[ScopeQuery, int]]
    scores: Floats
    weight: float
    memories: int


def rank_by_words(
    scope_indexes: Sequence[tuple[Scope, ScopeIndex]],
    query: Query,
    question: EncodedQuery,
    now: datetime,
    collection: Collection | None = None,
) -> Ranking:
    """Rank the memories of ``scope_indexes`` by how much of ``question.asked`` they cover.

    ``collection`` is what they were taken from, where they are not all there are.
    """
    parts = [begin(scope, index, query, question, now) for scope, index in scope_indexes]
    parts = [part for part in parts if part.rows]
    total = count_allowed(parts)
    covered = cover(parts, question, max(CANDIDATES, query.limit), collection)
    if covered is None:
        return Ranking((), total)
    matrix = feature_matrix(covered)
    probability = relevance(matrix)
    best = np.argsort(-covered.scores, kind="stable")[: query.limit]
    return Ranking(
        tuple(
            Candidate(
                id=part.index.table.ids[row],
                scope=part.scope,
                namespace=part.index.table.namespace(row),
                text=float(matrix[at, 0]),
                late=0.0,
                vector=0.0,
                order=float(matrix[at, 0]),
                relevance=float(probability[at]),
            )
            for at, (part, row) in ((at, covered.places[at]) for at in best.tolist())
        ),
        total,
    )


def cover(
    parts: Sequence[ScopeQuery],
    question: EncodedQuery,
    count: int,
    collection: Collection | None = None,
) -> Covered | None:
    """The best ``count`` candidates of each of ``parts``; None if there are none."""
    if not parts or not question.asked:
        return None
    taken_from = collection or collection_of(parts)
    memories, frequency = taken_from.memories, taken_from.document_frequency
    total = memories + _PRIOR_MEMORIES
    idf = np.log(1 + (total - frequency + 0.5) / (frequency + 0.5)).astype(np.float32)
    weights = [word.part * idf[_places(question, word.grams)].mean() for word in question.asked]
    for part in parts:
        part.bm25 = _scores(part, question, idf, weights)
        part.candidate_rows = _best_rows(part.bm25, count)
    places = [(part, int(row)) for part in parts for row in part.candidate_rows]
    scores = np.concatenate([part.bm25[part.candidate_rows] for part in parts])
    return Covered(places, scores, float(sum(weights)), memories) if places else None


def _scores(
    part: ScopeQuery, question: EncodedQuery, idf: Floats, weights: Sequence[float]
) -> Floats:
    """The weight of the words that each row of ``part`` covers."""
    scores = np.zeros(part.rows, dtype=np.float32)
    for word, weight in zip(question.asked, weights, strict=True):
        grams = _places(question, word.grams)
        share = np.zeros(part.rows, dtype=np.float32)
        for gram in grams.tolist():
            share[part.found.rows[gram]] += idf[gram]
        share = (share / idf[grams].sum()) ** 2
        if word.term is not None:
            (whole,) = _places(question, np.array([word.term], dtype=np.uint32)).tolist()
            share[part.found.rows[whole]] = 1.0
        scores += np.float32(weight) * share
    if part.allowed is not None:
        scores[~part.allowed] = 0
    return scores


def _places(question: EncodedQuery, terms: Terms) -> Rows:
    """Where each of ``terms`` stands among those of the question, which are sorted."""
    return np.searchsorted(question.terms, terms)


def _best_rows(scores: Floats, count: int) -> Rows:
    """The ``count`` rows that cover most; none that covers nothing."""
    rows = np.flatnonzero(scores)
    return rows[np.argpartition(-scores[rows], count)[:count]] if len(rows) > count else rows


def feature_matrix(covered: Covered) -> Floats:
    """``FEATURES``, shape (candidates, features)."""
    share = covered.scores / np.float32(max(covered.weight, 1e-9))
    few = np.full_like(share, 1 / max(covered.memories, 1))
    return np.stack((share, _lead(share), np.log1p(covered.scores), few), axis=1)


def _lead(values: Floats) -> Floats:
    """How far each value is ahead of the second best of the others, or behind it."""
    if len(values) < 3:
        return values
    third, second = np.partition(values, (-3, -2))[-3:-1]
    ahead: Floats = values - np.where(values >= second, third, second)
    return ahead


def relevance(features: Floats) -> Floats:
    """The probability that each candidate answers the question."""
    return probabilities(features, load(WEIGHTS, FEATURES))
