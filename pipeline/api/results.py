"""Makes the answers of ``bus/results.py`` from memories, queries and events."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from textwrap import shorten
from typing import TYPE_CHECKING, Any

import msgspec

from ...bus.anchors import CodeState
from ...bus.events import CaptureSettled, IntentClassified, PromptEnriched, ResponseReady
from ...bus.prompt_results import (
    ClassifyResult,
    EnrichedIntent,
    EnrichStep,
    ExplainResult,
    InjectStep,
    VoteResult,
)
from ...bus.prompts import SearchIntent
from ...bus.results import (
    CaptureResult,
    CodePlace,
    CodeResult,
    Contradicted,
    FoundMemory,
    HistoryResult,
    ListedMemory,
    MemoryResult,
    MemoryVersion,
    RecallResult,
    SaidAround,
    StaleMemory,
    Topic,
    TopicMemory,
    TopicResult,
    TopicsResult,
    UseResult,
    VersionOrigin,
    WhyResult,
)
from ...bus.sessions import Passage
from ...bus.values import UNASKED, Hit, Memory, Provenance, Query, Recalled
from ...stages.respond import enriched_intent
from ...stages.statements.outdated import contradicted, takes_effect
from ...stages.statements.remainder import leaves_clause
from ...stages.text.envelope import author_name, source_of
from .params import CallRefused

if TYPE_CHECKING:
    from ...sinks.store.rows import Usage

# So many of what was found are compared with each other, in a few µs a pair.
_MOST_COMPARED = 20
# So many characters are shown before and after a statement.
_AROUND_CHARS = 200


# --- one memory ----------------------------------------------------------------------------------


def memory_answer(memory: Memory, newer: Memory | None = None) -> MemoryResult:
    """``get``, and what a change of a memory answers: everything about it as it is now.

    ``newer`` contradicts it.
    """
    return MemoryResult(**_whole(memory), contradicted_by=newer.id if newer else msgspec.UNSET)


def history_answer(versions: Sequence[Memory]) -> HistoryResult:
    """``history``: ``versions`` are those of one memory, oldest first."""
    pairs = zip((None, *versions), versions, strict=False)
    return HistoryResult(
        id=versions[-1].id,
        versions=tuple(
            MemoryVersion(**_whole(memory), reason=_why_version(before, memory))
            for before, memory in pairs
        ),
    )


def _why_version(before: Memory | None, memory: Memory) -> str:
    """Why ``memory`` came after ``before``; what was read in its text later has no reason noted."""
    if before is None or memory.provenance != before.provenance:
        return memory.provenance.gate
    if memory.contradicts is not None and memory.contradicts != before.contradicts:
        return f"noted that it contradicts {memory.contradicts}"
    return "noted where its code is" if memory.anchors != before.anchors else memory.provenance.gate


def said_around(passage: Passage, statement: str) -> SaidAround | None:
    """What ``passage`` says around ``statement``; None where it does not hold it."""
    at = passage.text.lower().find(statement.lower())
    if at < 0 or len(passage.text.lower()) != len(passage.text):  # such letters shift the place
        return None
    end = at + len(statement)
    before, after = passage.text[:at][-2 * _AROUND_CHARS :], passage.text[end:][: 2 * _AROUND_CHARS]
    return SaidAround(
        session=passage.session,
        speaker=passage.speaker,
        said_at=passage.said_at,
        before=shorten(before[::-1], _AROUND_CHARS, placeholder=" …")[::-1],
        statement=passage.text[at:end],
        after=shorten(after, _AROUND_CHARS, placeholder=" …"),
    )


def why_answer(
    versions: Sequence[Memory],
    usage: Usage | None,
    use: UseResult,
    said_in: SaidAround | None,
    *,
    now: datetime,
) -> WhyResult:
    """``why``: where a memory came from, why it was kept, and whether a search finds it."""
    first, last = versions[0], versions[-1]
    return WhyResult(
        id=last.id,
        said_by=author_name(first.provenance.author) or source_of(first.provenance),
        said_in=said_in,
        namespace=last.namespace,
        scope=str(last.scope),
        summary=last.summary,
        confidence=last.confidence_percent / 100,
        captured_at=first.created_at,
        captured_by=provenance_answer(first.provenance),
        decision=first.provenance.gate,
        also_said_by=tuple(map(provenance_answer, last.sources)),
        contradicts=last.contradicts,
        found_by_search=hidden_because(last, now) is None,
        hidden_because=hidden_because(last, now),
        versions=tuple(map(_origin, versions)),
        times_injected=usage.times_injected if usage else 0,
        last_used=usage.last_used if usage else None,
        use=use,
    )


def _head(memory: Memory) -> dict[str, Any]:
    """The fields of ``MemoryHead``."""
    return {
        "id": memory.id,
        "urn": f"subcog://memory/{memory.id}",
        "namespace": memory.namespace,
        "content": memory.content,
        "created_at": memory.created_at,
    }


def _whole(memory: Memory) -> dict[str, Any]:
    """The fields of ``MemoryResult``."""
    return _head(memory) | {
        "summary": memory.summary,
        "scope": str(memory.scope),
        "tags": memory.tags,
        "questions": memory.questions,
        "triggers": memory.triggers,
        "version": memory.version,
        "confidence": memory.confidence_percent / 100,
        "updated_at": memory.updated_at,
        "provenance": provenance_answer(memory.provenance),
        "valid_from": memory.valid_from,
        "valid_to": memory.valid_to,
        "supersedes": memory.supersedes,
        "superseded_by": memory.superseded_by,
        "contradicts": memory.contradicts,
    }


def _origin(memory: Memory) -> VersionOrigin:
    provenance = memory.provenance
    return VersionOrigin(
        version=memory.version,
        updated_at=memory.updated_at,
        reason=provenance.gate,
        by=provenance.hook,
        author=author_name(provenance.author),
    )


def hidden_because(memory: Memory, now: datetime) -> str | None:
    """Why a search does not find ``memory``; None where it does."""
    if memory.superseded_by is not None:
        return f"superseded by {memory.superseded_by}"
    if memory.valid_to is not None and memory.valid_to <= now:
        return f"valid only until {memory.valid_to.isoformat(timespec='seconds')}"
    return None


def provenance_answer(provenance: Provenance) -> dict[str, str]:
    """What is known of where a memory came from."""
    known = msgspec.structs.asdict(provenance) | {"author": author_name(provenance.author)}
    return {name: value for name, value in known.items() if value and name != "gate"}


def capture_answer(settled: CaptureSettled) -> CaptureResult:
    """``capture``: what became of it."""
    kept, memory, other = settled.kept, settled.memory, settled.other
    more: dict[str, Any] = {}
    if memory is not None:
        more["urn"] = f"subcog://memory/{memory.id}"
        more["scope"] = str(memory.scope)
        more["tags"] = memory.tags
    if other is not None and kept.supersedes is not None:
        more["replaced"] = Contradicted(id=other.id, content=other.content)
        more["supersedes"] = other.id
        more["undo"] = f"subcog restore {other.id}"
    elif other is not None and memory is not None:
        more["contradicts"] = Contradicted(id=other.id, content=other.content)
        texts = memory.content, other.content
        if takes_effect(*texts) and not leaves_clause(*texts):
            more["offer"] = offer(other.id, memory.id)
    if kept.was_forgotten:
        more["was_forgotten"] = True
    return CaptureResult(
        outcome=kept.outcome,
        id=kept.memory_id,
        namespace=kept.namespace,
        summary=kept.summary,
        redactions=kept.redactions,
        reason=kept.reason,
        **more,
    )


def offer(old: str, new: str) -> str:
    """The command by which the user lets the memory ``new`` replace ``old``."""
    return f"subcog supersede {old} {new}"


def replaced_among(memories: Sequence[Memory]) -> dict[str, str]:
    """The ids of those of the first ``memories`` that a newer one of them contradicts, and its."""
    return contradicted(memories[:_MOST_COMPARED])


def _newer_first(hits: Sequence[Hit], replaced: Mapping[str, str]) -> list[Hit]:
    """``hits``, each that is replaced after the one that replaces it."""
    by_id = {hit.memory.id: hit for hit in hits}
    ordered: dict[str, Hit] = {}
    for hit in hits:
        if newer := replaced.get(hit.memory.id):
            ordered.setdefault(newer, by_id[newer])
        ordered.setdefault(hit.memory.id, hit)
    return list(ordered.values())


# --- several memories ----------------------------------------------------------------------------


def recall_answer(
    query: Query,
    recalled: Recalled,
    topics: Sequence[Topic],
    buried: Callable[[str], bool],
    code: Mapping[str, CodeState] | None = None,
) -> RecallResult:
    """``recall``: hits with absolute scores, best first, and the topics that the query names.

    Of two that contradict each other the newer comes first.
    """
    replaced = replaced_among([hit.memory for hit in recalled.hits])
    return RecallResult(
        query=query.text,
        mode=recalled.mode,
        memories=tuple(
            FoundMemory(
                **_head(hit.memory),
                score=round(hit.relevance, 4),
                tags=hit.memory.tags,
                summary=hit.memory.summary,
                scope=str(hit.memory.scope),
                author=author_name(hit.memory.provenance.author),
                code=code_answer((code or {}).get(hit.memory.id)),
                buried=buried(hit.memory.id),
                replaced_by=replaced.get(hit.memory.id),
            )
            for hit in _newer_first(recalled.hits, replaced)
        ),
        topics=tuple(topic.name for topic in topics),
        total_count=recalled.total,
        execution_time_ms=round(recalled.took_ms, 3),
        degraded=recalled.degraded,
    )


def code_answer(code: CodeState | None) -> CodeResult | None:
    """What became of the code that a memory names; None for one that names none."""
    if code is None:
        return None
    places = (
        CodePlace(path=a.path, symbol=a.symbol, state=a.state, now=a.now) for a in code.anchors
    )
    return CodeResult(state=code.state, anchors=tuple(places))


def stale_answer(memory: Memory, code: CodeState) -> StaleMemory:
    """One memory of ``stale``."""
    answer = code_answer(code) or CodeResult(state=None, anchors=())
    author = author_name(memory.provenance.author)
    return StaleMemory(**_head(memory), summary=memory.summary, author=author, code=answer)


def listed_answer(memory: Memory, times_shown: int) -> ListedMemory:
    """One memory of ``list``."""
    return ListedMemory(
        **_head(memory),
        summary=memory.summary,
        scope=str(memory.scope),
        tags=memory.tags,
        author=author_name(memory.provenance.author),
        version=memory.version,
        contradicts=memory.contradicts,
        automatic=memory.provenance.hook in UNASKED,
        hook=memory.provenance.hook,
        times_shown=times_shown,
    )


def topics_answer(topics: Sequence[Topic], total: int, indexed_at: datetime | None) -> TopicsResult:
    """``topics``: those of most memories, and how many there are in all."""
    return TopicsResult(
        topics=tuple(topics),
        total_topics=total,
        last_indexed=indexed_at,
    )


def topic_answer(
    topic: str, memories: Sequence[Memory], related: Sequence[str], total: int
) -> TopicResult:
    """``topics TOPIC``: the first of its ``total`` memories; an unknown topic has none."""
    return TopicResult(
        topic=topic,
        memories=tuple(
            TopicMemory(
                **_head(memory), tags=memory.tags, author=author_name(memory.provenance.author)
            )
            for memory in memories
        ),
        related_topics=tuple(related),
        total_count=total,
    )


# --- understanding a prompt ----------------------------------------------------------------------


def classify_answer(text: str, event: IntentClassified) -> ClassifyResult:
    """``classify``: the merged intent, and each classifier's vote."""
    votes = tuple(
        VoteResult(
            **_intent(vote.intent), racer=vote.racer, took_ms=round(vote.took_ms, 3), note=vote.note
        )
        for vote in event.votes
    )
    return ClassifyResult(**_intent(event.intent), text=text, votes=votes)


def _intent(intent: SearchIntent | None) -> dict[str, Any]:
    """The fields of ``IntentResult``."""
    if intent is None:
        return {"search_intent_detected": False, "intent_type": None, "confidence": 0.0}
    return {
        "search_intent_detected": True,
        "intent_type": intent.intent_type,
        "confidence": intent.confidence_percent / 100,
        "topics": intent.topics,
        "keywords": intent.keywords,
        "source": intent.source,
        "evidence": intent.evidence,
        "arithmetic": intent.arithmetic,
    }


def explain_answer(
    ready: ResponseReady,
    *,
    stages: Mapping[str, float] | None = None,
    uses: tuple[UseResult, ...] = (),
) -> ExplainResult:
    """``explain``: what each stage decided and took (``stages``, in ms), and what would be sent.

    Raises ``CallRefused`` where the prompt was answered without its stages.
    """
    built = ready.built
    if built is None:
        raise CallRefused("the prompt was answered before the stages had run; try again")
    enriched = built.classified.enriched
    prompt = enriched.prompt
    return ExplainResult(
        prompt=prompt.text,
        project=str(prompt.place.project),
        trace=prompt.trace,
        stages_ms=dict(stages or {}),
        parse=enriched.parsed,
        enrich=EnrichStep(
            project=enriched.project,
            candidates=len(enriched.candidates),
            degraded=enriched.degraded,
        ),
        enriched_intent=_understood(enriched),
        classify=classify_answer(enriched.parsed.text, built.classified),
        inject=InjectStep(
            tokens=built.tokens,
            abstained=built.abstained,
            verdicts=built.verdicts,
            sessions=built.sessions,
            answers=built.answers,
            uses=uses,
        ),
        context=built.text,
        memory_context=built.context,
        response=msgspec.Raw(ready.body),
    )


def _understood(enriched: PromptEnriched) -> EnrichedIntent:
    return msgspec.convert(enriched_intent(enriched), EnrichedIntent, strict=False)
