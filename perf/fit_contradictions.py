"""Fit the weights by which two statements contradict each other, and say how well they do.

They are ``stages/statements/contradiction.json``.

    python -m perf.fit_contradictions [--memories FILE ...] [--wrong] [--write]

``perf/data/contradictions`` has pairs of an older and a newer statement, a file for each invented
project. Each project is scored by a fit on the others. The memories of the projects in
``perf/relevance`` contradict each other nowhere: their pairs are fitted as well, with half as much
weight as the others together, since most pairs that are ever compared are like them. ``--memories``
adds a file of such memories, {text} a line. The weights that ship were fitted with two invented
projects of 65 and 70 memories beside the ten here.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
import json
from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path

import numpy as np

from subcog.stages.statements import contradiction
from subcog.stages.statements.comparison import MOST_NEWER, MOST_OLDER, may_contradict
from subcog.stages.statements.contradiction import FEATURES, WEIGHTS
from subcog.stages.statements.statement import Statement, sentences_of

from .fit import Array, binary, logistic, write

ABOUT = "fitted by perf/fit_contradictions.py"
PAIRS = Path(__file__).parent / "data" / "contradictions"
MEMORIES = Path(__file__).parent / "relevance"
RIDGE = 1.0
MEMORY_SHARE = 0.5
FLOORS = (0.4, 0.5, 0.6, 0.7, 0.8)


@dataclass
class Pair:
    """Two statements of one project, and whether the newer one contradicts the older."""

    project: str
    kind: str
    older: str
    newer: str
    right: bool
    seen: tuple[float, ...]


def _seen(newer: Statement, older: Statement) -> tuple[float, ...]:
    """What is measured of two statements; nothing where one only repeats the other."""
    pair = contradiction.Pair(newer, older)
    possible = may_contradict(newer, older) and not (pair.only_repeats or pair.tells_something_else)
    return pair.features if possible else ()


def read_pairs() -> list[Pair]:
    """The labelled pairs."""
    found = []
    for file in sorted(PAIRS.glob("*.jsonl")):
        for line in file.read_text().splitlines():
            row = json.loads(line)
            seen = _seen(Statement(row["newer"]), Statement(row["older"]))
            kind = f"{row['kind']} {'+' if row['contradicts'] else '-'}"
            right = row["contradicts"]
            found.append(Pair(file.stem, kind, row["older"], row["newer"], right, seen))
    return found


def read_memories(more: list[Path]) -> list[Pair]:
    """The pairs of sentences of two memories of one project that would be compared."""
    found = []
    for file in (*sorted(MEMORIES.glob("*.memories.jsonl")), *more):
        rows = [json.loads(line) for line in file.read_text().splitlines() if line.strip()]
        texts = [row["text"] for row in rows if "text" in row]
        read = [[(s, Statement(s)) for s in sentences_of(text, MOST_NEWER)] for text in texts]
        for one, other in permutations(read, 2):
            for newer, ours in one:
                for older, theirs in other[:MOST_OLDER]:
                    if may_contradict(ours, theirs) and (seen := _seen(ours, theirs)):
                        found.append(Pair(str(file), "memories", older, newer, False, seen))
    return found


def fit(pairs: list[Pair], memories: list[Pair]) -> tuple[Array, float]:
    """The weights and the bias."""
    pairs = [pair for pair in pairs if pair.seen]
    x = np.array([pair.seen for pair in (*pairs, *memories)], dtype=float)
    y = np.array([pair.right for pair in (*pairs, *memories)], dtype=float)
    each = MEMORY_SHARE * len(pairs) / max(1, len(memories))
    weight = np.array([1.0] * len(pairs) + [each] * len(memories))
    return logistic(x, y, weight, RIDGE)


def chances(pairs: list[Pair], model: tuple[Array, float]) -> Array:
    """The probability of each pair."""
    weights, bias = model
    none = (0.0,) * len(FEATURES)
    x = np.array([pair.seen or none for pair in pairs], dtype=float)
    possible = np.array([bool(pair.seen) for pair in pairs])
    return np.asarray(possible / (1 + np.exp(-(x @ weights + bias))))


def report(pairs: list[Pair], memories: list[Pair], wrong: bool) -> None:
    """Print how well a fit on the other projects does."""
    probable = np.zeros(len(pairs))
    for project in dict.fromkeys(pair.project for pair in pairs):
        own = np.array([pair.project == project for pair in pairs])
        rest = [pair for pair in pairs if pair.project != project]
        probable[own] = chances([p for p in pairs if p.project == project], fit(rest, memories))
    right = np.array([pair.right for pair in pairs])
    alarms = np.zeros(len(memories))
    for name in dict.fromkeys(pair.project for pair in memories):
        own = np.array([pair.project == name for pair in memories])
        rest = [pair for pair in memories if pair.project != name]
        alarms[own] = chances([p for p in memories if p.project == name], fit(pairs, rest))
    for floor in FLOORS:
        found = probable >= floor
        precision, recall = right[found].mean(), found[right].mean()
        print(
            f"from {floor}: right {np.mean(found == right):.3f}, precision {precision:.3f}, "
            f"recall {recall:.3f}; false alarms in memories {np.sum(alarms >= floor)} of "
            f"{len(memories)}"
        )
    missed = Counter(
        pair.kind for pair, p in zip(pairs, probable, strict=True) if (p >= 0.5) != pair.right
    )
    every = Counter(pair.kind for pair in pairs)
    print(", ".join(f"{kind} {missed[kind]}/{count}" for kind, count in sorted(every.items())))
    if wrong:
        for at in np.argsort(-np.abs(probable - right)):
            if (probable[at] >= 0.5) != right[at]:
                pair = pairs[at]
                print(f"{probable[at]:.2f} {pair.kind} | {pair.older} | {pair.newer}")
        for at in np.argsort(-alarms)[:60]:
            print(f"{alarms[at]:.2f} | {memories[at].older} | {memories[at].newer}")


def main() -> None:
    """Report, and write the weights where that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", action="append", type=Path, default=[], metavar="FILE")
    parser.add_argument("--wrong", action="store_true", help="show what is wrong")
    parser.add_argument("--write", action="store_true")
    arguments = parser.parse_args()
    pairs, memories = read_pairs(), read_memories(arguments.memories)
    print(f"{len(pairs)} pairs, {len(memories)} pairs of memories")
    report(pairs, memories, arguments.wrong)
    if arguments.write:
        weights, bias = fit(pairs, memories)
        write(binary(ABOUT, FEATURES, weights, bias), WEIGHTS)


if __name__ == "__main__":
    main()
