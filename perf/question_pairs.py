"""What the cross-encoder learns from: a question and a memory that search finds for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from subcog.sinks.models.cross_encoder import PairTokenizer
from subcog.sinks.models.embedder import Embedder
from subcog.sinks.search.calibration import relevance
from subcog.sinks.search.index import Index

from .fit_relevance import look, read

HERE = Path(__file__).parent / "questions"
# So many of the first that are found, and every one further down that is right.
FOUND = 5

Array = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Pair:
    """A question and a memory, each also as ids of its tokens, and whether the memory answers."""

    project: str
    question: str
    text: str
    asked: list[int]
    told: list[int]
    right: bool


def names(folder: Path = HERE) -> list[str]:
    """The projects in ``folder``."""
    return sorted(path.name.split(".")[0] for path in folder.glob("*.memories.jsonl"))


def pairs(
    chosen: Sequence[str], folder: Path, embedder: Embedder, tokens: PairTokenizer
) -> Iterator[Pair]:
    """The pairs of some projects: what the product's search finds first, and all that is right.

    What may be shown and does not answer is left out: it is neither right nor wrong.
    """
    for name in chosen:
        files = folder / f"{name}.memories.jsonl", folder / f"{name}.prompts.jsonl"
        project = read(name, *files, embedder)
        index = Index(embedder)
        index.extend(project.pairs.values())
        for prompt in project.prompts:
            found = look(index, embedder, prompt, relevance)
            if found is None or prompt["kind"] not in {"search", "unknown"}:
                continue
            _, order, right, spared, _, ids = found
            for at in chosen_rows(order, right, spared):
                memory = project.pairs[ids[at]][0]
                text = f"{memory.namespace}: {memory.content}"
                asked, told = tokens.query_ids(prompt["prompt"]), tokens.memory_ids(text)
                yield Pair(name, prompt["prompt"], text, asked, told, bool(right[at]))


def chosen_rows(
    order: Array, right: npt.NDArray[np.bool_], spared: npt.NDArray[np.bool_]
) -> list[int]:
    """Which candidates are learned from, best first."""
    best = np.argsort(-order, kind="stable")
    first = np.arange(len(best)) < FOUND
    return [int(at) for at in best[right[best] | (first & ~spared[best])]]


def log_loss(scores: Array, right: npt.NDArray[np.bool_]) -> float:
    """The mean of what each score, log-odds, says against the truth."""
    return float(np.logaddexp(0, np.where(right, -scores, scores)).mean())


def area_under_roc(scores: Array, right: npt.NDArray[np.bool_]) -> float:
    """How often a right pair has a higher score than a wrong one."""
    ranks = np.empty(len(scores))
    ranks[np.argsort(scores)] = np.arange(len(scores))
    wrong_below = np.sort(ranks[right]) - np.arange(right.sum())
    return float(wrong_below.sum() / max(right.sum() * (~right).sum(), 1))
