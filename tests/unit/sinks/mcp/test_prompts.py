import pytest
from mcp.shared.exceptions import MCPError

from subcog.bus.values import Scope
from subcog.sinks.mcp.port import Refused
from subcog.sinks.mcp.prompts import NOTHING, get_prompt
from subcog.sinks.mcp.tools import call_tool


class FakePort:
    """Knows one memory a namespace, all equally relevant, and can be made to refuse."""

    notice = "data"
    text_chars = 20_000
    scopes = (Scope("project", "here"),)

    def __init__(self, *namespaces, score=0.5, refuses=""):
        self.memories = [
            {"id": f"mem_{name}", "namespace": name, "content": f"text of {name}", "score": score}
            for name in namespaces
        ]
        self.refuses = refuses
        self.calls = []

    async def call(self, name, params, *, brief=False):
        self.calls.append((name, params))
        if self.refuses:
            raise Refused(self.refuses)
        memories = list(self.memories)
        return {
            "memories": memories, "topics": [], "related_topics": [], "total": len(memories) + 5
        }  # fmt: skip

    async def find(self, memory_id):
        return None

    def bounded(self, memories):
        return memories

    def weights(self, intent):
        return {"howto": {"patterns": 1.5}, "troubleshoot": {"blockers": 1.5}}.get(intent, {})

    def quote(self, memories, *, brief=False):
        return " ".join(memory["namespace"] for memory in memories)


async def written(port, name, **arguments):
    (message,) = (await get_prompt(port, name, arguments)).messages
    return message.content.text


@pytest.mark.parametrize(
    ("intent", "order"),
    [
        ({}, "decisions patterns blockers"),
        ({"intent": "howto"}, "patterns decisions blockers"),
        ({"intent": "troubleshoot"}, "blockers decisions patterns"),
        ({"intent": "explain"}, "decisions patterns blockers"),
    ],
)
async def test_intent_weighs_the_namespaces(intent, order):
    port = FakePort("decisions", "patterns", "blockers")
    assert order in await written(port, "recall_context", topic="x", **intent)


@pytest.mark.parametrize("name", ["search_with_context", "recall_context"])
async def test_what_is_hardly_relevant_is_not_written(name):
    argument = {"query": "x"} if name == "search_with_context" else {"topic": "x"}
    assert NOTHING in await written(FakePort("decisions", score=0.1), name, **argument)


async def test_memories_without_questions_are_listed_for_the_agent_to_give_them_some():
    port = FakePort("decisions", "gotchas")
    text = await written(port, "add_questions")
    [(name, wanted)] = port.calls
    assert name == "list"
    assert wanted == {"without_questions": True, "scope": "project", "limit": 10}
    assert "decisions gotchas" in text
    assert "`update`" in text
    assert "5 more have none" in text


async def test_where_all_have_questions_nothing_is_to_do():
    assert "nothing is to do" in await written(FakePort(), "add_questions")


async def test_a_scope_is_asked_for():
    port = FakePort()
    await written(port, "search_with_context", query="x", scope="gotchas")
    assert port.calls == [("recall", {"query": "x", "limit": 8, "namespace": "gotchas"})]


async def test_research_fills_up_with_what_a_search_finds_once():
    port = FakePort("decisions")
    text = await written(port, "research_topic", topic="x")
    assert [name for name, _ in port.calls] == ["topics", "recall"]
    assert text.count("decisions") == 1


async def test_what_the_desk_refuses_is_told():
    port = FakePort(refuses="the memories are still being loaded")

    with pytest.raises(MCPError, match="still being loaded") as caught:
        await written(port, "recall_context", topic="x")
    assert caught.value.code == -32603
    result = await call_tool(port, "recall", {"query": "x"})
    assert result.is_error
    assert "still being loaded" in result.content[0].text


async def test_what_the_store_could_not_take_is_an_error():
    class Full(FakePort):
        async def call(self, name, params, *, brief=False):
            return {"outcome": "failed", "reason": "the disk is full", "namespace": "x"}

    result = await call_tool(Full(), "capture", {"text": "x"})
    assert result.is_error
    assert "the disk is full" in result.content[0].text


@pytest.mark.parametrize(
    ("name", "asked"),
    [("search_with_context", "query"), ("research_topic", "topic"), ("recall_context", "topic")],
)
async def test_every_prompt_tells_where_its_memories_come_from(name, asked):
    class Finding(FakePort):
        async def find(self, memory_id):
            return {"provenance": {"hook": "import"}}

        def quote(self, memories, *, brief=False):
            return " ".join(f"from {one['provenance']['hook']}" for one in memories)

    assert "from import" in await written(Finding("decisions"), name, **{asked: "x"})


async def test_research_in_depth_still_knows_what_was_replaced():
    class Finding(FakePort):
        async def find(self, memory_id):
            return {"id": memory_id, "namespace": "found"}

        def quote(self, memories, *, brief=False):
            return " ".join(f"{one['namespace']}:{one['replaced_by']}" for one in memories)

    port = Finding("decisions")
    port.memories[0]["replaced_by"] = "mem_new"
    assert "found:mem_new" in await written(
        port, "research_topic", topic="x", depth="comprehensive"
    )
