"""How rare words are in some scopes: what a match with each of them is worth there."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...bus.values import Scope

if TYPE_CHECKING:
    from ..search.index import Index

_FEWEST = 20
"""So many memories are assumed to lack a word: in a small store every word is rare."""


def rarity(
    index: Index, words: Sequence[str], scopes: Sequence[Scope]
) -> tuple[tuple[str, float], ...]:
    """Each of ``words`` with 0.0 (in every memory of ``scopes``) to 1.0 (in none), rarest first.

    A name of several parts counts as its rarest part. Words that a search leaves out are left out.
    """
    shelves = [shelf for _, shelf in index.shelves(scopes)]
    total = sum(map(len, shelves)) + _FEWEST
    weighed = []
    for word in dict.fromkeys(words):
        terms = index.ask(word).terms.tolist()
        if terms:
            having = min(sum(len(s.postings.lookup(t)[0]) for s in shelves) for t in terms)
            weighed.append((word, round(1 - math.log1p(having) / math.log1p(total), 3)))
    return tuple(sorted(weighed, key=lambda one: -one[1]))
