"""How well retrieval finds what it should: the product's own search over a folder of judgements.

``memories.jsonl`` has {id, text, scope?, namespace?, tags?, created_at?} a line, ``queries.jsonl``
{id, query, relevant: [ids], scope?, category?}. A query sees the memories of its own scope; one
without a scope sees all. Queries without relevant memories are left out.

For each mode, over the first ten results: recall@k is the share of the relevant memories among the
first k; hit@5 whether any is among the first five; mrr the reciprocal rank of the first one (0 past
the tenth); ndcg@10 the discounted gain (1/log2(rank + 1), relevance 0 or 1) over the best possible
one. All are means over the queries. ``interval`` holds the 95 % bootstrap interval of each
(1,000 resamples of the queries, seed 0). ``latency_ms`` is one whole recall in hybrid mode.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ...bus.values import Mode, Query, Scope
from ...sinks.models.embedder import Embedder
from .dataset import JudgedMemory, read_rows, scratch_search

MODES: tuple[Mode, ...] = ("hybrid", "text", "vector")
METRICS = ("recall@1", "recall@5", "recall@10", "hit@5", "mrr", "ndcg@10")
_DEPTH = 10
_RESAMPLES = 1000

Progress = Callable[[int, int], None]


class JudgedQuery(Struct, frozen=True):
    """A line of ``queries.jsonl``."""

    id: str
    query: str
    relevant: tuple[str, ...]
    scope: str | None = None
    category: str = ""


def evaluate(folder: Path, *, progress: Progress, model: Path | None = None) -> dict[str, Any]:
    """Evaluate retrieval on ``folder`` with the model in ``model`` (None: the one shipped).

    ``progress`` hears (done, in all). Raises ``OSError`` where a file cannot be read and
    ``ValueError`` where a line is not what it should be, with file and line.
    """
    memories = read_rows(folder / "memories.jsonl", JudgedMemory)
    queries = [q for q in read_rows(folder / "queries.jsonl", JudgedQuery) if q.relevant]
    if not memories or not queries:
        raise ValueError(f"{folder} holds no memories, or no query with relevant memories")
    total = len(memories) + len(queries) * len(MODES)
    step = _Steps(progress, total)
    search = scratch_search([one.memory() for one in memories], Embedder.load(model), step)
    everywhere = tuple(dict.fromkeys(Scope("project", memory.scope) for memory in memories))
    modes = {}
    latencies: list[float] = []
    for mode in MODES:
        table = np.empty((len(queries), len(METRICS)))
        for row, judged in enumerate(queries):
            scopes = everywhere if judged.scope is None else (Scope("project", judged.scope),)
            query = Query(text=judged.query, scopes=scopes, limit=_DEPTH, mode=mode)
            recalled = search.recall_now(query)
            if mode == "hybrid":
                latencies.append(recalled.took_ms)
            found = [hit.memory.id for hit in recalled.hits]
            table[row] = measures(found, frozenset(judged.relevant))
            step()
        modes[mode] = _summary(table)
    return {
        "dataset": folder.name,
        "memories": len(memories),
        "queries": len(queries),
        "modes": modes,
        "latency_ms": {f"p{p}": float(np.percentile(latencies, p)) for p in (50, 95, 99)},
    }


def render(result: dict[str, Any]) -> str:
    """The same for a reader, as a table of plain text."""
    lines = [
        f"{result['dataset']}: {result['memories']:,} memories, {result['queries']:,} queries",
        "",
        f"{'mode':8}" + "".join(f"{name:>11}" for name in METRICS) + "   ndcg@10, 95 %",
    ]
    for mode, figures in result["modes"].items():
        low, high = figures["interval"]["ndcg@10"]
        row = "".join(f"{figures[name]:11.3f}" for name in METRICS)
        lines.append(f"{mode:8}{row}   {low:.3f} to {high:.3f}")
    latency = ", ".join(f"{name} {value:.2f}" for name, value in result["latency_ms"].items())
    return "\n".join([*lines, "", f"latency in ms: {latency}"])


def measures(found: Sequence[str], relevant: frozenset[str]) -> tuple[float, ...]:
    """``METRICS`` of one query; ``found`` is best first, ``relevant`` not empty."""
    ranks = [rank for rank, one in enumerate(found[:_DEPTH], 1) if one in relevant]
    ideal = sum(1 / math.log2(rank + 1) for rank in range(1, min(_DEPTH, len(relevant)) + 1))
    return (
        *(sum(rank <= k for rank in ranks) / len(relevant) for k in (1, 5, 10)),
        float(any(rank <= 5 for rank in ranks)),
        1 / ranks[0] if ranks else 0.0,
        sum(1 / math.log2(rank + 1) for rank in ranks) / ideal,
    )


class _Steps:
    """Counts, and tells how far the work is."""

    def __init__(self, progress: Progress, total: int) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def __call__(self, count: int = 1) -> None:
        self._done += count
        self._progress(self._done, self._total)


def _summary(table: npt.NDArray[np.float64]) -> dict[str, Any]:
    """The mean of each column, and its bootstrap interval."""
    draws = np.random.default_rng(0).integers(0, len(table), size=(_RESAMPLES, len(table)))
    means = np.stack([table[draw].mean(axis=0) for draw in draws])
    low, high = np.percentile(means, (2.5, 97.5), axis=0)
    summary: dict[str, Any] = dict(zip(METRICS, table.mean(axis=0).tolist(), strict=True))
    summary["interval"] = {
        name: [float(low[at]), float(high[at])] for at, name in enumerate(METRICS)
    }
    return summary
