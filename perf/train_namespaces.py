"""Trains ``stages/capture/namespaces.json``: the namespace of a note, with numpy alone.

    python -m perf.train_namespaces [--skip-authors] [--write]

The notes are the memories of ``perf/questions`` and the spans of ``perf/data/captures``; nothing
else is fitted on. Each author (the letter that a project's name begins with) is scored by a fit on
the others, unless ``--skip-authors``; what none of it is fitted on (``perf/relevance``,
``perf/blind``) by a fit on all.
"Near" counts gotchas for learnings and patterns for decisions, as ``subcog eval captures`` does.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np

from subcog.bus.values import NAMESPACES
from subcog.config.linear_model import LinearModel
from subcog.pipeline.evaluation.captures import NEAR
from subcog.stages.capture.namespaces import WEIGHTS, features, namespace_of

from .fit import Named, Sparse, hundredths, matrix, multinomial, vocabulary, write

PERF = Path(__file__).parent
ABOUT = "fitted by perf/train_namespaces.py"
SPAN_WEIGHT = 3.0
"""A statement out of a message counts as many notes: there are few, in other wordings."""

MIN_ROWS = 8
RIDGE = 3.0
STEPS = 300
SMALLEST = 10
POWER = 0.3


class Note(NamedTuple):
    """A text, its namespace, who wrote it, and how much it counts."""

    text: str
    namespace: str
    author: str
    weight: float = 1.0


def memories(pattern: str, author: Callable[[Path], str]) -> list[Note]:
    """The labelled memories of the files that match ``pattern`` under ``perf``."""
    rows = (
        (json.loads(line), author(file))
        for file in sorted(PERF.glob(pattern))
        for line in file.read_text("utf-8").splitlines()
    )
    return [Note(row["text"], row["namespace"], by) for row, by in rows if row.get("namespace")]


def spans(pattern: str, weight: float = SPAN_WEIGHT) -> list[Note]:
    """What is worth keeping of the messages in the files that match ``pattern``."""
    return [
        Note(one["span"], one["namespace"], file.stem, weight)
        for file in sorted(PERF.glob(pattern))
        for line in file.read_text("utf-8").splitlines()
        for one in json.loads(line)["captures"]
    ]


def seen(notes: Iterable[Note]) -> list[Named]:
    """The features of each of ``notes``."""
    return [[(name, 1.0) for name in features(note.text)] for note in notes]


def fit(notes: Sequence[Note]) -> LinearModel:
    """The model that tells the namespaces of ``notes`` best."""
    rows = seen(notes)
    index = vocabulary(rows, MIN_ROWS)
    x: Sparse = matrix(rows, index)
    allowed = np.array([[name == note.namespace for name in NAMESPACES] for note in notes])
    weight = np.array([note.weight for note in notes])
    found = multinomial(x, allowed, weight, power=POWER, ridge=RIDGE, steps=STEPS)
    bias, weights = hundredths(found, index, SMALLEST)
    return LinearModel(about=ABOUT, bias=bias, weights=weights, outputs=NAMESPACES, divisor=100.0)


def score(model: LinearModel, notes: Sequence[Note]) -> str:
    """What share of ``notes`` gets its namespace, and what share that or one near to it."""
    pairs = [{namespace_of(note.text, model), note.namespace} for note in notes]
    right = [len(pair) == 1 for pair in pairs]
    near = [len(pair) == 1 or pair in NEAR for pair in pairs]
    return f"{np.mean(right):.3f}, near {np.mean(near):.3f} of {len(notes)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--skip-authors", action="store_true")
    args = parser.parse_args()
    told = memories("questions/*.memories.jsonl", lambda file: file.name[0])
    said = spans("data/captures/*.jsonl")
    for author, own in groupby([] if args.skip_authors else told, lambda note: note.author):
        rest = [note for note in told if note.author != author]
        print(f"author {author}: {score(fit([*rest, *said]), list(own))}", flush=True)
    model = fit([*told, *said])
    for name, notes in {
        "relevance": memories("relevance/*.memories.jsonl", lambda file: file.stem),
        "blind memories": memories("blind/*/memories.jsonl", lambda file: file.parent.name),
        "blind messages": spans("blind/*/captures.jsonl"),
        "messages of other authors": spans("data/captures_blind/*.jsonl"),
    }.items():
        print(f"{name}: {score(model, notes)}")
    if args.write:
        write(model, WEIGHTS)


if __name__ == "__main__":
    main()
