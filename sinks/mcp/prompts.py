"""The prompts: what is remembered, written out for one purpose, and how to go on from there."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import get_args

import mcp_types as types
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from ...bus.values import NAMESPACES
from .port import ClientPort, Intent, Json, Refused
from .resources import Uri
from .schemas import MAX_QUERY

SEARCHED = 8
# So many memories get questions at a time.
DESCRIBED = 10
# What is below this is no answer to the question.
MIN_SCORE = 0.2
# depth → how many memories
DEPTHS = {"quick": 3, "standard": 5, "comprehensive": 15}
NOTHING = "Nothing is remembered about this yet."


class Argument(Struct, frozen=True):
    """An argument of a prompt. ``values`` are all it may be; none means any text."""

    name: str
    about: str
    required: bool = False
    values: tuple[str, ...] = ()

    def listed(self) -> types.PromptArgument:
        """As a client sees it."""
        about = f"{self.about}: {', '.join(self.values)}" if self.values else self.about
        return types.PromptArgument(
            name=self.name, description=about, required=self.required or None
        )


Write = Callable[[ClientPort, Mapping[str, str]], Awaitable[str]]


class Prompt(Struct, frozen=True, kw_only=True):
    """A prompt, and what writes its text."""

    name: str
    title: str
    about: str
    arguments: tuple[Argument, ...]
    write: Write

    def listed(self) -> types.Prompt:
        """As a client sees it."""
        return types.Prompt(
            name=self.name,
            title=self.title,
            description=self.about,
            arguments=[argument.listed() for argument in self.arguments],
        )

    def read(self, given: Mapping[str, str]) -> dict[str, str]:
        """The arguments, blanks left out. Raises ``ValueError``, which says what is right."""
        known = {argument.name: argument for argument in self.arguments}
        if unknown := given.keys() - known.keys():
            named = ", ".join(sorted(unknown))[:100]
            raise ValueError(f"unknown argument {named}; {self.name} takes {', '.join(known)}")
        asked = {name: value.strip() for name, value in given.items() if value.strip()}
        for name, argument in known.items():
            _check(self.name, argument, asked.get(name))
        return asked


def _check(prompt: str, argument: Argument, value: str | None) -> None:
    name = argument.name
    if value is None:
        if argument.required:
            raise ValueError(f"{prompt} needs the argument {name} ({argument.about.lower()})")
    elif argument.values and value not in argument.values:
        raise ValueError(f"{name} = {value[:100]!r}; allowed: {', '.join(argument.values)}")
    elif len(value) > MAX_QUERY:
        raise ValueError(f"{name} has {len(value)} characters; allowed: 1 to {MAX_QUERY}")


def list_prompts() -> list[types.Prompt]:
    """All of them, as a client sees them."""
    return [prompt.listed() for prompt in PROMPTS]


async def get_prompt(
    port: ClientPort, name: str, given: Mapping[str, str]
) -> types.GetPromptResult:
    """Write one out. Raises ``MCPError``."""
    prompt = _BY_NAME.get(name)
    if prompt is None:
        known = ", ".join(_BY_NAME)
        raise MCPError(types.INVALID_PARAMS, f"Unknown prompt: {name[:100]}; known: {known}")
    try:
        text = await prompt.write(port, prompt.read(given))
    except Refused as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from None
    except ValueError as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from None
    content = types.TextContent(type="text", text=text)
    return types.GetPromptResult(
        description=prompt.about, messages=[types.PromptMessage(role="user", content=content)]
    )


def values_of(name: str, argument: str) -> tuple[str, ...]:
    """What an argument of a prompt may be, if that is fixed."""
    prompt = _BY_NAME.get(name)
    arguments = prompt.arguments if prompt else ()
    return next((each.values for each in arguments if each.name == argument), ())


# --- what they say -------------------------------------------------------------------------------


async def search_with_context(port: ClientPort, asked: Mapping[str, str]) -> str:
    """A search of the code, with what is remembered in mind."""
    query, scope = asked["query"], asked.get("scope")
    answer = await _recalled(port, query, SEARCHED, scope)
    memories = await _with_origins(port, answer["memories"])
    topics = [f"`{Uri('topics', topic)}`" for topic in answer["topics"][:5]]
    return f"""\
# Search with Memory Context

You're searching for: {query}

## Relevant Memories

{port.quote(memories) or NOTHING}

## Search Strategy

Based on your query, consider:
1. The memories above may contain prior decisions or patterns
2. Use `{Uri("search", query)}` for additional context
3. Check related topics: {", ".join(topics) or "none are known; `subcog://topics` lists all"}

## Proceed with Search

Now search the codebase, keeping these memories in mind. Where the code and a memory disagree, the
code is right: say so, and correct the memory with `update` or `supersede`.
"""


_APPROACH = {
    "quick": "Take the summaries above as what is known, and check only what you rely on.",
    "standard": """\
1. Read the memories above, and check each against the code that it is about
2. Look at related topics for what is missing
3. Keep what you find out with `capture`""",
    "comprehensive": """\
1. Read every memory above, with `get` where its origin matters
2. Check each against the code, and note where they disagree
3. Follow every related topic, and search for what none of them answers
4. Supersede what no longer holds, and keep what you find out with `capture`""",
}


async def research_topic(port: ClientPort, asked: Mapping[str, str]) -> str:
    """What is known about a topic, to the depth that is asked for."""
    topic, depth = asked["topic"], asked.get("depth", "standard")
    memories, related = await _about(port, topic, DEPTHS[depth])
    quoted = port.quote(await _with_origins(port, memories), brief=depth == "quick")
    beside = "".join(f"\n- {Uri('topics', other)}" for other in related)
    return f"""\
# Research Topic: {topic}

## Existing Knowledge

{quoted or NOTHING}

## Research Approach ({depth})

{_APPROACH[depth]}

## Available Resources

- {Uri("topics", topic)}
- {Uri("search", topic)}{beside}
"""


_GUIDANCE = {
    "howto": "Follow the patterns above where they fit, and say which one you follow.",
    "troubleshoot": "Try first what solved the blockers above, and rule out what did not.",
    "explain": "Explain with the decisions above: what was chosen, and why.",
    "locate": "Look first where the memories above point, then search the rest.",
}


async def recall_context(port: ClientPort, asked: Mapping[str, str]) -> str:
    """What is known about a topic, for what somebody wants to do."""
    topic, intent = asked["topic"], asked.get("intent")
    answer = await _recalled(port, topic, 2 * SEARCHED)
    memories = answer["memories"]
    if intent is not None:
        memories = _weighted(memories, port.weights(_intent(intent)))
    memories = await _with_origins(port, memories[:SEARCHED])
    guidance = _GUIDANCE.get(intent or "", "Use what applies, and say what you left aside and why.")
    return f"""\
# Recall Context: {topic}

## Relevant Memories

{port.quote(memories) or NOTHING}

## How to Use Them

{guidance}

## Available Resources

- {Uri("search", topic)}
- {Uri("topics", topic)}
"""


def _intent(value: str) -> Intent:
    return next(each for each in INTENTS if each == value)


async def add_questions(port: ClientPort, asked: Mapping[str, str]) -> str:
    """The newest memories that have no questions, for the agent to give them some."""
    wanted: Json = {"without_questions": True, "scope": "project", "limit": DESCRIBED}
    answer = await port.call("list", wanted)
    if not answer["memories"]:
        return "Every memory of this project has questions by which it is found: nothing is to do."
    left = answer["total"] - len(answer["memories"])
    more = f"\nAfter these, {left} more have none: say so, and that this prompt goes on."
    return f"""\
# Add Questions

A memory is found by its own words. Who asks in other words finds it by the questions that it
answers, and these have none yet:

{port.quote(answer["memories"])}

For each of them call `update` with its `id` and `questions`, and its `triggers` where it warns
of something or has to be known before some work, but no text. The questions are up to three short
ones that it answers, as somebody may type them months later who does not remember how it was put:
in other words than its own (a synonym, the symptom, the purpose, the everyday name), each from a
different side. Ask only what
this memory answers by itself. The schema of the tool says what triggers are; rather none than a
broad one.
{more if left else ""}"""


async def _recalled(port: ClientPort, query: str, limit: int, namespace: str | None = None) -> Json:
    asked: Json = {"query": query, "limit": limit, "namespace": namespace}
    answer = await port.call("recall", asked)
    found = [memory for memory in answer["memories"] if memory["score"] >= MIN_SCORE]
    return answer | {"memories": found}


async def _about(port: ClientPort, topic: str, count: int) -> tuple[list[Json], list[str]]:
    """The newest memories of a topic, and what a search for it finds besides."""
    known = await port.call("topics", {"topic": topic, "limit": count})
    memories: list[Json] = known["memories"]
    if len(memories) < count:
        ids = {memory["id"] for memory in memories}
        answer = await _recalled(port, topic, count)
        memories += [memory for memory in answer["memories"] if memory["id"] not in ids]
    return memories[:count], known["related_topics"]


async def _with_origins(port: ClientPort, memories: list[Json]) -> list[Json]:
    """``memories`` with where each came from, which a search does not tell."""
    return [memory | (await port.find(memory["id"]) or {}) for memory in memories]


def _weighted(memories: list[Json], weights: Mapping[str, float]) -> list[Json]:
    def score(memory: Json) -> float:
        relevance: float = memory["score"]
        return relevance * weights.get(memory["namespace"], 1.0)

    return sorted(memories, key=score, reverse=True)


INTENTS: tuple[Intent, ...] = get_args(Intent)
PROMPTS = (
    Prompt(
        name="search_with_context",
        title="Search with memory",
        about="Search the code with what is remembered in mind.",
        arguments=(
            Argument("query", "What you are searching for", required=True),
            Argument("scope", "Only memories of this namespace", values=NAMESPACES),
        ),
        write=search_with_context,
    ),
    Prompt(
        name="research_topic",
        title="Research a topic",
        about="What is known about a topic, and how to find out more.",
        arguments=(
            Argument("topic", "The topic to research", required=True),
            Argument("depth", "How deep [standard]", values=tuple(DEPTHS)),
        ),
        write=research_topic,
    ),
    Prompt(
        name="recall_context",
        title="Recall context",
        about="What is known about a topic, for what you want to do.",
        arguments=(
            Argument("topic", "What it is about", required=True),
            Argument("intent", "What you want", values=INTENTS),
        ),
        write=recall_context,
    ),
    Prompt(
        name="add_questions",
        title="Add questions",
        about="Have memories found in other words too, and shown before what they warn of.",
        arguments=(),
        write=add_questions,
    ),
)
_BY_NAME = {prompt.name: prompt for prompt in PROMPTS}
