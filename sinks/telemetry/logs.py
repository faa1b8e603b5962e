"""The logs that are kept beside the daemon's own, by whoever watches the signals.

The audit log has one line for each capture that something was taken out of: when, which capture,
which rules and how often, what kind of scope, and what was done; never what was taken out, nor the
text around it, nor anything computed from either.

The log of prompts is what ``subcog trace`` reads: hashes, ids, timings and decisions. Of what a
prompt says there is nothing in it but a hash, unless ``trace.keep_text`` is set; then there are its
text and what was made of it, redacted, too. It is written beside the hot path, to a bounded file of
this user.

Degraded answers are told in the daemon's log: the first of each kind at once, then one line a
minute with the count.
"""

from __future__ import annotations

import logging
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec
from cachetools import FIFOCache
from msgspec import UNSET, Struct

from ...bus.enrichment import Side
from ...bus.events import ContextBuilt, IntentClassified, PromptEnriched, ResponseReady
from ...bus.prompt_results import (
    Trace,
    TracedCapture,
    TracedConflict,
    TracedEnrichment,
    TracedInjection,
    TracedIntent,
    TracedPrompt,
    TracedSession,
    TracedSide,
    TracedText,
    TracedVerdict,
    TracedVote,
)
from ...bus.prompts import Verdict, Vote
from ...bus.sessions import SessionVerdict
from ...bus.signals import degraded, delivered, redacted
from ...config.settings import TraceSettings
from ..files import RotatingFile

AUDIT_BYTES = 1_000_000
AUDIT_BACKUPS = 3

_log = logging.getLogger(__name__)


class AuditLog:
    """Writes what the signal ``redacted`` tells to ``file``, readable by its owner only.

    Beyond ``max_bytes`` the file becomes ``NAME.1``, that one ``NAME.2``, and so on. A line that
    cannot be written is logged as lost, and hurts nobody.
    """

    def __init__(
        self,
        file: Path,
        *,
        clock: Callable[[], datetime],
        max_bytes: int = AUDIT_BYTES,
        backups: int = AUDIT_BACKUPS,
    ) -> None:
        self._journal = RotatingFile(file, max_bytes=max_bytes, backups=backups)
        self._clock = clock

    def watch(self) -> None:
        """Write what is told from now on."""
        redacted.connect(self._on_redacted)

    def unwatch(self) -> None:
        redacted.disconnect(self._on_redacted)

    def _on_redacted(
        self,
        sender: str,
        *,
        trace: str,
        memory: str,
        rules: Mapping[str, int],
        scope: str,
        decision: str,
    ) -> None:
        line = {
            "time": self._clock(),
            "trace": trace,
            "memory": memory,
            "rules": rules,
            "scope": scope,
            "decision": decision,
        }
        try:
            self._journal.append(msgspec.json.encode(line))
        except OSError as error:
            _log.error("cannot write an audit log entry", extra={"error": type(error).__name__})


EVERY_S = 60.0
MAX_KINDS = 200


class DegradationLog:
    """Watches ``degraded``. ``now`` tells seconds of a clock that never goes back."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()  # loading tells from a thread
        self._logged: dict[tuple[str, str], float] = {}
        self._since: dict[tuple[str, str], int] = {}

    def watch(self) -> None:
        """Log what is told from now on."""
        degraded.connect(self._on_degraded)

    def unwatch(self) -> None:
        """Stop, and log what was counted and not yet said."""
        degraded.disconnect(self._on_degraded)
        for (stage, reason), times in self._since.items():
            _say(stage, reason, times)
        self._since.clear()

    def _on_degraded(self, stage: str, *, reason: str) -> None:
        kind = (stage, reason)
        with self._lock:
            if kind not in self._logged and len(self._logged) >= MAX_KINDS:
                return
            times = self._since.pop(kind, 0) + 1
            if self._now() - self._logged.get(kind, -EVERY_S) < EVERY_S:
                self._since[kind] = times
                return
            self._logged[kind] = self._now()
        _say(stage, reason, times)


def _say(stage: str, reason: str, times: int) -> None:
    extra = {"stage": stage, "reason": reason, "times": times}
    _log.warning("a degraded answer was given", extra=extra)


STAGES = ("parse", "enrich", "classify", "inject", "respond")
TRACE_BYTES = 2_000_000
TRACE_BACKUPS = 1

_MAX_TIMED = 512
_MAX_VERDICTS = 30
_MAX_TEXT_CHARS = 2000
_HASH_DIGITS = 16


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
        max_bytes: int = TRACE_BYTES,
    ) -> None:
        self._journal = RotatingFile(file, max_bytes=max_bytes, backups=TRACE_BACKUPS)
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

    def _record(self, built: ContextBuilt) -> Trace:
        classified, stages = built.classified, self.stages(built.trace)
        prompt = classified.enriched.prompt
        return Trace(
            id=built.trace,
            time=self._clock(),
            project=prompt.place.project.id,
            session=prompt.session,
            client=prompt.client,
            prompt=_parsed(classified.enriched),
            enrich=_enriched(classified.enriched),
            classify=_classified(classified),
            inject=_injected(built),
            stages_ms=stages,
            took_ms=round(sum(stages.values()), 3),
            text=self._text(built) if self._settings.keep_text else UNSET,
        )

    def _text(self, built: ContextBuilt) -> TracedText:
        parsed, intent = built.classified.enriched.parsed, built.classified.intent
        return TracedText(
            prompt=self._clean(parsed.as_typed)[:_MAX_TEXT_CHARS],
            words=self._clean(" ".join(parsed.words))[:_MAX_TEXT_CHARS],
            topics=tuple(self._clean(topic) for topic in (intent.topics if intent else ())),
            context=self._clean(built.text),
        )


def read_traces(file: Path) -> Iterator[dict[str, Any]]:
    """Every trace that is kept in ``file`` and its predecessor, newest first."""
    for line in _lines(file):
        try:
            trace = msgspec.json.decode(line)
        except (ValueError, RecursionError):
            continue  # a line that was cut when the disk was full
        if isinstance(trace, dict) and isinstance(trace.get("id"), str):
            yield trace


class _Injected(Struct, frozen=True):
    tokens: int
    abstained: str | None


class PromptOutcome(Struct, frozen=True):
    """What the trace of a prompt says of its answer."""

    time: datetime
    project: str
    inject: _Injected


def prompt_outcomes(file: Path, project: str) -> Iterator[PromptOutcome]:
    """How each traced prompt of ``project`` was answered, newest first."""
    for line in _lines(file):
        try:
            outcome = msgspec.json.decode(line, type=PromptOutcome)
        except (ValueError, RecursionError):
            continue  # cut, or of another version
        if outcome.project == project:
            yield outcome


def _lines(file: Path) -> Iterator[bytes]:
    return RotatingFile(file, max_bytes=TRACE_BYTES, backups=TRACE_BACKUPS).lines()


def _parsed(enriched: PromptEnriched) -> TracedPrompt:
    parsed, text = enriched.parsed, enriched.prompt.text
    return TracedPrompt(
        sha256=sha256(text.encode("utf-8", "replace")).hexdigest()[:_HASH_DIGITS],
        characters=len(text),
        machine=parsed.machine,
        work=tuple(signal.kind.value for signal in parsed.work),
        entities=dict(Counter(entity.kind for entity in parsed.entities)),
        references=tuple(reference.kind for reference in parsed.references),
        markers=len(parsed.marked),
    )


def _enriched(enriched: PromptEnriched) -> TracedEnrichment:
    found = enriched.enrichment
    return TracedEnrichment(
        candidates=len(enriched.candidates),
        similar_tasks={task.id: task.similarity for task in found.similar_tasks},
        patterns={pattern.id: pattern.match_score for pattern in found.applicable_patterns},
        gotchas=tuple(gotcha.id for gotcha in found.known_gotchas),
        resolved={one.id: one.confidence for one in found.resolved_references},
        conflicts=tuple(
            TracedConflict(about=one.about, winner=_side(one.winner), loser=_side(one.loser))
            for one in found.conflicts
        ),
        kept=tuple(TracedCapture(outcome=k.outcome, id=k.memory_id) for k in enriched.kept),
        degraded=enriched.degraded,
    )


def _side(side: Side) -> TracedSide:
    return TracedSide(id=side.id, score=side.arithmetic)


def _classified(event: IntentClassified) -> TracedIntent:
    intent = event.intent
    return TracedIntent(
        intent_type=intent.intent_type.value if intent else None,
        confidence=intent.confidence_percent / 100 if intent else 0.0,
        source=intent.source.value if intent else None,
        votes=tuple(map(_voted, event.votes)),
    )


def _voted(vote: Vote) -> TracedVote:
    return TracedVote(
        racer=vote.racer.value,
        intent_type=vote.intent.intent_type.value if vote.intent else None,
        confidence=vote.intent.confidence_percent / 100 if vote.intent else 0.0,
        missing=vote.missing,
        took_ms=round(vote.took_ms, 3),
    )


def _injected(built: ContextBuilt) -> TracedInjection:
    return TracedInjection(
        tokens=built.tokens,
        abstained=built.abstained,
        memories=tuple(memory.id for memory in built.context.injected_memories),
        verdicts=tuple(map(_verdict, built.verdicts[:_MAX_VERDICTS])),
        sessions=tuple(map(_session_verdict, built.sessions)),
        answers={one.fact: one.outcome for one in built.answers},
    )


def _verdict(verdict: Verdict) -> TracedVerdict:
    return TracedVerdict(
        id=verdict.memory_id,
        relevance=round(verdict.relevance, 4),
        weight=verdict.weight,
        injected=verdict.injected,
        why=verdict.why,
    )


def _session_verdict(verdict: SessionVerdict) -> TracedSession:
    return TracedSession(
        id=verdict.session,
        began_at=verdict.began_at,
        relevance=verdict.relevance,
        quoted=verdict.quoted,
        why=verdict.why,
    )
