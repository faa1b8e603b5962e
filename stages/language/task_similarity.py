"""How similar a prompt's order and an earlier task are: a probability, 0–1.

A logistic model on parts that mean the same in every store. ``perf/fit_likeness.py`` fits the
weights on pairs of its own and prints them as they stand here, with how well they do.
"""

from __future__ import annotations

import math
import re

from ...bus.enrichment import Traits
from ...bus.values import WorkKind
from .domains import domains_of, words_of

FEATURES = ("cosine", "words", "field", "subject", "work")
WEIGHTS: tuple[float, ...] = (6.786, 1.245, 3.179, 2.34, 1.132)
BIAS = -7.358

WORDS_WEIGHTS: tuple[float, ...] = (0.0, 3.83, 3.88, 2.64, 1.53)
"""The weights and the bias where there are no vectors: then only words and fields count."""
WORDS_BIAS = -6.24

# What an order does to its subject says little about the subject.
_DOES = frozenset("add implement fix build make write create let user".split())
_HEAD_END = re.compile(
    r"\b(?:for|to|in|on|of|from|with|by|at|when|after|between|behind|into|that|so|and|about)\b"
)
_READ_CHARS = 300


def traits(text: str, work: WorkKind | None) -> Traits:
    """What ``text``, which asks for ``work``, is compared by."""
    text = text[:_READ_CHARS]
    words = words_of(text)
    head = _HEAD_END.split(text.lower(), maxsplit=1)[0]
    return Traits(
        words=frozenset(words) - _DOES,
        fields=frozenset(domains_of(words)),
        subject=frozenset(domains_of(words_of(head))),
        work=work,
    )


def features(one: Traits, other: Traits, cosine: float) -> tuple[float, ...]:
    """``FEATURES`` of a pair; ``cosine`` is that of the vectors of their texts."""
    fewer = max(1, min(len(one.words), len(other.words)))
    return (
        max(0.0, cosine),
        len(one.words & other.words) / fewer,
        float(not one.fields.isdisjoint(other.fields)),
        float(not one.subject.isdisjoint(other.subject)),
        float(one.work is not None and one.work is other.work),
    )


def task_similarity(one: Traits, other: Traits, cosine: float | None) -> float:
    """The probability that ``one`` and ``other`` are alike; ``cosine`` None means unknown."""
    weights, bias = (WORDS_WEIGHTS, WORDS_BIAS) if cosine is None else (WEIGHTS, BIAS)
    values = features(one, other, cosine or 0.0)
    odds = bias + sum(weight * value for weight, value in zip(weights, values, strict=True))
    return 1 / (1 + math.exp(-odds))
