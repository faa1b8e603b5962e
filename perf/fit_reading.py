"""Fit the weight of the cross-encoder: ``sinks/search/reranked_relevance.json``.

    python -m perf.fit_reading [--project DIR ...] [--model DIR] [--write]

On the invented projects of ``perf/relevance``, none of which the cross-encoder was trained on, and
in the stores that ``perf/fit_relevance.py`` puts each prompt to. The first candidates are read with
the prompt as the product does; the others keep the relevance of their words. ``--project`` adds a
folder with memories.jsonl and prompts.jsonl that is scored and never fitted on; ``--model`` reads
with another model than the one that ships.

Prints precision, recall and silence by what the best has to reach and what others have to beside
it, each project scored by a fit on the others. The relevance by words is the one that ships, whose
weights were fitted on these projects: what reading adds is rather more than the figures show.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial
from pathlib import Path

import numpy as np

from subcog.sinks.models.cross_encoder import MODEL, CrossEncoder
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.calibration import RERANK_FEATURES, RERANK_WEIGHTS, relevance
from subcog.sinks.search.retriever import (
    RERANK_ENOUGH,
    RERANK_MIN_RELEVANCE,
    RERANK_SURE,
    RERANK_TOP_K,
)
from subcog.stages.language.answer_type import load

from .fit import binary, write
from .fit_relevance import (
    HERE,
    WEIGHT,
    Array,
    Case,
    Model,
    Project,
    cases,
    chances,
    count,
    fit,
    read,
)

BEST = (0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
BESIDE = (0.15, 0.25, 0.3, 0.35, 0.4, 0.45)
FLOORS = tuple((best, beside) for best in BEST for beside in BESIDE if beside <= best)
# What suits words alone best, for comparison.
WORDS_FLOORS = (0.45, 0.25)
SETTINGS = {"whole": {"whole"}, "small": {"small", "small without"}}
SMALLEST = 1e-6
# A question whose answer was taken away is nearly the same question again, so it counts less.
WEIGHTS = {**WEIGHT, "without": 0.3}

WORTH_READING = np.log(RERANK_MIN_RELEVANCE / (1 - RERANK_MIN_RELEVANCE))

# The columns are the log-odds by words, those by reading, and the latter where they are negative.
BY_WORDS: Model = ((np.array([1.0, 0.0, 0.0]), 0.0), dict(load().named))

Score = Callable[[Case], Array]
Say = Callable[[str, str], float]


def first(case: Case) -> list[int]:
    """The candidates that are read, as the product orders them."""
    return [int(at) for at in np.argsort(-case.order, kind="stable")[:RERANK_TOP_K]]


def seen(case: Case, texts: dict[str, str], say: Say) -> Case:
    """``case`` by its words and by what ``say`` tells of the candidates that are read."""
    if not case.ids:
        return case
    words = np.clip(case.seen, SMALLEST, 1 - SMALLEST)
    told = np.zeros(len(words))
    for at in first(case):
        told[at] = say(case.prompt, texts[case.ids[at]])
    columns = (np.log(words / (1 - words)), told, np.minimum(told, 0))
    return replace(case, seen=np.stack(columns, axis=1))


def only_read(case: Case) -> Case:
    """The candidates that are read, without what else speaks for them: reading has seen it."""
    rows = first(case)
    return replace(
        case,
        seen=case.seen[rows],
        order=case.order[rows],
        right=case.right[rows],
        spared=case.spared[rows],
        signs=[[] for _ in rows],
    )


def after_reading(case: Case, model: Model) -> Array:
    """The probability of each candidate, where the first ones were read until enough were found.

    The product reads on where a question is broad.
    """
    probable, sure = chances(case, BY_WORDS), 0
    for at, told in zip(first(case), chances(only_read(case), model), strict=True):
        if case.seen[at, 0] >= WORTH_READING and sure < RERANK_ENOUGH:
            probable[at] = told
            sure += told >= RERANK_SURE
    return probable


def fitted(given: Iterable[Case]) -> Model:
    """The weights of what is read."""
    return fit([only_read(case) for case in given], WEIGHTS)


def measured(projects: list[Project], embedder: Embedder, say: Say) -> Iterator[Case]:
    """Every prompt against every store it is put to."""
    texts = {
        memory.id: f"{memory.namespace}: {memory.content}"
        for project in projects
        for memory, _ in project.pairs.values()
    }
    if len(texts) != sum(len(project.pairs) for project in projects):
        raise SystemExit("two memories have the same id")
    for case in cases(projects, embedder, relevance):
        yield seen(case, texts, say)


def left_out(given: list[Case]) -> dict[str, Score]:
    """By project how its cases are scored: with weights that were fitted on the others."""
    return {
        project: partial(
            after_reading, model=fitted(case for case in given if case.project != project)
        )
        for project in dict.fromkeys(case.project for case in given)
    }


def counted(
    given: list[Case], scores: dict[str, Score], setting: str, floors: tuple[float, float]
) -> str:
    """Precision, recall and silence of all projects together."""
    chosen = [case for case in given if case.setting in SETTINGS[setting]]
    counts = np.sum(
        [
            count([case for case in chosen if case.project == project], score, floors)
            for project, score in scores.items()
        ],
        axis=0,
    )
    return " ".join(f"{rate:.3f}" for rate in counts[::2] / np.maximum(counts[1::2], 1))


def report(label: str, given: list[Case], scores: dict[str, Score]) -> None:
    """Print the figures of ``given`` by words alone and after reading."""
    words: dict[str, Score] = {project: partial(chances, model=BY_WORDS) for project in scores}
    print(f"\n{label}: precision recall silence, in the whole project, in small stores")
    lines = [("words", WORDS_FLOORS, words), *(("read", floors, scores) for floors in FLOORS)]
    for name, floors, scored in lines:
        figures = "   ".join(counted(given, scored, setting, floors) for setting in SETTINGS)
        print(f"  {name:5} {floors[0]:.2f}/{floors[1]:.2f}   {figures}", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", type=Path, action="append", default=[])
    parser.add_argument("--model", type=Path, default=MODEL)
    parser.add_argument("--write", nargs="?", const=RERANK_WEIGHTS, type=Path)
    arguments = parser.parse_args()
    embedder, reranker = Embedder.load(), CrossEncoder.load(arguments.model)
    say = cache(reranker.score)
    names = sorted(path.name.split(".")[0] for path in HERE.glob("*.memories.jsonl"))
    files = [(n, HERE / f"{n}.memories.jsonl", HERE / f"{n}.prompts.jsonl") for n in names]
    projects = [read(*each, embedder) for each in files]
    given = list(measured(projects, embedder, say))
    report(f"{len(projects)} projects, each scored by a fit on the others", given, left_out(given))
    model = fitted(given)
    for folder in arguments.project:
        project = read(folder.name, folder / "memories.jsonl", folder / "prompts.jsonl", embedder)
        shown = list(measured([project], embedder, say))
        scores: dict[str, Score] = {folder.name: partial(after_reading, model=model)}
        report(f"{folder.name}, never fitted on", shown, scores)
    (weights, bias), _ = model
    made = binary("fitted by perf/fit_reading.py", RERANK_FEATURES, weights, bias)
    print(f"\n{made.named} {made.bias}")
    if arguments.write:
        write(made, arguments.write)


if __name__ == "__main__":
    main()
