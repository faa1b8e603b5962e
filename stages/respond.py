"""Build the JSON answer of a hook: context for the model, a message for the user.

Claude Code, Codex, Gemini and Qwen read the same fields. What only other callers want goes under
``metadata``, and only where they asked for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ..bus.enrichment import Conflict, Enrichment
from ..bus.events import ContextBuilt, PromptEnriched, ResponseReady
from ..bus.prompts import Entity, Marked, Parsed, ProjectFacts, Reference, SearchIntent, WorkKind
from ..bus.values import NAMESPACES, Ended, Kept
from ..config.patterns import regex
from .language.words import words
from .language.work_kind import primary
from .text.envelope import NOTHING, hook_answer, strip_envelopes
from .text.markup import split_markers, strip_blocks
from .text.summary import shortened
from .text.unicode import count_tokens, cut, one_line, visible, well_formed

SUGGEST_PERCENT = 85
"""The least confidence of a statement for which the user is shown how to keep it."""

_MAX_LINES = 5
_SUGGESTED = frozenset(("decisions", "patterns", "preferences"))
_MAX_SUGGESTED_CHARS = 80
_MAX_LINE_CHARS = 140
_OPENING = {
    "stored": "kept as",
    "merged": "known already, merged into",
    "pending": "will be kept as",
    "declined": "not kept as",
    "failed": "could not be stored now as",
}
_ALL_PRIVATE = "subcog: nothing is kept: what you marked is private"
_REFUSALS = ("declined", "failed")
# A line that asks for it, and is no question such as "remember when we decided on Redis?".
_ASKS_TO_KEEP = regex(
    r"^\W{0,4}(?:please,? )?(?:remember|keep in mind|bear in mind|do(?: not|n['’]t) forget"
    r"|note (?:for later|to self))\b(?! (?:when|how|why|what|where|who|which|the)\b)"
    r"(?:[ :,]++[^\s?:,]++[^\s?]*+){4}[^?\n]*$",
    re.IGNORECASE | re.MULTILINE,
)
# The same of what was said before. "forget it" and "forget about that" name nothing.
_ASKS_TO_FORGET = regex(
    r"^\W{0,4}(?:(?:ok|please|and|actually)[, ]+)*(?:forget|delete|erase|disregard)"
    r" (?:(?:all|everything|anything) )?(?:what|that) (?:i|we) (?:have |had |just |once |'ve )*"
    r"(?:said|told you|wrote|decided|noted|kept|stored) (?:about|on|of|regarding|concerning) "
    r"(?:(?:the|our|my) )?(?P<what>[^?\n]{2,80}?)[\s.!]*$",
    re.IGNORECASE | re.MULTILINE,
)
_PLURALS = {"decisions", "learnings", "patterns", "blockers", "preferences", "gotchas", "tasks"}


def respond(
    event: ContextBuilt,
    *,
    suggest: bool = False,
    notices: bool = False,
    kept: Sequence[str] = (),
    replaced: Sequence[str] = (),
    denied: Sequence[tuple[str, str]] = (),
    closed: Sequence[Ended] = (),
    clean: Callable[[str], str] = str,
) -> ResponseReady:
    """The answer to a prompt; ``{}`` where there is nothing to say.

    With ``suggest`` the user reads how to keep what the prompt states without a marker; with
    ``notices`` what the model is shown, what was ``kept`` unasked, as its namespaces, the ids of
    what that ``replaced``, those that are ``denied``, each with that of what denies it, and what
    was ``closed`` by the user's words, or taken back. An agent writes down what the user reads, so
    ``clean`` redacts what is repeated of prompt and memories.
    """
    enriched = event.classified.enriched
    prompt = enriched.prompt
    message = _message(event) or (_suggestion(enriched.parsed, clean) if suggest else "")
    if notices and (notice := _notice(event, kept, replaced, denied, closed, clean)):
        message = f"{message}\n{notice}" if message else notice
    body = hook_answer("UserPromptSubmit", well_formed(event.text), message)
    if prompt.detailed:
        body["metadata"] = _metadata(event)
    return ResponseReady(
        trace=event.trace, body=msgspec.json.encode(body) if body else NOTHING, built=event
    )


def _message(event: ContextBuilt) -> str:
    enriched = event.classified.enriched
    pairs = list(zip(enriched.kept, enriched.parsed.marked, strict=False))
    lines = [kept_line(kept, marked) for kept, marked in pairs[:_MAX_LINES]]
    if len(pairs) > _MAX_LINES:
        lines.append(f"subcog: and {len(pairs) - _MAX_LINES} more")
    if enriched.parsed.refused:
        lines.append(refused_line(enriched.parsed.refused))
    if (
        not enriched.parsed.marked
        and not enriched.parsed.refused
        and not enriched.parsed.machine
        and _marks_private(enriched.prompt.text)
    ):
        lines.append(_ALL_PRIVATE)
    elif enriched.parsed.empty:
        lines.append(empty_line(enriched.parsed.empty))
    return "\n".join(lines)


def _marks_private(text: str) -> bool:
    """Whether all that is marked in ``text``, of which nothing is to be kept, is private."""
    if "private" not in text.lower():
        return False
    return bool(split_markers(strip_blocks(strip_envelopes(visible(text))))[1])


def _notice(
    event: ContextBuilt,
    kept: Sequence[str],
    replaced: Sequence[str],
    denied: Sequence[tuple[str, str]],
    closed: Sequence[Ended],
    clean: Callable[[str], str],
) -> str:
    """In a line what is shown, kept, replaced and closed; empty where nobody reads it."""
    if event.classified.enriched.parsed.machine:
        return ""
    notes = len(event.context.injected_memories)
    sessions = sum(verdict.quoted for verdict in event.sessions)
    shown = [_number(notes, "note"), _number(sessions, "earlier session")]
    parts = [f"{' and '.join(filter(None, shown))} for this prompt"] if any(shown) else []
    if kept:
        counted = Counter(map(_singular, kept)).items()
        parts.append("kept " + ", ".join(_number(count, one) for one, count in counted))
    parts += [
        f"replaced {memory_id} (to undo that: subcog restore {memory_id})" for memory_id in replaced
    ]
    parts += [
        f"{by} contradicts {older}, which you asked to keep"
        f" (if that no longer holds: subcog supersede {older} {by})"
        for older, by in denied
    ]
    parts += [
        f"{one.how}: “{_excerpt(clean(one.summary))}”"
        f"{one.restored and f', so {one.restored} holds again'}"
        f" (to undo that: subcog restore {one.memory_id} --version {one.version})"
        for one in closed
    ]
    return f"subcog: {' · '.join(parts)}" if parts else ""


def _number(count: int, one: str) -> str:
    """As "2 notes" or "1 note"; empty for none."""
    if count <= 1:
        return f"1 {one}" if count else ""
    return f"{count} {one}{'' if one.endswith('s') else 's'}"


def _singular(namespace: str) -> str:
    return namespace.removesuffix("s") if namespace in _PLURALS else namespace


def _suggestion(parsed: Parsed, clean: Callable[[str], str]) -> str:
    """One line about the surest statement that is worth keeping; empty where none is sure.

    None about what holds a secret, and none beside an order: a report of what went wrong reads much
    like one. Who asks in prose to have something remembered or forgotten reads how.
    """
    if parsed.machine or parsed.marked:
        return ""
    if (asked := _ASKS_TO_KEEP.search(parsed.as_typed)) and clean(asked[0]) == asked[0]:
        return f"subcog: to have this kept: “{_excerpt(asked[0])}” begin the line with [remember]."
    if (asked := _ASKS_TO_FORGET.search(parsed.as_typed)) and clean(asked[0]) == asked[0]:
        what = cut(" ".join(words(asked["what"])), _MAX_SUGGESTED_CHARS)
        return (
            f'subcog: nothing is forgotten by that. `subcog recall "{what}"` finds the memories'
            " with their ids; `subcog forget ID` deletes one."
        )
    if parsed.text.rstrip().endswith(("?", "？")):
        return ""  # who asks tells what for
    orders = primary(parsed.work) not in (None, WorkKind.QUESTION)
    sure = [
        signal
        for signal in parsed.signals
        if not orders
        and signal.confidence_percent >= SUGGEST_PERCENT
        and signal.namespace in _SUGGESTED
        and clean(signal.phrase) == signal.phrase
    ]
    if not sure:
        return ""
    best = max(sure, key=lambda signal: signal.confidence_percent)
    return (
        f"subcog: this reads like a {_singular(best.namespace)}: “{_excerpt(best.phrase)}” "
        f"To be sure that it is kept, begin the line with [remember:{best.namespace}]."
    )


def _excerpt(text: str) -> str:
    return cut(one_line(visible(well_formed(text))), _MAX_SUGGESTED_CHARS)


def kept_line(kept: Kept, marked: Marked) -> str:
    """What the user reads of one marker."""
    line = f"subcog: {_OPENING[kept.outcome]} {_singular(kept.namespace)}"
    summary = shortened(kept.summary, marked.content) if kept.summary else ""
    if said := kept.reason if kept.outcome in _REFUSALS else summary:
        line += f": {cut(one_line(visible(said)), _MAX_LINE_CHARS)}"
    if kept.memory_id:
        line += f" ({kept.memory_id})"
    if kept.was_forgotten:
        line += "; you had forgotten it: it is kept again"
    if kept.supersedes:
        line += f"; it replaces {kept.supersedes}; to undo that: subcog restore {kept.supersedes}"
    if kept.contradicts:
        line += f"; it contradicts {kept.contradicts}; if nothing of that holds: "
        line += f"subcog supersede {kept.contradicts} {kept.memory_id}"
    if kept.redactions:
        line += f"; left out of it: {', '.join(sorted(set(kept.redactions)))}"
        line += f" ({kept.reason})" if kept.reason and kept.outcome not in _REFUSALS else ""
    elif kept.reason and kept.outcome == "merged":
        line += f"; {kept.reason}"
    if marked.tag:
        tag = cut(one_line(visible(marked.tag)), 40)
        line += f"; there is no namespace {tag!r}, only {', '.join(NAMESPACES)}"
    return line


def refused_line(refused: Sequence[Marked]) -> str:
    """What the user reads of markers that stand in somebody else's text."""
    count = len(refused)
    one = f"a line with {refused[0].marker} stands"
    return (
        f"subcog: {one if count == 1 else f'{count} marked lines stand'} in what looks pasted,"
        " so nothing of that is kept; if you mean it, send it by itself"
    )


def empty_line(markers: Sequence[str]) -> str:
    """What the user reads of ``markers`` behind which nothing stands that can be kept."""
    return f"subcog: nothing is kept by {markers[0]}: there is no text behind it to keep"


def _metadata(event: ContextBuilt) -> dict[str, Any]:
    enriched = event.classified.enriched
    intent = event.classified.intent
    metadata: dict[str, Any] = {
        "signals": [
            {"kind": signal.kind, "phrase": well_formed(signal.phrase)}
            for signal in enriched.parsed.signals
        ],
        "trace": event.trace,
        "memory_context": event.context,
        "enriched_intent": enriched_intent(enriched),
        "search_intent": _intent(intent) if intent else None,
        "abstained": event.abstained,
        "degraded": enriched.degraded,
        "tokens": event.tokens,
    }
    return metadata


def _intent(intent: SearchIntent) -> dict[str, Any]:
    return {
        "intent_type": intent.intent_type.value,
        "confidence": intent.confidence_percent / 100,
        "source": intent.source.value,
        "keywords": intent.keywords,
        "topics": intent.topics,
    }


# --- what was understood --------------------------------------------------------------------------


def enriched_intent(event: PromptEnriched) -> dict[str, Any]:
    """What was understood of a prompt, and what memory has on it."""
    parsed, found = event.parsed, event.enrichment
    resolved = {one.text: one for one in found.resolved_references}
    kind = primary(parsed.work)
    return {
        "raw_input": well_formed(parsed.as_typed),
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
