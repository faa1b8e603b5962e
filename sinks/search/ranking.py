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
from ..models.arrays import distinct
from ..models.embedder import Embedder, EncodedQuery
from .calibration import Features, relevance, text_only, text_relevance
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


class Collection(Struct, frozen=True):
    """What is known of all memories where only some of them are at hand to be ranked.

    ``document_frequency`` is that of the terms of the question, in their order.
    """

    memories: int
    mean_length: float
    document_frequency: Floats


class ScopeQuery(Struct):
    """One scope during one query: what was there when the query began, and its candidates."""

    scope: Scope
    index: ScopeIndex
    rows: int
    allowed: Flags | None
    found: Found
    bm25: Floats
    candidate_rows: Rows


def rank(
    scope_indexes: Sequence[tuple[Scope, ScopeIndex]],
    query: Query,
    question: EncodedQuery,
    embedder: Embedder | None,
    now: datetime,
    collection: Collection | None = None,
) -> Ranking:
    """Rank the memories of ``scope_indexes``; without an ``embedder`` by text alone.

    ``collection`` is what they were taken from, where they are not all there are.
    """
    if question.vector is None:
        embedder = None
    mode: Mode = query.mode if embedder is not None else "text"
    scope_queries = [
        begin(scope, scope_index, query, question, now) for scope, scope_index in scope_indexes
    ]
    scope_queries = [scoped for scoped in scope_queries if scoped.rows]
    total = count_allowed(scope_queries)
    count = max(CANDIDATES, query.limit)
    features = measure(
        scope_queries,
        mode,
        question,
        embedder,
        candidates=count,
        broad=query.broad,
        collection=collection,
    )
    if features is None:
        return Ranking((), total)
    probability = text_relevance(features) if embedder is None else relevance(features)
    return Ranking(
        _best(scope_queries, features, _order(mode, features), probability, query), total
    )


def measure(
    scope_queries: Sequence[ScopeQuery],
    mode: Mode,
    question: EncodedQuery,
    embedder: Embedder | None,
    *,
    candidates: int = CANDIDATES,
    broad: bool = False,
    collection: Collection | None = None,
) -> Features | None:
    """Choose each scope's candidates and measure them; None if there are none."""
    taken_from = collection or collection_of(scope_queries)
    memories, document_frequency = taken_from.memories, taken_from.document_frequency
    _score_text(scope_queries, taken_from)
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
    # How rare a word is in the store is not known of a part of it: the model alone says it then.
    counted = 0 if collection else memories
    asked = weighted_words(question.words, counts, counted, embedder)
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


def count_allowed(scope_queries: Sequence[ScopeQuery]) -> int:
    """How many memories pass the filters, without those that are superseded."""
    total = 0
    for scoped in scope_queries:
        rows = np.array(scoped.index.table.superseded, dtype=np.int64)
        rows = rows[rows < scoped.rows]
        if scoped.allowed is None:
            total += scoped.rows - len(rows)
        else:
            total += int(scoped.allowed.sum()) - int(scoped.allowed[rows].sum())
    return total


def collection_of(scope_queries: Sequence[ScopeQuery]) -> Collection:
    """That of all memories of the scopes."""
    memories = sum(len(scoped.index) for scoped in scope_queries)
    if not scope_queries:
        return Collection(memories, 0.0, np.zeros(0, dtype=np.float32))
    document_frequency = np.sum(
        [[len(rows) for rows in scoped.found.rows] for scoped in scope_queries], axis=0
    )
    terms = sum(scoped.index.terms_total for scoped in scope_queries)
    return Collection(
        memories, terms / max(memories, 1), np.asarray(document_frequency, dtype=np.float32)
    )


def _score_text(scope_queries: Sequence[ScopeQuery], collection: Collection) -> None:
    """Fill in each scope's BM25 scores."""
    memories, document_frequency = collection.memories, collection.document_frequency
    idf = np.log(1 + (memories - document_frequency + 0.5) / (document_frequency + 0.5))
    if len(idf) > MOST_TERMS:
        missing = document_frequency == 0
        idf[np.argsort(-np.where(missing, 0, idf), kind="stable")[MOST_TERMS:]] = 0
    for scoped in scope_queries:
        scoped.bm25 = scoped.index.bm25(scoped.found, idf, collection.mean_length, scoped.rows)
        if scoped.allowed is not None:
            scoped.bm25[~scoped.allowed] = 0


def _choose(scoped: ScopeQuery, mode: Mode, question: EncodedQuery, count: int) -> Rows:
    chosen = []
    if mode != "vector":
        # Partitioning an array of mostly zeros takes twenty times as long.
        rows = np.flatnonzero(scoped.bm25)
        if len(rows) > count:
            rows = rows[np.argpartition(-scoped.bm25[rows], count)[:count]]
        chosen.append(rows)
    if mode != "text" and question.vector is not None and question.vector.any():
        passages = scoped.index.passages
        chosen.append(passages.nearest(question.vector, count, scoped.rows, scoped.allowed))
    return distinct(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)


def _cosines(scoped: ScopeQuery, vector: Floats) -> Floats:
    """The best passage's cosine of each candidate, 0 for one without passages."""
    passages = scoped.index.passages
    scores = passages.similarities(vector, passages.of(scoped.candidate_rows))
    best = _segment_max(scores[:, None], passages.numbers(scoped.candidate_rows))[:, 0]
    return np.maximum(best, 0)


def _coverage(
    scope_queries: Sequence[ScopeQuery], asked: WeightedWords, embedder: Embedder
) -> Coverage:
    candidates = [(scoped.index.passages, scoped.candidate_rows) for scoped in scope_queries]
    found = [passages.words(passages.of(rows)) for passages, rows in candidates]
    words, word_counts = (np.concatenate(parts) for parts in zip(*found, strict=True))
    numbers = np.concatenate([passages.numbers(rows) for passages, rows in candidates])
    return coverage(asked, words, word_counts, numbers, embedder)


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


def _order(mode: Mode, features: Features) -> Floats:
    if mode == "vector":
        return features.vector
    order: Floats = features.text / max(float(features.text.max()), 1e-9)
    if mode == "hybrid":
        late = LATE_SHARE * features.late / max(float(features.late.max()), 1e-9)
        order = TEXT_SHARE * order + late + VECTOR_SHARE * features.vector
    return order


def _best(
    scope_queries: Sequence[ScopeQuery],
    features: Features,
    order: Floats,
    probability: Floats,
    query: Query,
) -> tuple[Candidate, ...]:
    places = [(scoped, row) for scoped in scope_queries for row in scoped.candidate_rows.tolist()]
    if query.branch:
        order = order + BRANCH_BONUS * _on_branch(scope_queries, query.branch)
    best = np.argsort(-order, kind="stable")[: query.limit]
    found = [places[at] for at in best.tolist()]
    measured = (features.share, features.coverage_p2, features.vector, order, probability)
    return tuple(
        map(
            Candidate,
            [scoped.index.table.ids[row] for scoped, row in found],
            [scoped.scope for scoped, _ in found],
            [scoped.index.table.namespace(row) for scoped, row in found],
            *[column[best].tolist() for column in measured],
        )
    )


def _on_branch(scope_queries: Sequence[ScopeQuery], branch: str) -> Flags:
    tables = [(scoped.index.table, scoped.candidate_rows) for scoped in scope_queries]
    return np.concatenate(
        [table.branches.view[rows] == table.number(branch) for table, rows in tables]
    )


# A prior of how common words are in general, worth this many memories of the store itself: in a
# store of three memories the counts alone say nothing.
_GENERAL_MEMORIES = 100.0
# The longest vectors belong to the rarest words; as rare as one memory in e⁶ or so.
_RAREST = 6.0
# More words of a question than this are left out, the commonest first.
MOST_WORDS = 32
_LENGTH_OFFSET = 100.0

Sizes = npt.NDArray[np.int64]


class WeightedWords(Struct, frozen=True):
    """The words of a question: unit vectors (words, dimensions), and how much each counts."""

    vectors: Floats
    weights: Floats


class Coverage(Struct, frozen=True):
    """How texts cover a question, one value a text.

    ``score`` orders. ``coverage_p2`` is the share, 0–1, of the question's weight that the whole
    text covers by the same or similar words, each by the square of its similarity; ``coverage_p4``
    by the fourth power, so that similar words count little; ``rare_term_coverage`` the mean
    similarity found for the weightiest quarter of its words; ``reverse_coverage`` the share of the
    text's weight that the question covers.
    """

    score: Floats
    coverage_p2: Floats
    coverage_p4: Floats
    rare_term_coverage: Floats
    reverse_coverage: Floats


def weighted_words(
    words: npt.NDArray[np.uint16], document_frequency: Floats, memories: int, embedder: Embedder
) -> WeightedWords:
    """The question with ``words``, each of which ``document_frequency`` of ``memories`` hold."""
    weights = word_weights(words, document_frequency, memories, embedder)
    if len(words) > MOST_WORDS:
        keep = np.sort(np.argsort(-weights, kind="stable")[:MOST_WORDS])
        words, weights = words[keep], weights[keep]
    return WeightedWords(embedder.unit(words), weights)


def word_weights(
    words: npt.NDArray[np.uint16], document_frequency: Floats, memories: int, embedder: Embedder
) -> Floats:
    """The store's own inverse document frequency, mixed with what the model knows of it."""
    own = np.log(1 + (memories - document_frequency + 0.5) / (document_frequency + 0.5))
    general = _RAREST * embedder.idf(words)
    share = memories / (memories + _GENERAL_MEMORIES)
    return np.asarray(share * own + (1 - share) * general, dtype=np.float32)


def coverage(
    question: WeightedWords,
    words: npt.NDArray[np.uint16],
    word_counts: Sizes,
    passage_counts: Sizes,
    embedder: Embedder,
) -> Coverage:
    """How each text covers ``question``: late interaction of static word vectors.

    Each word of the question is matched with the most similar word of a passage:
    ``Σ weight(w) · max_u max(0, cos(w, u))² / Σ weight(w)``, divided by
    ``log(100 + words(passage))`` so that long passages do not win by chance. A text counts as its
    best passage.

    ``words`` are the texts' words one after another, ``word_counts`` how many each passage has, and
    ``passage_counts`` how many passages each text has.
    """
    texts = len(passage_counts)
    total = float(question.weights.sum())
    if not total or not len(words):
        nothing = np.zeros(texts, dtype=np.float32)
        return Coverage(nothing, nothing, nothing, nothing, nothing)
    similar, best = _similarities(question, words, embedder)
    max_sim = _segment_max(similar, word_counts)
    scores = (max_sim**2) @ question.weights / total
    scores = scores / np.log(_LENGTH_OFFSET + word_counts)
    text_max_sim = _segment_max(max_sim, passage_counts)
    rare = np.argsort(-question.weights, kind="stable")[: max(1, len(question.weights) // 4)]
    return Coverage(
        score=_segment_max(scores[:, None], passage_counts)[:, 0],
        coverage_p2=(text_max_sim**2) @ question.weights / total,
        coverage_p4=(text_max_sim**4) @ question.weights / total,
        rare_term_coverage=text_max_sim[:, rare].mean(axis=1),
        reverse_coverage=_covered_back(best, embedder.idf(words), word_counts, passage_counts),
    )


def _similarities(
    question: WeightedWords, words: npt.NDArray[np.uint16], embedder: Embedder
) -> tuple[Floats, Floats]:
    """Cosines at least 0, shape (words, question words), and the best of each word.

    Each distinct word is looked up once.
    """
    present = np.zeros(embedder.vocabulary, dtype=np.bool_)
    present[words] = True
    distinct = np.flatnonzero(present).astype(np.uint16)
    place = np.empty(embedder.vocabulary, dtype=np.int32)
    place[distinct] = np.arange(len(distinct))
    cosines = np.maximum(embedder.cosines(distinct, question.vectors), 0)
    # The best along the long axis: along the short one it takes ten times as long.
    best = np.ascontiguousarray(cosines.T).max(axis=0)
    places = place[words]
    return cosines[places], best[places]


def _covered_back(best: Floats, idf: Floats, word_counts: Sizes, passage_counts: Sizes) -> Floats:
    ends = np.concatenate(([0], np.cumsum(word_counts)))[np.cumsum(passage_counts)]
    covered = np.concatenate(([0], np.cumsum(best**2 * idf, dtype=np.float64)))
    whole = np.concatenate(([0], np.cumsum(idf, dtype=np.float64)))
    starts = np.concatenate(([0], ends[:-1]))
    share = (covered[ends] - covered[starts]) / np.maximum(whole[ends] - whole[starts], 1e-9)
    return np.asarray(share, dtype=np.float32)


def _segment_max(values: Floats, counts: Sizes) -> Floats:
    """The largest of each run of ``counts[i]`` rows, 0 for an empty run."""
    largest = np.zeros((len(counts), values.shape[1]), dtype=np.float32)
    filled = counts > 0
    if filled.any():
        starts = (np.cumsum(counts) - counts)[filled]
        largest[filled] = np.maximum.reduceat(values, starts, axis=0)
    return largest
