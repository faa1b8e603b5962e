"""Fit ``stages/enrichment/order_match.json`` on the orders of ``perf/actions``.

    python -m perf.fit_orders [--write [stages/enrichment/order_match.json]]

Memories of twelve projects say for which orders they are needed (``triggers.jsonl``). A row is an
order with one of the memories that share most words with it; it is right where the memory is
relevant to the order, or acceptable. Each project is a store of its own, and each three of them are
one more, as a store grows. How well the weights do is measured on threes that they were not fitted
on.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import argparse
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import chain
from pathlib import Path

import msgspec
import numpy as np
from msgspec import Struct

from subcog.bus.triggers import Trigger
from subcog.bus.values import Memory
from subcog.config.linear_model import LinearModel
from subcog.pipeline.evaluation.acts import JudgedOrder
from subcog.pipeline.evaluation.common import JudgedMemory, read_rows
from subcog.sinks.indexes.mentions import WarningIndex
from subcog.sinks.memories.repository import MOST_SHARING
from subcog.sinks.models.embedder import Embedder
from subcog.stages.breaches.stated import warning_keys
from subcog.stages.breaches.triggers import ORDERED, order_keys
from subcog.stages.enrichment.matching import MOST_BEARING
from subcog.stages.enrichment.order_match import FEATURES, WEIGHTS, features

from .fit import binary, logistic, write

DATA = Path(__file__).parent / "actions"
PROJECTS = (
    *("ashgrove", "fennel", "granary", "harborlight", "larkspur", "mossbank"),
    *("brackenport", "cindermoor", "hollowmere", "oakmere", "papertrail", "tidewater"),
)
RIDGE = 1e-4


class Given(Struct, frozen=True):
    """A line of ``triggers.jsonl``."""

    id: str
    triggers: tuple[Trigger, ...]


class Pair(Struct, frozen=True):
    """An order and a memory that shares words with it."""

    order: str
    values: tuple[float, ...]
    right: bool
    relevant: bool
    harmless: bool


class Part(Struct, frozen=True):
    """The pairs of a store, how many memories were relevant, and how many orders need nothing."""

    pairs: list[Pair]
    relevant: int
    harmless: int

    @property
    def rows(self) -> np.ndarray:
        return np.array([one.values for one in self.pairs])

    @property
    def right(self) -> np.ndarray:
        return np.array([one.right for one in self.pairs], dtype=float)


@cache
def vector(text: str) -> np.ndarray:
    found = embedder().encode_query(text).vector
    assert found is not None
    return found


@cache
def embedder() -> Embedder:
    return Embedder.load()


def cosines(text: str, others: Sequence[str]) -> list[float]:
    return [float(vector(other) @ vector(text)) for other in others]


def stored(project: str) -> dict[str, Memory]:
    """The memories of ``project`` with their triggers, all in one scope, by their own name."""
    folder = DATA / project
    given = {one.id: one.triggers for one in read_rows(folder / "triggers.jsonl", Given)}
    memories = [one.memory() for one in read_rows(folder / "memories.jsonl", JudgedMemory)]
    return {
        f"{project} {one.id}": msgspec.structs.replace(
            one, id=f"{project} {one.id}", triggers=given.get(one.id, ())
        )
        for one in memories
    }


def part(projects: Iterable[str]) -> Part:
    """The pairs of ``projects``, in one store."""
    names = tuple(projects)
    memories = {name: one for project in names for name, one in stored(project).items()}
    index = WarningIndex()
    for memory in memories.values():
        index.add(memory, tuple(dict.fromkeys(warning_keys(memory))))
    scopes = [next(iter(memories.values())).scope]
    pairs, relevant, harmless = [], 0, 0
    for project in names:
        for judged in read_rows(DATA / project / "orders.jsonl", JudgedOrder):
            needed = {f"{project} {one}" for one in judged.relevant}
            right = needed | {f"{project} {one}" for one in judged.acceptable}
            relevant, harmless = relevant + len(needed), harmless + (not right)
            shared = index.sharing(order_keys(judged.prompt), scopes, among=ORDERED)[:MOST_SHARING]
            found = [(memories[name], weight) for name, weight in shared]
            pairs += [
                Pair(
                    order=f"{project} {judged.id}",
                    values=values,
                    right=memory.id in right,
                    relevant=memory.id in needed,
                    harmless=not right,
                )
                for (memory, _), values in zip(
                    found, features(judged.prompt, found, cosines), strict=True
                )
            ]
    return Part(pairs, relevant, harmless)


def fit(parts: Iterable[Part]) -> LinearModel:
    known = list(parts)
    rows = np.concatenate([one.rows for one in known])
    right = np.concatenate([one.right for one in known])
    weights, bias = logistic(rows, right, np.ones(len(rows)), RIDGE * len(rows))
    return binary("fitted by perf/fit_orders.py", FEATURES, weights, bias)


def report(name: str, parts: Sequence[Part], models: Sequence[LinearModel]) -> None:
    """Print precision, recall and silence from several floors on."""
    for floor in (0.4, 0.5, 0.55, 0.6, 0.7):
        shown = [
            pair
            for one, model in zip(parts, models, strict=True)
            for pair in chosen(one.pairs, model, floor)
        ]
        spoken = len({pair.order for pair in shown if pair.harmless})
        precision = sum(pair.right for pair in shown) / max(1, len(shown))
        recall = sum(pair.relevant for pair in shown) / sum(one.relevant for one in parts)
        silence = 1 - spoken / sum(one.harmless for one in parts)
        print(f"{name} from {floor}: precision {precision:.2f}, recall {recall:.2f}, ", end="")
        print(f"silence {silence:.2f} ({len(shown)} shown)")


def chosen(pairs: Iterable[Pair], model: LinearModel, floor: float) -> list[Pair]:
    """What is shown of ``pairs``: of each order the likeliest."""
    by_order: dict[str, list[tuple[float, Pair]]] = {}
    for pair in pairs:
        if (probability := model.probability(pair.values)) >= floor:
            by_order.setdefault(pair.order, []).append((probability, pair))
    return [
        pair
        for rated in by_order.values()
        for _, pair in sorted(rated, key=lambda one: -one[0])[:MOST_BEARING]
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", nargs="?", const=WEIGHTS, type=Path)
    arguments = parser.parse_args()
    threes = [PROJECTS[at : at + 3] for at in range(0, len(PROJECTS), 3)]
    single = [[part([project]) for project in three] for three in threes]
    joined = [part(three) for three in threes]
    every = [[*ones, one] for ones, one in zip(single, joined, strict=True)]
    others = [[one for one in every if one is not out] for out in every]
    models = [fit(chain.from_iterable(some)) for some in others]
    alone = [(one, model) for ones, model in zip(single, models, strict=True) for one in ones]
    report("a project", [one for one, _ in alone], [model for _, model in alone])
    report("three together", joined, models)
    model = fit(chain.from_iterable(every))
    print(model.named, model.bias)
    if arguments.write:
        write(model, arguments.write)


if __name__ == "__main__":
    main()
