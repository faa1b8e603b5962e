"""The JSON that calls answer with: the field names that other programs rely on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Protocol

import msgspec

from ...bus.events import CaptureSettled, IntentClassified, ResponseReady
from ...bus.values import Memory, Provenance, Query, Recalled, SearchIntent
from ...stages.enrichment.report import enriched_intent
from ...stages.text.envelope import author_name


class TopicInfo(Protocol):
    """A topic with how many memories it has, and in which namespaces."""

    @property
    def name(self) -> str: ...
    @property
    def memory_count(self) -> int: ...
    @property
    def namespaces(self) -> Sequence[str]: ...


class Usage(Protocol):
    """How often a memory went into a context, and when it last did."""

    @property
    def times_injected(self) -> int: ...
    @property
    def last_used(self) -> datetime | None: ...


def _brief(memory: Memory) -> dict[str, Any]:
    return {
        "id": memory.id,
        "urn": f"subcog://memory/{memory.id}",
        "namespace": memory.namespace,
        "content": memory.content,
        "created_at": memory.created_at,
    }


def memory_answer(memory: Memory) -> dict[str, Any]:
    """``get``: everything about one memory."""
    return _brief(memory) | {
        "summary": memory.summary,
        "scope": str(memory.scope),
        "tags": memory.tags,
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


def change_answer(memory: Memory) -> dict[str, Any]:
    """``supersede``, ``expire`` and ``restore``: the memory as it is now."""
    return memory_answer(memory)


def history_answer(versions: Sequence[Memory]) -> dict[str, Any]:
    """``history``: every version, oldest first, each with why it was made."""
    return {
        "id": versions[-1].id,
        "versions": [
            memory_answer(memory) | {"reason": memory.provenance.gate} for memory in versions
        ],
    }


def why_answer(versions: Sequence[Memory], usage: Usage | None, *, now: datetime) -> dict[str, Any]:
    """``why``: where a memory came from, why it was kept, and whether it still counts."""
    first, last = versions[0], versions[-1]
    return {
        "id": last.id,
        "namespace": last.namespace,
        "scope": str(last.scope),
        "summary": last.summary,
        "confidence": last.confidence_percent / 100,
        "captured_at": first.created_at,
        "captured_by": provenance_answer(first.provenance),
        "decision": first.provenance.gate,
        "also_said_by": [provenance_answer(source) for source in last.sources],
        "contradicts": last.contradicts,
        "found_by_search": hidden_because(last, now) is None,
        "hidden_because": hidden_because(last, now),
        "versions": [
            {
                "version": memory.version,
                "updated_at": memory.updated_at,
                "reason": memory.provenance.gate,
                "by": memory.provenance.hook,
                "author": author_name(memory.provenance.author),
            }
            for memory in versions
        ],
        "times_injected": usage.times_injected if usage else 0,
        "last_used": usage.last_used if usage else None,
    }


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


def capture_answer(settled: CaptureSettled) -> dict[str, Any]:
    """``capture``: what became of it."""
    kept = settled.kept
    answer: dict[str, Any] = {
        "outcome": kept.outcome,
        "id": kept.memory_id,
        "namespace": kept.namespace,
        "summary": kept.summary,
        "redactions": kept.redactions,
        "reason": kept.reason,
    }
    if settled.memory is not None:
        answer["urn"] = f"subcog://memory/{settled.memory.id}"
        answer["scope"] = str(settled.memory.scope)
        answer["tags"] = settled.memory.tags
    if settled.other is not None and settled.memory is not None:
        answer["contradicts"] = {"id": settled.other.id, "content": settled.other.content}
        answer["offer"] = offer(settled.other.id, settled.memory.id)
    return answer


def offer(old: str, new: str) -> str:
    """What the user may run where a new memory says otherwise than an old one."""
    return f"subcog supersede {old} {new}"


def recall_answer(query: Query, recalled: Recalled, topics: Sequence[TopicInfo]) -> dict[str, Any]:
    """``recall``: hits with absolute scores, best first, and the topics the query names."""
    return {
        "query": query.text,
        "mode": recalled.mode,
        "memories": [
            _brief(hit.memory)
            | {
                "score": round(hit.relevance, 4),
                "tags": hit.memory.tags,
                "summary": hit.memory.summary,
                "scope": str(hit.memory.scope),
                "author": author_name(hit.memory.provenance.author),
            }
            for hit in recalled.hits
        ],
        "topics": [topic.name for topic in topics],
        "total_count": recalled.total,
        "execution_time_ms": round(recalled.took_ms, 3),
        "degraded": recalled.degraded,
    }


def listed_answer(memory: Memory) -> dict[str, Any]:
    """One memory of ``list``."""
    return _brief(memory) | {
        "summary": memory.summary,
        "scope": str(memory.scope),
        "tags": memory.tags,
        "author": author_name(memory.provenance.author),
        "contradicts": memory.contradicts,
    }


def topics_answer(
    topics: Sequence[TopicInfo], total: int, indexed_at: datetime | None
) -> dict[str, Any]:
    """``topics``: those of most memories, and how many there are in all."""
    return {
        "topics": [
            {
                "name": topic.name,
                "memory_count": topic.memory_count,
                "namespaces": list(topic.namespaces),
            }
            for topic in topics
        ],
        "total_topics": total,
        "last_indexed": indexed_at,
    }


def topic_answer(topic: str, memories: Sequence[Memory], related: Sequence[str]) -> dict[str, Any]:
    """``topics TOPIC``: its memories; none for an unknown topic, which is no error."""
    return {
        "topic": topic,
        "memories": [
            _brief(memory) | {"tags": memory.tags, "author": author_name(memory.provenance.author)}
            for memory in memories
        ],
        "related_topics": list(related),
        "total_count": len(memories),
    }


def intent_answer(intent: SearchIntent | None) -> dict[str, Any]:
    """An intent as it leaves: the confidence from 0.0 to 1.0."""
    if intent is None:
        return {"search_intent_detected": False, "intent_type": None, "confidence": 0.0}
    return {
        "search_intent_detected": True,
        "intent_type": intent.intent_type,
        "confidence": intent.confidence_percent / 100,
        "topics": intent.topics,
        "keywords": intent.keywords,
        "source": intent.source,
        "evidence": [msgspec.to_builtins(evidence) for evidence in intent.evidence],
        "arithmetic": intent.arithmetic,
    }


def classify_answer(text: str, event: IntentClassified) -> dict[str, Any]:
    """``classify``: the merged answer, and each racer's vote."""
    votes = [
        intent_answer(vote.intent)
        | {"racer": vote.racer, "took_ms": round(vote.took_ms, 3), "note": vote.note}
        for vote in event.votes
    ]
    return {"text": text} | intent_answer(event.intent) | {"votes": votes}


def explain_answer(
    ready: ResponseReady, *, stages: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """``explain``: what each stage decided and took (``stages``, in ms), and what would be sent."""
    built = ready.built
    if built is None:
        return {"response": msgspec.Raw(ready.body)}
    enriched = built.classified.enriched
    prompt = enriched.prompt
    return {
        "prompt": prompt.text,
        "project": str(prompt.place.project),
        "trace": prompt.trace,
        "stages_ms": dict(stages or {}),
        "parse": msgspec.to_builtins(enriched.parsed),
        "enrich": {
            "project": msgspec.to_builtins(enriched.project),
            "candidates": len(enriched.candidates),
            "degraded": enriched.degraded,
        },
        "enriched_intent": enriched_intent(enriched),
        "classify": classify_answer(enriched.parsed.text, built.classified),
        "inject": {
            "tokens": built.tokens,
            "abstained": built.abstained,
            "verdicts": [msgspec.to_builtins(verdict) for verdict in built.verdicts],
        },
        "context": built.text,
        "memory_context": msgspec.to_builtins(built.context),
        "response": msgspec.Raw(ready.body),
    }
