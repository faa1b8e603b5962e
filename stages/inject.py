"""Decide what of memory goes to the model; often that is nothing, and it says why.

The order of the gates for memories: is injection wanted at all, is the intent sure enough, is the
memory relevant in itself, was it shown before, does another one say the same, how many are allowed,
what fits. What was said in earlier sessions has a relevance of its own, which holds for orders too;
it is quoted after the memories. Each candidate gets a verdict in plain words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from urllib.parse import quote

from msgspec.structs import replace

from ..bus.events import ContextBuilt, IntentClassified
from ..bus.signals import abstained, emit, injected, judged
from ..bus.values import (
    Hit,
    InjectedMemory,
    IntentType,
    MemoryContext,
    Scope,
    Verdict,
)
from ..config.settings import (
    ContextSettings,
    SearchIntentSettings,
    SessionsSettings,
    WeightSettings,
)
from .injection.select import Budget, Candidate, Choice, choose
from .language.answer_type import answer_types
from .ports import Sessions
from .sessions.quote import Quoted, out_of_context, outdated, quote_sessions, refused, shown_key
from .text.envelope import extend, neutralise, preview
from .text.unicode import size_of

MAX_TOKENS = 2400
"""Codex cuts the middle out of anything longer, whatever the settings say."""

MAX_UNITS = 8000
"""UTF-16 units of one context: an answer may have 9,000, and messages to the user need some."""

REMINDER = "These memories may be relevant to the user's question."

_MEDIUM_PERCENT = 50
_HIGH_PERCENT = 80
_MEDIUM_EXTRA = 5
_MAX_TOPIC_CHARS = 80
# An order is not answered by a memory, but what was settled about its subject bears on it.
_OF_MEMORIES_ALONE = frozenset({"no_intent", "low_confidence"})
_NOTHING_SUGGESTED = frozenset({"disabled", "machine_turn", "low_confidence"})
_ENVELOPE_TOKENS = 60

HasTopic = Callable[[str, tuple[Scope, ...]], bool]


def _knows_none(topic: str, scopes: tuple[Scope, ...]) -> bool:
    return False


def ceiling(confidence_percent: int, context: ContextSettings) -> int:
    """How many memories an intent this sure may bring at most, before relevance and budget."""
    if confidence_percent >= _HIGH_PERCENT:
        return context.max_count
    extra = _MEDIUM_EXTRA if confidence_percent >= _MEDIUM_PERCENT else 0
    return min(context.base_count + extra, context.max_count)


def weight(intent: IntentType | None, namespace: str, weights: WeightSettings) -> float:
    """How much ``namespace`` counts for this kind of question; 1.0 where nothing is said."""
    if intent is None:
        return 1.0
    table: Mapping[str, float] = getattr(weights, intent.value)
    return table.get(namespace, 1.0)


def inject(
    event: IntentClassified,
    *,
    settings: SearchIntentSettings,
    quoting: SessionsSettings,
    sessions: Sessions,
    now: datetime,
    clean: Callable[[str], str] = str,
    has_topic: HasTopic = _knows_none,
) -> ContextBuilt:
    """Choose memories and sessions for the prompt of ``event``, and put them into one envelope.

    ``clean`` redacts a text that comes out of the store. ``has_topic`` tells whether there is a
    memory about a topic: no other is suggested. What is chosen counts as shown to the
    session, unless this is a rehearsal. Emits ``injected`` or ``abstained``.
    """
    candidates = _weigh(event, settings, clean)
    hits, shown = event.enriched.sessions, sessions.shown(event.enriched.prompt.session)
    refusal = _refuse_all(event, settings)
    if refusal is not None and refusal[0] not in _OF_MEMORIES_ALONE:
        why = {one.memory.id: refusal[1] for one in candidates}
        suggested = _resources(event, refusal[0], has_topic)
        return _abstain(event, refusal[0], candidates, why, refused(hits, refusal[1]), suggested)
    budget = Budget(min(settings.context.max_tokens, MAX_TOKENS), MAX_UNITS)
    if refusal is not None:
        about = _bearing(event, clean)
        choice = choose(
            about,
            floor=0.0,
            beside=0.0,
            shown=shown,
            ceiling=len(about),
            budget=budget,
            now=now,
        )
        told = {one.memory.id: one.why for one in event.enriched.bearing}
        taken = {one.memory.id: told[one.memory.id] for one in choice.chosen}
        others = [one for one in candidates if one.memory.id not in choice.why]
        refused_for = {one.memory.id: refusal[1] for one in others}
        choice = replace(choice, why=refused_for | choice.why | taken)
        candidates = (*about, *others)
    else:
        found = [one.memory for one in candidates]
        refused_by_sessions = out_of_context(found, hits) | outdated(found, hits)
        sure = event.intent.confidence_percent if event.intent else 0
        choice = choose(
            [one for one in candidates if one.memory.id not in refused_by_sessions],
            floor=settings.context.min_relevance,
            beside=min(settings.context.min_relevance, settings.context.min_relevance_beside),
            shown=shown,
            ceiling=ceiling(sure, settings.context),
            budget=budget,
            now=now,
        )
        choice = replace(choice, why=choice.why | refused_by_sessions)
    quoted = quote_sessions(
        hits,
        event.enriched.parsed.text,
        memories=[one.memory for one in choice.chosen],
        shown=shown,
        max_tokens=min(quoting.max_tokens, budget.tokens - choice.tokens - _ENVELOPE_TOKENS),
        floor=quoting.min_relevance,
        now=now,
        clean=clean,
    )
    for verdict in quoted.verdicts:
        emit(judged, "inject", outcome=verdict.outcome)
    if not (choice.chosen or quoted.excerpts):
        reason = refusal[0] if refusal else _nothing_reason(event, choice)
        suggested = _resources(event, reason, has_topic)
        return _abstain(event, reason, candidates, choice.why, quoted, suggested)
    suggested = _resources(event, None, has_topic)
    return _built(event, candidates, choice, quoted, sessions, suggested)


def _bearing(event: IntentClassified, clean: Callable[[str], str]) -> tuple[Candidate, ...]:
    """What bears on the work that a prompt orders."""
    return tuple(
        Candidate(hit=Hit.unsearched(one.memory, one.relevance), weight=1.0, kind=None, clean=clean)
        for one in event.enriched.bearing
    )


def _weigh(
    event: IntentClassified, settings: SearchIntentSettings, clean: Callable[[str], str]
) -> tuple[Candidate, ...]:
    """Every hit with its weight, best first."""
    kind = event.intent.intent_type if event.intent else None
    wanted = answer_types(event.enriched.parsed.text, kind)
    candidates = (
        Candidate(
            hit=hit,
            weight=weight(kind, hit.memory.namespace, settings.weights),
            kind=kind,
            clean=clean,
            wanted=wanted,
        )
        for hit in event.enriched.candidates
    )
    return tuple(sorted(candidates, key=lambda c: (-c.value, -c.hit.order, c.memory.id)))


def _refuse_all(event: IntentClassified, settings: SearchIntentSettings) -> tuple[str, str] | None:
    """The reason (a constant, and in words) not to look at candidates at all."""
    min_percent = round(settings.min_confidence * 100)
    if not settings.enabled:
        return "disabled", "injection is switched off"
    if event.enriched.parsed.machine:
        return "machine_turn", "the prompt was not typed by the user"
    if event.intent is None:
        return "no_intent", "the prompt does not search for anything"
    if event.intent.confidence_percent < min_percent:
        percent = event.intent.confidence_percent
        return "low_confidence", f"the intent is {percent} % sure, {min_percent} % is needed"
    return None


def _nothing_reason(event: IntentClassified, choice: Choice) -> str:
    if "search.unavailable" in event.enriched.degraded:
        return "search_unavailable"
    if choice.over_budget:
        return "no_room"
    return "already_shown" if choice.already_shown else "nothing_relevant"


def _abstain(
    event: IntentClassified,
    reason: str,
    candidates: Sequence[Candidate],
    why: Mapping[str, str],
    quoted: Quoted,
    suggested: tuple[str, ...],
) -> ContextBuilt:
    emit(abstained, "inject", reason=reason)
    return ContextBuilt(
        trace=event.trace,
        classified=event,
        context=_describe(event, (), suggested),
        text="",
        tokens=0,
        verdicts=_verdicts(event, candidates, why),
        sessions=quoted.verdicts,
        abstained=reason,
    )


def _built(
    event: IntentClassified,
    candidates: Sequence[Candidate],
    choice: Choice,
    quoted: Quoted,
    sessions: Sessions,
    suggested: tuple[str, ...],
) -> ContextBuilt:
    chosen = [c.memory for c in choice.chosen]
    shown = {(memory.id, memory.version) for memory in chosen}
    names = {one.session for one in quoted.excerpts}
    shown |= {shown_key(hit) for hit in event.enriched.sessions if hit.session in names}
    prompt = event.enriched.prompt
    if not prompt.rehearsal:
        sessions.show(prompt.session, frozenset(shown))
    text = extend(choice.text, (line for one in quoted.excerpts for line in one.lines))
    tokens = size_of(text).tokens if quoted.excerpts else choice.tokens
    emit(injected, "inject", count=len(chosen), tokens=tokens)
    return ContextBuilt(
        trace=event.trace,
        classified=event,
        context=_describe(event, choice.chosen, suggested),
        text=text,
        tokens=tokens,
        verdicts=_verdicts(
            event, candidates, choice.why, frozenset(memory.id for memory in chosen)
        ),
        sessions=quoted.verdicts,
    )


def _describe(
    event: IntentClassified,
    chosen: Sequence[Candidate],
    suggested: tuple[str, ...],
) -> MemoryContext:
    intent = event.intent
    detailed = event.enriched.prompt.detailed
    return MemoryContext(
        search_intent_detected=intent is not None,
        intent_type=intent.intent_type.value if intent else None,
        topics=intent.topics if intent else (),
        injected_memories=tuple(
            InjectedMemory(
                id=c.memory.id,
                namespace=c.memory.namespace,
                content_preview=neutralise(preview(c.text)) if detailed else "",
                score=round(c.score, 4),
            )
            for c in chosen
        ),
        reminder=REMINDER if chosen else None,
        suggested_resources=suggested,
    )


def _resources(
    event: IntentClassified, refused: str | None, has_topic: HasTopic
) -> tuple[str, ...]:
    """Two to four addresses at which there is more about what was asked; each holds something."""
    intent = event.intent
    if intent is None or refused in _NOTHING_SUGGESTED:
        return ()
    scopes = event.enriched.prompt.place.readable
    if topics := [topic for topic in intent.topics if topic.strip()]:
        known = [topic for topic in topics if has_topic(topic, scopes)][:2]
        named = [f"subcog://topics/{_quote(topic)}" for topic in known]
        return (f"subcog://search/{_quote(topics[0])}", *named, "subcog://topics")
    if sought := " ".join([*intent.keywords, *event.enriched.parsed.words][:3]):
        return (f"subcog://search/{_quote(sought)}", "subcog://topics")
    return ("subcog://topics", "subcog://namespaces")


def _quote(text: str) -> str:
    return quote(text[:_MAX_TOPIC_CHARS], safe="", errors="replace")


def _verdicts(
    event: IntentClassified,
    candidates: Sequence[Candidate],
    why: Mapping[str, str],
    chosen: frozenset[str] = frozenset(),
) -> tuple[Verdict, ...]:
    """A verdict on each candidate; with its summary only in a detailed answer."""
    detailed = event.enriched.prompt.detailed
    return tuple(
        Verdict(
            memory_id=c.memory.id,
            namespace=c.memory.namespace,
            summary=c.summary if detailed else "",
            text=c.hit.text,
            late=c.hit.late,
            vector=c.hit.vector,
            relevance=c.relevance,
            weight=c.weight,
            score=c.score,
            injected=c.memory.id in chosen,
            why=why[c.memory.id],
            by_words=c.hit.by_words,
        )
        for c in candidates
    )
