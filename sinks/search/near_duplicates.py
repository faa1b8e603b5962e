"""Near-duplicates: which memories say nearly the same as a text in nearly the same words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ...bus.values import Encoding
from ..models.embedder import Embedder
from .scope_index import Flags, Floats, Rows, ScopeIndex

# Memories that the vectors propose, and that are then compared word by word; of so many passages
# that are near by sign the vectors are read at all.
_PROPOSED = 20
_RESCORED = 200
# Texts that differ in a number or a negation contradict each other, however alike they are.
_DIFFERENT = 0.85

WordIds = npt.NDArray[np.uint16]


def similarities(
    scope_index: ScopeIndex,
    text: Encoding,
    namespace: str | None,
    k: int,
    embedder: Embedder | None,
) -> list[tuple[str, float]]:
    """The ``k`` living rows most nearly the same as ``text``: (id, 0–1), best first.

    The lesser of two figures: the cosine of the whole texts and the Dice coefficient of their
    words. Either alone takes texts for equal that are merely about the same thing.
    """
    count = scope_index.rows
    mean = _mean(text)
    near = scope_index.passages.nearest(
        mean, _PROPOSED, count, _allowed(scope_index, namespace, count), rescored=_RESCORED
    )
    if not len(near):
        return []
    cosines = scope_index.passages.means(near) @ mean
    ours = np.unique(np.frombuffer(text.words, dtype="<u2"))
    alike = _limited(np.minimum(cosines, 1.0), *_common(scope_index, near, ours, embedder))
    best = np.argsort(-alike, kind="stable")[:k]
    return [(scope_index.table.ids[near[at]], float(alike[at])) for at in best]


def _mean(text: Encoding) -> Floats:
    """The direction of a whole text."""
    vectors = np.frombuffer(text.vectors, dtype="<f2").astype(np.float32)
    counts = np.frombuffer(text.lengths, dtype="<u2").astype(np.float32)
    mean = counts @ vectors.reshape(len(counts), -1)
    return np.asarray(mean / (np.linalg.norm(mean) + 1e-9), dtype=np.float32)


def _allowed(scope_index: ScopeIndex, namespace: str | None, count: int) -> Flags:
    allowed: Flags = scope_index.table.alive.view[:count]
    if namespace is not None:
        allowed = allowed & (
            scope_index.table.namespaces.view[:count] == scope_index.table.number(namespace)
        )
    return allowed


def _limited(cosines: Floats, dice: Floats, differ: Flags) -> Floats:
    alike = np.clip(np.minimum(cosines, dice), 0.0, 1.0)
    return np.where(differ, np.minimum(alike, np.float32(_DIFFERENT)), alike)


def _common(
    scope_index: ScopeIndex, rows: Rows, ours: WordIds, embedder: Embedder | None
) -> tuple[Floats, Flags]:
    """How alike the distinct words of each row and ``ours`` are, and where a decisive one differs.

    Alike is the Dice coefficient, each word by its weight.
    """
    owners, theirs = _distinct_words(scope_index, rows)
    common = np.isin(theirs, ours)
    weights = _weights(theirs, embedder)
    own_weight = float(_weights(ours, embedder).sum())
    shared = _by_row(owners, weights * common, len(rows))
    both = _by_row(owners, weights, len(rows)) + own_weight
    empty = np.float32(not len(ours))
    dice = np.where(both > 0, 2 * shared / np.maximum(both, np.float32(1e-9)), empty)
    if embedder is None:
        return dice, np.zeros(len(rows), dtype=np.bool_)
    decisive = embedder.decisive(theirs)
    missing = int(embedder.decisive(ours).sum()) - _by_row(owners, decisive & common, len(rows))
    added = _by_row(owners, decisive & ~common, len(rows))
    return dice, (missing > 0) | (added > 0)


def _distinct_words(scope_index: ScopeIndex, rows: Rows) -> tuple[Rows, WordIds]:
    """The distinct words of each of ``rows``, with the place of the row that has them."""
    passages = scope_index.passages.of(rows)
    words, counts = scope_index.passages.words(passages)
    places = np.repeat(np.arange(len(rows)), scope_index.passages.numbers(rows))
    keys = np.unique((np.repeat(places, counts) << 16) | words)
    return keys >> 16, (keys & 0xFFFF).astype(np.uint16)


def _weights(words: WordIds, embedder: Embedder | None) -> Floats:
    return np.ones(len(words), np.float32) if embedder is None else embedder.idf(words)


def _by_row(owners: Rows, values: npt.NDArray[np.generic], rows: int) -> Floats:
    return np.bincount(owners, weights=values, minlength=rows).astype(np.float32)
