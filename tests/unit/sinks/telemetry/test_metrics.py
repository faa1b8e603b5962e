import pytest
from prometheus_client.parser import text_string_to_metric_families

from subcog.bus import signals
from subcog.bus.prompts import DetectionSource, Vote
from subcog.bus.signals import emit
from subcog.sinks.telemetry.metrics import MAX_SERIES, Metrics


@pytest.fixture
def metrics():
    gauges = {
        "subcog_ready": ("1 when ready.", True),
        "subcog_inbox_depth": ("Events queued.", {"parse": 2, "store": 0}, "stage"),
    }
    made = Metrics(version="1.2", gauges=lambda: gauges, stages=["parse"], events=["Stop"])
    made.watch()
    return made


def scraped(metrics, name):
    """The samples of ``name``: their labels, and their value."""
    families = text_string_to_metric_families(metrics.expose().decode())
    return {
        frozenset(sample.labels.items()): sample.value
        for family in families
        for sample in family.samples
        if sample.name == name
    }


def labels(**pairs):
    return frozenset(pairs.items())


def test_what_becomes_of_memories_is_counted_by_kind(metrics):
    emit(signals.used, "use", kind="taken_up")
    counted = scraped(metrics, "subcog_memory_use_total")
    assert counted[labels(kind="taken_up")] == 1
    assert counted[labels(kind="corrected")] == 0


def test_no_time_is_described_as_a_count(metrics):
    assert b"_created" not in metrics.expose()


def test_what_is_known_beforehand_stands_at_zero(metrics):
    events = scraped(metrics, "subcog_events_total")
    assert events[labels(stage="parse", outcome="delivered")] == 0
    assert scraped(metrics, "subcog_hooks_total")[labels(event="Stop", outcome="timeout")] == 0
    assert scraped(metrics, "subcog_injections_total") == {labels(stage="inject"): 0}
    assert scraped(metrics, "subcog_llm_requests_total")[labels(outcome="late_used")] == 0
    assert scraped(metrics, "subcog_sessions_found_total")[labels(outcome="no_room")] == 0


@pytest.mark.parametrize(
    ("signal", "sender", "facts", "name", "found"),
    [
        (
            signals.answered,
            "Stop",
            {"outcome": "nothing", "took_s": 0.01},
            "subcog_hooks_total",
            {"event": "Stop", "outcome": "nothing"},
        ),
        (
            signals.judged,
            "inject",
            {"outcome": "already_shown"},
            "subcog_sessions_found_total",
            {"outcome": "already_shown"},
        ),
        (
            signals.answered,
            "Invented",
            {"outcome": "passed", "took_s": 0.01},
            "subcog_hooks_total",
            {"event": "other", "outcome": "passed"},
        ),
        (
            signals.dropped,
            "review",
            {"event": "TurnEnded", "reason": "full"},
            "subcog_events_total",
            {"stage": "review", "outcome": "dropped_full"},
        ),
        (
            signals.failed,
            "parse",
            {"event": "PromptSubmitted", "error": "KeyError"},
            "subcog_events_total",
            {"stage": "parse", "outcome": "failed"},
        ),
        (
            signals.abstained,
            "remind",
            {"reason": "nothing_relevant"},
            "subcog_abstentions_total",
            {"stage": "remind", "reason": "nothing_relevant"},
        ),
        (
            signals.settled,
            "settle",
            {"outcome": "declined"},
            "subcog_capture_decisions_total",
            {"decision": "declined"},
        ),
        (
            signals.fell_back,
            "search",
            {"to": "none", "reason": "unavailable"},
            "subcog_fallback_total",
            {"from": "search", "to": "none", "reason": "unavailable"},
        ),
        (
            signals.asked,
            "model",
            {"outcome": "late_used", "took_s": 0.3},
            "subcog_llm_requests_total",
            {"outcome": "late_used"},
        ),
    ],
)
def test_each_signal_is_counted_under_its_labels(metrics, signal, sender, facts, name, found):
    emit(signal, sender, **facts)
    assert scraped(metrics, name)[labels(**found)] == 1


def test_memories_and_tokens_are_added_up_by_the_stage_that_injects(metrics):
    emit(signals.injected, "inject", count=3, tokens=120)
    emit(signals.injected, "remind", count=1, tokens=40)
    assert scraped(metrics, "subcog_injected_tokens_total") == {
        labels(stage="inject"): 120,
        labels(stage="remind"): 40,
    }


def test_a_racer_that_did_not_answer_has_no_time(metrics):
    votes = (
        Vote(racer=DetectionSource.KEYWORD, intent=None, took_ms=1.0),
        Vote(racer=DetectionSource.LLM, intent=None, took_ms=160.0, missing="timeout"),
    )
    emit(signals.classified, "classify", source="none", intent="none", votes=votes)
    assert set(scraped(metrics, "subcog_classify_seconds_count")) == {labels(racer="keyword")}


def test_the_buckets_fit_a_millisecond_to_a_second(metrics):
    emit(signals.answered, "Stop", outcome="nothing", took_s=0.0015)
    buckets = scraped(metrics, "subcog_hook_seconds_bucket")
    within = {dict(each)["le"]: count for each, count in buckets.items()}
    assert (within["0.001"], within["0.002"], within["0.2"]) == (0, 1, 1)


def test_gauges_have_a_label_where_they_say_so(metrics):
    assert scraped(metrics, "subcog_ready") == {frozenset(): 1}
    assert scraped(metrics, "subcog_inbox_depth")[labels(stage="parse")] == 2
    [build] = scraped(metrics, "subcog_build_info")
    assert dict(build)["version"] == "1.2"


def test_labels_without_end_count_as_other(metrics):
    for number in range(MAX_SERIES + 100):
        emit(signals.abstained, "inject", reason=f"r{number}")
    told = scraped(metrics, "subcog_abstentions_total")
    assert len(told) == MAX_SERIES + 1
    assert told[labels(stage="other", reason="other")] == 100


def test_questions_about_the_project_are_counted_by_fact_and_outcome(metrics):
    for outcome in ("shown", "shown", "unknown"):
        emit(signals.told, "inject", fact="stack", outcome=outcome)
    assert scraped(metrics, "subcog_project_questions_total") == {
        labels(fact="stack", outcome="shown"): 2,
        labels(fact="stack", outcome="unknown"): 1,
    }
