"""Assembles the enrichment of a prompt from what was found: the pure part of ``enrich``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta

import msgspec

from ...bus.enrichment import Conflict, Enrichment, Guide, RecentWork, Side
from ...bus.values import Hit, Parsed, WorkKind
from .conflicts import find_conflicts
from .matching import (
    Cosines,
    Subject,
    Tidy,
    applicable_patterns,
    known_gotchas,
    similar_tasks,
)
from .references import known_of, resolve
from .suggestions import suggest

RECENT = timedelta(days=7)
MOST_RECENT = 5
MIN_RELEVANCE = 0.4
"""The least relevance of a hit that counts; below it, the hit is about something else."""

Near = Callable[[str, Sequence[str]], Sequence[float | None]]

_COMPARED = frozenset(("tasks", "patterns"))
_WORK = frozenset(("tasks", "progress", "decisions", "blockers", "learnings"))


def assemble_enrichment(
    parsed: Parsed,
    subject: Subject,
    *,
    hits: Sequence[Hit],
    referenced: Sequence[Hit],
    guides: Sequence[Guide],
    near: Near,
    now: datetime,
    tidy: Tidy,
) -> Enrichment:
    """The enrichment of the prompt ``parsed``, without the losers of conflicts.

    ``referenced`` are the hits for what the prompt refers back to, ``near`` returns the cosine of
    texts to its own, and ``tidy`` redacts and neutralises a stored text.
    """
    conflicts = tuple(_tidied(conflict, tidy) for conflict in find_conflicts(hits, now))
    lost = {conflict.loser.id for conflict in conflicts}
    hits = [hit for hit in hits if hit.relevance >= MIN_RELEVANCE and hit.memory.id not in lost]
    guides = [guide for guide in guides if guide.memory_id not in lost]
    cosines = _cosines(subject, guides, near)
    tasks = similar_tasks(subject, guides, cosines, tidy)
    patterns = applicable_patterns(subject, guides, cosines, tidy)
    resolved = resolve(parsed.references, known_of((*hits, *referenced), tasks, guides), now)
    return Enrichment(
        similar_tasks=tasks,
        applicable_patterns=patterns,
        known_gotchas=known_gotchas(subject, guides, tidy),
        resolved_references=tuple(
            msgspec.structs.replace(one, summary=tidy(one.summary)) for one in resolved
        ),
        recent_work=_recent(hits, now, tidy),
        suggestions=suggest(tasks, patterns, hits, tidy),
        conflicts=conflicts,
        domains=subject.domains,
    )


def _cosines(subject: Subject, guides: Sequence[Guide], near: Near) -> Cosines:
    compared = [guide for guide in guides if _may_be_alike(subject, guide)]
    nearness = near(subject.text, [guide.title for guide in compared]) if compared else ()
    return {guide.memory_id: cosine for guide, cosine in zip(compared, nearness, strict=True)}


def _may_be_alike(subject: Subject, guide: Guide) -> bool:
    """Whether to compare vectors: only with a field or two words in common.

    A question looks for an answer and not for similar work, so its words are enough.
    """
    if guide.namespace not in _COMPARED or subject.traits.work is WorkKind.QUESTION:
        return False
    ours, theirs = subject.traits, guide.traits
    return not ours.fields.isdisjoint(theirs.fields) or len(ours.words & theirs.words) > 1


def _tidied(conflict: Conflict, tidy: Tidy) -> Conflict:
    def tidied(side: Side) -> Side:
        return msgspec.structs.replace(side, summary=tidy(side.summary))

    return Conflict(
        about=conflict.about, winner=tidied(conflict.winner), loser=tidied(conflict.loser)
    )


def _recent(hits: Iterable[Hit], now: datetime, tidy: Tidy) -> tuple[RecentWork, ...]:
    """What was done or found in the last seven days, the newest first."""
    fresh = [
        hit.memory
        for hit in hits
        if hit.memory.namespace in _WORK and now - hit.memory.updated_at <= RECENT
    ]
    fresh.sort(key=lambda memory: memory.updated_at, reverse=True)
    return tuple(
        RecentWork(
            id=memory.id,
            namespace=memory.namespace,
            summary=tidy(memory.summary),
            updated_at=memory.updated_at,
        )
        for memory in fresh[:MOST_RECENT]
    )
