"""Suggests approaches: from tasks that worked, patterns that apply, and relevant memories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...bus.enrichment import ApplicablePattern, SimilarTask, Suggestion
from ...bus.values import Hit
from ..language.sentences import ORDER_VERBS
from .matching import Tidy

MOST = 5
MIN_RELEVANCE = 0.6
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
        if memory.namespace in _SUGGESTING and hit.relevance >= MIN_RELEVANCE:
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
