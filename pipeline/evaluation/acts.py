"""How well what is shown before an action, and with an order, fits: labelled acts and orders.

``memories.jsonl`` has {id, text, namespace?, tags?, created_at?} a line, ``orders.jsonl``
{id, prompt, relevant: [ids], acceptable?: [ids]}, and ``acts.jsonl`` {id, tool_name, tool_input,
relevant: [ids], acceptable?: [ids]}: tool calls as Claude Code sends them. Each goes through the
product as its hook would send it, in a session of its own that reads all the memories.
``/work/project`` stands for the project, whose files are not there.

``precision`` is the share of what was shown that is relevant or acceptable, ``recall`` the share of
what is relevant that was shown, ``silent_rate`` the share of those with nothing relevant that got
nothing; all of them are over the whole set. ``median_tokens`` is taken over what was shown,
``latency_ms`` is the way through the hook handler.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from ...bus.events import MemoriesStored
from ...bus.values import Memory, Scope
from ...config.settings import Settings
from ...sinks.store.rows import Row
from ...stages.text.unicode import count_tokens
from ..app.app import App
from ..entrance.handler import HookHandler
from .common import (
    Judged,
    JudgedMemory,
    Progress,
    Shares,
    Shown,
    cost_lines,
    median_tokens,
    percentiles,
    read_rows,
    scratch_app,
    shares,
)

# What is measured is quality: an evaluation has no clock.
_ANSWER_MS = 60_000
_PROJECT = b"/work/project"
_SETTLED_S = 120.0


class JudgedOrder(Judged, frozen=True, kw_only=True):
    """A line of ``orders.jsonl``."""

    prompt: str

    @property
    def hook(self) -> tuple[str, dict[str, Any]]:
        return "UserPromptSubmit", {"prompt": self.prompt}


class JudgedAct(Judged, frozen=True, kw_only=True):
    """A line of ``acts.jsonl``."""

    tool_name: str
    tool_input: Raw

    @property
    def hook(self) -> tuple[str, dict[str, Any]]:
        return "PreToolUse", {"tool_name": self.tool_name, "tool_input": self.tool_input}


class Tool(Shares, frozen=True, kw_only=True):
    """The acts with one tool."""

    acts: int


class Acts(Tool, frozen=True, kw_only=True):
    """All the acts."""

    by_tool: dict[str, Tool]


class Orders(Shares, frozen=True, kw_only=True):
    """All the orders."""

    orders: int


class Report(Struct, frozen=True, kw_only=True):
    """What was shown comes to."""

    acts: Acts
    orders: Orders
    median_tokens: float
    latency_ms: dict[str, float]

    def lines(self) -> Iterator[str]:
        rows: list[tuple[str, int, Shares]] = [
            ("orders", self.orders.orders, self.orders),
            ("acts", self.acts.acts, self.acts),
            *((f"  {name}", tool.acts, tool) for name, tool in self.acts.by_tool.items()),
        ]
        yield f"{'':16}{'number':>7}{'precision':>11}{'recall':>9}{'silent':>9}"
        for name, number, made in rows:
            yield f"{name:16}{number:>7}{made.columns()}"
        yield ""
        yield from cost_lines(self.median_tokens, self.latency_ms, "shown")


def evaluate(folder: Path, *, settings: Settings, progress: Progress) -> Report:
    """Evaluate acts and orders on ``folder`` under ``settings``, with no team or language model."""
    memories = read_rows(folder / "memories.jsonl", JudgedMemory)
    orders = read_rows(folder / "orders.jsonl", JudgedOrder)
    acts = read_rows(folder / "acts.jsonl", JudgedAct)
    if not memories or not (orders or acts):
        raise ValueError(f"{folder} holds no memories, or neither acts nor orders")
    asked: list[JudgedOrder | JudgedAct] = [*orders, *acts]
    patient = replace(settings, hook=replace(settings.hook, total_ms=_ANSWER_MS))
    shown = anyio.run(_run, memories, asked, patient, progress)
    return figures(shown[: len(orders)], shown[len(orders) :])


def figures(orders: Sequence[Shown], acts: Sequence[Shown]) -> Report:
    """What was shown comes to."""
    by_tool: dict[str, list[Shown]] = {}
    for one in acts:
        if isinstance(one.judged, JudgedAct):
            by_tool.setdefault(one.judged.tool_name, []).append(one)
    tools = {tool: Tool(acts=len(own), **shares(own)) for tool, own in sorted(by_tool.items())}
    every = [*orders, *acts]
    return Report(
        acts=Acts(acts=len(acts), by_tool=tools, **shares(acts)),
        orders=Orders(orders=len(orders), **shares(orders)),
        median_tokens=median_tokens(every),
        latency_ms=percentiles([one.took_ms for one in every]),
    )


# --- through the product -------------------------------------------------------------------------


async def _run(
    memories: Sequence[JudgedMemory],
    asked: Sequence[JudgedOrder | JudgedAct],
    settings: Settings,
    progress: Progress,
) -> list[Shown]:
    shown = []
    async with scratch_app(settings) as (app, project):
        fields = {"project": str(project), "client": "claude"}
        handler = HookHandler(app)
        named = await _store(app, memories, handler.places.at(fields).project)
        for done, one in enumerate(asked, 1):
            shown.append(await _show(app, handler, one, fields, named))
            progress(done, len(asked))
    return shown


async def _store(app: App, memories: Sequence[JudgedMemory], scope: Scope) -> dict[str, str]:
    """Put the memories into the store and its indexes; the id of each by the one it got."""
    archive = await app.archive.get()
    named = {app.new_id(): one.id for one in memories}
    made = [
        replace(one.memory(), id=own, scope=scope) for own, one in zip(named, memories, strict=True)
    ]
    rows = [Row(memory, archive.encoder.encode(memory)) for memory in made]
    await archive.store.put(rows)
    stored: tuple[tuple[Memory, Any], ...] = tuple((row.memory, row.encoding) for row in rows)
    await app.bus.publish(MemoriesStored(trace=app.new_id(), stored=stored))
    if not await app.bus.settle(_SETTLED_S):
        raise ValueError("the memories could not be indexed")
    return named


async def _show(
    app: App,
    handler: HookHandler,
    judged: JudgedOrder | JudgedAct,
    fields: dict[str, str],
    named: dict[str, str],
) -> Shown:
    event, told = judged.hook
    asked = told | {"session_id": app.new_id(), "cwd": _PROJECT.decode()}
    body = msgspec.json.encode(asked).replace(_PROJECT, fields["project"].encode())
    began = time.perf_counter()
    answer = msgspec.json.decode((await handler.answer(event, fields, body)).body)
    took_ms = (time.perf_counter() - began) * 1000
    context = answer.get("hookSpecificOutput", {}).get("additionalContext", "")
    ids = frozenset(theirs for own, theirs in named.items() if own in context)
    return Shown(judged, ids, count_tokens(context), took_ms)
