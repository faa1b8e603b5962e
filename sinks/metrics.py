"""Prometheus metrics, made from the signals alone; the only part that knows Prometheus.

No label carries text: every label's values come from a fixed set.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ..bus import signals
from ..bus.values import Vote

CONTENT_TYPE = CONTENT_TYPE_LATEST
# From 1 ms to 1 s: a prompt has 200 ms.
BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
ANSWERED = frozenset({"won", "late_used", "late_unused"})
HOOK_EVENTS = frozenset(
    {
        "SessionStart",
        "UserPromptSubmit",
        "PostToolUse",
        "PostToolUseFailure",
        "PreCompact",
        "Stop",
        "SubagentStop",
        "SessionEnd",
    }
)


class Metrics:
    """Counts what the signals tell. ``gauges`` is asked at each scrape: name → (help, value)."""

    def __init__(self, *, version: str, gauges: Callable[[], Mapping[str, tuple[str, float]]]):
        self._registry = CollectorRegistry()
        self._registry.register(_Gauges(version, gauges))
        self._hooks = self._counter("subcog_hooks", "Hooks answered.", "event", "outcome")
        self._hook_s = self._histogram("subcog_hook_seconds", "Time for one hook.", "event")
        self._events = self._counter("subcog_events", "Letters settled.", "stage", "outcome")
        self._stage_s = self._histogram("subcog_stage_seconds", "Time in one stage.", "stage")
        self._degraded = self._counter(
            "subcog_degraded", "Lesser answers given.", "stage", "reason"
        )
        self._injections = self._counter("subcog_injections", "Contexts with memories.")
        self._memories = self._counter("subcog_injected_memories", "Memories injected.")
        self._tokens = self._counter("subcog_injected_tokens", "Tokens injected, as estimated.")
        self._abstained = self._counter("subcog_abstentions", "Contexts left empty.", "reason")
        self._captures = self._counter(
            "subcog_captures", "Captures committed.", "namespace", "outcome"
        )
        self._sources = self._counter("subcog_classify_source", "Races ended.", "source", "intent")
        self._racer_s = self._histogram("subcog_classify_seconds", "Time of one racer.", "racer")
        self._fallbacks = self._counter(
            "subcog_fallback", "Lesser parts that took over.", "from", "to", "reason"
        )
        self._llm = self._counter(
            "subcog_llm_requests", "Questions to the language model.", "outcome"
        )
        self._llm_s = self._histogram(
            "subcog_llm_seconds", "Time until the language model had answered.", "outcome"
        )

    def watch(self) -> None:
        """Count what the signals tell from now on."""
        signals.answered.connect(self._on_answered)
        signals.delivered.connect(self._on_delivered)
        signals.failed.connect(self._on_failed)
        signals.dropped.connect(self._on_dropped)
        signals.degraded.connect(self._on_degraded)
        signals.injected.connect(self._on_injected)
        signals.abstained.connect(self._on_abstained)
        signals.stored.connect(self._on_stored)
        signals.classified.connect(self._on_classified)
        signals.fell_back.connect(self._on_fell_back)
        signals.asked.connect(self._on_asked)

    def expose(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return Counter(name, about, labels, registry=self._registry)

    def _histogram(self, name: str, about: str, *labels: str) -> Histogram:
        return Histogram(name, about, labels, registry=self._registry, buckets=BUCKETS_S)

    def _on_answered(self, event: str, *, outcome: str, took_s: float) -> None:
        event = event if event in HOOK_EVENTS else "other"
        self._hooks.labels(event, outcome).inc()
        self._hook_s.labels(event).observe(took_s)

    def _on_delivered(self, stage: str, *, took_s: float, **_: Any) -> None:
        self._events.labels(stage, "delivered").inc()
        self._stage_s.labels(stage).observe(took_s)

    def _on_failed(self, stage: str, **_: Any) -> None:
        self._events.labels(stage, "failed").inc()

    def _on_dropped(self, stage: str, *, reason: str, **_: Any) -> None:
        self._events.labels(stage, f"dropped_{reason}").inc()

    def _on_degraded(self, stage: str, *, reason: str) -> None:
        self._degraded.labels(stage, reason).inc()

    def _on_injected(self, _: str, *, count: int, tokens: int) -> None:
        self._injections.inc()
        self._memories.inc(count)
        self._tokens.inc(tokens)

    def _on_abstained(self, _: str, *, reason: str) -> None:
        self._abstained.labels(reason).inc()

    def _on_stored(self, _: str, *, namespace: str, outcome: str) -> None:
        self._captures.labels(namespace, outcome).inc()

    def _on_classified(self, _: str, *, source: str, intent: str, votes: Sequence[Vote]) -> None:
        self._sources.labels(source, intent).inc()
        for vote in votes:
            if not vote.missing:
                self._racer_s.labels(vote.racer.value).observe(vote.took_ms / 1000)

    def _on_fell_back(self, part: str, *, to: str, reason: str) -> None:
        self._fallbacks.labels(part, to, reason).inc()

    def _on_asked(self, _: str, *, outcome: str, took_s: float) -> None:
        self._llm.labels(outcome).inc()
        if outcome in ANSWERED:
            self._llm_s.labels(outcome).observe(took_s)


class _Gauges(Collector):
    """What is read at the moment of the scrape."""

    def __init__(self, version: str, gauges: Callable[[], Mapping[str, tuple[str, float]]]) -> None:
        self._version = version
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        build = GaugeMetricFamily("subcog_build_info", "The version that runs.", labels=["version"])
        build.add_metric([self._version], 1)
        yield build
        for name, (about, value) in self._gauges().items():
            yield GaugeMetricFamily(name, about, value=value)
