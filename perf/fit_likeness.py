"""Fit the weights of ``stages/language/task_similarity.py`` on pairs of prompt and task.

    python perf/fit_likeness.py

``perf/data/tasks`` holds tasks of one imagined shop, and prompts with the tasks that whoever works
on the prompt would want to see. Everything else counts as unlike. Like pairs weigh double: they are
one in fifty here, and far more among what is looked up. How well the weights do is measured on
prompts that they were not fitted on, ten parts in turn.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import numpy.typing as npt

from subcog.bus.enrichment import Traits
from subcog.sinks.models.embedder import Embedder
from subcog.stages.language.task_similarity import FEATURES, features, traits
from subcog.stages.language.work_kind import primary, work_signals

DATA = Path(__file__).parent / "data" / "tasks"
RIDGE = 1e-4
PARTS = 10
Array = npt.NDArray[np.float64]


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


def fit(rows: Array, alike: Array) -> Array:
    """Logistic regression by Newton's method; the last weight is the bias."""
    rows = np.c_[rows, np.ones(len(rows))]
    share = np.where(alike == 1, 2.0, 1.0)
    ridge = RIDGE * len(rows) * np.diag([1.0] * (rows.shape[1] - 1) + [0.0])
    weights = np.zeros(rows.shape[1])
    for _ in range(60):
        guess = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (share * (guess - alike)) + ridge @ weights
        bend = (rows * (share * guess * (1 - guess))[:, None]).T @ rows + ridge
        weights -= np.linalg.solve(bend + 1e-9 * np.eye(len(bend)), slope)
    return weights


def held_back(rows: Array, alike: Array, numbers: Array) -> Array:
    """The likeness of each pair by weights that were fitted without its prompt."""
    guess = np.zeros(len(rows))
    for part in range(PARTS):
        out = numbers % PARTS == part
        weights = fit(rows[~out], alike[~out])
        guess[out] = 1 / (1 + np.exp(-np.c_[rows[out], np.ones(out.sum())] @ weights))
    return guess


def main() -> None:
    rows, alike, numbers = pairs()
    weights = fit(rows, alike)
    print(dict(zip((*FEATURES, "bias"), weights.round(3).tolist(), strict=True)))
    guess = held_back(rows, alike, numbers)
    for floor in (0.5, 0.6, 0.7, 0.8):
        taken = guess >= floor
        right = (alike * taken).sum()
        print(
            f"from {floor}: precision {right / taken.sum():.2f}, recall {right / alike.sum():.2f}"
        )


if __name__ == "__main__":
    main()
