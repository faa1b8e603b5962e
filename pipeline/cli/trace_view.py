"""How a trace looks in a terminal: what was decided about one past prompt, and what it took."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.panel import Panel
from rich.table import Table

from .explain_view import timings


def show_trace(trace: dict[str, Any], console: Console | None = None) -> None:
    """Print one trace as a page."""
    (console or Console()).print(trace_page(trace))


def trace_page(trace: dict[str, Any]) -> RenderableType:
    """One trace, a row a stage."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan", no_wrap=True)
    table.add_column()
    for name, told in _rows(trace):
        table.add_row(name, escape(told))
    when = datetime.fromisoformat(trace["time"]).astimezone()
    return Panel(
        table,
        title=f"[bold]{escape(trace['id'])}[/] {when:%Y-%m-%d %H:%M:%S}",
        subtitle=escape(trace["project"]),
        title_align="left",
        subtitle_align="right",
    )


def _rows(trace: dict[str, Any]) -> Iterator[tuple[str, str]]:
    prompt, found, inject = trace["prompt"], trace["enrich"], trace["inject"]
    if text := trace.get("text"):
        yield "text", text["prompt"]
    yield "prompt", f"{prompt['characters']} characters, sha256 {prompt['sha256']}"
    named = ", ".join(f"{count} {kind}" for kind, count in prompt["entities"].items())
    work = ", ".join(dict.fromkeys(prompt["work"])).lower()
    yield "parse", f"work {work or 'none'}; names {named or 'nothing'}"
    yield "enrich", _enriched(found)
    for conflict in found["conflicts"]:
        won, lost = conflict["winner"], conflict["loser"]
        yield "", f"{won['id']} ({won['score']}) over {lost['id']} ({lost['score']})"
    yield "classify", _classified(trace["classify"])
    yield "inject", inject["abstained"] or f"{len(inject['memories'])}, {inject['tokens']} tokens"
    for verdict in inject["verdicts"]:
        mark = "✓" if verdict["injected"] else "·"
        yield "", f"{mark} {verdict['id']} {verdict['why']}"
    for told in inject.get("sessions", ()):  # missing in the traces of older versions
        mark = "✓" if told["quoted"] else "·"
        yield "", f"{mark} session {told['id']} of {told['began_at'][:10]}: {told['why']}"
    yield "took", timings(trace["stages_ms"])


def _enriched(found: dict[str, Any]) -> str:
    names = ("similar_tasks", "patterns", "gotchas", "resolved", "conflicts")
    parts = [f"{found['candidates']} candidates"]
    parts += [f"{len(found[name])} {name.replace('_', ' ')}" for name in names if found[name]]
    return ", ".join([*parts, *found["degraded"]])


def _classified(told: dict[str, Any]) -> str:
    votes = ", ".join(
        f"{vote['racer']} {_voted(vote)} in {vote['took_ms']} ms" for vote in told["votes"]
    )
    if told["intent_type"] is None:
        return f"no search intent ({votes})"
    return f"{told['intent_type']}, {told['confidence']:.0%} by {told['source']} ({votes})"


def _voted(vote: dict[str, Any]) -> str:
    return str(vote["intent_type"] or vote["missing"] or "none")
