"""Fit the weights of relevance, and say how well they do.

They are ``sinks/search/{relevance,text_relevance}.json`` and ``stages/language/answer_type.json``.

    python -m perf.fit_relevance [--project DIR ...] [--judged DIR ...] [--write]

The invented projects in ``perf/relevance`` are always used. ``--project`` adds a folder with
memories.jsonl {id, text, namespace, tags} and prompts.jsonl {prompt, relevant, acceptable, kind:
search, unknown, order or chat}; ``--judged`` one with memories.jsonl and queries.jsonl {query,
relevant}.

Beside each prompt against its whole project, the fit sees it against small random stores
with and without the memory that answers it, against its project without that memory, and prompts of
other projects: so a store of three memories and a question about nothing in it are ordinary cases.
The weights that ship were fitted with one invented project of 66 memories and 119 prompts and with
1,476 notes that coding agents wrote and 38 queries, beside the ten here.

The relevance by words and the log-odds of what suits a question are fitted at once. Each project
is scored by a fit on the others, as the product would: prompts that search for nothing get nothing.
Many prompts in ``perf/relevance`` ask for all there is about something, and have several answers.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from subcog.bus.values import Encoding, Memory, Query, Scope
from subcog.config.linear_model import LinearModel
from subcog.sinks.models.analyzer import searchable
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.models.intent_classifier import LocalClassifier
from subcog.sinks.search.calibration import (
    FEATURES,
    TEXT_FEATURES,
    TEXT_WEIGHTS,
    WEIGHTS,
    Features,
    feature_matrix,
    text_feature_matrix,
)
from subcog.sinks.search.index import Index
from subcog.sinks.search.ranking import begin, measure
from subcog.stages.classify import keyword_vote, local_vote, merge
from subcog.stages.language.answer_type import (
    EXPLORATORY,
    MOST_DROP,
    MOST_LIFT,
    answer_types,
    evidence,
)
from subcog.stages.language.answer_type import WEIGHTS as SIGN_WEIGHTS
from subcog.stages.language.topics import retrieval_words

from .fit import Array, binary, logistic, write

ABOUT = "fitted by perf/fit_relevance.py"
HERE = Path(__file__).parent / "relevance"
SCOPE = Scope("project", "fit")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
SIZES = (1, 1, 2, 3, 5, 10, 20, 40)
WEIGHT = {"whole": 1.0, "without": 1.0, "foreign": 0.5, "small": 0.5, "small without": 0.5}
STRANGERS = 40
LISTED = 15
# What the best must reach, and what others must beside it.
FLOORS = ((0.4, 0.25), (0.45, 0.45), (0.45, 0.25), (0.45, 0.15), (0.5, 0.25), (0.55, 0.25))
DECISIVE_PERCENT = 80
RIDGE = 1.0
SIGN_RIDGE = 5.0
SMALLEST_SHIFT = 0.3
# The candidates of one prompt that a fit looks at, beside the right ones.
COMPETING = 12

# The weights and the bias of the features, and the log-odds of the signs.
Model = tuple[tuple[Array, float], dict[str, float]]


@dataclass
class Project:
    """A store, and prompts with what answers them."""

    name: str
    pairs: dict[str, tuple[Memory, Encoding]]
    prompts: list[dict[str, Any]]


@dataclass
class Case:
    """One prompt against one store: its candidates, and which of them answer it.

    ``signs`` has for each candidate what speaks for or against it beside its words, ``ids`` which
    memory it is.
    """

    project: str
    setting: str
    kind: str
    seen: Array
    order: Array
    right: npt.NDArray[np.bool_]
    spared: npt.NDArray[np.bool_]
    wanted: int
    signs: list[list[str]]
    prompt: str
    ids: list[str]


def read(name: str, memories: Path, prompts: Path, embedder: Embedder) -> Project:
    """Read and encode one project."""
    made = [memory_of(row) for row in rows(memories, "text")]
    encodings = embedder.encode_many([searchable(memory) for memory in made])
    pairs = {m.id: (m, e) for m, e in zip(made, encodings, strict=True)}
    asked = rows(prompts, "relevant")
    local = LocalClassifier.load()
    for prompt in asked:
        prompt.setdefault("prompt", prompt.get("query"))
        prompt.setdefault("kind", "search")
        prompt.setdefault("acceptable", [])
        votes = [keyword_vote(prompt["prompt"])]
        found = votes[0].intent
        if found is None or found.confidence_percent < DECISIVE_PERCENT:
            votes.append(local_vote(prompt["prompt"], found, local))
        intent = merge(votes)
        prompt["searches"] = intent is not None
        prompt["wants"] = answer_types(prompt["prompt"], intent.intent_type if intent else None)
    return Project(name, pairs, asked)


def memory_of(row: dict[str, Any]) -> Memory:
    """The memory of one row."""
    return Memory(
        id=row["id"], scope=SCOPE, namespace=row.get("namespace", "context"),
        content=row["text"], summary="", tags=tuple(row.get("tags", ())),
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip


def rows(path: Path, key: str) -> list[dict[str, Any]]:
    """The rows that have ``key``: the first line of a file may tell its licence."""
    read = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [row for row in read if key in row]


def cases(
    projects: list[Project], embedder: Embedder, see: Callable[[Features], Any]
) -> Iterator[Case]:
    """Every prompt against every store it is put to, as ``see`` sees it."""
    chance = random.Random(1)
    for project in projects:
        for prompt, ids, setting in stores(project, projects, chance):
            index = Index(embedder)
            index.extend(project.pairs[i] for i in ids)
            case = look(index, embedder, prompt, see)
            if case is not None and prompt["searches"]:
                *measured, found = case
                signs = [[*evidence(prompt["wants"], project.pairs[i][0])] for i in found]
                told = {"signs": signs, "prompt": prompt["prompt"], "ids": found}
                yield Case(project.name, setting, prompt["kind"], *measured, **told)
            elif setting == "whole":
                yield refused(project.name, prompt)


def refused(project: str, prompt: dict[str, Any]) -> Case:
    """A prompt that gets nothing, as it is no search or has no candidates."""
    none = np.zeros(0)
    flags = none.astype(bool)
    wanted = len(prompt["relevant"])
    seen = np.zeros((0, 0))
    asked = prompt["prompt"]
    return Case(project, "whole", prompt["kind"], seen, none, flags, flags, wanted, [], asked, [])


def stores(
    project: Project, projects: list[Project], chance: random.Random
) -> Iterator[tuple[dict[str, Any], Iterable[str], str]]:
    """Each prompt with the stores that it is put to."""
    everything = list(project.pairs)
    strangers = [p for other in projects if other is not project for p in other.prompts]
    strangers = [p for p in strangers if p["kind"] in {"search", "unknown"}]
    for prompt in project.prompts:
        if prompt["kind"] not in {"search", "unknown"}:
            yield prompt, everything, "whole"
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
    for prompt in chance.sample(strangers, min(len(strangers), STRANGERS)):
        bare = {**prompt, "relevant": [], "acceptable": [], "kind": "unknown"}
        yield bare, everything, "foreign"


def look(
    index: Index, embedder: Embedder, prompt: dict[str, Any], see: Callable[[Features], Any]
) -> tuple[Any, ...] | None:
    """What ``see`` makes of the candidates of one prompt; None where nothing is found."""
    text = " ".join(retrieval_words(prompt["prompt"])) or prompt["prompt"]
    broad = EXPLORATORY in prompt["wants"]
    query = Query(text=text, scopes=(SCOPE,))
    question = index.encode_query(text)
    parts = [
        begin(scope, scope_index, query, question, NOW)
        for scope, scope_index in index.scope_indexes((SCOPE,))
    ]
    measured = measure(parts, "hybrid", question, embedder, broad=broad)
    if measured is None:
        return None
    ids = [parts[0].index.table.ids[row] for row in parts[0].candidate_rows]
    order = 0.35 * measured.text / max(measured.text.max(), 1e-9) + 0.4 * measured.vector
    order = order + 0.25 * measured.late / max(measured.late.max(), 1e-9)
    right = np.array([i in prompt["relevant"] for i in ids])
    spared = np.array([i in prompt["acceptable"] for i in ids]) & ~right
    return see(measured).astype(float), order, right, spared, len(prompt["relevant"]), ids


def fit(
    given: list[Case], weight_of: Mapping[str, float] = WEIGHT, sign_ridge: float = SIGN_RIDGE
) -> Model:
    """Weighted logistic regression with a little ridge.

    Features and signs are fitted at once: what a question wants to know explains a part of what
    would else be laid to its words. Only what competes for the first places counts.
    """
    given = [case for case in given if case.signs]
    names = sorted({name for case in given for signs in case.signs for name in signs})
    rows, right, weight = [], [], []
    for case in given:
        use = _competing(case)
        signs = np.array([[name in told for name in names] for told in case.signs])
        rows.append(np.c_[case.seen, signs][use])
        right.append(case.right[use])
        weight.append(np.full(use.sum(), weight_of[case.setting]))
    x, y, w = np.concatenate(rows), np.concatenate(right).astype(float), np.concatenate(weight)
    features = x.shape[1] - len(names)
    mean, spread = x.mean(0), x.std(0) + 1e-9
    mean[features:], spread[features:] = 0, 1
    scaled, bias = logistic(
        (x - mean) / spread, y, w, [RIDGE] * features + [sign_ridge] * len(names)
    )
    weights = scaled / spread
    shifts = zip(names, weights[features:].tolist(), strict=True)
    told = {name: round(shift, 1) for name, shift in shifts if abs(shift) >= SMALLEST_SHIFT}
    return (weights[:features], float(bias - weights @ mean)), told


def _competing(case: Case) -> npt.NDArray[np.bool_]:
    """The best candidates, and every right one."""
    top = np.zeros(len(case.order), dtype=bool)
    top[np.argsort(-case.order)[:COMPETING]] = True
    return np.asarray((top | case.right) & ~case.spared)


def chances(case: Case, model: Model) -> Array:
    """The probability of each candidate."""
    if not case.signs:
        return np.zeros(0)
    (weights, bias), shifts = model
    shift = np.array([sum(shifts.get(name, 0.0) for name in signs) for signs in case.signs])
    words = case.seen @ weights + bias
    return np.asarray(1 / (1 + np.exp(-words - np.clip(shift, -MOST_DROP, MOST_LIFT))))


def count(
    given: list[Case], score: Callable[[Case], Array], floors: tuple[float, float]
) -> tuple[int, ...]:
    """What was shown and is fine, shown, right, wanted; silent prompts, and those that should be.

    Precision, recall and silence are a pair each.
    """
    right = shown = wanted = silent = unanswerable = 0
    fine = 0
    for case in given:
        probable = score(case)
        best = np.argsort(-probable)[:LISTED]
        answered = len(best) and probable[best[0]] >= floors[0]
        best = best[probable[best] >= floors[1]] if answered else best[:0]
        right += int(case.right[best].sum())
        fine += int((case.right | case.spared)[best].sum())
        shown += len(best)
        wanted += case.wanted
        if not case.wanted:
            unanswerable += 1
            silent += not len(best)
    return fine, shown, right, wanted, silent, unanswerable


def _line(counts: Array) -> str:
    rates = counts[:, ::2] / np.maximum(counts[:, 1::2], 1)
    pairs = zip(FLOORS, rates, strict=True)
    return "   ".join(f"{f}/{b}: {p:.2f} {r:.2f} {s:.2f}" for (f, b), (p, r, s) in pairs)


def report(
    label: str, names: tuple[str, ...], given: list[Case]
) -> tuple[LinearModel, LinearModel]:
    """Print the figures for unseen projects; the weights and the log-odds of a fit on all."""
    print(f"\n{label}, each project scored by a fit on the others: precision recall silence")
    settings = {"whole": {"whole"}, "small": {"small", "small without"}}
    counts: dict[str, list[Array]] = {setting: [] for setting in settings}
    for project in dict.fromkeys(case.project for case in given):
        rest = [case for case in given if case.project != project]
        score = partial(chances, model=fit(rest))
        for setting, chosen in settings.items():
            own = [c for c in given if c.project == project and c.setting in chosen]
            counted = np.array([count(own, score, floor) for floor in FLOORS])
            if any(not case.wanted for case in own):
                counts[setting].append(counted)
            print(f"  {project:8} {setting:6} {_line(counted)}")
    for setting, every in counts.items():
        print(f"  {'together':8} {setting:6} {_line(np.sum(every, axis=0))}")
    (weights, bias), shifts = fit(given)
    model = binary(ABOUT, names, weights, bias)
    print(model.named, model.bias)
    print(json.dumps(shifts, indent=4))
    return model, LinearModel(
        about=ABOUT, bias=(0.0,), weights={n: (w,) for n, w in shifts.items()}
    )


def main() -> None:
    """Run from the command line."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--project", type=Path, action="append", default=[])
    arguments.add_argument("--judged", type=Path, action="append", default=[])
    arguments.add_argument("--write", action="store_true")
    chosen = arguments.parse_args()
    embedder = Embedder.load()
    pairs = [
        (n, HERE / f"{n}.memories.jsonl", HERE / f"{n}.prompts.jsonl")
        for n in sorted(path.name.split(".")[0] for path in HERE.glob("*.memories.jsonl"))
    ]
    pairs += [(d.name, d / "memories.jsonl", d / "prompts.jsonl") for d in chosen.project]
    pairs += [(d.name, d / "memories.jsonl", d / "queries.jsonl") for d in chosen.judged]
    projects = [read(*pair, embedder) for pair in pairs]
    hybrid, signs = report("hybrid", FEATURES, list(cases(projects, embedder, feature_matrix)))
    text, _ = report("text", TEXT_FEATURES, list(cases(projects, embedder, text_feature_matrix)))
    if chosen.write:
        for model, path in ((hybrid, WEIGHTS), (text, TEXT_WEIGHTS), (signs, SIGN_WEIGHTS)):
            write(model, path)


if __name__ == "__main__":
    main()
