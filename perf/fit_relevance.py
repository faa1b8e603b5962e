"""Fit the weights of ``sinks/relevance.py``, and say how they do on projects not fitted on.

    python perf/fit_relevance.py [--project DIR ...] [--judged DIR ...]

The two invented projects in ``perf/relevance`` are always used. ``--project`` adds a folder with
memories.jsonl {id, text, namespace, tags} and prompts.jsonl {prompt, relevant, acceptable, kind:
search, unknown, order or chat}; ``--judged`` one with memories.jsonl and queries.jsonl {query,
relevant}.

Beside each prompt against its whole project, the fit sees it against small random stores
with and without the memory that answers it, against its project without that memory, and prompts of
other projects: so a store of three memories and a question about nothing in it are ordinary cases.
The weights that ship were fitted with one invented project of 66 memories and 119 prompts and with
1,476 notes that coding agents wrote and 38 queries, beside the two here.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from subcog.bus.values import Encoding, Memory, Query, Scope
from subcog.sinks.embedder import Embedder
from subcog.sinks.index import Index
from subcog.sinks.ranking import begin, measure
from subcog.sinks.relevance import FEATURES, TEXT_FEATURES, Parts, features, text_features
from subcog.sinks.words import searchable

Array = npt.NDArray[np.float64]
HERE = Path(__file__).parent / "relevance"
SCOPE = Scope("project", "fit")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (1, 1, 2, 3, 5, 10, 20, 40)
WEIGHT = {"whole": 1.0, "without": 1.0, "foreign": 0.5, "small": 0.5, "small without": 0.5}
LISTED = 5


@dataclass
class Project:
    """A store, and prompts with what answers them."""

    name: str
    pairs: dict[str, tuple[Memory, Encoding]]
    prompts: list[dict[str, Any]]


@dataclass
class Case:
    """One prompt against one store: its candidates, and which of them answer it."""

    project: str
    setting: str
    kind: str
    seen: Array
    order: Array
    right: npt.NDArray[np.bool_]
    spared: npt.NDArray[np.bool_]
    wanted: int


def read(name: str, memories: Path, prompts: Path, embedder: Embedder) -> Project:
    """Read and encode one project."""
    rows = [json.loads(line) for line in memories.read_text().splitlines()]
    made = [
        Memory(
            id=row["id"], scope=SCOPE, namespace=row.get("namespace", "context"),
            content=row["text"], summary="", tags=tuple(row.get("tags", ())),
            created_at=NOW, updated_at=NOW,
        )
        for row in rows
    ]  # fmt: skip
    encodings = embedder.encode_many([searchable(memory) for memory in made])
    pairs = {m.id: (m, e) for m, e in zip(made, encodings, strict=True)}
    asked = [json.loads(line) for line in prompts.read_text().splitlines()]
    for prompt in asked:
        prompt.setdefault("prompt", prompt.get("query"))
        prompt.setdefault("kind", "search")
        prompt.setdefault("acceptable", [])
    return Project(name, pairs, asked)


def cases(
    projects: list[Project], embedder: Embedder, see: Callable[[Parts], Any]
) -> Iterator[Case]:
    """Every prompt against every store it is put to, as ``see`` sees it."""
    chance = random.Random(1)
    for project in projects:
        for prompt, ids, setting in stores(project, projects, chance):
            index = Index(embedder)
            index.extend(project.pairs[i] for i in ids)
            case = look(index, embedder, prompt, see)
            if case is not None:
                yield Case(project.name, setting, prompt["kind"], *case)


def stores(
    project: Project, projects: list[Project], chance: random.Random
) -> Iterator[tuple[dict[str, Any], Iterable[str], str]]:
    """Each prompt with the stores that it is put to."""
    everything = list(project.pairs)
    strangers = [p for other in projects if other is not project for p in other.prompts]
    strangers = [p for p in strangers if p["kind"] in {"search", "unknown"}]
    for prompt in project.prompts:
        if prompt["kind"] not in {"search", "unknown"}:
            continue
        bare = {**prompt, "relevant": [], "acceptable": [], "kind": "unknown"}
        known = {*prompt["relevant"], *prompt["acceptable"]}
        rest = [i for i in everything if i not in known]
        size = min(len(rest), chance.choice(SIZES))
        yield prompt, everything, "whole"
        yield bare, chance.sample(rest, size), "small without"
        if prompt["relevant"]:
            one = prompt["relevant"][:1]
            yield {**prompt, "relevant": one}, one + chance.sample(rest, size - 1), "small"
            if len(everything) < 500:
                yield bare, rest, "without"
    for prompt in chance.sample(strangers, 40):
        bare = {**prompt, "relevant": [], "acceptable": [], "kind": "unknown"}
        yield bare, everything, "foreign"


def look(
    index: Index, embedder: Embedder, prompt: dict[str, Any], see: Callable[[Parts], Any]
) -> tuple[Any, ...] | None:
    """What ``see`` makes of the candidates of one prompt; None where nothing is found."""
    text = prompt["prompt"]
    query = Query(text=text, scopes=(SCOPE,))
    question = index.ask(text)
    parts = [begin(scope, shelf, query, question, NOW) for scope, shelf in index.shelves((SCOPE,))]
    measured = measure(parts, "hybrid", question, embedder)
    if measured is None:
        return None
    ids = [parts[0].shelf.table.ids[row] for row in parts[0].candidates]
    order = 0.35 * measured.text / max(measured.text.max(), 1e-9) + 0.4 * measured.vector
    order = order + 0.25 * measured.late / max(measured.late.max(), 1e-9)
    right = np.array([i in prompt["relevant"] for i in ids])
    spared = np.array([i in prompt["acceptable"] for i in ids]) & ~right
    return see(measured).astype(float), order, right, spared, len(prompt["relevant"])


def fit(given: list[Case]) -> tuple[Array, float]:
    """Weighted logistic regression with a little ridge, by Newton's method."""
    rows, right, weight = [], [], []
    for case in given:
        top = np.zeros(len(case.order), dtype=bool)
        top[np.argsort(-case.order)[:12]] = True
        use = (top | case.right) & ~case.spared
        rows.append(case.seen[use])
        right.append(case.right[use])
        weight.append(np.full(use.sum(), WEIGHT[case.setting]))
    x, y, w = np.concatenate(rows), np.concatenate(right).astype(float), np.concatenate(weight)
    mean, spread = x.mean(0), x.std(0) + 1e-9
    z = np.c_[np.ones(len(x)), (x - mean) / spread]
    ridge = np.eye(z.shape[1])
    ridge[0, 0] = 0
    beta = np.zeros(z.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-z @ beta))
        step = np.linalg.solve(
            (z.T * (w * p * (1 - p))) @ z + ridge, z.T @ (w * (p - y)) + ridge @ beta
        )
        beta -= step
    weights = beta[1:] / spread
    return weights, float(beta[0] - weights @ mean)


def chances(case: Case, model: tuple[Array, float]) -> Array:
    """The probability of each candidate."""
    return 1 / (1 + np.exp(-(case.seen @ model[0] + model[1])))


def score(given: list[Case], model: tuple[Array, float], floor: float) -> tuple[float, ...]:
    """Precision, recall, and the share of prompts nothing answers that stay silent."""
    right = shown = wanted = silent = unanswerable = 0
    for case in given:
        best = np.argsort(-case.order)[:10]
        best = best[chances(case, model)[best] >= floor][:LISTED]
        counted = best[~case.spared[best]]
        right += int(case.right[best].sum())
        shown += len(counted)
        wanted += case.wanted
        if not case.wanted:
            unanswerable += 1
            silent += not len(counted)
    return right / max(shown, 1), right / max(wanted, 1), silent / max(unanswerable, 1)


def report(label: str, names: tuple[str, ...], given: list[Case]) -> None:
    """Print the figures for unseen projects, then the weights of a fit on all."""
    print(f"\n{label}, each project scored by a fit on the others: precision recall silence")
    for project in dict.fromkeys(case.project for case in given):
        model = fit([case for case in given if case.project != project])
        for setting, chosen in (("whole", {"whole"}), ("small", {"small", "small without"})):
            own = [c for c in given if c.project == project and c.setting in chosen]
            figures = [(f, *score(own, model, f)) for f in (0.3, 0.35, 0.4, 0.5)]
            text = "   ".join(f"{f}: {p:.2f} {r:.2f} {s:.2f}" for f, p, r, s in figures)
            print(f"  {project:8} {setting:6} {text}")
    weights, bias = fit(given)
    print(f"{names}\n({', '.join(f'{w:.3f}' for w in weights)})\n{bias:.3f}")


def main() -> None:
    """Run from the command line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--project", type=Path, action="append", default=[])
    arguments.add_argument("--judged", type=Path, action="append", default=[])
    chosen = arguments.parse_args()
    embedder = Embedder.load()
    pairs = [
        (n, HERE / f"{n}.memories.jsonl", HERE / f"{n}.prompts.jsonl") for n in ("depot", "notes")
    ]
    pairs += [(d.name, d / "memories.jsonl", d / "prompts.jsonl") for d in chosen.project]
    pairs += [(d.name, d / "memories.jsonl", d / "queries.jsonl") for d in chosen.judged]
    projects = [read(*pair, embedder) for pair in pairs]
    report("hybrid", FEATURES, list(cases(projects, embedder, features)))
    report("text", TEXT_FEATURES, list(cases(projects, embedder, text_features)))


if __name__ == "__main__":
    main()
