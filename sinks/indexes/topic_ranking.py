"""Which of a scope's topics are listed: those that divide its memories best, 60 at most."""

from __future__ import annotations

from collections.abc import Sequence
from math import log, log2

import numpy as np
import numpy.typing as npt

from .keyphrases import key_weight

MAX_LISTED = 60
"""Namespaces and tags count among these."""

# In fewer memories than this nothing can be said of how often a word ought to occur.
_FEW = 10
_MIN_MEMORIES = 2
_MAX_SHARE = 0.4
# So many words, those with the highest df·idf, are looked at one by one.
_CONSIDERED = 500

Counts = npt.NDArray[np.uint32]


def choose_topics(
    keys: Sequence[str], frequency: Counts, named: npt.NDArray[np.bool_], total: int
) -> list[int]:
    """The numbers of the topics to list, at most ``MAX_LISTED``.

    ``frequency`` holds for each of ``keys`` in how many of the ``total`` memories it is, and
    ``named`` whether it is a namespace or a tag that somebody wrote: these come first, the most
    frequent before the others. Words and phrases fill what is left, if they are in 2 memories or
    more and in 40 % at most (in any number while there are fewer than 10 memories), by

        score(t) = weight(t) · log2(1 + words(t)) · df'(t) · ln(N / df(t))

    The last two factors are tf·idf over the collection (Spärck Jones, "A statistical interpretation
    of term specificity", 1972), highest at N / e memories. The two before are those of the C-value
    (Frantzi, Ananiadou and Mima, "Automatic recognition of multi-word terms", 2000): df'(t) is in
    how many memories a word is outside of the most frequent phrase that it is part of, so that a
    phrase takes the place of words that come with it alone. ``weight`` is what a word's looks
    say (``keyphrases``).
    """
    there = np.flatnonzero(frequency)
    tags = there[named[there]]
    by_frequency = tags[np.argsort(-frequency[tags].astype(np.int64), kind="stable")]
    chosen: list[int] = by_frequency[:MAX_LISTED].tolist()
    words = there[~named[there]]
    if total >= _FEW:
        counts = frequency[words]
        words = words[(counts >= _MIN_MEMORIES) & (counts <= _MAX_SHARE * total)]
    scores = _scores(_most_frequent(words, frequency, total), keys, frequency, total)
    best = sorted(scores, key=lambda number: (-scores[number], keys[number]))
    return chosen + best[: MAX_LISTED - len(chosen)]


def _most_frequent(words: npt.NDArray[np.intp], frequency: Counts, total: int) -> list[int]:
    counts = frequency[words]
    value = counts * np.log((total + 1) / np.maximum(counts, 1))
    most: list[int] = words[np.argsort(-value, kind="stable")[:_CONSIDERED]].tolist()
    return most


def _scores(
    words: Sequence[int], keys: Sequence[str], frequency: Counts, total: int
) -> dict[int, float]:
    """The score of each word that says something outside of its phrases."""
    df = {number: int(frequency[number]) for number in words}
    in_phrase: dict[str, int] = {}
    for number in words:
        parts = keys[number].split("-")
        for part in parts if len(parts) > 1 and total >= _FEW else ():
            in_phrase[part] = max(in_phrase.get(part, 0), df[number])
    least = _MIN_MEMORIES if total >= _FEW else 1
    scores = {}
    for number in words:
        key = keys[number]
        outside = df[number] - in_phrase.get(key, 0)
        if outside >= least and (weight := key_weight(key)):
            length = log2(2 + key.count("-"))
            # One more than there are: a word in every memory of a few still says something.
            scores[number] = weight * length * outside * log((total + 1) / df[number])
    return scores
