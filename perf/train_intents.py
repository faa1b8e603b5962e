"""Trains ``sinks/models/intents.json``: a multinomial logistic regression, with numpy alone.

    python -m perf.train_intents [ROWS.jsonl ...] [--folds 10] [--write [sinks/models/intents.json]]

A row is ``{"text", "intent"}`` and may have a ``source``; rows whose source is none of ``ALLOWED``
are never trained on. ``perf/data/intents.jsonl`` is always trained on. Without ``--write`` it only
cross-validates.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from subcog.config.linear_model import LinearModel
from subcog.sinks.models.intent_classifier import NAMES, WEIGHTS, features
from subcog.stages.classify import cues
from subcog.stages.language.search_intent import detect_search_intent
from subcog.stages.language.sentences import sentences

from .fit import Named, folds, hundredths, matrix, multinomial, softmax, vocabulary, write

OWN = Path(__file__).with_name("data") / "intents.jsonl"
ALLOWED = frozenset(("own", "written", "project", "devmem"))

MIN_ROWS = 2
STEPS = 300
RIDGE = 1.0
CLASS_POWER = 0.5
SMALLEST = 4

Row = dict[str, str]


def load(path: Path, source: str = "own") -> list[Row]:
    """The rows of ``path`` that have a text and come from where training is allowed."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    rows = [{"source": source, **row} for row in rows if "text" in row]
    return [row for row in rows if row["source"] in ALLOWED]


def seen(text: str) -> Named:
    """The features of one prompt, as the product makes them."""
    return features(text, tuple(cues(sentences(text), detect_search_intent(text))))


def temperature(logits: np.ndarray, y: np.ndarray) -> float:
    """The divisor of the logits under which their probabilities fit the labels best."""
    grid = np.arange(0.5, 3.01, 0.05)
    losses = [-np.log(softmax(logits / t)[np.arange(len(y)), y] + 1e-9).mean() for t in grid]
    return float(grid[int(np.argmin(losses))])


def row_weights(rows: Sequence[Row]) -> np.ndarray:
    """Prompts that were really typed or labelled by a reviewer count twice."""
    return np.array([1.0 if row["source"] == "own" else 2.0 for row in rows])


def train(rows: Sequence[Row], t: float = 1.0) -> LinearModel:
    """Weights for the product, in hundredths."""
    prompts = [seen(row["text"]) for row in rows]
    index = vocabulary(prompts, MIN_ROWS)
    y = np.array([NAMES.index(row["intent"]) for row in rows])
    x, weight = matrix(prompts, index), row_weights(rows)
    fitted = multinomial(
        x, y, weight, classes=len(NAMES), power=CLASS_POWER, ridge=RIDGE, steps=STEPS
    )
    bias, weights = hundredths(fitted, index, SMALLEST)
    counts = Counter(row["source"] for row in rows)
    return LinearModel(
        about="trained by perf/train_intents.py on "
        + ", ".join(f"{count} {source}" for source, count in sorted(counts.items())),
        outputs=NAMES,
        divisor=100,
        slope=1 / round(t, 2),
        bias=bias,
        weights=weights,
    )


def held_out(rows: Sequence[Row], parts: int) -> np.ndarray:
    """Logits of each row from a model that has not seen it."""
    logits = np.zeros((len(rows), len(NAMES)))
    for out in folds(len(rows), parts):
        model = train([row for at, row in enumerate(rows) if not out[at]])
        for at in np.flatnonzero(out):
            odds = model.probabilities(seen(rows[at]["text"]))
            logits[at] = np.log(np.array(odds) + 1e-9)
    return logits


def report(rows: Sequence[Row], logits: np.ndarray) -> None:
    """Print the accuracy of held-out rows by source."""
    picked = logits.argmax(axis=1)
    y = np.array([NAMES.index(row["intent"]) for row in rows])
    for source in sorted({row["source"] for row in rows}):
        of = np.array([row["source"] == source for row in rows])
        print(f"{source:>10} {of.sum():5d} rows, accuracy {(picked[of] == y[of]).mean():.3f}")


def main() -> None:
    """Cross-validate, and write the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="*", type=Path)
    parser.add_argument("--folds", type=int, default=10)
    parser.add_argument("--write", nargs="?", const=WEIGHTS, type=Path)
    arguments = parser.parse_args()
    rows = load(OWN) + [row for path in arguments.rows for row in load(path, "unknown")]
    logits = held_out(rows, arguments.folds)
    report(rows, logits)
    t = temperature(logits, np.array([NAMES.index(row["intent"]) for row in rows]))
    print(f"temperature {t:.2f}")
    if arguments.write:
        write(train(rows, t), arguments.write)


if __name__ == "__main__":
    main()
