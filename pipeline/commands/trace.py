"""``trace``: what became of past prompts."""

from __future__ import annotations

from datetime import datetime
from itertools import islice
from typing import Any

import click

from .shared import json_option, our_paths, show_json

TRACES = "traces.jsonl"


@click.command()
@click.argument("id", required=False)
@click.option("-n", "--limit", default=20, show_default=True, type=click.IntRange(1, 10_000))
@json_option
def trace_command(id: str | None, limit: int, as_json: bool) -> None:  # noqa: A002 - what it is
    """Show what became of past prompts, newest first, or all about the one with ID.

    An ID may be cut short. What a prompt said is not kept unless trace.keep_text is set.
    """
    from ...sinks.telemetry.prompt_log import read_traces

    traces = read_traces(our_paths().state / TRACES)
    if id is None:
        _list(list(islice(traces, limit)), as_json)
        return
    found = next((trace for trace in traces if trace["id"].startswith(id.lower())), None)
    if found is None:
        raise click.ClickException(f"there is no trace {id}; older ones are not kept for ever")
    if as_json:
        show_json(found)
    else:
        from ..cli.trace_view import show_trace

        show_trace(found)


def _list(traces: list[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        show_json({"traces": traces})
        return
    if not traces:
        click.echo("no prompt was traced yet")
    for trace in traces:
        when = datetime.fromisoformat(trace["time"]).astimezone()
        kind = trace["classify"]["intent_type"] or "–"
        click.echo(
            f"{trace['id']}  {when:%Y-%m-%d %H:%M:%S}  {trace['took_ms']:>7.1f} ms  {kind:<12}"
            f"  {_outcome(trace['inject'])}"
        )


def _outcome(inject: dict[str, Any]) -> str:
    if inject["abstained"]:
        return f"nothing: {inject['abstained']}"
    return f"{len(inject['memories'])} memories, {inject['tokens']} tokens"
