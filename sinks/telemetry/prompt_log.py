"""The log of prompts that ``subcog trace`` reads: hashes, ids, timings and decisions.

Of what a prompt says there is nothing in it but a hash, unless ``trace.keep_text`` is set; then
there are its text and what was made of it, redacted, too. It is written beside the hot path, to a
bounded file of this user.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec
from cachetools import FIFOCache

from ...bus.enrichment import Enrichment
from ...bus.events import ContextBuilt, IntentClassified, PromptEnriched, ResponseReady
from ...bus.passages import SessionVerdict
from ...bus.signals import delivered
from ...bus.values import Verdict
from ...config.settings import TraceSettings
from ..files.private import RotatingFile

STAGES = ("parse", "enrich", "classify", "inject", "respond")
MAX_BYTES = 2_000_000
BACKUPS = 1

_MAX_TIMED = 512
_MAX_VERDICTS = 30
_MAX_TEXT_CHARS = 2000
_HASH_DIGITS = 16

_log = logging.getLogger(__name__)


class PromptLog:
    """Notes each prompt that was answered. ``clean`` redacts; ``clock`` is aware.

    It watches the signal ``delivered`` for what each stage took.
    """

    def __init__(
        self,
        file: Path,
        *,
        settings: TraceSettings,
        clock: Callable[[], datetime],
        clean: Callable[[str], str],
        max_bytes: int = MAX_BYTES,
    ) -> None:
        self._journal = RotatingFile(file, max_bytes=max_bytes, backups=BACKUPS)
        self._settings = settings
        self._clock = clock
        self._clean = clean
        self._timed: FIFOCache[str, dict[str, float]] = FIFOCache(_MAX_TIMED)

    def watch(self) -> None:
        """Time the stages from now on."""
        delivered.connect(self._on_delivered)

    def unwatch(self) -> None:
        delivered.disconnect(self._on_delivered)

    def stages(self, trace: str) -> dict[str, float]:
        """What each stage took for the prompt ``trace``, in milliseconds, as far as it is known."""
        return dict(self._timed.get(trace, {}))

    async def note(self, event: ResponseReady) -> None:
        """Write down what became of a prompt; rehearsals are left out."""
        built = event.built
        if built is None or not self._settings.enabled:
            return
        if built.classified.enriched.prompt.rehearsal:
            return
        line = msgspec.json.encode(self._record(built))
        try:
            await anyio.to_thread.run_sync(self._journal.append, line)
        except OSError as error:
            _log.error("cannot write a prompt trace", extra={"error": type(error).__name__})

    def _on_delivered(self, stage: str, *, trace: str, took_s: float, **_: Any) -> None:
        if stage not in STAGES:
            return
        self._timed.setdefault(trace, {})[stage] = round(took_s * 1000, 3)

    def _record(self, built: ContextBuilt) -> dict[str, Any]:
        enriched = built.classified.enriched
        prompt, stages = enriched.prompt, self.stages(built.trace)
        record = {
            "id": built.trace,
            "time": self._clock(),
            "project": prompt.place.project.id,
            "session": prompt.session,
            "client": prompt.client,
            "prompt": {
                "sha256": sha256(prompt.text.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS],
                "characters": len(prompt.text),
                **_parsed(enriched),
            },
            "enrich": _enriched(enriched),
            "classify": _classified(built.classified),
            "inject": _injected(built),
            "stages_ms": stages,
            "took_ms": round(sum(stages.values()), 3),
        }
        return record | ({"text": self._text(built)} if self._settings.keep_text else {})

    def _text(self, built: ContextBuilt) -> dict[str, Any]:
        parsed, intent = built.classified.enriched.parsed, built.classified.intent
        return {
            "prompt": self._clean(parsed.text)[:_MAX_TEXT_CHARS],
            "words": self._clean(" ".join(parsed.words))[:_MAX_TEXT_CHARS],
            "topics": [self._clean(topic) for topic in (intent.topics if intent else ())],
            "context": self._clean(built.text),
        }


def read_traces(file: Path) -> Iterator[dict[str, Any]]:
    """Every trace that is kept in ``file`` and its predecessor, newest first."""
    for line in RotatingFile(file, max_bytes=MAX_BYTES, backups=BACKUPS).lines():
        try:
            trace = msgspec.json.decode(line)
        except ValueError:
            continue  # a line that was cut when the disk was full
        if isinstance(trace, dict) and isinstance(trace.get("id"), str):
            yield trace


def _parsed(enriched: PromptEnriched) -> dict[str, Any]:
    parsed = enriched.parsed
    kinds = [entity.kind for entity in parsed.entities]
    return {
        "machine": parsed.machine,
        "work": [signal.kind.value for signal in parsed.work],
        "entities": {kind: kinds.count(kind) for kind in dict.fromkeys(kinds)},
        "references": [reference.kind for reference in parsed.references],
        "markers": len(parsed.marked),
    }


def _enriched(enriched: PromptEnriched) -> dict[str, Any]:
    found: Enrichment = enriched.enrichment
    return {
        "candidates": len(enriched.candidates),
        "similar_tasks": {task.id: task.similarity for task in found.similar_tasks},
        "patterns": {pattern.id: pattern.match_score for pattern in found.applicable_patterns},
        "gotchas": [gotcha.id for gotcha in found.known_gotchas],
        "resolved": {one.id: one.confidence for one in found.resolved_references},
        "conflicts": [
            {
                "about": conflict.about,
                "winner": {"id": conflict.winner.id, "score": conflict.winner.arithmetic},
                "loser": {"id": conflict.loser.id, "score": conflict.loser.arithmetic},
            }
            for conflict in found.conflicts
        ],
        "kept": [{"outcome": kept.outcome, "id": kept.memory_id} for kept in enriched.kept],
        "degraded": enriched.degraded,
    }


def _classified(event: IntentClassified) -> dict[str, Any]:
    intent = event.intent
    return {
        "intent_type": intent.intent_type.value if intent else None,
        "confidence": intent.confidence_percent / 100 if intent else 0.0,
        "source": intent.source.value if intent else None,
        "votes": [
            {
                "racer": vote.racer.value,
                "intent_type": vote.intent.intent_type.value if vote.intent else None,
                "confidence": vote.intent.confidence_percent / 100 if vote.intent else 0.0,
                "missing": vote.missing,
                "took_ms": round(vote.took_ms, 3),
            }
            for vote in event.votes
        ],
    }


def _injected(built: ContextBuilt) -> dict[str, Any]:
    return {
        "tokens": built.tokens,
        "abstained": built.abstained,
        "memories": [memory.id for memory in built.context.injected_memories],
        "verdicts": [_verdict(one) for one in built.verdicts[:_MAX_VERDICTS]],
        "sessions": [_session_verdict(one) for one in built.sessions],
    }


def _verdict(verdict: Verdict) -> Mapping[str, Any]:
    return {
        "id": verdict.memory_id,
        "relevance": round(verdict.relevance, 4),
        "weight": verdict.weight,
        "injected": verdict.injected,
        "why": verdict.why,
    }


def _session_verdict(verdict: SessionVerdict) -> Mapping[str, Any]:
    return {
        "id": verdict.session,
        "began_at": verdict.began_at,
        "relevance": verdict.relevance,
        "quoted": verdict.quoted,
        "why": verdict.why,
    }
