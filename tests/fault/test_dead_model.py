"""A model that never answers: what a scrape says is, to the event, what was sent.

The breaker opens after five failures in a row; from then on the model costs nothing.
"""

from __future__ import annotations

import pytest

from subcog.sinks.llm.circuit_breaker import FAILURES
from tests.thorough import times

from ..integration.house import House
from .scripted_model import BEHAVIOURS, scripted_model
from .test_degradation import count, naming, scrape, settle, warm

pytestmark = pytest.mark.slow
PROMPTS = times(12, 1_000)


@pytest.fixture(scope="module")
def samples(tmp_path_factory):
    """A scrape after so many prompts, each of which asked the model; and how often it was."""
    with scripted_model() as model:
        model.send = BEHAVIOURS["never"]
        house = House(tmp_path_factory.mktemp("dead"))
        house.env |= naming(model) | {"SUBCOG_SEARCH_INTENT_LLM_TIMEOUT_MS": "50"}
        try:
            warm(house)
            for number in range(PROMPTS):
                house.prompt(f"where is part {number} of the parser?", f"s{number}")
                settle(house)
            yield scrape(house), len(model.asked)
        finally:
            house.close()


def test_each_prompt_and_each_question_is_counted_once(samples):
    told, asked = samples
    assert count(told, "subcog_hooks_total", {"event": "UserPromptSubmit"}) == PROMPTS
    assert count(told, "subcog_hooks_total", {"outcome": "timeout"}) == 0
    assert count(told, "subcog_classify_source_total", {}) == PROMPTS
    assert count(told, "subcog_llm_requests_total", {}) == PROMPTS
    assert count(told, "subcog_llm_requests_total", {"outcome": "timeout"}) == asked == FAILURES


def test_the_rates_are_those_of_a_dead_model(samples):
    told, asked = samples
    fell = {"from": "llm", "reason": "timeout"}
    skipped = {"from": "llm", "reason": "breaker_open"}
    assert count(told, "subcog_fallback_total", fell) == asked
    assert count(told, "subcog_fallback_total", skipped) == PROMPTS - asked
    assert count(told, "subcog_fallback_total", {"from": "llm"}) == PROMPTS
    assert count(told, "subcog_llm_requests_total", {"outcome": "breaker_open"}) == PROMPTS - asked
    assert count(told, "subcog_llm_breaker_state", {}) == 2
    assert count(told, "subcog_llm_seconds_count", {}) == 0


def test_the_event_counts_add_up_stage_by_stage(samples):
    told, _ = samples
    for stage in ("parse", "enrich", "classify", "inject", "respond"):
        assert count(told, "subcog_events_total", {"stage": stage}) == PROMPTS
        assert count(told, "subcog_stage_seconds_count", {"stage": stage}) == PROMPTS
    reasons = count(told, "subcog_abstentions_total", {"stage": "inject"})
    assert reasons + count(told, "subcog_injections_total", {}) == PROMPTS
