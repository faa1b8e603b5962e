"""Ranking: candidates of several scopes, scored as one collection.

Two stages: the best by BM25 and the best by passage cosine are scored in full, which orders as
scoring everything does. ``order = 0.35 · BM25/max + 0.25 · late/max + 0.4 · cosine``, found on
several collections of notes, code and manual pages; no one collection decided it.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ...bus.values import Mode, Query, Scope
from ..models.embedder import Embedder, EncodedQuery
from .calibration import Features, relevance, text_only, text_relevance
from .late_interaction import Coverage, WeightedWords, coverage, weighted_words
from .scope_index import Flags, Floats, Found, Rows, ScopeIndex

# Candidates that each of the two first stages contributes, from each scope.
CANDIDATES = 30
TEXT_SHARE = 0.35
LATE_SHARE = 0.25
VECTOR_SHARE = 0.4
# What being of the branch in use is worth, in ``order``: it settles near ties.
BRANCH_BONUS = 0.02
# The rarest terms of a long question are searched, the others left out.
MOST_TERMS = 32
# In a store of few memories every term is rare; this many memories that lack it are assumed
# when the share of the question that a memory holds is weighed.
_PRIOR_MEMORIES = 100


class Candidate(Struct, frozen=True):
    """A memory found and its scores; ``text``, ``late`` and ``vector`` are the raw parts, 0–1."""

    id: str
    scope: Scope
    namespace: str
    text: float
    late: float
    vector: float
    order: float
    relevance: float


class Ranking(Struct, frozen=True):
    """Best first; ``total`` is how many memories the filters let through."""

    candidates: tuple[Candidate, ...]
    total: int


class ScopeQuery(Struct):
    """One scope during one query: what was there when the query began, and its candidates."""

    scope: Scope
    index: ScopeIndex
    rows: int
    allowed: Flags | None
    found: Found
    bm25: Floats
    candidate_rows: Rows

    @property
    def total(self) -> int:
        return self.rows if self.allowed is None else int(self.allowed.sum())


def rank(
    scope_indexes: Sequence[tuple[Scope, ScopeIndex]],
    query: Query,
    question: EncodedQuery,
    embedder: Embedder | None,
    now: datetime,
) -> Ranking:
    """Rank the memories of ``scope_indexes``; without an ``embedder`` by text alone."""
    if question.vector is None:
        embedder = None
    mode: Mode = query.mode if embedder is not None else "text"
    scope_queries = [
        begin(scope, scope_index, query, question, now) for scope, scope_index in scope_indexes
    ]
    scope_queries = [scoped for scoped in scope_queries if scoped.rows]
    total = sum(scoped.total for scoped in scope_queries)
    count = max(CANDIDATES, query.limit)
    features = measure(scope_queries, mode, question, embedder, candidates=count, broad=query.broad)
    if features is None:
        return Ranking((), total)
    scores = _scores(mode, features, by_text=embedder is None)
    return Ranking(_best(scope_queries, scores, query), total)


def measure(
    scope_queries: Sequence[ScopeQuery],
    mode: Mode,
    question: EncodedQuery,
    embedder: Embedder | None,
    *,
    candidates: int = CANDIDATES,
    broad: bool = False,
) -> Features | None:
    """Choose each scope's candidates and measure them; None if there are none."""
    memories = sum(len(scoped.index) for scoped in scope_queries)
    document_frequency = _score_text(scope_queries, memories)
    for scoped in scope_queries:
        scoped.candidate_rows = _choose(scoped, mode, question, candidates)
    if not any(len(scoped.candidate_rows) for scoped in scope_queries):
        return None
    text = np.concatenate([scoped.bm25[scoped.candidate_rows] for scoped in scope_queries])
    share = _term_share(scope_queries, document_frequency, memories)
    if embedder is None or question.vector is None or question.words is None:
        return text_only(text, share, memories, broad=broad)
    vector = np.concatenate([_cosines(scoped, question.vector) for scoped in scope_queries])
    counts = np.sum(
        [scoped.index.passages.document_frequency(question.words) for scoped in scope_queries],
        axis=0,
    )
    asked = weighted_words(question.words, counts, memories, embedder)
    covered = _coverage(scope_queries, asked, embedder)
    return Features(
        text=text,
        share=share,
        vector=vector,
        late=covered.score,
        coverage_p2=covered.coverage_p2,
        coverage_p4=covered.coverage_p4,
        rare_term_coverage=covered.rare_term_coverage,
        reverse_coverage=covered.reverse_coverage,
        weight=float(asked.weights.sum()),
        memories=memories,
        broad=broad,
    )


class _Scores(Struct, frozen=True):
    """The candidates' scores, scope after scope."""

    text: Floats
    late: Floats
    vector: Floats
    order: Floats
    relevance: Floats


def begin(
    scope: Scope, scope_index: ScopeIndex, query: Query, question: EncodedQuery, now: datetime
) -> ScopeQuery:
    """Note what there is to search in one scope."""
    rows = scope_index.rows
    return ScopeQuery(
        scope=scope,
        index=scope_index,
        rows=rows,
        allowed=scope_index.allowed(query, now, rows) if rows else None,
        found=scope_index.find(question.terms, rows),
        bm25=np.zeros(0, dtype=np.float32),
        candidate_rows=np.zeros(0, dtype=np.int64),
    )


def _score_text(scope_queries: Sequence[ScopeQuery], memories: int) -> Floats:
    """Fill in each scope's BM25 scores; returns the terms' document frequencies."""
    if not scope_queries:
        return np.zeros(0, dtype=np.float32)
    document_frequency = np.sum(
        [[len(rows) for rows in scoped.found.rows] for scoped in scope_queries], axis=0
    )
    document_frequency = np.asarray(document_frequency, dtype=np.float32)
    idf = np.log(1 + (memories - document_frequency + 0.5) / (document_frequency + 0.5))
    if len(idf) > MOST_TERMS:
        missing = document_frequency == 0
        idf[np.argsort(-np.where(missing, 0, idf), kind="stable")[MOST_TERMS:]] = 0
    mean_length = sum(scoped.index.terms_total for scoped in scope_queries) / max(memories, 1)
    for scoped in scope_queries:
        scoped.bm25 = scoped.index.bm25(scoped.found, idf, mean_length, scoped.rows)
        if scoped.allowed is not None:
            scoped.bm25[~scoped.allowed] = 0
    return document_frequency


def _choose(scoped: ScopeQuery, mode: Mode, question: EncodedQuery, count: int) -> Rows:
    """The rows worth scoring in full."""
    chosen = []
    if mode != "vector":
        chosen.append(_largest(scoped.bm25, count))
    if mode != "text" and question.vector is not None and question.vector.any():
        passages = scoped.index.passages
        chosen.append(passages.nearest(question.vector, count, scoped.rows, scoped.allowed))
    return np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)


def _largest(scores: Floats, count: int) -> Rows:
    """The rows of the largest positive scores."""
    # Partitioning an array of mostly zeros takes twenty times as long.
    rows = np.flatnonzero(scores)
    if len(rows) > count:
        rows = rows[np.argpartition(-scores[rows], count)[:count]]
    return rows


def _cosines(scoped: ScopeQuery, vector: Floats) -> Floats:
    """The best passage's cosine of each candidate, 0 for one without passages."""
    passages = scoped.index.passages
    numbers = passages.numbers(scoped.candidate_rows)
    scores = passages.similarities(vector, passages.of(scoped.candidate_rows))
    best = np.zeros(len(numbers), dtype=np.float32)
    filled = numbers > 0
    if filled.any():
        starts = (np.cumsum(numbers) - numbers)[filled]
        best[filled] = np.maximum(np.maximum.reduceat(scores, starts), 0)
    return best


def _coverage(
    scope_queries: Sequence[ScopeQuery], asked: WeightedWords, embedder: Embedder
) -> Coverage:
    words, word_counts, numbers = [], [], []
    for scoped in scope_queries:
        passages = scoped.index.passages
        found, counts = passages.words(passages.of(scoped.candidate_rows))
        words.append(found)
        word_counts.append(counts)
        numbers.append(passages.numbers(scoped.candidate_rows))
    return coverage(
        asked,
        np.concatenate(words),
        np.concatenate(word_counts),
        np.concatenate(numbers),
        embedder,
    )


def _term_share(
    scope_queries: Sequence[ScopeQuery], document_frequency: Floats, memories: int
) -> Floats:
    """The share of the question's terms, weighted by idf, that each candidate holds."""
    total = memories + _PRIOR_MEMORIES
    weights = np.log(1 + (total - document_frequency + 0.5) / (document_frequency + 0.5))
    shares = []
    for scoped in scope_queries:
        held = np.zeros(len(scoped.candidate_rows), dtype=np.float32)
        for rows, weight in zip(scoped.found.rows, weights, strict=True):
            if len(rows):
                at = np.minimum(np.searchsorted(rows, scoped.candidate_rows), len(rows) - 1)
                held += weight * (rows[at] == scoped.candidate_rows)
        shares.append(held / max(float(weights.sum()), 1e-9))
    return np.concatenate(shares)


def _scores(mode: Mode, features: Features, *, by_text: bool) -> _Scores:
    """The scores in ``mode``; ``by_text`` where there are no vectors at all."""
    order = features.vector if mode == "vector" else features.text / _max(features.text)
    if mode == "hybrid":
        order = TEXT_SHARE * order + LATE_SHARE * features.late / _max(features.late)
        order += VECTOR_SHARE * features.vector
    probability = text_relevance(features) if by_text else relevance(features)
    return _Scores(features.share, features.coverage_p2, features.vector, order, probability)


def _max(scores: Floats) -> float:
    return max(float(scores.max()), 1e-9)


def _best(
    scope_queries: Sequence[ScopeQuery], scores: _Scores, query: Query
) -> tuple[Candidate, ...]:
    places = [(scoped, int(row)) for scoped in scope_queries for row in scoped.candidate_rows]
    order = scores.order + BRANCH_BONUS * _on_branch(scope_queries, query.branch)
    best = np.argsort(-order, kind="stable")[: query.limit]
    return tuple(
        Candidate(
            id=places[at][0].index.table.ids[places[at][1]],
            scope=places[at][0].scope,
            namespace=places[at][0].index.table.namespace(places[at][1]),
            text=float(scores.text[at]),
            late=float(scores.late[at]),
            vector=float(scores.vector[at]),
            order=float(order[at]),
            relevance=float(scores.relevance[at]),
        )
        for at in best.tolist()
    )


def _on_branch(scope_queries: Sequence[ScopeQuery], branch: str | None) -> npt.NDArray[np.bool_]:
    flags = []
    for scoped in scope_queries:
        number = scoped.index.table.number(branch) if branch else -1
        flags.append(scoped.index.table.branches.view[scoped.candidate_rows] == number)
    return np.concatenate(flags)
