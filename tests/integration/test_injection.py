"""What a question gets, through the real pipe: in which order, how much, and how often."""

import json
import re

import pytest

from .house import House

STORED = {
    "patterns": "Failed webhooks are retried by the delivery worker with growing pauses",
    "blockers": "Failed webhooks are stuck in the delivery worker since the retry queue is full",
    "decisions": "Failed webhooks go to the delivery worker and not to cron",
}
NAMES = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho"
# Everything that is found competes, so that the ceilings alone decide.
NO_FLOOR = {"SUBCOG_SEARCH_INTENT_CONTEXT_MIN_RELEVANCE": "0"}


@pytest.fixture(scope="module")
def open_house(tmp_path_factory):
    house = House(tmp_path_factory.mktemp("injection"))
    house.env |= NO_FLOOR
    for namespace, text in STORED.items():
        house.capture(text, "--namespace", namespace)
    for number, name in enumerate(NAMES.split()):
        text = f"The {name} webhook of supplier {name} answers on port {3000 + 7 * number}"
        house.capture(text, "--namespace", "context")
    yield house
    house.close()


def answered(house, prompt, session):
    payload = json.dumps({"session_id": session, "prompt": prompt})
    return json.loads(house.run("hook", "UserPromptSubmit", "--explain", stdin=payload).stdout)


def hooked(house, prompt, session):
    return answered(house, prompt, session)["metadata"]


@pytest.mark.parametrize(
    ("prompt", "kind", "first"),
    [
        ("how do I retry failed webhooks?", "howto", "patterns"),
        ("why do failed webhooks fail to retry? I get an error", "troubleshoot", "blockers"),
    ],
)
def test_the_same_memories_come_in_the_order_of_what_is_asked(open_house, prompt, kind, first):
    answer = answered(open_house, prompt, f"order-{kind}")
    context = answer["metadata"]["memory_context"]
    assert context["intent_type"] == kind
    namespaces = [memory["namespace"] for memory in context["injected_memories"]]
    text = answer["hookSpecificOutput"]["additionalContext"]
    assert re.findall(r"- mem_\w+ · (\w+) ·", text) == namespaces
    assert namespaces[0] == first
    assert {"patterns", "blockers"} <= set(namespaces)


def test_asking_for_all_there_is_needs_no_question(open_house):
    context = hooked(open_house, "webhooks: everything that bit us", "all")["memory_context"]
    assert context["intent_type"] == "general"
    assert context["injected_memories"]


def test_the_second_identical_prompt_brings_nothing_again(open_house):
    prompt = "how do I retry failed webhooks?"
    first = hooked(open_house, prompt, "twice")["memory_context"]["injected_memories"]
    second = hooked(open_house, prompt, "twice")["memory_context"]["injected_memories"]
    shown = {memory["id"] for memory in first}
    assert shown
    assert shown.isdisjoint(memory["id"] for memory in second)


@pytest.mark.parametrize(
    ("prompt", "confidence", "ceiling"),
    [
        ("where is the webhook port?", 0.5, 10),
        ("how do I fix the webhook port error?", 0.65, 10),
        ("how do I find the webhook port of each supplier? They keep asking us.", 0.8, 15),
    ],
)
def test_how_sure_the_intent_is_sets_how_many_come(open_house, prompt, confidence, ceiling):
    metadata = hooked(open_house, prompt, f"sure-{confidence}")
    assert metadata["search_intent"]["confidence"] == confidence
    assert len(metadata["memory_context"]["injected_memories"]) == ceiling


CONTRADICTIONS = [
    ("We can use Redis for the job queue", "We can't use Redis for the job queue"),
    ("We don’t use Redis for the job queue", "We use Redis for the job queue"),
    ("Redis was fit for the job queue", "Redis wasn't fit for the job queue"),
    ("The team did agree on Redis as job queue", "The team didn't agree on Redis as job queue"),
]


@pytest.mark.parametrize(("older", "newer"), CONTRADICTIONS)
def test_of_two_that_contradict_each_other_the_newer_is_injected(fresh, older, newer):
    old = fresh.capture(older, "--namespace", "decisions")["id"]
    answer = fresh.capture(newer, "--namespace", "decisions")
    assert answer["contradicts"]["id"] == old
    question = "why do we use Redis for the job queue?"
    explained = fresh.ask("explain", question)
    why = {verdict["memory_id"]: verdict["why"] for verdict in explained["inject"]["verdicts"]}
    assert why[old] == f"contradicted by {answer['id']}, which is newer"
    assert not why[answer["id"]].startswith("says the same")
    for context in (explained["context"], fresh.context(question)):
        assert answer["id"] in context
        assert old not in context
