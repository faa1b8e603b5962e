"""``eval``: measure quality on data of your own."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Protocol

import click

from .shared import is_json, json_option, our_settings, show


class Report(Protocol):
    """What every evaluation gives: a struct, for JSON, that has lines for people."""

    def lines(self) -> Iterator[str]: ...


@click.group()
def eval_command() -> None:
    """Measure retrieval and classification on labelled data. No stored memories are used."""


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def retrieval(folder: Path) -> None:
    """Measure retrieval on FOLDER, which holds memories.jsonl and queries.jsonl."""
    from ..evaluation.retrieval import evaluate

    _show_progress(partial(evaluate, folder))


@eval_command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def intents(file: Path) -> None:
    """Measure the intent classifiers on FILE, JSONL of {text, intent}."""
    from ...sinks.models.intent_classifier import LocalClassifier
    from ..evaluation.common import read_rows
    from ..evaluation.intents import Labelled, evaluate

    local = LocalClassifier.load()
    _show(lambda: evaluate(read_rows(file, Labelled), local=local))


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option(
    "--today", type=click.DateTime(["%Y-%m-%d"]), help="The day on which the prompts are typed."
)
@json_option
def injections(folder: Path, today: datetime | None) -> None:
    """Measure what is injected into prompts.

    FOLDER holds memories.jsonl and prompts.jsonl. Your settings apply.
    """
    from ..evaluation.injections import evaluate

    settings = our_settings().settings
    work = partial(evaluate, folder, settings=settings, today=today and today.date())
    _show_progress(work)


@eval_command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def captures(file: Path) -> None:
    """Measure the automatic captures on FILE, JSONL of {id, role, text, captures}."""
    from ..evaluation.captures import evaluate, read_messages

    _show(lambda: evaluate(read_messages(file)))


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def sessions(folder: Path) -> None:
    """Measure how much of earlier sessions reaches the prompts that need it.

    FOLDER holds sessions.jsonl and prompts.jsonl. Your settings apply.
    """
    from ..evaluation.sessions import evaluate

    _show_progress(partial(evaluate, folder, settings=our_settings().settings))


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def acts(folder: Path) -> None:
    """Measure what is shown before tool calls, and with prompts that order work.

    FOLDER holds memories.jsonl, acts.jsonl and orders.jsonl. Your settings apply.
    """
    from ..evaluation.acts import evaluate

    _show_progress(partial(evaluate, folder, settings=our_settings().settings))


@eval_command.command()
@click.option(
    "--events",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Replay the recorded events of a store instead.",
)
@click.option(
    "--users",
    type=click.IntRange(1, 1_000),
    default=40,
    show_default=True,
    help="Number of simulated users of each kind.",
)
@json_option
def use(events: Path | None, users: int) -> None:
    """Measure whether learning from use helps, on simulated users or recorded events."""
    if events is not None:
        from ..replay import recorded

        context = our_settings().settings.search_intent.context
        _show(lambda: recorded.evaluate(events, context=context))
    else:
        from ..replay.candidates import shipped
        from ..replay.figures import evaluate

        _show_progress(partial(evaluate, shipped(), number=users))


def _show_progress(evaluate: Callable[..., Report]) -> None:
    """Run ``evaluate`` behind a bar on standard error, and print what it reports."""
    bar = click.progressbar(length=100, label="evaluating", hidden=is_json(), file=sys.stderr)

    def move(done: int, total: int) -> None:
        bar.update(done * 100 // max(total, 1) - bar.pos)

    def work() -> Report:
        with bar:
            return evaluate(progress=move)

    _show(work)


def _show(work: Callable[[], Report]) -> None:
    """Print what ``work`` reports; data that is not what it should be ends the command."""
    try:
        report = work()
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None
    show(report, report.lines())
