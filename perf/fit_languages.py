"""Fit the relevance of memories in languages that the models do not know, and say how well it does.

    python -m perf.fit_languages [--write]

Learned from the projects in ``perf/languages``, one a language, each put to stores as in
``perf/fit_relevance.py``; written are ``sinks/search/words_relevance.json`` and
``stages/language/answer_type_by_words.json``. The figures of a language are those of a fit on the
other languages; a prompt that is heard as no question gets nothing.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import random
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from subcog.bus.values import Query
from subcog.config.languages import ENGLISH, language_of
from subcog.config.linear_model import LinearModel
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.by_words import FEATURES, WEIGHTS, cover, feature_matrix
from subcog.sinks.search.index import Index
from subcog.sinks.search.ranking import CANDIDATES, begin
from subcog.stages.language.answer_type import BY_WORDS_WEIGHTS, answer_types, evidence
from subcog.stages.language.questions import asked_types

from .fit import binary, write
from .fit_relevance import (
    NOW,
    SCOPE,
    Case,
    Model,
    Project,
    chances,
    count,
    fit,
    memory_of,
    refused,
    rows,
    stores,
)

# The projects are few and no language has two: relevance is taken for less by so much in log-odds.
# From what is then the floor of 0.4 on four of five memories were right.
MARGIN = 0.6
# How many signs speak for or against an answer was seen to matter more here, where words are all.
SIGN_RIDGE = 1.0
ABOUT = "fitted by perf/fit_languages.py"
HERE = Path(__file__).parent / "languages"
FLOORS = ((0.3, 0.3), (0.35, 0.3), (0.4, 0.3), (0.45, 0.3), (0.5, 0.3), (0.55, 0.3))


def read(folder: Path, embedder: Embedder) -> Project:
    """Read one project, and which of its prompts are heard as questions in another language."""
    made = [memory_of(row) for row in rows(folder / "memories.jsonl", "text")]
    encodings = embedder.encode_many([searchable(memory) for memory in made])
    prompts = rows(folder / "prompts.jsonl", "relevant")
    for prompt in prompts:
        language = language_of(prompt["prompt"])
        prompt["language"] = language
        prompt["searches"] = asked_types(prompt["prompt"], language) is not None
        prompt["wants"] = answer_types(prompt["prompt"], None)
    pairs = {m.id: (m, e) for m, e in zip(made, encodings, strict=True)}
    return Project(folder.name, pairs, [p for p in prompts if p["language"] != ENGLISH])


def cases(project: Project, embedder: Embedder) -> Iterator[Case]:
    """Every prompt of ``project`` against every store it is put to."""
    for prompt, ids, setting in stores(project, [project], random.Random(1)):
        index = Index(embedder)
        index.extend(project.pairs[i] for i in ids)
        found = look(index, prompt) if prompt["searches"] else None
        if found is not None:
            seen, order, names = found
            right = np.array([name in prompt["relevant"] for name in names])
            spared = np.array([name in prompt["acceptable"] for name in names]) & ~right
            signs = [[*evidence(prompt["wants"], project.pairs[name][0])] for name in names]
            wanted = len(prompt["relevant"])
            yield Case(
                project.name, setting, prompt["kind"], seen, order, right, spared, wanted,
                signs, prompt["prompt"], names,
            )  # fmt: skip
        elif setting == "whole":
            yield refused(project.name, prompt)


def look(index: Index, prompt: dict[str, Any]) -> tuple[Any, Any, list[str]] | None:
    """The features, the order and the ids of the candidates of one prompt."""
    question = index.encode_words(prompt["prompt"], prompt["language"])
    query = Query(text=prompt["prompt"], scopes=(SCOPE,))
    parts = [
        begin(scope, one, query, question, NOW) for scope, one in index.scope_indexes((SCOPE,))
    ]
    covered = cover(parts, question, CANDIDATES)
    if covered is None:
        return None
    names = [part.index.table.ids[row] for part, row in covered.places]
    return feature_matrix(covered).astype(float), covered.scores, names


def learn(given: list[Case]) -> Model:
    """The fit, less the margin."""
    (weights, bias), shifts = fit(given, sign_ridge=SIGN_RIDGE)
    return (weights, bias - MARGIN), shifts


def report(given: list[Case]) -> None:
    """Print precision, recall and silence of each language at each floor."""
    print("at the floors", *FLOORS)
    every = []
    for name in dict.fromkeys(case.project for case in given):
        model = learn([case for case in given if case.project != name])
        own = [case for case in given if case.project == name and case.setting == "whole"]
        every.append([count(own, partial(chances, model=model), floors) for floors in FLOORS])
        print(f"  {name:9}{_line(np.array(every[-1]))}")
    print(f"  together {_line(np.sum(every, axis=0))}")


def _line(counts: Any) -> str:
    rates = counts[:, ::2] / np.maximum(counts[:, 1::2], 1)
    return "   ".join(f"{p:.2f} {r:.2f} {s:.2f}" for p, r, s in rates)


def main() -> None:
    """Run from the command line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--write", action="store_true")
    embedder = Embedder.load()
    projects = [read(path, embedder) for path in sorted(HERE.iterdir()) if path.is_dir()]
    given = [case for project in projects for case in cases(project, embedder)]
    report(given)
    (weights, bias), shifts = learn(given)
    model = binary(ABOUT, FEATURES, weights, bias)
    print(model.named, model.bias, shifts)
    if arguments.parse_args().write:
        write(model, WEIGHTS)
        signs = {name: (shift,) for name, shift in shifts.items()}
        write(LinearModel(about=ABOUT, bias=(0.0,), weights=signs), BY_WORDS_WEIGHTS)


if __name__ == "__main__":
    main()
