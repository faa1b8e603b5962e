"""Settles what the project says against what holds everywhere, where the two say otherwise.

Each side gets an effective confidence, and the higher one wins; a draw goes to what holds
everywhere. The project's side gains by being recent and by matching the prompt, the other one by
how often it was said:

    project      confidence × (1 + 0.15 × recency + 0.15 × match)
    everywhere   confidence × (1 + 0.15 × frequency)

Recency halves every 30 days, match is the relevance to the prompt, and frequency is 1 - 1/n for
what was said n times.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from msgspec import Struct

from ...bus.enrichment import Conflict, Side
from ...bus.values import Hit
from ..language.domains import technology
from ..language.entities import TECHNOLOGIES
from ..language.topics import STOP_WORDS

BOOST = 0.15
HALF_LIFE = timedelta(days=30)
MOST_CONFLICTS = 5

_READ_CHARS = 400
_MOST_COMPARED = 12
# The words without what may differ: so many must be shared, and this share of the shorter text.
_FEWEST_SHARED = 2
_SHARED = 0.6
_WORD = re.compile(r"[\w#+]+(?:[.'/-]\w+)*")
_NUMBER = re.compile(r"^v?\d[\d.,]*%?\w{0,3}$")
_NEGATIONS = frozenset(
    "not no never without cannot can't don't doesn't isn't aren't won't shouldn't mustn't avoid "
    "dont instead".split()
)
_EMPTY = STOP_WORDS | frozenset("always prefer prefers preferred project projects".split())


class _Claim(Struct, frozen=True):
    hit: Hit
    words: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]
    denies: bool


def settle(hits: Sequence[Hit], now: datetime) -> tuple[Conflict, ...]:
    """The conflicts among ``hits``, best first, that are between a project's and a wider scope."""
    local = [hit for hit in hits if hit.memory.scope.kind == "project"][:_MOST_COMPARED]
    wider = [hit for hit in hits if hit.memory.scope.kind != "project"][:_MOST_COMPARED]
    if not local or not wider:
        return ()
    others = [_claim(hit) for hit in wider]
    conflicts = (
        _settled(about, one.hit, other.hit, now)
        for one in map(_claim, local)
        for other in others
        if (about := _otherwise(one, other))
    )
    return tuple(islice(conflicts, MOST_CONFLICTS))


def _claim(hit: Hit) -> _Claim:
    words = [word.lower() for word in _WORD.findall(hit.memory.content[:_READ_CHARS])]
    numbers = frozenset(word for word in words if _NUMBER.match(word))
    names = frozenset(technology(word) for word in words if word in TECHNOLOGIES)
    said = (word for word in words if word not in _EMPTY and word not in _NEGATIONS)
    return _Claim(
        hit=hit,
        words=frozenset(w for w in said if w not in numbers and w not in TECHNOLOGIES),
        numbers=numbers,
        names=names,
        denies=not _NEGATIONS.isdisjoint(words),
    )


def _otherwise(one: _Claim, other: _Claim) -> Literal["number", "negation", "name"] | None:
    """In what two claims about the same thing differ; None where they agree, or are not."""
    shared = len(one.words & other.words)
    same = shared >= _FEWEST_SHARED and shared >= _SHARED * min(len(one.words), len(other.words))
    if not same:
        return None
    if one.names and other.names and one.names.isdisjoint(other.names):
        return "name"
    if one.names != other.names:
        return None
    if one.denies != other.denies and one.numbers == other.numbers:
        return "negation"
    if one.numbers and other.numbers and one.numbers.isdisjoint(other.numbers):
        return "number"
    return None


def _settled(
    about: Literal["number", "negation", "name"], local: Hit, wider: Hit, now: datetime
) -> Conflict:
    ours, theirs = _local_side(local, now), _wider_side(wider)
    if ours.score > theirs.score:
        return Conflict(about=about, winner=ours, loser=theirs)
    return Conflict(about=about, winner=theirs, loser=ours)


def _local_side(hit: Hit, now: datetime) -> Side:
    age = max(timedelta(), now - hit.memory.updated_at)
    recency = 0.5 ** (age / HALF_LIFE)
    boost = 1 + BOOST * recency + BOOST * hit.relevance
    how = f"(1 + {BOOST} × recency {recency:.2f} + {BOOST} × match {hit.relevance:.2f})"
    return _side(hit, boost, how)


def _wider_side(hit: Hit) -> Side:
    frequency = 1 - 1 / (1 + len(hit.memory.sources))
    return _side(hit, 1 + BOOST * frequency, f"(1 + {BOOST} × frequency {frequency:.2f})")


def _side(hit: Hit, boost: float, how: str) -> Side:
    confidence = hit.memory.confidence_percent / 100
    score = confidence * boost
    return Side(
        id=hit.memory.id,
        scope=hit.memory.scope,
        summary=hit.memory.summary,
        score=round(score, 4),
        arithmetic=f"{confidence:.2f} × {how} = {score:.2f}",
    )
