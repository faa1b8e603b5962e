"""Late interaction of static word vectors: how well a text covers the words of a question.

Each word of the question is matched with the most similar word of a passage:
``Σ weight(w) · max_u max(0, cos(w, u))² / Σ weight(w)``, divided by ``log(100 + words(passage))``
so that long passages do not win by chance. A text counts as its best passage.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ..models.embedder import Embedder

# A prior of how common words are in general, worth this many memories of the store itself: in a
# store of three memories the counts alone say nothing.
_PRIOR_MEMORIES = 100.0
# The longest vectors belong to the rarest words; as rare as one memory in e⁶ or so.
_RAREST = 6.0
# More words of a question than this are left out, the commonest first.
MOST_WORDS = 32
_LENGTH_OFFSET = 100.0

Floats = npt.NDArray[np.float32]
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
    share = memories / (memories + _PRIOR_MEMORIES)
    return np.asarray(share * own + (1 - share) * general, dtype=np.float32)


def coverage(
    question: WeightedWords,
    words: npt.NDArray[np.uint16],
    word_counts: Sizes,
    passage_counts: Sizes,
    embedder: Embedder,
) -> Coverage:
    """How each text covers ``question``.

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
    ends = np.cumsum(word_counts)[np.cumsum(passage_counts) - 1]
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
