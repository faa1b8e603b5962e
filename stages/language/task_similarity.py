"""How similar a prompt's order and an earlier task are: a probability, 0–1.

A logistic model on features that mean the same in every store. ``perf/fit_likeness.py`` fits the
weights on pairs of its own, writes the files beside this one and prints how well they do.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from ...bus.enrichment import Traits
from ...bus.values import WorkKind
from ...config.linear_model import LinearModel
from .words import domains_of, words_of

FEATURES = ("cosine", "words", "field", "subject", "work")
WEIGHTS = Path(__file__).with_name("task_similarity.json")
WORDS_WEIGHTS = Path(__file__).with_name("task_similarity_words.json")
"""For where there are no vectors: then only words and fields count."""

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
    model = load(WORDS_WEIGHTS if cosine is None else WEIGHTS)
    return model.probability(features(one, other, cosine or 0.0))


@cache
def load(path: Path) -> LinearModel:
    """The weights of ``path``, read once."""
    return LinearModel.load(path, features=FEATURES)
