"""Fit how likely a memory warns of an action, and say how well that does on projects left out.

    python -m perf.fit_actions [--project DIR ...] [--write]

On the acts of ``perf/actions``, each project scored by weights fitted on the others. ``--project``
adds a folder that is scored by weights fitted on all of them, and never fitted on. Prints
precision, recall and silence by floor.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Raw
from msgspec.structs import replace

from subcog.bus.values import Query, Scope
from subcog.pipeline.entrance.tool_input import action_of
from subcog.pipeline.evaluation.common import JudgedMemory, read_rows, scratch_search
from subcog.sinks.models.embedder import Embedder
from subcog.stages.actions.reading import read_action
from subcog.stages.rules.match import FEATURES, LIMIT, WEIGHTS, Matcher

from .fit import Array, binary, logistic, write

ABOUT = "fitted by perf/fit_actions.py"
HERE = Path(__file__).parent / "actions"
SCOPE = Scope("project", "measured")
TOOLS = {"Bash", "Write", "Edit", "MultiEdit", "NotebookEdit"}
FLOORS = (0.3, 0.4, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 0.85)
MOST = 2
L2 = 1.0


class Sample(NamedTuple):
    """One memory that was found for one act. ``sure`` is where no weights are asked."""

    project: str
    act: str
    right: bool
    spared: bool
    sure: float
    features: tuple[float, ...]


class Act(NamedTuple):
    """One act, with how many memories are relevant to it."""

    project: str
    name: str
    wanted: int


def read(folder: Path, embedder: Embedder) -> tuple[list[Sample], list[Act]]:
    """What is found for each act of a project that the hook is run for."""
    rows = read_rows(folder / "memories.jsonl", JudgedMemory)
    search = scratch_search([replace(row.memory(), scope=SCOPE) for row in rows], embedder)
    samples, acts = [], []
    for line in (folder / "acts.jsonl").read_text("utf-8").splitlines():
        judged: dict[str, Any] = json.loads(line)
        act = Act(folder.name, f"{folder.name}/{judged['id']}", len(judged["relevant"]))
        acts.append(act)
        told = Raw(json.dumps(judged["tool_input"]).encode())
        action = read_action(action_of(judged["tool_name"], told), tops=("/work/project",))
        if judged["tool_name"] not in TOOLS or action.looks_only:
            continue
        hits = search.recall_now(Query(text=action.query, scopes=(SCOPE,), limit=LIMIT)).hits
        matcher = Matcher(action, hits)
        for at, hit in enumerate(hits):
            right = hit.memory.id in judged["relevant"]
            spared = hit.memory.id in judged.get("acceptable", ())
            sure, features = matcher.certainty(at), matcher.features(at)
            samples.append(Sample(act.project, act.name, right, spared, sure, features))
    return samples, acts


def fit(samples: Sequence[Sample]) -> tuple[Array, float]:
    """Weights and bias; what may be shown and need not is neither right nor wrong."""
    own = [one for one in samples if one.right or not one.spared]
    rows = np.array([one.features for one in own])
    return logistic(rows, np.array([float(one.right) for one in own]), np.ones(len(own)), L2)


def scored(samples: Sequence[Sample], model: tuple[Array, float]) -> list[tuple[float, Sample]]:
    """Each sample with its relevance."""
    weights, bias = model
    return [
        (max(one.sure, float(1 / (1 + np.exp(-(one.features @ weights + bias))))), one)
        for one in samples
    ]


def left_out(samples: Sequence[Sample]) -> Iterator[tuple[float, Sample]]:
    """Each sample with its relevance by weights that were fitted on the other projects."""
    for project in dict.fromkeys(one.project for one in samples):
        model = fit([one for one in samples if one.project != project])
        yield from scored([one for one in samples if one.project == project], model)


def report(label: str, relevance: Sequence[tuple[float, Sample]], acts: Sequence[Act]) -> None:
    """Print what each floor comes to."""
    wanted = sum(act.wanted for act in acts)
    harmless = {act.name for act in acts if not act.wanted}
    print(f"{label}: {len(acts)} acts with {wanted} relevant\n  floor  precision recall silent")
    for floor in FLOORS:
        shown: dict[str, list[Sample]] = defaultdict(list)
        for likely, one in sorted(relevance, key=lambda each: -each[0]):
            if likely >= floor and len(shown[one.act]) < MOST:
                shown[one.act].append(one)
        every = [one for own in shown.values() for one in own]
        fine = sum(one.right or one.spared for one in every) / max(1, len(every))
        recall = sum(one.right for one in every) / wanted
        silent = 1 - len({one.act for one in every} & harmless) / len(harmless)
        print(f"  {floor:.2f}   {fine:.3f}    {recall:.3f}  {silent:.3f}", flush=True)


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", type=Path, action="append", default=[])
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    embedder = Embedder.load()
    folders = sorted(path for path in HERE.iterdir() if path.is_dir())
    projects = [read(folder, embedder) for folder in folders]
    samples = [one for own, _ in projects for one in own]
    acts = [act for _, own in projects for act in own]
    report(f"{len(folders)} projects, each left out", list(left_out(samples)), acts)
    model = fit(samples)
    for folder in arguments.project:
        own, judged = read(folder, embedder)
        report(f"{folder.name}, never fitted on", scored(own, model), judged)
    made = binary(ABOUT, FEATURES, *model)
    print(made.named)
    if arguments.write:
        write(made, WEIGHTS)


if __name__ == "__main__":
    main()
