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

import msgspec
import numpy as np

from subcog.sinks.models.intent_classifier import (
    CLASSES,
    WEIGHTS,
    LocalClassifier,
    Weights,
    features,
)
from subcog.stages.classify import cues
from subcog.stages.intent.keywords import detect_search_intent

from .logistic import Named, fit, matrix, softmax, vocabulary

OWN = Path(__file__).with_name("data") / "intents.jsonl"
ALLOWED = frozenset(("own", "written", "project", "devmem"))
NAMES = [str(kind) if kind else "none" for kind in CLASSES]

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
    return features(text, tuple(cues(text, detect_search_intent(text))))


def temperature(logits: np.ndarray, y: np.ndarray) -> float:
    """The divisor of the logits under which their probabilities fit the labels best."""
    grid = np.arange(0.5, 3.01, 0.05)
    losses = [-np.log(softmax(logits / t)[np.arange(len(y)), y] + 1e-9).mean() for t in grid]
    return float(grid[int(np.argmin(losses))])


def row_weights(rows: Sequence[Row]) -> np.ndarray:
    """Prompts that were really typed or labelled by a reviewer count twice."""
    return np.array([1.0 if row["source"] == "own" else 2.0 for row in rows])


def train(rows: Sequence[Row], t: float = 1.0) -> Weights:
    """Weights for the product, in hundredths, without those that make no difference."""
    prompts = [seen(row["text"]) for row in rows]
    index = vocabulary(prompts, MIN_ROWS)
    y = np.array([NAMES.index(row["intent"]) for row in rows])
    x = matrix(prompts, index)
    fitted = fit(
        x, y, row_weights(rows), classes=len(CLASSES), power=CLASS_POWER, ridge=RIDGE, steps=STEPS
    )
    hundredths = np.rint(fitted * 100).astype(int)
    counts = Counter(row["source"] for row in rows)
    return Weights(
        about="trained by perf/train_intents.py on "
        + ", ".join(f"{count} {source}" for source, count in sorted(counts.items())),
        temperature=round(t, 2),
        bias=tuple(int(one) for one in hundredths[-1]),
        features={
            name: tuple(int(one) for one in hundredths[at])
            for name, at in index.items()
            if np.abs(hundredths[at]).max() >= SMALLEST
        },
    )


def held_out(rows: Sequence[Row], folds: int, seed: int = 7) -> np.ndarray:
    """Logits of each row from a model that has not seen it."""
    order = np.random.default_rng(seed).permutation(len(rows))
    logits = np.zeros((len(rows), len(CLASSES)))
    for fold in range(folds):
        out = {int(at) for at in order[fold::folds]}
        model = LocalClassifier(train([row for at, row in enumerate(rows) if at not in out]))
        for at in out:
            text = rows[at]["text"]
            odds = model.weigh(text, tuple(cues(text, detect_search_intent(text))))
            logits[at] = np.log([odds[kind] + 1e-9 for kind in CLASSES])
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
        packed = msgspec.json.encode(train(rows, t))
        arguments.write.write_bytes(packed + b"\n")
        print(f"wrote {len(packed) / 1024:.0f} KB to {arguments.write}")


if __name__ == "__main__":
    main()
