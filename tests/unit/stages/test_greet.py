import json
from datetime import timedelta

import anyio
import pytest

from subcog.bus.events import SessionStarted
from subcog.bus.signals import degraded
from subcog.bus.values import Scope
from subcog.config.settings import SessionStartSettings
from subcog.stages.greet import MAX_TOKENS, MAX_UNITS, greet
from subcog.stages.ports import RecallUnavailable
from subcog.stages.tokens import count_tokens, count_units
from tests.fakes import NOW, PLACE, FakeRecall, make_memory

STARTED = SessionStarted(
    trace="t1", session="s1", client="claude-code", place=PLACE, source="startup"
)


class Settings:
    def __init__(self, enabled=True, max_memories=5):
        self.enabled = enabled
        self.max_memories = max_memories


async def hello(*memories, settings=None, raises=None):
    recall = FakeRecall(memories=memories, raises=raises)
    with anyio.fail_after(5):
        response = await greet(STARTED, recall=recall, settings=settings or Settings(), now=NOW)
    return json.loads(response.body)


def context_of(answer):
    assert answer["hookSpecificOutput"]["hookEventName"] == "SessionStart"
    return answer["hookSpecificOutput"]["additionalContext"]


def test_the_settings_of_the_product_fit():
    fields = set(SessionStartSettings.__struct_fields__)
    assert {"enabled", "max_memories"} <= fields


async def test_an_empty_memory_says_nothing():
    assert await hello() == {}


async def test_blockers_tasks_and_decisions_take_turns():
    memories = [
        make_memory(number, namespace=namespace)
        for number, namespace in enumerate(
            ["decisions", "decisions", "decisions", "blockers", "blockers", "tasks"], start=1
        )
    ]
    text = context_of(await hello(*memories, settings=Settings(max_memories=4)))
    order = [part.split(" · ")[1] for part in text.split("\n- ")[1:]]
    assert order == ["blockers", "tasks", "decisions", "blockers"]


async def test_other_namespaces_do_not_come_up():
    assert await hello(make_memory(1, namespace="learnings")) == {}


@pytest.mark.parametrize(
    "closed",
    [
        {"tags": ("Resolved",)},
        {"tags": ("success",), "namespace": "tasks"},
        {"content": "**Blocker**: CI is red\n**Status**: resolved"},
        {"content": "Done: the importer is rewritten", "namespace": "tasks"},
        {"superseded_by": "mem_x"},
        {"valid_to": NOW - timedelta(days=1)},
    ],
)
async def test_what_is_settled_does_not_come_up(closed):
    assert await hello(make_memory(1, **({"namespace": "blockers"} | closed))) == {}


async def test_an_open_blocker_that_speaks_of_resolving_comes_up():
    text = "DNS cannot be resolved inside the container; status: investigating"
    assert "inside the container" in context_of(
        await hello(make_memory(1, text, namespace="blockers"))
    )


async def test_a_superseded_decision_leaves_room_for_one_in_force():
    old = make_memory(1, superseded_by="mem_x")
    text = context_of(await hello(old, make_memory(2), settings=Settings(max_memories=1)))
    assert make_memory(2).id in text


async def test_another_project_is_not_read():
    assert await hello(make_memory(1, scope=Scope("project", "other"))) == {}


@pytest.mark.parametrize("settings", [Settings(enabled=False), Settings(max_memories=0)])
async def test_it_can_be_switched_off(settings):
    assert await hello(make_memory(1), settings=settings) == {}


async def test_without_a_search_the_session_starts_all_the_same():
    facts = []

    def watch(sender, **told):
        facts.append((sender, told))

    with degraded.connected_to(watch):
        assert await hello(make_memory(1), raises=RecallUnavailable()) == {}
    assert facts == [("greet", {"reason": "search.unavailable"})]


async def test_it_stays_short_whatever_is_in_the_memories():
    memories = [make_memory(n, f"{'漢字' * 500} {n}") for n in range(40)]
    text = context_of(await hello(*memories, settings=Settings(max_memories=40)))
    assert count_tokens(text) <= MAX_TOKENS
    assert count_units(text) <= MAX_UNITS
