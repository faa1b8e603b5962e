"""Fit ``stages/enrichment/task_similarity.json`` on pairs of prompt and task.

    python -m perf.fit_likeness [--write [stages/enrichment/task_similarity.json]]

``perf/data/tasks`` holds tasks of one imagined shop, and prompts with the tasks that whoever works
on the prompt would want to see. Everything else counts as unlike. Like pairs weigh double: they are
one in fifty here, and far more among what is looked up. How well the weights do is measured on
prompts that they were not fitted on, ten parts in turn.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import numpy as np

from subcog.bus.enrichment import Traits
from subcog.sinks.models.embedder import Embedder
from subcog.stages.enrichment.matching import FEATURES, WEIGHTS, features, traits
from subcog.stages.language.work_kind import primary, work_signals

from .fit import Array, binary, logistic, write

DATA = Path(__file__).parent / "data" / "tasks"
RIDGE = 1e-4
PARTS = 10


def asked(text: str) -> Traits:
    return traits(text, primary(work_signals(text)))


def pairs() -> tuple[Array, Array, Array]:
    """Features, whether they are alike, and the number of the prompt, a row a pair."""
    embedder = Embedder.load()
    titles = (DATA / "tasks.txt").read_text().splitlines()
    tasks = [(title, asked(title)) for title in titles]
    rows, alike, numbers = [], [], []
    for number, line in enumerate((DATA / "prompts.jsonl").read_text().splitlines()):
        judged = json.loads(line)
        prompt = asked(judged["prompt"])
        vector = embedder.encode_query(judged["prompt"]).vector
        for title, task in tasks:
            cosine = float(embedder.encode_query(title).vector @ vector)
            rows.append(features(prompt, task, cosine))
            alike.append(title in judged["similar"])
            numbers.append(number)
    return np.array(rows), np.array(alike, dtype=float), np.array(numbers)


def fit(rows: Array, alike: Array) -> tuple[Array, float]:
    """Weights and bias."""
    return logistic(rows, alike, np.where(alike == 1, 2.0, 1.0), RIDGE * len(rows))


def held_back(rows: Array, alike: Array, numbers: Array) -> Array:
    """The likeness of each pair by weights that were fitted without its prompt."""
    guess = np.zeros(len(rows))
    for part in range(PARTS):
        out = numbers % PARTS == part
        weights, bias = fit(rows[~out], alike[~out])
        guess[out] = 1 / (1 + np.exp(-rows[out] @ weights - bias))
    return guess


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", nargs="?", const=WEIGHTS, type=Path)
    arguments = parser.parse_args()
    rows, alike, numbers = pairs()
    model = binary("fitted by perf/fit_likeness.py", FEATURES, *fit(rows, alike))
    print(model.named, model.bias)
    guess = held_back(rows, alike, numbers)
    for floor in (0.5, 0.6, 0.7, 0.8):
        taken = guess >= floor
        right = (alike * taken).sum()
        print(
            f"from {floor}: precision {right / taken.sum():.2f}, recall {right / alike.sum():.2f}"
        )
    if arguments.write:
        write(model, arguments.write)


if __name__ == "__main__":
    main()
