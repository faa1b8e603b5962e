"""The tools: few and sharp. ``recall`` gives a compact index, ``get`` the detail.

What each takes and returns is in ``schemas.py``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import date, datetime, time
from functools import cache
from typing import Any, Literal

import mcp_types as types
import msgspec
from mcp.shared.exceptions import MCPError
from msgspec import Struct

from ...bus.results import Result
from ...bus.values import MCP
from ...config.patterns import regex
from .port import ClientPort, Json, Refused
from .schemas import (
    Arguments,
    CaptureArguments,
    CaptureResult,
    ForgetResult,
    IdArguments,
    Memory,
    RecallArguments,
    RecallResult,
    SearchSessionsArguments,
    SearchSessionsResult,
    StatusArguments,
    StatusResult,
    SupersedeArguments,
    SupersedeResult,
    TopicsArguments,
    TopicsResult,
    UpdateArguments,
    read_arguments,
    schema_of,
)

# Where a memory that was written here came from.
HOOK = {"hook": MCP}

Run = Callable[[ClientPort, Any], Awaitable[Json]]


class Tool(Struct, frozen=True, kw_only=True):
    """One tool. ``changes`` says what it may do to what is remembered."""

    name: str
    title: str
    description: str
    takes: type[Arguments]
    gives: type[Result]
    run: Run
    changes: Literal["nothing", "adds", "destroys"] = "nothing"

    def listed(self, text_chars: int) -> types.Tool:
        """As a client sees it, where a memory has at most so many characters."""
        return types.Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.takes, text_chars),
            output_schema=schema_of(self.gives),
            annotations=types.ToolAnnotations(
                title=self.title,
                read_only_hint=self.changes == "nothing",
                destructive_hint=self.changes == "destroys",
                idempotent_hint=self.changes != "adds",
                open_world_hint=False,
            ),
        )


# --- what they do --------------------------------------------------------------------------------


def asks(call: str, *, brief: bool = False) -> Run:
    """A tool that asks the daemon, and gives its answer with the notice that it is data."""

    async def run(port: ClientPort, arguments: Arguments) -> Json:
        answer = await port.call(call, msgspec.to_builtins(arguments), brief=brief)
        return answer | {"notice": port.notice}

    return run


async def recall(port: ClientPort, arguments: RecallArguments) -> Json:
    """What a search finds; without a query the newest of a time. Raises ``Refused``."""
    asked = msgspec.to_builtins(arguments) | _span(arguments.since, arguments.until)
    if arguments.query is not None:
        return await port.call("recall", asked, brief=True) | {"notice": port.notice}
    if arguments.since is None and arguments.until is None:
        raise Refused("query, or since or until, has to be given")
    del asked["query"], asked["mode"]
    listed = await port.call("list", asked, brief=True)
    return {
        "query": "",
        "mode": "newest",
        "memories": listed["memories"],
        "topics": [],
        "total_count": listed["total"],
        "notice": port.notice,
    }


def _span(since: date | None, until: date | None) -> dict[str, datetime | None]:
    """The first and last moment of these days, in the time zone of this machine.

    Raises ``Refused`` where there are no such days.
    """
    if since is not None and until is not None and until < since:
        raise Refused("until is before since")
    try:
        return {
            "since": datetime.combine(since, time.min).astimezone() if since else None,
            "until": datetime.combine(until, time.max).astimezone() if until else None,
        }
    except (ValueError, OverflowError):  # beyond all years in UTC
        raise Refused("since, until: no such day in UTC") from None


def writes(call: str) -> Run:
    """A tool that keeps a text."""

    async def run(port: ClientPort, arguments: Arguments) -> Json:
        return _settled(await port.call(call, msgspec.to_builtins(arguments) | HOOK))

    return run


async def topics(port: ClientPort, arguments: TopicsArguments) -> Json:
    """The topics, or one of them."""
    answer = await port.call("topics", msgspec.to_builtins(arguments), brief=True)
    nothing: Json = {"topic": None, "topics": [], "memories": [], "related_topics": []}
    total = answer.get("total_topics", answer.get("total_count"))
    return nothing | answer | {"total_count": total, "notice": port.notice}


async def supersede(port: ClientPort, arguments: SupersedeArguments) -> Json:
    """Let one memory take the place of another."""
    answer = await port.call("supersede", msgspec.to_builtins(arguments) | HOOK)
    if arguments.text is not None:
        settled = _settled(answer)
        return settled | {"old": answer.get("supersedes", arguments.old), "new": settled["id"]}
    return {"outcome": "superseded", "old": answer["id"], "new": answer["superseded_by"]}


async def status(port: ClientPort, arguments: StatusArguments) -> Json:
    """How the daemon is."""
    answer = await port.call("status", {})
    readable = {"scopes": [str(scope) for scope in await port.scopes()], "memories": None}
    return answer | readable | ({"memories": await port.count()} if answer["ready"] else {})


def _settled(answer: Json) -> Json:
    """What became of a text. Raises ``Refused`` if the store could not take it."""
    if answer["outcome"] == "failed":
        raise Refused(f"not stored: {answer['reason']}")
    other = answer.get("contradicts")
    return answer | {"contradicts": other["id"] if isinstance(other, dict) else other}


TOOLS = (
    Tool(
        name="recall",
        title="Search the memory",
        description=(
            "Search what is remembered of this project, the user and the team: decisions, "
            "learnings, patterns, blockers, gotchas, preferences, what was tried. Call it before "
            "you decide something that may have been decided, or look for what may be known. "
            "For what is new, or of a time such as this week, give `since` and `until` as dates, "
            "with or without a query. "
            "Gives a compact index, best first; `get` gives the whole text of one."
        ),
        takes=RecallArguments,
        gives=RecallResult,
        run=recall,
    ),
    Tool(
        name="search_sessions",
        title="Search earlier sessions",
        description=(
            "Search what the user and the agent said in earlier sessions of this project, word "
            "for word and dated. Call it where `recall` finds no memory of something that was "
            "talked about. Where two sessions differ, the newer one holds."
        ),
        takes=SearchSessionsArguments,
        gives=SearchSessionsResult,
        run=asks("search_sessions"),
    ),
    Tool(
        name="get",
        title="Read a memory",
        description="One memory whole, with where it came from and whether it still holds.",
        takes=IdArguments,
        gives=Memory,
        run=asks("get"),
    ),
    Tool(
        name="capture",
        title="Keep something",
        description=(
            "Keep one fact worth knowing in a later session, with its reason: a decision, what "
            "was learned, a pattern, what blocked and how it was solved. Not what the code says "
            "itself, and no secrets (they are taken out). What is known already is merged. Give "
            "`questions`, by which it is found by who asks in other words, and `triggers`, before "
            "which it is shown to who acts."
        ),
        takes=CaptureArguments,
        gives=CaptureResult,
        run=writes("capture"),
        changes="adds",
    ),
    Tool(
        name="update",
        title="Correct a memory",
        description=(
            "Correct the text, namespace, tags, questions or triggers of a memory. A text that "
            "says another thing needs its questions and triggers anew. Older versions are kept."
        ),
        takes=UpdateArguments,
        gives=CaptureResult,
        run=writes("update"),
        changes="adds",
    ),
    Tool(
        name="supersede",
        title="Replace a memory",
        description=(
            "Say that a memory no longer holds because another one does: give the id of the "
            "other, or its text. The old one stays, marked, and is no longer found."
        ),
        takes=SupersedeArguments,
        gives=SupersedeResult,
        run=supersede,
        changes="adds",
    ),
    Tool(
        name="forget",
        title="Delete a memory",
        description="Delete a memory for good. Only when the user wants that; else supersede it.",
        takes=IdArguments,
        gives=ForgetResult,
        run=asks("forget"),
        changes="destroys",
    ),
    Tool(
        name="topics",
        title="What there is to know",
        description="List what the memories are about, or the index of one topic.",
        takes=TopicsArguments,
        gives=TopicsResult,
        run=topics,
    ),
    Tool(
        name="status",
        title="How the memory is",
        description="Whether memories can be searched and kept now, and whose are read.",
        takes=StatusArguments,
        gives=StatusResult,
        run=status,
    ),
)
_BY_NAME = {tool.name: tool for tool in TOOLS}


@cache
def list_tools(text_chars: int) -> list[types.Tool]:
    """All of them, as a client sees them, where a memory has at most so many characters."""
    return [tool.listed(text_chars) for tool in TOOLS]


def input_schema(name: str) -> Json | None:
    """What the tool ``name`` takes; None where there is no such tool."""
    return _input_schemas().get(name)


@cache
def _input_schemas() -> dict[str, Json]:
    return {tool.name: schema_of(tool.takes) for tool in TOOLS}


async def call_tool(port: ClientPort, name: str, arguments: Json | None) -> types.CallToolResult:
    """Run a tool; what it refuses is a result that says why. Raises ``MCPError`` if unknown."""
    tool = _BY_NAME.get(name)
    if tool is None:
        known = ", ".join(_BY_NAME)
        raise MCPError(types.INVALID_PARAMS, f"Unknown tool: {name[:100]}; known: {known}")
    try:
        answer = await tool.run(port, read_arguments(tool.takes, arguments or {}, port.text_chars))
    except ValueError as error:  # what was asked is wrong, or refused
        return types.CallToolResult(content=[_text(str(error))], is_error=True)
    result = msgspec.convert(answer, tool.gives)
    return types.CallToolResult(
        content=[_text(msgspec.json.encode(result).decode())],
        structured_content=msgspec.to_builtins(result),
    )


def _text(text: str) -> types.TextContent:
    return types.TextContent(type="text", text=text)


NAME = "hook"
_NAME = regex(r"[A-Za-z0-9]{1,64}")  # as the pipe's
_TEMPLATE = regex(r"\$\{[\w.]{1,100}\}")
# Fields that are JSON themselves, and come as a text.
_JSON = ("tool_input", "tool_response", "is_interrupt")


class HookArguments(Struct, kw_only=True):
    """What the hook's entry in the settings hands over."""

    event: str
    client: str = ""
    payload: dict[str, Any] = {}


async def call_hook(port: ClientPort, arguments: dict[str, Any] | None) -> types.CallToolResult:
    """Answer one hook; ``{}``, which changes nothing, for what is no hook."""
    try:
        call = msgspec.convert(arguments or {}, HookArguments)
    except msgspec.ValidationError:
        return _result(b"{}")
    if not (_NAME.fullmatch(call.event) and _NAME.fullmatch(call.client or "none")):
        return _result(b"{}")
    payload = {name: _whole(name, value) for name, value in call.payload.items()}
    filled = {
        name: value
        for name, value in payload.items()
        if not (isinstance(value, str) and _TEMPLATE.fullmatch(value))
    }
    answer = await port.hook(call.event, call.client, msgspec.json.encode(filled))
    return _result(answer if answer[:1] == b"{" else b"{}")


def _whole(name: str, value: Any) -> Any:
    if name not in _JSON or not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return value


def _result(body: bytes) -> types.CallToolResult:
    return types.CallToolResult(content=[_text(body.decode())])
