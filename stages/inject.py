"""Decide what of memory goes to the model; often that is nothing, and it says why.

The order of the gates for memories: is injection wanted at all, is the intent sure enough, is the
memory relevant in itself, is there still the code that it is about, was it shown before, does
another one say the same, how many are allowed, what fits. What was said in earlier sessions has a
relevance of its own, which holds for orders too; it is quoted after the memories. Each candidate
gets a verdict in plain words. What a prompt asks of the project itself is answered from the
project's own files, and a last line names where there is more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from msgspec.structs import replace

from ..bus.events import ContextBuilt, IntentClassified
from ..bus.prompts import DetectionSource, InjectedMemory, MemoryContext, Parsed, Verdict
from ..bus.sessions import SessionHit
from ..bus.signals import NamedSignal, abstained, emit, injected, judged, told
from ..bus.values import Memory, Scope
from ..config.settings import ContextSettings, SearchIntentSettings, SessionsSettings
from .actions.failures import read_record
from .enrichment.time_spans import is_of_another_date
from .injection.candidate import Candidate, bearing_on, weigh
from .injection.entity_mismatch import entity_mismatch
from .injection.general_question import NOT_MEANT, read_asked
from .injection.instructions import NOTHING_KNOWN, Known
from .injection.pack import Budget
from .injection.project_facts import Told, tell_facts
from .injection.resources import OF_THE_WHOLE, Beside, CountTopic, more_key, resources, unnamed
from .injection.select import Choice, choose, nothing
from .language.project_question import asked_of_project
from .language.sentences import is_order, prompt_sentences
from .ports import Sessions
from .sessions.quote import Quoted, out_of_context, outdated, overtaken, quote_sessions, refused
from .text.envelope import extend, neutralise, preview
from .text.unicode import size_of

MAX_TOKENS = 2400
"""Codex cuts the middle out of anything longer, whatever the settings say."""

MAX_UNITS = 8000
"""UTF-16 units of one context: an answer may have 9,000, and messages to the user need some."""

ORDER_RELEVANCE = 0.6
"""The least relevance of a session for a short order, which names files and words by the way."""

REMINDER = "These memories may be relevant to the user's question."

_MEDIUM_PERCENT = 50
_HIGH_PERCENT = 80
_MEDIUM_EXTRA = 5
# From this relevance on a memory that was reranked needs no session that bears on the prompt.
_SURE = 0.7
_CLEARLY_MORE = 0.1
# An order is not answered by a memory, but what was settled about its subject bears on it.
_OF_MEMORIES_ALONE = frozenset({"no_intent", "low_confidence"})
_NOTHING_SUGGESTED = frozenset({"disabled", "machine_turn", "low_confidence"})
_ENVELOPE_TOKENS = 60
_SHORT_ORDER_WORDS = 10
_ANOTHER_DATE = "it tells of another date than the one that is asked about"


def _knows_none(topic: str, scopes: tuple[Scope, ...]) -> int:
    return 0


def ceiling(confidence_percent: int, context: ContextSettings) -> int:
    """How many memories an intent this sure may bring at most, before relevance and budget."""
    if confidence_percent >= _HIGH_PERCENT:
        return context.max_count
    extra = _MEDIUM_EXTRA if confidence_percent >= _MEDIUM_PERCENT else 0
    return min(context.base_count + extra, context.max_count)


def inject(
    event: IntentClassified,
    *,
    settings: SearchIntentSettings,
    quoting: SessionsSettings,
    sessions: Sessions,
    now: datetime,
    clean: Callable[[str], str] = str,
    count_topic: CountTopic = _knows_none,
    known: Known = NOTHING_KNOWN,
) -> ContextBuilt:
    """Choose memories and sessions for the prompt of ``event``, and put them into one envelope.

    ``clean`` redacts a text that comes out of the store. ``count_topic`` tells how many memories
    are about a topic: one without any is not suggested. ``known`` is what use says of memories, and
    what the agent's own files tell it in any case.
    What is chosen counts as shown to the session, and ``injected`` or ``abstained`` is emitted,
    unless this is a rehearsal.
    """
    about = bearing_on(event, clean)
    searched = _without(about, weigh(event, settings, clean))
    candidates = (*about, *searched)
    hits, shown = event.enriched.sessions, sessions.shown(event.enriched.prompt.session)
    refusal = _refuse_all(event, settings)
    if refusal is not None and refusal[0] not in _OF_MEMORIES_ALONE:
        choice = nothing({one.memory.id: refusal[1] for one in candidates})
        return _built(event, refusal[0], candidates, choice, refused(hits, refusal[1]), Beside())
    room = Budget(min(settings.context.max_tokens, MAX_TOKENS), MAX_UNITS)
    facts = _tell(event, shown, room, clean)
    kept_free = _for_sessions(event, quoting, room)
    budget = Budget(room.tokens - facts.size.tokens, room.units - facts.size.units)
    take = partial(choose, shown=shown, now=now, known=known)
    if refusal is not None:
        take = partial(take, budget=budget)
        choice = _choose_for_work(about, candidates, refusal[1], take)
    else:
        take = partial(take, budget=Budget(budget.tokens - kept_free, budget.units))
        choice = _choose(event, candidates, searched, take, settings.context, now)
    choice = _with_reasons(event, choice)
    not_meant = [hit for hit in hits if _not_meant(event, hit)]
    quoted = quote_sessions(
        [hit for hit in hits if hit not in not_meant],
        "" if event.enriched.looked_up else event.enriched.parsed.text,
        memories=_beside(candidates, choice, shown),
        shown=shown,
        max_tokens=min(quoting.max_tokens, budget.tokens - choice.tokens - _ENVELOPE_TOKENS),
        floor=_session_floor(event, refusal is not None, quoting),
        now=now,
        clean=clean,
    )
    quoted = replace(quoted, verdicts=quoted.verdicts + refused(not_meant, NOT_MEANT).verdicts)
    for verdict in quoted.verdicts:
        _count(event, judged, outcome=verdict.outcome)
    reason = None
    if not (choice.chosen or quoted.excerpts or facts.lines):
        reason = _nothing_reason(event, refusal, choice, facts)
    suggested = _resources(event, reason, count_topic)
    named = _named(event, reason, choice, suggested, shown, count_topic)
    beside = Beside(facts, suggested, named, room)
    built = _built(event, reason, candidates, choice, quoted, beside)
    keys = quoted.keys.union(one.memory.seen_key for one in choice.chosen)
    keys |= beside.keys(built.text)
    if keys and not event.enriched.prompt.rehearsal:
        sessions.show(event.enriched.prompt.session, keys, by=event.trace)
    return built


def _count(event: IntentClassified, signal: NamedSignal, **facts: Any) -> None:
    """Emit ``signal``, unless nobody but its reader sees the answer."""
    if not event.enriched.prompt.rehearsal:
        emit(signal, "inject", **facts)


def _tell(
    event: IntentClassified,
    shown: Collection[tuple[str, int]],
    room: Budget,
    clean: Callable[[str], str],
) -> Told:
    """What the project's files say of what the prompt asks about the project itself."""
    enriched = event.enriched
    facts = tell_facts(
        asked_of_project(enriched.parsed.text),
        enriched.project,
        shown=shown,
        max_tokens=room.tokens - _ENVELOPE_TOKENS,
        clean=clean,
    )
    for answer in facts.answers:
        _count(event, told, fact=answer.fact, outcome=answer.outcome)
    return facts


def _for_sessions(event: IntentClassified, quoting: SessionsSettings, room: Budget) -> int:
    """The tokens that memories leave to sessions: a time has both, and both were asked for."""
    enriched = event.enriched
    said = enriched.looked_up and any(hit.passages for hit in enriched.sessions)
    return min(quoting.max_tokens, room.tokens // 3) if said else 0


def _beside(
    candidates: Sequence[Candidate], choice: Choice, shown: frozenset[tuple[str, int]]
) -> list[Memory]:
    """The memories that the session has now, of those found: chosen, or shown to it before."""
    chosen = [one.memory for one in choice.chosen]
    ids = {memory.id for memory in chosen}
    found = (one.memory for one in candidates if one.memory.id not in ids)
    return chosen + [memory for memory in found if memory.seen_key in shown]


def _session_floor(event: IntentClassified, refused: bool, quoting: SessionsSettings) -> float:
    """The least relevance of a session. A long order describes its subject as a question does."""
    parsed = event.enriched.parsed
    is_short = refused and len(parsed.words) <= _SHORT_ORDER_WORDS
    ordered = is_short and any(map(is_order, prompt_sentences(parsed.text)))
    return max(quoting.min_relevance, ORDER_RELEVANCE if ordered else 0.0)


def _without(known: Sequence[Candidate], found: Iterable[Candidate]) -> list[Candidate]:
    ids = {one.memory.id for one in known}
    return [one for one in found if one.memory.id not in ids]


def _choose(
    event: IntentClassified,
    candidates: Sequence[Candidate],
    searched: Sequence[Candidate],
    take: Callable[..., Choice],
    context: ContextSettings,
    now: datetime,
) -> Choice:
    """Which of ``candidates`` answer the question of ``event``; ``take`` is ``choose``.

    Those that were not ``searched`` for bear on the work that it orders as well, and need not be
    what it asks for.
    """
    found, hits = [one.memory for one in candidates], event.enriched.sessions
    least = min(context.min_relevance, context.min_relevance_beside)
    not_meant = dict(_beside_the_point(event.enriched.parsed, searched, least))
    not_meant |= _of_another_date(event, found, now)
    surely = context.min_relevance
    doubtful = [one.memory for one in candidates if not _speaks_for_itself(one, surely)]
    refused = out_of_context(doubtful, hits) | outdated(found, hits, now) | not_meant
    later = overtaken(found, hits, now)
    for one in candidates:
        one.overtaken = later.get(one.memory.id, "")
    take = partial(
        take,
        [one for one in candidates if one.memory.id not in refused],
        floor=0.0 if event.enriched.looked_up else context.min_relevance,
        beside=0.0 if event.enriched.looked_up else least,
        ceiling=ceiling(event.intent.confidence_percent if event.intent else 0, context),
    )
    choice = take()
    if event.enriched.looked_up and choice.already_shown and (choice.chosen or hits):
        choice = take(shown=frozenset())  # a part of a list would read like the whole
    return replace(choice, why=choice.why | refused)


def _beside_the_point(
    parsed: Parsed, candidates: Iterable[Candidate], least: float
) -> Iterator[tuple[str, str]]:
    """The ids of those that share words with the question and no more, each with why.

    Whether it is about another thing is asked of what has the ``least`` relevance to be shown.
    """
    asked = read_asked(parsed)
    for one in candidates:
        if asked.refuses(one.memory.content, one.relevance):
            yield one.memory.id, NOT_MEANT
            continue
        if one.relevance < least:
            continue
        if mismatch := entity_mismatch(
            parsed, one.text, relevance=one.relevance, reworded=one.hit.in_other_words
        ):
            yield one.memory.id, mismatch


def _of_another_date(
    event: IntentClassified, found: Sequence[Memory], now: datetime
) -> dict[str, str]:
    """Why memories tell of no incident on the date that the prompt asks about, by their ids."""
    dates = event.enriched.parsed.incident_dates
    if event.enriched.looked_up or not dates:
        return {}
    return {
        one.id: _ANOTHER_DATE
        for one in found
        if is_of_another_date(one.content, one.created_at, dates, now)
    }


def _not_meant(event: IntentClassified, hit: SessionHit) -> bool:
    """Whether what was said in a session is no answer to a general question.

    Its relevance is another figure than a memory's: a textbook question has all of its few words
    in some session.
    """
    said = "\n".join(passage.text for passage in hit.passages)
    return bool(said) and read_asked(event.enriched.parsed).refuses(said, relevance=0.0)


def _speaks_for_itself(candidate: Candidate, floor: float) -> bool:
    """Whether it answers whatever its session was about: reranked so, or a failed command's record.

    A session of several subjects is about each of them but a little. So what is relevant as read
    with the question needs none, if it is so surely, or clearly more than by the words that it may
    share with any question. A failure is told by the command and its error, which no talk need
    mention.
    """
    by_words = candidate.hit.by_words
    if by_words is not None:
        enough = min(_SURE, max(floor, by_words + _CLEARLY_MORE))
        if candidate.relevance >= enough:
            return True
    return read_record(candidate.memory) is not None


def _asks_plainly(event: IntentClassified) -> bool:
    """Whether the words of the prompt alone say so surely that it is a search in this project."""
    return not read_asked(event.enriched.parsed).general and any(
        vote.racer is DetectionSource.KEYWORD
        and vote.intent is not None
        and vote.intent.confidence_percent >= _HIGH_PERCENT
        for vote in event.votes
    )


def _named(
    event: IntentClassified,
    reason: str | None,
    choice: Choice,
    suggested: Sequence[str],
    shown: Collection[tuple[str, int]],
    count_topic: CountTopic,
) -> tuple[str, ...]:
    """The addresses that the model reads: beside memories, and where a sure search found none."""
    if event.enriched.looked_up:
        asked = event.enriched.parsed.retrospect
        whole = asked is not None and asked.whole and choice.chosen
        return (OF_THE_WHOLE,) if whole and more_key(OF_THE_WHOLE) not in shown else ()
    if not choice.chosen and not (reason == "nothing_relevant" and _asks_plainly(event)):
        return ()
    scopes, held = event.enriched.prompt.place.readable, len(choice.chosen)
    return unnamed(suggested, shown, lambda topic: count_topic(topic, scopes) > held)


def _choose_for_work(
    about: Sequence[Candidate],
    candidates: Iterable[Candidate],
    refusal: str,
    take: Callable[..., Choice],
) -> Choice:
    """What is ``about`` the work that a prompt orders; the other ``candidates`` are refused."""
    choice = take(about, floor=0.0, beside=0.0, ceiling=len(about))
    return replace(choice, why={one.memory.id: refusal for one in candidates} | choice.why)


def _with_reasons(event: IntentClassified, choice: Choice) -> Choice:
    """``choice``, saying of what bears on the work why it does."""
    reasons = {one.memory.id: one.why for one in event.enriched.bearing}
    told = {one.memory.id for one in choice.chosen} & reasons.keys()
    return replace(choice, why=choice.why | {id_: reasons[id_] for id_ in told})


def _refuse_all(event: IntentClassified, settings: SearchIntentSettings) -> tuple[str, str] | None:
    """The reason (a constant, and in words) not to look at candidates at all."""
    min_percent = round(settings.min_confidence * 100)
    if not settings.enabled:
        return "disabled", "injection is switched off"
    if event.enriched.parsed.machine:
        return "machine_turn", "the prompt was not typed by the user"
    if event.intent is None:
        # A pasted failure asks for its cause, though nobody typed a question.
        if event.enriched.parsed.pasted and any(vote.intent for vote in event.votes):
            return None
        return "no_intent", "the prompt does not search for anything"
    if event.intent.confidence_percent < min_percent:
        percent = event.intent.confidence_percent
        return "low_confidence", f"the intent is {percent} % sure, {min_percent} % is needed"
    return None


def _nothing_reason(
    event: IntentClassified, refusal: tuple[str, str] | None, choice: Choice, facts: Told
) -> str:
    if facts.only_repeats:
        return "already_shown"
    if refusal is not None:
        return refusal[0]
    if "search.unavailable" in event.enriched.degraded:
        return "search_unavailable"
    if choice.over_budget:
        return "no_room"
    if choice.instructed:
        return "in_instructions"
    return "already_shown" if choice.already_shown else "nothing_relevant"


def _built(
    event: IntentClassified,
    reason: str | None,
    candidates: Sequence[Candidate],
    choice: Choice,
    quoted: Quoted,
    beside: Beside,
) -> ContextBuilt:
    """The answer, with the ``reason`` for bringing nothing if it does."""
    text = choice.text
    if quoted.excerpts:
        text = extend(text, (line for one in quoted.excerpts for line in one.lines))
    text = beside.add_to(text)
    tokens = choice.tokens if text == choice.text else size_of(text).tokens
    chosen = frozenset(one.memory.id for one in choice.chosen)
    if reason is None:
        _count(event, injected, count=len(chosen), tokens=tokens)
    else:
        _count(event, abstained, reason=reason)
    return ContextBuilt(
        trace=event.trace,
        classified=event,
        context=_describe(event, choice.chosen, beside.suggested),
        text=text,
        tokens=tokens,
        verdicts=_verdicts(event, candidates, choice.why, chosen),
        sessions=quoted.verdicts,
        answers=beside.facts.answers,
        abstained=reason,
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
    event: IntentClassified, refused: str | None, count_topic: CountTopic
) -> tuple[str, ...]:
    if event.intent is None or refused in _NOTHING_SUGGESTED:
        return ()
    enriched = event.enriched
    scopes = enriched.prompt.place.readable
    return resources(event.intent, enriched.parsed.words, scopes, count_topic)


def _verdicts(
    event: IntentClassified,
    candidates: Sequence[Candidate],
    why: Mapping[str, str],
    chosen: frozenset[str],
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
