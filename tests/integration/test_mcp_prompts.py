"""MCP's prompts, and what is completed: the official client in both eras, on pipe and HTTP."""

import re

import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import PromptReference, ResourceTemplateReference

from subcog.sinks.mcp.prompts import DEPTHS, INTENTS, PROMPTS
from tests.waiting import eventually

from .mcp_client import WAYS, call, session
from .notes import ARGON
from .test_sessions import Transcript

pytestmark = pytest.mark.parametrize("era", WAYS)


COMPLETIONS = (
    ("topics/{topic}", "topic", "argo", "argon2id"),
    ("namespaces/{namespace}", "namespace", "DEC", "decisions"),
    ("search/{query}", "query", "hash", "hashing"),
    ("memory/{id}", "id", "mem_", "mem_"),
    ("session/{id}", "id", "77", "77aa-of-stock"),
    ("help/{topic}", "topic", "", "searching"),
)


async def test_templates_are_completed(stocked, era):
    talk = Transcript(stocked, "77aa-of-stock")
    talk.say("How are the goods in the warehouse counted?")
    talk.hook("SessionEnd", reason="exit")
    eventually(lambda: stocked.ask("sessions", "list")["sessions"])

    async def values(client, template, argument, typed):
        reference = ResourceTemplateReference(type="ref/resource", uri=f"subcog://{template}")
        done = await client.complete(reference, {"name": argument, "value": typed})
        return done.completion.values

    async with session(stocked, era) as client:
        for template, argument, typed, expected in COMPLETIONS:
            assert (await values(client, template, argument, typed))[0].startswith(expected)
        assert "argon2id" not in await values(client, "help/{topic}", "topic", "")
        assert await values(client, "session/{id}", "id", "mem_") == []
        for template, argument in (("memory/{id}", "topic"), ("nope/{id}", "id")):
            assert await values(client, template, argument, "") == []


async def test_arguments_of_prompts_are_completed(stocked, era):
    async def complete(prompt, argument, typed=""):
        reference = PromptReference(type="ref/prompt", name=prompt)
        done = await client.complete(reference, {"name": argument, "value": typed})
        return tuple(done.completion.values)

    async with session(stocked, era) as client:
        assert await complete("research_topic", "depth") == tuple(DEPTHS)
        assert await complete("recall_context", "intent") == INTENTS
        assert await complete("search_with_context", "scope", "pa") == ("patterns",)
        assert (await complete("research_topic", "topic", "argo"))[0] == "argon2id"
        assert await complete("nope", "nope") == ()


async def test_prompts_are_listed_with_their_arguments(stocked, era):
    async with session(stocked, era) as client:
        prompts = (await client.list_prompts()).prompts

    listed = {
        prompt.name: [(each.name, bool(each.required)) for each in prompt.arguments]
        for prompt in prompts
    }
    assert listed == {
        "search_with_context": [("query", True), ("scope", False)],
        "research_topic": [("topic", True), ("depth", False)],
        "recall_context": [("topic", True), ("intent", False)],
        "add_questions": [],
    }
    assert len(prompts) == len(PROMPTS)


async def _written(client, name, **arguments):
    (message,) = (await client.get_prompt(name, arguments)).messages
    return message.content.text


async def test_search_with_context_has_its_sections_and_real_memories(stocked, era):
    async with session(stocked, era) as client:
        text = await _written(client, "search_with_context", query="password hashing")
        scoped = await _written(client, "search_with_context", query="password", scope="blockers")

    for heading in (
        "# Search with Memory Context",
        "## Relevant Memories",
        "## Search Strategy",
        "## Proceed with Search",
    ):
        assert heading in text
    assert ARGON in text
    assert "subcog://search/password%20hashing" in text
    assert "subcog://topics/" in text
    assert "X-Forwarded-Proto" in scoped
    assert ARGON not in scoped


async def test_research_goes_as_deep_as_asked(stocked, era):
    async with session(stocked, era) as client:
        for asked, depth, count in (
            ({"depth": "quick"}, "quick", 3),
            ({"depth": "standard"}, "standard", 5),
            ({}, "standard", 5),
        ):
            text = await _written(client, "research_topic", topic="password", **asked)
            assert text.count("\n- mem_") == count
            assert f"## Research Approach ({depth})" in text
            assert "- subcog://topics/password\n- subcog://search/password" in text


async def test_comprehensive_research_tells_where_each_memory_came_from(fresh, era):
    async with session(fresh, era) as client:
        for number in range(12):
            named = "abcdefghijkl"[number] * 9
            await call(client, "capture", text=f"Billing rule {number}: {named} is monthly")
        text = await _written(client, "research_topic", topic="billing", depth="comprehensive")

    assert text.count("\n- mem_") == 12
    assert text.count("from the agent") == 12


async def test_intent_weighs_and_guides(stocked, era):
    async with session(stocked, era) as client:
        texts = {
            intent: await _written(client, "recall_context", topic="password", intent=intent)
            for intent in INTENTS
        }
        plain = await _written(client, "recall_context", topic="password")

    guidance = {text.partition("## How to Use Them")[2] for text in (*texts.values(), plain)}
    assert len(guidance) == len(INTENTS) + 1
    orders = {
        intent: re.findall(r"^- mem_\w+ · ([\w-]+) ·", text, re.MULTILINE)
        for intent, text in texts.items()
    }
    assert orders["troubleshoot"].index("blockers") <= orders["howto"].index("blockers")
    assert orders["howto"].index("patterns") <= orders["explain"].index("patterns")
    assert len({tuple(order) for order in orders.values()}) > 1


WRONG_PROMPTS = (
    ("nope", {}, "search_with_context, research_topic, recall_context"),
    ("research_topic", {}, "needs the argument topic"),
    ("research_topic", {"topic": " "}, "needs the argument topic"),
    ("research_topic", {"topic": "x", "depth": "deep"}, "quick, standard, comprehensive"),
    ("search_with_context", {"query": "x", "scope": "nope"}, "decisions, learnings"),
    ("recall_context", {"topic": "x", "intent": "y"}, "howto, troubleshoot, explain, locate"),
    ("recall_context", {"topic": "x", "other": "y"}, "takes topic, intent"),
    ("recall_context", {"topic": "x" * 2001}, "1 to 2000"),
)


async def test_wrong_prompts_are_told_what_is_right(stocked, era):
    async with session(stocked, era) as client:
        for name, arguments, told in WRONG_PROMPTS:
            with pytest.raises(MCPError) as caught:
                await client.get_prompt(name, arguments)
            assert caught.value.code == -32602
            assert told in caught.value.message
