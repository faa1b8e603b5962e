"""The enriched intent as it leaves: one object with everything that is known about a prompt.

The field names are those that other programs rely on; scores and confidences are 0.0–1.0.
"""

from __future__ import annotations

from typing import Any

import msgspec

from ...bus.enrichment import Conflict, Enrichment
from ...bus.events import PromptEnriched
from ...bus.values import Entity, Parsed, ProjectFacts, Reference
from ..language.work_kind import primary
from ..text.tokens import count_tokens
from ..text.unicode import well_formed


def enriched_intent(event: PromptEnriched) -> dict[str, Any]:
    """What was understood of a prompt, and what memory has on it."""
    parsed, found = event.parsed, event.enrichment
    resolved = {one.text: one for one in found.resolved_references}
    kind = primary(parsed.work)
    return {
        "raw_input": well_formed(parsed.text),
        "primary_intent": kind.value if kind else None,
        "intent_signals": [
            {"keyword": well_formed(one.keyword), "type": one.kind.value} for one in parsed.work
        ],
        "entities": [_entity(one, found.existing_paths) for one in parsed.entities],
        "references": [_reference(one, one.text in resolved) for one in parsed.references],
        "retrieval_words": _words(parsed, dict(found.rarity)),
        "domains": list(found.domains),
        "project": _project(event.project),
        "memory": {
            "similar_tasks": [msgspec.to_builtins(one) for one in found.similar_tasks],
            "applicable_patterns": [msgspec.to_builtins(one) for one in found.applicable_patterns],
            "known_gotchas": [msgspec.to_builtins(one) for one in found.known_gotchas],
            "resolved_references": [
                {
                    "text": well_formed(one.text),
                    "resolved_to": {"id": one.id, "summary": one.summary},
                    "confidence": one.confidence,
                }
                for one in found.resolved_references
            ],
            "recent_work": [msgspec.to_builtins(one) for one in found.recent_work],
        },
        "suggestions": [msgspec.to_builtins(one) for one in found.suggestions],
        "conflicts": [_conflict(one) for one in found.conflicts],
        "context_tokens": context_tokens(event.project, found),
    }


def _entity(entity: Entity, existing: tuple[str, ...]) -> dict[str, Any]:
    made: dict[str, Any] = {"type": entity.kind, "value": well_formed(entity.value)}
    if entity.kind == "path":
        made["exists"] = entity.value in existing
    return made


def _reference(reference: Reference, is_resolved: bool) -> dict[str, Any]:
    return {
        "text": well_formed(reference.text),
        "kind": reference.kind,
        "scope": well_formed(reference.about),
        "resolved": is_resolved,
    }


def _words(parsed: Parsed, rarity: dict[str, float]) -> list[dict[str, Any]]:
    """The words that are searched for; their rarity in the scopes where it was looked up."""
    words = sorted(parsed.words, key=lambda word: -rarity.get(word, 0.0))
    return [{"word": well_formed(word), "rarity": rarity.get(word)} for word in words]


def _project(facts: ProjectFacts) -> dict[str, Any]:
    return {
        "name": facts.name,
        "stack": ", ".join(facts.stack),
        "test_cmd": facts.test_command,
        "build_cmd": facts.build_command,
        "lint_cmd": facts.lint_command,
        "quirks": list(facts.quirks),
    }


def _conflict(conflict: Conflict) -> dict[str, Any]:
    winner, loser = (
        {
            "id": side.id,
            "scope": str(side.scope),
            "summary": side.summary,
            "score": side.score,
            "arithmetic": side.arithmetic,
        }
        for side in (conflict.winner, conflict.loser)
    )
    return {"about": conflict.about, "winner": winner, "loser": loser}


def context_tokens(project: ProjectFacts, made: Enrichment) -> int:
    """An estimate of what the texts of all this would take in a context."""
    texts = [project.name, *project.stack, project.test_command, project.build_command]
    texts += [project.lint_command, *project.quirks]
    for task in made.similar_tasks:
        texts += [task.input, task.outcome, *task.approach, *task.files]
    for pattern in made.applicable_patterns:
        texts += [pattern.name, pattern.approach]
    for gotcha in made.known_gotchas:
        texts += [gotcha.tech, gotcha.title, gotcha.problem]
    texts += [one.summary for one in made.resolved_references]
    texts += [one.summary for one in made.recent_work]
    for suggestion in made.suggestions:
        texts += [suggestion.approach, suggestion.evidence]
    return count_tokens("\n".join(text for text in texts if text))
