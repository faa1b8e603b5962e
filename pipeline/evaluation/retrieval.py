"""How well retrieval finds what it should: the product's own search over a folder of judgements.

``memories.jsonl`` has {id, text, scope?, namespace?, tags?, created_at?} a line, ``queries.jsonl``
{id, query, relevant: [ids], scope?, category?}. A query sees the memories of its own scope; one
without a scope sees all. Queries without relevant memories are left out.

For each mode, over the first ten results: recall@k is the share of the relevant memories among the
first k; hit@5 whether any is among the first five; mrr the reciprocal rank of the first one (0 past
the tenth); ndcg@10 the discounted gain (1/log2(rank + 1), relevance 0 or 1) over the best possible
one. All are means over the queries. ``interval`` holds the 95 % bootstrap interval of each
(1,000 resamples of the queries, seed 0). ``latency_ms`` is one whole recall in hybrid mode, in
which the best candidates are reranked, as ``recall`` does, without a limit of time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict, astuple, fields

from ...bus.values import Mode, Query, Scope
from ...sinks.models import cross_encoder
from ...sinks.models.embedder import Embedder
from .common import (
    Interval,
    JudgedMemory,
    Progress,
    intervals,
    latency_text,
    percentiles,
    read_rows,
    scratch_search,
)

MODES: tuple[Mode, ...] = ("hybrid", "text", "vector")
_DEPTH = 10
_RESAMPLES = 1000


class JudgedQuery(Struct, frozen=True):
    """A line of ``queries.jsonl``."""

    id: str
    query: str
    relevant: tuple[str, ...]
    scope: str | None = None
    category: str = ""


class Means(
    Struct,
    frozen=True,
    rename={f"recall_{k}": f"recall@{k}" for k in (1, 5, 10)}
    | {"hit_5": "hit@5", "ndcg_10": "ndcg@10"},
):
    """The metrics of one query, or their means over many."""

    recall_1: float
    recall_5: float
    recall_10: float
    hit_5: float
    mrr: float
    ndcg_10: float


METRICS = tuple(field.encode_name for field in fields(Means))


class Found(Means, frozen=True, rename={}):
    """What one mode finds; ``interval`` by metric."""

    interval: dict[str, Interval]


class Report(Struct, frozen=True, kw_only=True):
    """What the queries come to."""

    dataset: str
    memories: int
    queries: int
    modes: dict[Mode, Found]
    latency_ms: dict[str, float]

    def lines(self) -> Iterator[str]:
        yield f"{self.dataset}: {self.memories:,} memories, {self.queries:,} queries"
        yield ""
        yield f"{'mode':8}" + "".join(f"{name:>11}" for name in METRICS) + "   ndcg@10, 95 %"
        for mode, found in self.modes.items():
            low, high = found.interval["ndcg@10"]
            row = "".join(f"{value:11.3f}" for value in astuple(found)[: len(METRICS)])
            yield f"{mode:8}{row}   {low:.3f} to {high:.3f}"
        yield ""
        yield latency_text(self.latency_ms)


def evaluate(folder: Path, *, progress: Progress) -> Report:
    """Evaluate retrieval on ``folder`` with the embedding that ships."""
    memories = read_rows(folder / "memories.jsonl", JudgedMemory)
    queries = [q for q in read_rows(folder / "queries.jsonl", JudgedQuery) if q.relevant]
    if not memories or not queries:
        raise ValueError(f"{folder} holds no memories, or no query with relevant memories")
    total = len(memories) + len(queries) * len(MODES)
    step = _Steps(progress, total)
    search = scratch_search([one.memory() for one in memories], Embedder.load(), step)
    search.reranker = cross_encoder.load_bundled()
    search.rerank_budget_s = math.inf
    everywhere = tuple(dict.fromkeys(Scope("project", memory.scope) for memory in memories))
    modes: dict[Mode, Found] = {}
    latencies: list[float] = []
    for mode in MODES:
        table = np.empty((len(queries), len(METRICS)))
        for row, judged in enumerate(queries):
            scopes = everywhere if judged.scope is None else (Scope("project", judged.scope),)
            asked = judged.query if mode == "hybrid" else ""
            query = Query(
                text=judged.query,
                scopes=scopes,
                limit=_DEPTH,
                mode=mode,
                asked=asked,
                thorough=True,
            )
            recalled = search.recall_now(query)
            if mode == "hybrid":
                latencies.append(recalled.took_ms)
            found = [hit.memory.id for hit in recalled.hits]
            table[row] = measures(found, frozenset(judged.relevant))
            step()
        modes[mode] = _summary(table)
    return Report(
        dataset=folder.name,
        memories=len(memories),
        queries=len(queries),
        modes=modes,
        latency_ms=percentiles(latencies),
    )


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


def _summary(table: npt.NDArray[np.float64]) -> Found:
    """The mean of each column, and its bootstrap interval."""
    drawn = intervals(table, lambda rows: rows.mean(axis=0), resamples=_RESAMPLES)
    means = Means(*table.mean(axis=0).tolist())
    return Found(**asdict(means), interval=dict(zip(METRICS, drawn, strict=True)))
