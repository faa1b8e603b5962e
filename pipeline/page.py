"""How an explanation looks in a terminal: what each stage decided, and why."""

from __future__ import annotations

from typing import Any

from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table
from rich.text import Text


def show_explanation(answer: dict[str, Any], console: Console | None = None) -> None:
    """Print one ``explain`` answer as a page."""
    (console or Console()).print(explanation(answer))


def explanation(answer: dict[str, Any], *, candidates: int | None = None) -> RenderableType:
    """One ``explain`` answer: the prompt, the stages, the first ``candidates``, what is sent."""
    parts: list[RenderableType] = [_stages(answer)]
    if answer["inject"]["verdicts"]:
        parts.append(_candidates(answer["inject"]["verdicts"], candidates))
    parts.append(_outcome(answer))
    return Panel(
        Group(*parts),
        title=f"[bold]{escape(answer['prompt'])}[/]",
        subtitle=escape(answer["project"]),
        title_align="left",
        subtitle_align="right",
        border_style="green" if answer["context"] else "yellow",
    )


def _stages(answer: dict[str, Any]) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    parse, enrich, classify = answer["parse"], answer["enrich"], answer["classify"]
    table.add_row("parse", f"words {escape(repr(parse['query']))}{_named(parse)}")
    degraded = f" ({', '.join(enrich['degraded'])})" if enrich["degraded"] else ""
    table.add_row("enrich", f"{enrich['candidates']} candidates{escape(degraded)}")
    table.add_row("classify", escape(_intent(classify)))
    if classify.get("arithmetic"):
        table.add_row("", Text(", ".join(classify["arithmetic"]), style="dim"))
    return table


def _named(parse: dict[str, Any]) -> str:
    names = [f"{entity['kind']} {entity['value']}" for entity in parse["entities"]]
    return escape(f"; names {', '.join(names)}") if names else ""


def _intent(classify: dict[str, Any]) -> str:
    if not classify["search_intent_detected"]:
        return "no search intent"
    topics = ", ".join(classify["topics"]) or "none"
    return (
        f"{classify['intent_type']}, {classify['confidence']:.0%} by {classify['source']}; "
        f"topics {topics}"
    )


def _candidates(verdicts: list[dict[str, Any]], limit: int | None) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column()
    for verdict in verdicts[:limit]:
        mark = "[green]✓[/]" if verdict["injected"] else "·"
        summary = escape(f"[{verdict['namespace']}] {verdict['summary']}")
        table.add_row(mark, summary, style="" if verdict["injected"] else "dim")
        table.add_row("", Text(_scores(verdict), style="dim"))
    if limit is not None and len(verdicts) > limit:
        table.add_row("", Text(f"… and {len(verdicts) - limit} more", style="dim"))
    return table


def _scores(verdict: dict[str, Any]) -> str:
    parts = " · ".join(f"{name} {verdict[name]:.2f}" for name in ("text", "late", "vector"))
    return (
        f"{parts} → relevance {verdict['relevance']:.2f} × weight {verdict['weight']:.1f}"
        f" = {verdict['score']:.2f}: {verdict['why']}"
    )


def _outcome(answer: dict[str, Any]) -> RenderableType:
    if not answer["context"]:
        return Text(f"nothing is injected: {answer['inject']['abstained']}", style="yellow")
    return Panel(
        Text(answer["context"]),
        title=f"injected, {answer['inject']['tokens']} tokens",
        title_align="left",
        border_style="dim",
    )
