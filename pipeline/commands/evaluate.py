"""``eval``: measure quality on data of your own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import click

from .shared import json_option, our_settings, show_json


@click.group()
def eval_command() -> None:
    """Measure retrieval and classification on labelled data. No stored memories are used."""


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def retrieval(folder: Path, as_json: bool) -> None:
    """Measure retrieval on FOLDER with its memories.jsonl and queries.jsonl."""
    from ..evaluation.retrieval import evaluate, render

    _show_progress(partial(evaluate, folder), render, as_json=as_json)


@eval_command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def intents(file: Path, as_json: bool) -> None:
    """Measure the classifiers on FILE, JSONL of {text, intent}."""
    from ...sinks.models.intent_classifier import LocalClassifier
    from ..evaluation.intents import as_text, evaluate, read_labelled

    local = LocalClassifier.load()
    report = _checked(lambda: evaluate(read_labelled(file), local=local))
    _print(report, as_text, as_json=as_json)


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def injections(folder: Path, as_json: bool) -> None:
    """Measure injection on FOLDER with its memories.jsonl and prompts.jsonl, with your settings."""
    from ..evaluation.injections import evaluate, render

    work = partial(evaluate, folder, settings=our_settings().settings)
    _show_progress(work, render, as_json=as_json)


@eval_command.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def captures(file: Path, as_json: bool) -> None:
    """Measure the automatic captures on FILE, JSONL of {id, role, text, captures}."""
    from ..evaluation.captures import evaluate, read_messages, render

    report = _checked(lambda: evaluate(read_messages(file)))
    _print(report, render, as_json=as_json)


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def sessions(folder: Path, as_json: bool) -> None:
    """Measure what of FOLDER with its sessions.jsonl reaches the prompts of its prompts.jsonl."""
    from ..evaluation.sessions import evaluate, render

    work = partial(evaluate, folder, settings=our_settings().settings)
    _show_progress(work, render, as_json=as_json)


@eval_command.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@json_option
def acts(folder: Path, as_json: bool) -> None:
    """Measure what is shown before the acts and with the orders of FOLDER, with your settings."""
    from ..evaluation.acts import evaluate, render

    work = partial(evaluate, folder, settings=our_settings().settings)
    _show_progress(work, render, as_json=as_json)


def _show_progress(
    evaluate: Callable[..., Any], render: Callable[[Any], str], *, as_json: bool
) -> None:
    """Run ``evaluate`` behind a bar, and print what it reports."""
    with _progress(hidden=as_json) as show:
        report = _checked(lambda: evaluate(progress=show))
    _print(report, render, as_json=as_json)


@contextmanager
def _progress(*, hidden: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar for people, moved by (done, in all)."""
    with click.progressbar(length=100, label="evaluating", hidden=hidden) as bar:

        def show(done: int, total: int) -> None:
            bar.update(done * 100 // max(total, 1) - bar.pos)

        yield show


def _checked(work: Any) -> Any:
    try:
        return work()
    except (OSError, ValueError) as error:
        raise click.ClickException(str(error)) from None


def _print(report: Any, render: Callable[[Any], str], *, as_json: bool) -> None:
    if as_json:
        show_json(report)
    else:
        click.echo(render(report))
