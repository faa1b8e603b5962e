"""Prometheus metrics, made from the signals alone; the only part that knows Prometheus.

No label carries text: every label's values come from a fixed set, and should one ever not, what is
beyond ``MAX_SERIES`` counts under ``other``.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.metrics import MetricWrapperBase
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from ...bus import signals
from ...bus.prompts import Vote
from ...bus.sessions import SessionOutcome
from ...bus.values import UseKind

CONTENT_TYPE = CONTENT_TYPE_LATEST
# From 1 ms to 1 s: a prompt has 200 ms.
BUCKETS_S = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0)
# Of one metric; a label that took its values from what somebody sends would pass it at once.
MAX_SERIES = 500
OTHER = "other"
BUILD = "subcog_build_info"
BUILD_LABELS = ("version", "python")
ANSWERED = frozenset({"won", "late_used", "late_unused"})
LLM_OUTCOMES = (
    "won",
    "late_used",
    "late_unused",
    "timeout",
    "error",
    "malformed",
    "cancelled",
    "breaker_open",
)
SYNCED = {
    "sent": "Versions and deletions sent to the team.",
    "received": "Versions and deletions received from the team.",
    "conflicts": "Memories changed by two members concurrently; both versions are kept.",
    "skipped": "Versions rejected on sending or receiving: by the secret filter, or malformed.",
}

Gauge = tuple[str, float] | tuple[str, Mapping[str, float], str]
"""What it means and its value; or what it means, its values by label, and the label's name."""

M = TypeVar("M", bound=MetricWrapperBase)


class Metrics:
    """Counts what the signals tell. ``gauges`` is asked at each scrape.

    What is named in ``stages`` and ``events`` (the hooks) stands at 0 from the start, so that the
    first time is seen as a change; others get their series when they are first told of.
    """

    def __init__(
        self,
        *,
        version: str,
        gauges: Callable[[], Mapping[str, Gauge]],
        stages: Sequence[str] = (),
        events: Sequence[str] = (),
    ) -> None:
        self._registry = CollectorRegistry()
        self._registry.register(_Gauges(version, gauges))
        ProcessCollector(registry=self._registry)
        self._series: dict[MetricWrapperBase, set[tuple[str, ...]]] = {}
        self._names = frozenset(events)
        self._hooks = self._counter(
            "subcog_hooks", "Hooks answered, by outcome.", "event", "outcome"
        )
        self._hook_s = self._histogram("subcog_hook_seconds", "Time to answer a hook.", "event")
        self._events = self._counter(
            "subcog_events", "Events delivered to stages, by outcome.", "stage", "outcome"
        )
        self._stage_s = self._histogram(
            "subcog_stage_seconds", "Time a stage took for one event.", "stage"
        )
        self._degraded = self._counter(
            "subcog_degraded", "Answers given in a degraded mode.", "stage", "reason"
        )
        self._injections = self._counter(
            "subcog_injections", "Answers with at least one injected memory.", "stage"
        )
        self._memories = self._counter("subcog_injected_memories", "Memories injected.", "stage")
        self._tokens = self._counter(
            "subcog_injected_tokens", "Estimated tokens injected.", "stage"
        )
        self._uses = self._counter(
            "subcog_memory_use", "Memories shown, and what became of them, by kind.", "kind"
        )
        self._sessions = self._counter(
            "subcog_sessions_found", "Sessions found for prompts, by outcome.", "outcome"
        )
        self._actions = self._counter(
            "subcog_actions",
            "Tool calls checked against memories before they ran, by outcome.",
            "tool",
            "outcome",
        )
        self._told = self._counter(
            "subcog_project_questions",
            "Facts of the project that prompts asked for, by outcome.",
            "fact",
            "outcome",
        )
        self._compared = self._counter(
            "subcog_code_checks",
            "Memories whose code was compared with the project before they were shown.",
            "state",
        )
        self._abstained = self._counter(
            "subcog_abstentions", "Answers without injected memories, by reason.", "stage", "reason"
        )
        self._captures = self._counter(
            "subcog_captures", "Captures committed to the database.", "namespace", "outcome"
        )
        self._settled = self._counter(
            "subcog_capture_decisions", "Captures processed, by decision.", "decision"
        )
        self._sources = self._counter(
            "subcog_classify_source",
            "Intent classifications, by the source of the result.",
            "source",
            "intent",
        )
        self._racer_s = self._histogram(
            "subcog_classify_seconds", "Time of one classifier.", "racer"
        )
        self._fallbacks = self._counter(
            "subcog_fallback", "Fallbacks from one component to another.", "from", "to", "reason"
        )
        self._llm = self._counter(
            "subcog_llm_requests", "Requests to the language model.", "outcome"
        )
        self._llm_s = self._histogram(
            "subcog_llm_seconds", "Latency of language model answers.", "outcome"
        )
        self._synced = {
            name: self._counter(f"subcog_team_{name}", about) for name, about in SYNCED.items()
        }
        self._begin(stages, events)

    def watch(self) -> None:
        """Count what the signals tell from now on."""
        signals.answered.connect(self._on_answered)
        signals.delivered.connect(self._on_delivered)
        signals.failed.connect(self._on_failed)
        signals.dropped.connect(self._on_dropped)
        signals.degraded.connect(self._on_degraded)
        signals.injected.connect(self._on_injected)
        signals.used.connect(self._on_used)
        signals.judged.connect(self._on_judged)
        signals.proposed.connect(self._on_proposed)
        signals.told.connect(self._on_told)
        signals.compared.connect(self._on_compared)
        signals.abstained.connect(self._on_abstained)
        signals.stored.connect(self._on_stored)
        signals.settled.connect(self._on_settled)
        signals.classified.connect(self._on_classified)
        signals.fell_back.connect(self._on_fell_back)
        signals.asked.connect(self._on_asked)
        signals.synced.connect(self._on_synced)

    def expose(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of each metric but those that ``gauges`` gives, counted or not."""
        told = {metric._name: tuple(metric._labelnames) for metric in self._series}
        return told | {BUILD: BUILD_LABELS}

    def _begin(self, stages: Sequence[str], events: Sequence[str]) -> None:
        """Bring what an alert or a rate looks at into being, at 0."""
        for stage in stages:
            for outcome in ("delivered", "failed", "dropped_full"):
                self._one(self._events, stage, outcome)
        for event in events:
            for outcome in ("answered", "nothing", "timeout", "failed"):
                self._one(self._hooks, event, outcome)
        for decision in ("stored", "merged", "declined", "failed"):
            self._one(self._settled, decision)
        for outcome in get_args(SessionOutcome):
            self._one(self._sessions, outcome)
        for kind in get_args(UseKind):
            self._one(self._uses, kind)
        for outcome in LLM_OUTCOMES:
            self._one(self._llm, outcome)
        for metric in (self._injections, self._memories, self._tokens):
            self._one(metric, "inject")

    def _counter(self, name: str, about: str, *labels: str) -> Counter:
        return self._known(Counter(name, about, labels, registry=self._registry))

    def _histogram(self, name: str, about: str, *labels: str) -> Histogram:
        made = Histogram(name, about, labels, registry=self._registry, buckets=BUCKETS_S)
        return self._known(made)

    def _known(self, metric: M) -> M:
        self._series[metric] = set()
        return metric

    def _one(self, metric: M, *labels: str) -> M:
        """The series with these labels, or the one that stands for all that are too many."""
        known = self._series[metric]
        if labels not in known:
            if len(known) >= MAX_SERIES:
                labels = (OTHER,) * len(labels)
            known.add(labels)
        return metric.labels(*labels)

    # --- what is told ----------------------------------------------------------------------------

    def _on_answered(self, event: str, *, outcome: str, took_s: float) -> None:
        event = event if event in self._names else OTHER
        self._one(self._hooks, event, outcome).inc()
        self._one(self._hook_s, event).observe(took_s)

    def _on_delivered(self, stage: str, *, took_s: float, **_: Any) -> None:
        self._one(self._events, stage, "delivered").inc()
        self._one(self._stage_s, stage).observe(took_s)

    def _on_failed(self, stage: str, **_: Any) -> None:
        self._one(self._events, stage, "failed").inc()

    def _on_dropped(self, stage: str, *, reason: str, **_: Any) -> None:
        self._one(self._events, stage, f"dropped_{reason}").inc()

    def _on_degraded(self, stage: str, *, reason: str) -> None:
        self._one(self._degraded, stage, reason).inc()

    def _on_injected(self, stage: str, *, count: int, tokens: int) -> None:
        self._one(self._injections, stage).inc()
        self._one(self._memories, stage).inc(count)
        self._one(self._tokens, stage).inc(tokens)

    def _on_used(self, _: str, *, kind: str) -> None:
        self._one(self._uses, kind).inc()

    def _on_judged(self, _: str, *, outcome: str) -> None:
        self._one(self._sessions, outcome).inc()

    def _on_proposed(self, _: str, *, tool: str, outcome: str) -> None:
        self._one(self._actions, tool, outcome).inc()

    def _on_told(self, _: str, *, fact: str, outcome: str) -> None:
        self._one(self._told, fact, outcome).inc()

    def _on_compared(self, _: str, *, state: str) -> None:
        self._one(self._compared, state).inc()

    def _on_abstained(self, stage: str, *, reason: str) -> None:
        self._one(self._abstained, stage, reason).inc()

    def _on_stored(self, _: str, *, namespace: str, outcome: str) -> None:
        self._one(self._captures, namespace, outcome).inc()

    def _on_settled(self, _: str, *, outcome: str) -> None:
        self._one(self._settled, outcome).inc()

    def _on_classified(self, _: str, *, source: str, intent: str, votes: Sequence[Vote]) -> None:
        self._one(self._sources, source, intent).inc()
        for vote in votes:
            if not vote.missing:
                self._one(self._racer_s, vote.racer.value).observe(vote.took_ms / 1000)

    def _on_fell_back(self, part: str, *, to: str, reason: str) -> None:
        self._one(self._fallbacks, part, to, reason).inc()

    def _on_asked(self, _: str, *, outcome: str, took_s: float) -> None:
        self._one(self._llm, outcome).inc()
        if outcome in ANSWERED:
            self._one(self._llm_s, outcome).observe(took_s)

    def _on_synced(self, _: str, **counts: int) -> None:
        for name, count in counts.items():
            self._synced[name].inc(count)


class _Gauges(Collector):
    """What is read at the moment of the scrape."""

    def __init__(self, version: str, gauges: Callable[[], Mapping[str, Gauge]]) -> None:
        self._version = version
        self._gauges = gauges

    def collect(self) -> Iterator[Metric]:
        about = "The running version, and its Python version."
        build = GaugeMetricFamily(BUILD, about, labels=BUILD_LABELS)
        build.add_metric([self._version, platform.python_version()], 1)
        yield build
        for name, gauge in self._gauges().items():
            yield _family(name, gauge)


def _family(name: str, gauge: Gauge) -> Metric:
    if len(gauge) == 2:
        about, value = gauge
        return GaugeMetricFamily(name, about, value=value)
    about, values, label = gauge
    family = GaugeMetricFamily(name, about, labels=[label])
    for each, value in values.items():
        family.add_metric([each], value)
    return family
