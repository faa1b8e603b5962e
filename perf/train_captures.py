"""Trains ``stages/capture/signals.json``: two logistic regressions on statements, with numpy alone.

    python -m perf.train_captures [--folds 10] [--write [stages/capture/signals.json]]

The messages are those of ``perf/data/captures/*.jsonl``, all written for this: {id, role, text,
captures: [{type, namespace, span}]}. A statement that shares half of itself or of a span is worth
keeping. Without ``--write`` it only cross-validates, leaving out whole messages.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import numpy as np

from subcog.config.linear_model import LinearModel
from subcog.stages.capture.features import (
    MARK,
    MATTERS,
    OUTPUTS,
    WEIGHTS,
    Features,
    SignalModel,
    every_feature,
)
from subcog.stages.capture.statements import own_text, statements

from .fit import Named, folds, hundredths, matrix, multinomial, vocabulary, write

DATA = Path(__file__).with_name("data") / "captures"
STEPS = 400
RIDGE = 2.0
MIN_ROWS = 2
SMALLEST = 3
MAIN = 0.45
ADDED_WEIGHT = 0.3


class Row(NamedTuple):
    """One statement of message ``message``; ``matter`` is -1 where it is not worth keeping.

    ``weight`` is less for what only adds to a statement worth keeping.
    """

    message: int
    text: str
    seen: Features
    matter: int
    weight: float


def load(folder: Path = DATA) -> list[Row]:
    """The statements of all messages, in order."""
    rows: list[Row] = []
    lines = [line for path in sorted(folder.glob("*.jsonl")) for line in path.open("rb")]
    for number, line in enumerate(lines):
        message = json.loads(line)
        rows.extend(rows_of(number, message))
    return rows


def rows_of(number: int, message: dict) -> list[Row]:
    """The statements of one message."""
    text = own_text(message["text"])
    role = message["role"]
    parts = statements(text, role=role)
    rows = []
    for part, seen in zip(parts, every_feature(parts, role=role), strict=True):
        matter, share = matter_of(part.start, part.end, text, message["captures"])
        rows.append(Row(number, part.text, seen, matter, 1.0 if share >= MAIN else ADDED_WEIGHT))
    return rows


def matter_of(start: int, end: int, text: str, captures: Sequence[dict]) -> tuple[int, float]:
    """Which matter a statement is labelled with, or -1; and how much of that span it is."""
    for capture in captures:
        length = len(capture["span"])
        at = text.find(capture["span"])
        shared = min(end, at + length) - max(start, at)
        if at >= 0 and 2 * shared >= min(end - start, length):
            return MATTERS.index((capture["type"], capture["namespace"])), shared / length
    return -1, 1.0


def named(seen: Features) -> Named:
    """The features with their strengths; marks are told from words by ``MARK``."""
    words = [(gram, seen.scale) for gram in seen.grams]
    return words + [(MARK + mark, 1.0) for mark in seen.marks]


def train(rows: Sequence[Row], slope: float = 1.0, shift: float = 0.0) -> LinearModel:
    """Weights for the product, in hundredths."""
    features = [named(row.seen) for row in rows]
    index = vocabulary(features, MIN_ROWS)
    x = matrix(features, index)
    matters = np.array([row.matter for row in rows])
    weight = np.array([row.weight for row in rows])
    of = matters >= 0
    is_worth = np.stack([~of, of], axis=1)
    worth = multinomial(x, is_worth, weight, power=0.3, ridge=RIDGE, steps=STEPS)
    is_kind = np.eye(len(MATTERS), dtype=bool)[matters[of]]
    kind = multinomial(x.rows(of), is_kind, weight[of], power=0.5, ridge=RIDGE, steps=STEPS)
    fitted = np.hstack([worth[:, 1:] - worth[:, :1], kind])
    bias, weights = hundredths(fitted, index, SMALLEST)
    return LinearModel(
        about=f"trained by perf/train_captures.py on {len(rows)} statements of"
        f" {len({row.message for row in rows})} messages, written for this",
        outputs=OUTPUTS,
        divisor=100,
        slope=round(slope, 3),
        shift=round(shift, 3),
        bias=bias,
        weights=weights,
    )


def held_out(rows: Sequence[Row], parts: int) -> tuple[np.ndarray, list[tuple[str, str]]]:
    """Score and matter of each row from a model that has not seen its message."""
    scores = np.zeros(len(rows))
    matters = [MATTERS[0]] * len(rows)
    for out in folds(rows[-1].message + 1, parts):
        model = SignalModel(train([row for row in rows if not out[row.message]]))
        for at, row in enumerate(rows):
            if out[row.message]:
                scores[at] = model.score(row.seen)
                matters[at] = model.matter(row.seen)
    return scores, matters


def calibration(scores: np.ndarray, worth: np.ndarray, weight: np.ndarray) -> tuple[float, float]:
    """Slope and shift under which the scores fit the labels best (Platt's scaling)."""
    best = (np.inf, 1.0, 0.0)
    for slope in np.arange(0.3, 2.01, 0.05):
        for shift in np.arange(-1.5, 1.51, 0.05):
            odds = slope * scores + shift
            loss = np.average(np.logaddexp(0, np.where(worth, -odds, odds)), weights=weight)
            best = min(best, (float(loss), float(slope), float(shift)))
    return best[1], best[2]


def message_weights(rows: Sequence[Row]) -> np.ndarray:
    """Weights under which messages with something to keep and those without count the same.

    The messages without are many because they are the hard ones, not because they are so frequent.
    """
    telling = {row.message for row in rows if row.matter >= 0}
    silent = {row.message for row in rows} - telling
    share = len(telling) / len(silent)
    return np.array([1.0 if row.message in telling else share for row in rows])


def report(rows: Sequence[Row], odds: np.ndarray, matters: Sequence[tuple[str, str]]) -> None:
    """Print what held-out statements came to, at several floors."""
    worth = np.array([row.matter >= 0 for row in rows])
    chance = 1 / (1 + np.exp(-odds))
    print(f"{len(rows)} statements, {worth.sum()} worth keeping")
    for floor in (0.3, 0.5, 0.7, 0.8, 0.85, 0.9):
        found = chance >= floor
        right = (found & worth).sum()
        of_found, of_worth = right / found.sum(), right / worth.sum()
        print(f"  from {floor:.2f}: precision {of_found:.3f}, recall {of_worth:.3f}")
    for low, high in pairwise((0, 0.1, 0.3, 0.5, 0.7, 0.85, 0.95, 1.01)):
        of = (chance >= low) & (chance < high)
        print(f"  {low:.2f}–{high:.2f}: {of.sum():4d}, of which {worth[of].mean():.3f}")
    pairs = [
        (MATTERS[row.matter], got)
        for row, got in zip(rows, matters, strict=True)
        if row.matter >= 0
    ]
    print(f"  kind and namespace right {np.mean([want == got for want, got in pairs]):.3f}")


def main() -> None:
    """Cross-validate, and write the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--wrong", action="store_true", help="print what was judged wrongly")
    parser.add_argument("--write", nargs="?", const=WEIGHTS, type=Path)
    arguments = parser.parse_args()
    rows = load()
    scores, matters = held_out(rows, arguments.folds)
    main = np.array([row.weight >= 1 for row in rows])
    worth = np.array([row.matter >= 0 for row in rows])
    slope, shift = calibration(scores[main], worth[main], message_weights(rows)[main])
    print(f"slope {slope:.2f}, shift {shift:.2f}")
    odds = slope * scores + shift
    report(rows, odds, matters)
    if arguments.wrong:
        show_wrong(rows, odds)
    if arguments.write:
        write(train(rows, slope, shift), arguments.write)


def show_wrong(rows: Sequence[Row], odds: np.ndarray) -> None:
    """Print the statements on the wrong side of even odds, the worst first."""
    for at in np.argsort(-np.abs(odds)):
        row = rows[at]
        if (odds[at] > 0) != (row.matter >= 0):
            label = MATTERS[row.matter][0] if row.matter >= 0 else "none"
            print(f"  {odds[at]:6.2f} {label:<10} {row.text[:150]!r}")


if __name__ == "__main__":
    main()
