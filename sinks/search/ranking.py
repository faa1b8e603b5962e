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
from ..models.embedder import Embedder, Question
from .calibration import Parts, only_text, relevance, text_relevance
from .late_interaction import Coverage, Probe, cover, probe
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


class Scored(Struct, frozen=True):
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

    scored: tuple[Scored, ...]
    total: int


class Part(Struct):
    """One scope during one query: what was there when the query began, and its candidates."""

    scope: Scope
    shelf: ScopeIndex
    rows: int
    allowed: Flags | None
    found: Found
    bm25: Floats
    candidates: Rows

    @property
    def total(self) -> int:
        return self.rows if self.allowed is None else int(self.allowed.sum())


def rank(
    shelves: Sequence[tuple[Scope, ScopeIndex]],
    query: Query,
    question: Question,
    embedder: Embedder | None,
    now: datetime,
) -> Ranking:
    """Rank the memories of ``shelves``; without an ``embedder`` by text alone."""
    if question.vector is None:
        embedder = None
    mode: Mode = query.mode if embedder is not None else "text"
    parts = [begin(scope, shelf, query, question, now) for scope, shelf in shelves]
    parts = [part for part in parts if part.rows]
    total = sum(part.total for part in parts)
    count = max(CANDIDATES, query.limit)
    measured = measure(parts, mode, question, embedder, candidates=count, broad=query.broad)
    if measured is None:
        return Ranking((), total)
    scores = _by_all(mode, measured) if embedder is not None else _by_text(measured)
    return Ranking(_best(parts, scores, query), total)


def measure(
    parts: Sequence[Part],
    mode: Mode,
    question: Question,
    embedder: Embedder | None,
    *,
    candidates: int = CANDIDATES,
    broad: bool = False,
) -> Parts | None:
    """Choose each part's candidates and measure them; None if there are none."""
    memories = sum(len(part.shelf) for part in parts)
    spread = _score_text(parts, memories)
    for part in parts:
        part.candidates = _choose(part, mode, question, candidates)
    if not any(len(part.candidates) for part in parts):
        return None
    text = np.concatenate([part.bm25[part.candidates] for part in parts])
    share = _term_share(parts, spread, memories)
    if embedder is None or question.vector is None or question.words is None:
        return only_text(text, share, memories, broad=broad)
    vector = np.concatenate([_cosines(part, question.vector) for part in parts])
    counts = np.sum([part.shelf.passages.spread(question.words) for part in parts], axis=0)
    asked = probe(question.words, counts, memories, embedder)
    covered = _covered(parts, asked, embedder)
    return Parts(
        text=text,
        share=share,
        vector=vector,
        late=covered.score,
        soft=covered.soft,
        sharp=covered.sharp,
        rarest=covered.rarest,
        back=covered.back,
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


def begin(scope: Scope, shelf: ScopeIndex, query: Query, question: Question, now: datetime) -> Part:
    """Note what there is to search in one scope."""
    rows = shelf.rows
    return Part(
        scope=scope,
        shelf=shelf,
        rows=rows,
        allowed=shelf.allowed(query, now, rows) if rows else None,
        found=shelf.find(question.terms, rows),
        bm25=np.zeros(0, dtype=np.float32),
        candidates=np.zeros(0, dtype=np.int64),
    )


def _score_text(parts: Sequence[Part], memories: int) -> Floats:
    """Fill in each part's BM25 scores; returns the terms' document frequencies."""
    if not parts:
        return np.zeros(0, dtype=np.float32)
    spread = np.sum([[len(rows) for rows in part.found.rows] for part in parts], axis=0)
    spread = np.asarray(spread, dtype=np.float32)
    rarity = np.log(1 + (memories - spread + 0.5) / (spread + 0.5))
    if len(rarity) > MOST_TERMS:
        missing = spread == 0
        rarity[np.argsort(-np.where(missing, 0, rarity), kind="stable")[MOST_TERMS:]] = 0
    mean_length = sum(part.shelf.terms_total for part in parts) / max(memories, 1)
    for part in parts:
        part.bm25 = part.shelf.bm25(part.found, rarity, mean_length, part.rows)
        if part.allowed is not None:
            part.bm25[~part.allowed] = 0
    return spread


def _choose(part: Part, mode: Mode, question: Question, count: int) -> Rows:
    """The rows worth scoring in full."""
    chosen = []
    if mode != "vector":
        chosen.append(_largest(part.bm25, count))
    if mode != "text" and question.vector is not None and question.vector.any():
        passages = part.shelf.passages
        chosen.append(passages.nearest(question.vector, count, part.rows, part.allowed))
    return np.unique(np.concatenate(chosen)) if chosen else np.zeros(0, dtype=np.int64)


def _largest(scores: Floats, count: int) -> Rows:
    """The rows of the largest positive scores."""
    # Partitioning an array of mostly zeros takes twenty times as long.
    rows = np.flatnonzero(scores)
    if len(rows) > count:
        rows = rows[np.argpartition(-scores[rows], count)[:count]]
    return rows


def _cosines(part: Part, vector: Floats) -> Floats:
    """The best passage's cosine of each candidate, 0 for one without passages."""
    passages = part.shelf.passages
    numbers = passages.numbers(part.candidates)
    scores = passages.similarities(vector, passages.of(part.candidates))
    best = np.zeros(len(numbers), dtype=np.float32)
    filled = numbers > 0
    if filled.any():
        starts = (np.cumsum(numbers) - numbers)[filled]
        best[filled] = np.maximum(np.maximum.reduceat(scores, starts), 0)
    return best


def _covered(parts: Sequence[Part], asked: Probe, embedder: Embedder) -> Coverage:
    words, word_counts, numbers = [], [], []
    for part in parts:
        passages = part.shelf.passages
        found, counts = passages.words(passages.of(part.candidates))
        words.append(found)
        word_counts.append(counts)
        numbers.append(passages.numbers(part.candidates))
    return cover(
        asked,
        np.concatenate(words),
        np.concatenate(word_counts),
        np.concatenate(numbers),
        embedder,
    )


def _term_share(parts: Sequence[Part], spread: Floats, memories: int) -> Floats:
    """The share of the question's terms, weighted by rarity, that each candidate holds."""
    total = memories + _PRIOR_MEMORIES
    weights = np.log(1 + (total - spread + 0.5) / (spread + 0.5))
    shares = []
    for part in parts:
        held = np.zeros(len(part.candidates), dtype=np.float32)
        for rows, weight in zip(part.found.rows, weights, strict=True):
            if len(rows):
                at = np.minimum(np.searchsorted(rows, part.candidates), len(rows) - 1)
                held += weight * (rows[at] == part.candidates)
        shares.append(held / max(float(weights.sum()), 1e-9))
    return np.concatenate(shares)


def _by_text(parts: Parts) -> _Scores:
    order = parts.text / _most(parts.text)
    return _Scores(parts.share, parts.soft, parts.vector, order, text_relevance(parts))


def _by_all(mode: Mode, parts: Parts) -> _Scores:
    if mode == "text":
        order = parts.text / _most(parts.text)
    elif mode == "vector":
        order = parts.vector
    else:
        order = (
            TEXT_SHARE * parts.text / _most(parts.text)
            + LATE_SHARE * parts.late / _most(parts.late)
            + VECTOR_SHARE * parts.vector
        )
    return _Scores(parts.share, parts.soft, parts.vector, order, relevance(parts))


def _most(scores: Floats) -> float:
    return max(float(scores.max()), 1e-9)


def _best(parts: Sequence[Part], scores: _Scores, query: Query) -> tuple[Scored, ...]:
    places = [(part, int(row)) for part in parts for row in part.candidates]
    order = scores.order + BRANCH_BONUS * _on_branch(parts, query.branch)
    best = np.argsort(-order, kind="stable")[: query.limit]
    return tuple(
        Scored(
            id=places[at][0].shelf.table.ids[places[at][1]],
            scope=places[at][0].scope,
            namespace=places[at][0].shelf.table.namespace(places[at][1]),
            text=float(scores.text[at]),
            late=float(scores.late[at]),
            vector=float(scores.vector[at]),
            order=float(order[at]),
            relevance=float(scores.relevance[at]),
        )
        for at in best.tolist()
    )


def _on_branch(parts: Sequence[Part], branch: str | None) -> npt.NDArray[np.bool_]:
    flags = []
    for part in parts:
        number = part.shelf.table.number(branch) if branch else -1
        flags.append(part.shelf.table.branches.view[part.candidates] == number)
    return np.concatenate(flags)
