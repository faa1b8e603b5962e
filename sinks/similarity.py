"""Near-duplicates: which memories say nearly the same as a text in nearly the same words."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..bus.values import Encoding
from .embedder import Embedder
from .shelf import Floats, Shelf

# Memories that the vectors propose, and that are then compared word by word.
_PROPOSED = 20
# Texts that differ in a number or a negation contradict each other, however alike they are.
_DIFFERENT = 0.85


def similarities(
    shelf: Shelf, text: Encoding, namespace: str | None, k: int, embedder: Embedder | None
) -> list[tuple[str, float]]:
    """The ``k`` living rows most nearly the same as ``text``: (id, 0–1), best first.

    The lesser of two figures: the cosine of the whole texts and the Dice coefficient of their
    words. Either alone takes texts for equal that are merely about the same thing.
    """
    rows = shelf.rows
    vectors = np.frombuffer(text.vectors, dtype="<f2").astype(np.float32)
    counts = np.frombuffer(text.lengths, dtype="<u2").astype(np.float32)
    words = np.frombuffer(text.words, dtype="<u2")
    mean = _unit(counts @ vectors.reshape(len(counts), -1))
    allowed = shelf.table.alive.view[:rows].copy()
    if namespace is not None:
        allowed &= shelf.table.namespaces.view[:rows] == shelf.table.number(namespace)
    found = [
        (shelf.table.ids[row], _alike(shelf, row, mean, words, embedder))
        for row in shelf.passages.nearest(mean, _PROPOSED, rows, allowed).tolist()
    ]
    return sorted(found, key=lambda pair: -pair[1])[:k]


def _alike(
    shelf: Shelf,
    row: int,
    mean: Floats,
    words: npt.NDArray[np.uint16],
    embedder: Embedder | None,
) -> float:
    cosine = float(shelf.passages.mean(row) @ mean)
    theirs, _ = shelf.passages.words(shelf.passages.of(np.array([row])))
    ours = np.unique(words)
    theirs = np.unique(theirs)
    if embedder is not None:
        differ = np.setxor1d(ours, theirs)
        decisive = bool(embedder.decisive(differ).any())
        weights = embedder.rarity
    else:
        decisive = False
        weights = _even
    common = float(weights(np.intersect1d(ours, theirs)).sum())
    both = float(weights(ours).sum() + weights(theirs).sum())
    dice = 2 * common / both if both else float(not len(ours) and not len(theirs))
    alike = max(0.0, min(cosine, dice, 1.0))
    return min(alike, _DIFFERENT) if decisive else alike


def _even(words: npt.NDArray[np.uint16]) -> Floats:
    return np.ones(len(words), dtype=np.float32)


def _unit(vector: Floats) -> Floats:
    return np.asarray(vector / (np.linalg.norm(vector) + 1e-9), dtype=np.float32)
