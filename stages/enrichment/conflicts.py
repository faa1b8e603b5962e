"""Resolves conflicts between what the project says and what holds everywhere.

Each side gets an effective confidence, and the higher one wins; a draw goes to what holds
everywhere. The project's side gains by being recent and by matching the prompt, the other one by
how often it was said:

    project      confidence × (1 + 0.15 × recency + 0.15 × match)
    everywhere   confidence × (1 + 0.15 × frequency)

Recency halves every 30 days, match is the relevance to the prompt, and frequency is 1 - 1/n for
what was said n times.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import islice
from typing import Literal

from ...bus.enrichment import Conflict, Side
from ...bus.values import Hit
from ..language.comparison import Claim, Relation, compare

BOOST = 0.15
HALF_LIFE = timedelta(days=30)
MOST_CONFLICTS = 5

_MOST_COMPARED = 12
_ABOUT: dict[Relation, Literal["number", "negation", "name"]] = {
    Relation.OTHER_NUMBER: "number",
    Relation.NEGATED: "negation",
    Relation.OTHER_NAME: "name",
}


def find_conflicts(hits: Sequence[Hit], now: datetime) -> tuple[Conflict, ...]:
    """The conflicts among ``hits``, best first, that are between a project's and a wider scope."""
    local = [hit for hit in hits if hit.memory.scope.kind == "project"][:_MOST_COMPARED]
    wider = [hit for hit in hits if hit.memory.scope.kind != "project"][:_MOST_COMPARED]
    if not local or not wider:
        return ()
    others = [(hit, Claim(hit.memory.content)) for hit in wider]
    conflicts = (
        _resolved(about, hit, other, now)
        for hit in local
        for claim in (Claim(hit.memory.content),)
        for other, said in others
        if (about := _ABOUT.get(compare(claim, said)))
    )
    return tuple(islice(conflicts, MOST_CONFLICTS))


def _resolved(
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
