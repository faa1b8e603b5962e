"""Assembles the enrichment of a prompt from what was found: the pure part of ``enrich``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import islice, product
from typing import Literal

import msgspec

from ...bus.enrichment import (
    ApplicablePattern,
    Conflict,
    Enrichment,
    Guide,
    RecentWork,
    Side,
    SimilarTask,
    Suggestion,
)
from ...bus.prompts import Parsed, WorkKind
from ...bus.values import Hit
from ..language.sentences import ORDER_VERBS
from ..statements.comparison import Relation, compare
from .matching import Cosines, Subject, Tidy, applicable_patterns, known_gotchas, similar_tasks
from .references import OF_WORK, known_of, resolve

RECENT = timedelta(days=7)
MOST_RECENT = 5
MIN_RELEVANCE = 0.4
"""The least relevance of a hit that counts; below it, the hit is about something else."""

Near = Callable[[str, Sequence[str]], Sequence[float | None]]

_COMPARED = frozenset(("tasks", "patterns"))


def assemble_enrichment(
    subject: Subject,
    *,
    hits: Sequence[Hit],
    guides: Sequence[Guide],
    near: Near,
    now: datetime,
    tidy: Tidy,
) -> Enrichment:
    """The enrichment of the prompt about ``subject``, without the losers of conflicts.

    ``near`` returns the cosine of texts to its own, and ``tidy`` redacts and neutralises a stored
    text.
    """
    conflicts = conflicts_of(hits, now, tidy)
    lost = {conflict.loser.id for conflict in conflicts}
    guides = [guide for guide in guides if guide.memory_id not in lost]
    cosines = _cosines(subject, guides, near)
    tasks = similar_tasks(subject, guides, cosines, tidy)
    patterns = applicable_patterns(subject, guides, cosines, tidy)
    return Enrichment(
        similar_tasks=tasks,
        applicable_patterns=patterns,
        known_gotchas=known_gotchas(subject, guides, tidy),
        conflicts=conflicts,
        domains=subject.domains,
    )


def with_references(
    made: Enrichment,
    parsed: Parsed,
    *,
    hits: Sequence[Hit],
    guides: Sequence[Guide],
    now: datetime,
    tidy: Tidy,
) -> Enrichment:
    """``made`` with what of ``hits`` and ``guides`` the references of the prompt point at."""
    lost = _lost(made)
    guides = [guide for guide in guides if guide.memory_id not in lost]
    known = known_of(hits, made.similar_tasks, guides)
    resolved = tuple(
        msgspec.structs.replace(one, summary=tidy(one.summary))
        for one in resolve(parsed.references, known, now)
    )
    return msgspec.structs.replace(made, resolved_references=resolved)


def add_for_readers(
    made: Enrichment, *, hits: Sequence[Hit], now: datetime, tidy: Tidy
) -> Enrichment:
    """``made`` with what no model reads, but a person may: recent work and suggestions."""
    hits = relevant(hits, made)
    suggestions = suggest(made.similar_tasks, made.applicable_patterns, hits, tidy)
    return msgspec.structs.replace(
        made, recent_work=_recent(hits, now, tidy), suggestions=suggestions
    )


def relevant(hits: Sequence[Hit], made: Enrichment) -> list[Hit]:
    """Those of ``hits`` that are about the prompt, without the losers of conflicts."""
    lost = _lost(made)
    return [hit for hit in hits if hit.relevance >= MIN_RELEVANCE and hit.memory.id not in lost]


def _lost(made: Enrichment) -> set[str]:
    return {conflict.loser.id for conflict in made.conflicts}


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


def conflicts_of(hits: Sequence[Hit], now: datetime, tidy: Tidy) -> tuple[Conflict, ...]:
    """The conflicts among ``hits``, fit to be shown."""
    return tuple(_tidied(conflict, tidy) for conflict in find_conflicts(hits, now))


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
        if hit.memory.namespace in OF_WORK and now - hit.memory.updated_at <= RECENT
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


# --- conflicts ------------------------------------------------------------------------------------


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
    conflicts = (
        _resolved(about, hit, other, now)
        for hit, other in product(local, wider)
        if (about := _ABOUT.get(compare(hit.memory.content, other.memory.content)))
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


# --- suggestions ----------------------------------------------------------------------------------


MOST = 5
SUGGESTED_RELEVANCE = 0.6
"""The least relevance of a memory, other than a guide, that becomes a suggestion."""

_SUGGESTING = frozenset(("decisions", "preferences", "learnings"))
_SHORT_WORDS = 6


def suggest(
    tasks: Iterable[SimilarTask],
    patterns: Iterable[ApplicablePattern],
    hits: Iterable[Hit],
    tidy: Tidy,
) -> tuple[Suggestion, ...]:
    """At most five suggestions, the surest first, each with its evidence."""
    made = [*_of_tasks(tasks), *_of_patterns(patterns), *_of_memories(hits, tidy)]
    return tuple(sorted(made, key=lambda one: -one.confidence)[:MOST])


def _of_tasks(tasks: Iterable[SimilarTask]) -> Iterator[Suggestion]:
    for task in tasks:
        if task.outcome not in ("success", "failure") or not task.approach:
            continue
        worked = task.outcome == "success"
        how = in_one_sentence(task.approach)
        yield Suggestion(
            approach=how if worked else f"Not again: {how}",
            confidence=task.similarity,
            source="similar_task",
            evidence=f"{'Worked' if worked else 'Failed'} in {task.session or task.id}",
        )


def _of_patterns(patterns: Iterable[ApplicablePattern]) -> Iterator[Suggestion]:
    for pattern in patterns:
        of = f"for {', '.join(pattern.matched)}" if pattern.matched else "for what is asked"
        yield Suggestion(
            approach=f"{pattern.name}: {pattern.approach}",
            confidence=round(pattern.match_score * pattern.confidence, 2),
            source="pattern",
            evidence=f"{pattern.id} applies {of}",
        )


def _of_memories(hits: Iterable[Hit], tidy: Tidy) -> Iterator[Suggestion]:
    for hit in hits:
        memory = hit.memory
        if memory.namespace in _SUGGESTING and hit.relevance >= SUGGESTED_RELEVANCE:
            yield Suggestion(
                approach=tidy(memory.summary),
                confidence=round(hit.relevance * memory.confidence_percent / 100, 2),
                source="memory",
                evidence=f"{memory.id}, of {memory.namespace}",
            )


def in_one_sentence(approach: Sequence[str]) -> str:
    """Of things "Use NextAuth.js with JWT in httpOnly cookie", of sentences "a; b"."""
    if any(not _is_thing(part) for part in approach):
        return "; ".join(approach)
    first, *rest = approach
    return f"Use {first} with {' and '.join(rest)}" if rest else f"Use {first}"


def _is_thing(part: str) -> bool:
    words = part.split()
    opening = words[0].lower()
    does = opening in ORDER_VERBS or opening in ("use", "used") or opening.endswith(("ed", "ing"))
    return len(words) <= _SHORT_WORDS and not does
