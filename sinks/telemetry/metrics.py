"""Prometheus metrics, made from the signals alone; the only part that knows Prometheus.

No label carries text: every label's values come from a fixed set, and should one ever not, what is
beyond ``MAX_SERIES`` counts under ``other``.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeVar, get_args

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
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
    "refused": "Versions and deletions of this machine that the team's server did not take.",
}

Gauge = tuple[str, float] | tuple[str, Mapping[str, float], str]
"""What it means and its value; or what it means, its values by label, and the label's name."""

# Each by its name: what it means, and its labels. Seconds are histograms, all others counters.
METRICS = {
    "subcog_hooks": ("Hooks answered, by outcome.", "event outcome"),
    "subcog_hook_seconds": ("Time to answer a hook.", "event"),
    "subcog_events": ("Events delivered to stages, by outcome.", "stage outcome"),
    "subcog_stage_seconds": ("Time a stage took for one event.", "stage"),
    "subcog_degraded": ("Answers given in a degraded mode.", "stage reason"),
    "subcog_injections": ("Answers with at least one injected memory.", "stage"),
    "subcog_injected_memories": ("Memories injected.", "stage"),
    "subcog_injected_tokens": ("Estimated tokens injected.", "stage"),
    "subcog_memory_use": ("Memories shown, and what became of them, by kind.", "kind"),
    "subcog_sessions_found": ("Sessions found for prompts, by outcome.", "outcome"),
    "subcog_actions": (
        "Tool calls checked against memories before they ran, by outcome.",
        "tool outcome",
    ),
    "subcog_project_questions": (
        "Facts of the project that prompts asked for, by outcome.",
        "fact outcome",
    ),
    "subcog_code_checks": (
        "Memories whose code was compared with the project before they were shown.",
        "state",
    ),
    "subcog_abstentions": ("Answers without injected memories, by reason.", "stage reason"),
    "subcog_captures": ("Captures committed to the database.", "namespace outcome"),
    "subcog_capture_decisions": ("Captures processed, by decision.", "decision"),
    "subcog_classify_source": (
        "Intent classifications, by the source of the result.",
        "source intent",
    ),
    "subcog_classify_seconds": ("Time of one classification, by classifier.", "racer"),
    "subcog_fallback": ("Fallbacks from one component to another.", "from to reason"),
    "subcog_llm_requests": ("Requests to the language model.", "outcome"),
    "subcog_llm_seconds": ("Latency of language model answers.", "outcome"),
    **{f"subcog_team_{name}": (about, "") for name, about in SYNCED.items()},
}
# The signals that are counted once each time: by which counter, and which facts are its labels.
COUNTED = (
    (signals.degraded, "subcog_degraded", "sender reason"),
    (signals.used, "subcog_memory_use", "kind"),
    (signals.judged, "subcog_sessions_found", "outcome"),
    (signals.proposed, "subcog_actions", "tool outcome"),
    (signals.told, "subcog_project_questions", "fact outcome"),
    (signals.compared, "subcog_code_checks", "state"),
    (signals.abstained, "subcog_abstentions", "sender reason"),
    (signals.stored, "subcog_captures", "namespace outcome"),
    (signals.settled, "subcog_capture_decisions", "outcome"),
    (signals.fell_back, "subcog_fallback", "sender to reason"),
)
# What an alert or a rate looks at: these series are there from the start.
BEGUN = {
    "subcog_capture_decisions": ("stored", "merged", "declined", "failed"),
    "subcog_sessions_found": get_args(SessionOutcome),
    "subcog_memory_use": get_args(UseKind),
    "subcog_llm_requests": LLM_OUTCOMES,
    "subcog_injections": ("inject",),
    "subcog_injected_memories": ("inject",),
    "subcog_injected_tokens": ("inject",),
}

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
        disable_created_metrics()  # type: ignore[no-untyped-call]  # times, described as counts
        self._registry = CollectorRegistry()
        self._registry.register(_Gauges(version, gauges))
        ProcessCollector(registry=self._registry)
        self._names = frozenset(events)
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        for name, (about, labels) in METRICS.items():
            self._declare(name, about, labels.split())
        self._series: dict[MetricWrapperBase, set[tuple[str, ...]]] = {}
        self._watchers: list[Callable[..., None]] = []
        self._begin(stages, events)

    def watch(self) -> None:
        """Count what the signals tell from now on."""
        for signal, name, facts in COUNTED:
            watcher = partial(self._on_counted, name, facts.split())
            self._watchers.append(watcher)  # a signal holds none of them
            signal.connect(watcher)
        signals.answered.connect(self._on_answered)
        signals.delivered.connect(self._on_delivered)
        signals.failed.connect(self._on_failed)
        signals.dropped.connect(self._on_dropped)
        signals.injected.connect(self._on_injected)
        signals.classified.connect(self._on_classified)
        signals.asked.connect(self._on_asked)
        signals.synced.connect(self._on_synced)

    def expose(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    def labels(self) -> dict[str, tuple[str, ...]]:
        """The labels of each metric but those that ``gauges`` gives, counted or not."""
        labels = {name: tuple(named.split()) for name, (_, named) in METRICS.items()}
        return labels | {BUILD: BUILD_LABELS}

    def _declare(self, name: str, about: str, labels: Sequence[str]) -> None:
        if name.endswith("_seconds"):
            made = Histogram(name, about, labels, registry=self._registry, buckets=BUCKETS_S)
            self._histograms[name] = made
        else:
            self._counters[name] = Counter(name, about, labels, registry=self._registry)

    def _begin(self, stages: Sequence[str], events: Sequence[str]) -> None:
        """Bring what an alert or a rate looks at into being, at 0."""
        for stage in stages:
            for outcome in ("delivered", "failed", "dropped_full"):
                self._count("subcog_events", stage, outcome, by=0)
        for event in events:
            for outcome in ("answered", "nothing", "timeout", "failed"):
                self._count("subcog_hooks", event, outcome, by=0)
        for name, values in BEGUN.items():
            for value in values:
                self._count(name, value, by=0)

    def _count(self, name: str, *labels: str, by: int = 1) -> None:
        self._one(self._counters[name], labels).inc(by)

    def _observe(self, name: str, label: str, took_s: float) -> None:
        self._one(self._histograms[name], (label,)).observe(took_s)

    def _one(self, metric: M, labels: tuple[str, ...]) -> M:
        """The series with these labels, or the one that stands for all that are too many."""
        if not labels:
            return metric
        known = self._series.setdefault(metric, set())
        if labels not in known:
            if len(known) >= MAX_SERIES:
                labels = (OTHER,) * len(labels)
            known.add(labels)
        return metric.labels(*labels)

    # --- what is told ----------------------------------------------------------------------------

    def _on_counted(self, name: str, facts: Sequence[str], sender: str, **told: str) -> None:
        said = {"sender": sender} | told
        self._count(name, *(said[fact] for fact in facts))

    def _on_answered(self, event: str, *, outcome: str, took_s: float) -> None:
        event = event if event in self._names else OTHER
        self._count("subcog_hooks", event, outcome)
        self._observe("subcog_hook_seconds", event, took_s)

    def _on_delivered(self, stage: str, *, took_s: float, **_: Any) -> None:
        self._count("subcog_events", stage, "delivered")
        self._observe("subcog_stage_seconds", stage, took_s)

    def _on_failed(self, stage: str, **_: Any) -> None:
        self._count("subcog_events", stage, "failed")

    def _on_dropped(self, stage: str, *, reason: str, **_: Any) -> None:
        self._count("subcog_events", stage, f"dropped_{reason}")

    def _on_injected(self, stage: str, *, count: int, tokens: int) -> None:
        self._count("subcog_injections", stage)
        self._count("subcog_injected_memories", stage, by=count)
        self._count("subcog_injected_tokens", stage, by=tokens)

    def _on_classified(self, _: str, *, source: str, intent: str, votes: Sequence[Vote]) -> None:
        self._count("subcog_classify_source", source, intent)
        for vote in votes:
            if not vote.missing:
                self._observe("subcog_classify_seconds", vote.racer.value, vote.took_ms / 1000)

    def _on_asked(self, _: str, *, outcome: str, took_s: float) -> None:
        self._count("subcog_llm_requests", outcome)
        if outcome in ANSWERED:
            self._observe("subcog_llm_seconds", outcome, took_s)

    def _on_synced(self, _: str, **counts: int) -> None:
        for name, count in counts.items():
            self._count(f"subcog_team_{name}", by=count)


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
