"""How often ``recall`` finds what answers, in the words of the question and in others.

    python -m perf.score_wordings [NAME ...]

On the projects of ``perf/wordings``: the share of the questions of which a right memory comes
first, among the first three and among the first ten, as a prompt searches and as ``recall`` does;
and how many hits a question has that nothing answers.
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import math
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from msgspec.structs import replace

from subcog.bus.values import Query, Scope
from subcog.pipeline.api.dispatch import LEAST_RECALLED
from subcog.pipeline.evaluation.common import JudgedMemory, read_rows, scratch_search
from subcog.pipeline.evaluation.injections import JudgedPrompt
from subcog.sinks.models import cross_encoder
from subcog.sinks.models.embedder import Embedder
from subcog.stages.language.topics import retrieval_words

HERE = Path(__file__).parent / "wordings"
SCOPE = Scope("project", "measured")
FIRST = (1, 3, 10)


class WordedPrompt(JudgedPrompt, frozen=True, kw_only=True):
    """A prompt, and whether it has the words of what answers it: near, far or none."""

    wording: str


def queries(prompt: str) -> Iterator[tuple[str, Query]]:
    """The ways of searching, by name."""
    words = " ".join(retrieval_words(prompt)) or prompt
    plain = Query(text=words, scopes=(SCOPE,))
    read = replace(plain, text=prompt, asked=prompt, min_relevance=LEAST_RECALLED, thorough=True)
    yield "first stage", plain
    yield "as a prompt", replace(plain, asked=prompt)
    yield "recall", read
    yield "recall, words alone", replace(read, text=words, asked=words)


def scored(folder: Path, embedder: Embedder) -> Iterator[tuple[tuple[str, str], list[float]]]:
    """By wording and way of searching: which of ``FIRST`` hold the answer, and how many hits."""
    memories = [one.memory() for one in read_rows(folder / "memories.jsonl", JudgedMemory)]
    search = scratch_search([replace(one, scope=SCOPE) for one in memories], embedder)
    search.reranker = cross_encoder.load_bundled()
    search.rerank_budget_s = math.inf
    for prompt in read_rows(folder / "prompts.jsonl", WordedPrompt):
        right = frozenset(prompt.relevant)
        for way, query in queries(prompt.prompt):
            found = [hit.memory.id for hit in search.recall_now(query).hits]
            held = [float(not right.isdisjoint(found[:count])) for count in FIRST]
            yield (prompt.wording, way), [*held, float(len(found))]


def main(names: Sequence[str]) -> None:
    """Score and print, as each project is done."""
    embedder = Embedder.load()
    rows: dict[tuple[str, str], list[list[float]]] = defaultdict(list)
    for name in names or sorted(path.name for path in HERE.iterdir() if path.is_dir()):
        for key, row in scored(HERE / name, embedder):
            rows[key].append(row)
        print(f"{name} is read", flush=True)
    print(f"{'wording':8} {'way':20} {'first':>7} {'in 3':>7} {'in 10':>7} {'hits':>6}")
    for (wording, way), held in sorted(rows.items()):
        *shares, hits = np.mean(held, axis=0)
        print(f"{wording:8} {way:20} {' '.join(f'{share:7.3f}' for share in shares)} {hits:6.1f}")


if __name__ == "__main__":
    main(sys.argv[1:])
