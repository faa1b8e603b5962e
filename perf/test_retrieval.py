"""Retrieval: what loading, adding and recalling take, beside their targets; only growth gates.

    python -m pytest perf/test_retrieval.py -s -q

The notes are drawn from the model's own words with a Zipf law, about 60 words each; a query is
eight of a note's words. SUBCOG_PERF_NOTES changes the largest size (100,000).
"""

from __future__ import annotations

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import itertools
import json
import resource
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from subcog.bus.values import Encoding, Memory, Query, Scope
from subcog.sinks.models.embedder import BUNDLED, Embedder
from subcog.sinks.search.index import Index
from subcog.sinks.search.retriever import Search

LARGEST = int(os.environ.get("SUBCOG_PERF_NOTES", "100000"))
NOW = datetime(2026, 1, 1, tzinfo=UTC)
TARGETS_MS = {1_000: 3, 10_000: 6, 100_000: 15}
# Ten times the memories may take at most this many times as long: well below linear.
GROWTH = 6.0


def notes(count: int, scope: Scope, seed: int = 0) -> list[Memory]:
    """Memories of about 60 words."""
    tokens = json.loads((BUNDLED / "tokenizer.json").read_text())["model"]["vocab"]
    words = np.array([t for t in tokens if t.isascii() and t.isalpha() and len(t) > 2])
    chance = np.random.default_rng(seed)
    share = 1 / np.arange(10, len(words) + 10)
    drawn = chance.choice(len(words), size=(count, 60), p=share / share.sum())
    return [
        Memory(
            id=f"mem_{scope.id}_{n}", scope=scope, namespace="context",
            content=" ".join(words[row]), summary="", created_at=NOW, updated_at=NOW,
        )
        for n, row in enumerate(drawn)
    ]  # fmt: skip


def search_over(index: Index, memories: Sequence[Memory]) -> Search:
    """A search whose store is a dictionary."""
    by_id = {memory.id: memory for memory in memories}

    async def latest(
        scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        return ()

    return Search(
        index,
        index.embedder,
        fetch=lambda ids, _: [by_id[i] for i in ids],
        latest=latest,
        clock=lambda: NOW,
    )


def timed(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds that ``work`` takes by ``clock``."""
    began = clock()
    work()
    return clock() - began


def cpu_ms(search: Search, memories: Sequence[Memory], scope: Scope) -> list[float]:
    """As ``recall_ms`` by the processor's time: what a machine at rest would need."""
    return recall_ms(search, memories, scope, time.thread_time)


def recall_ms(
    search: Search,
    memories: Sequence[Memory],
    scope: Scope,
    clock: Callable[[], float] = time.perf_counter,
) -> list[float]:
    """The sorted times of 300 recalls, after some to warm up."""
    chance = np.random.default_rng(7)
    taken = []
    for n in range(320):
        words = memories[int(chance.integers(len(memories)))].content.split()
        text = " ".join(chance.choice(words, size=8, replace=False))
        seconds = timed(
            lambda text=text: search.recall_now(Query(text=text, scopes=(scope,))), clock
        )
        if n >= 20:
            taken.append(seconds * 1000)
    return sorted(taken)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    """The shipped model."""
    return Embedder.load()


def test_retrieval_grows_slower_than_the_store(embedder: Embedder) -> None:
    """Load and recall at each size, and print; ten times the memories are not ten times slower."""
    scope = Scope("project", "large")
    memories = notes(LARGEST, scope)
    encodings: list[Encoding] = []
    seconds = timed(lambda: encodings.extend(embedder.encode_many([m.content for m in memories])))
    print(f"\nencode: {LARGEST / seconds:,.0f} notes/s")
    medians = []
    for size in (s for s in TARGETS_MS if s <= LARGEST):
        index = Index(embedder)
        pairs = list(zip(memories[:size], encodings[:size], strict=True))
        before_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        load_s = timed(lambda index=index, pairs=pairs: index.extend(pairs))
        peak_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before_kb
        ms = recall_ms(search_over(index, memories), memories[:size], scope)
        cpu = cpu_ms(search_over(index, memories), memories[:size], scope)
        medians.append(cpu[150])
        print(
            f"{size:>7,}: load {load_s:.2f} s, recall p50 {ms[150]:.2f} p95 {ms[285]:.2f}"
            f" p99 {ms[297]:.2f} ms, processor p50 {cpu[150]:.2f} p99 {cpu[297]:.2f} ms"
            f" (target p99 {TARGETS_MS[size]}),"
            f" index {index.stats.bytes / 1e6:.0f} MB, peak grew {peak_kb / 1e3:.0f} MB"
        )
    adding(index, notes(1000, scope, seed=3), embedder)
    beside(index, embedder)
    assert all(later / earlier < GROWTH for earlier, later in itertools.pairwise(medians))


def adding(index: Index, memories: Sequence[Memory], embedder: Embedder) -> None:
    """Print what adding one at a time takes, encoding left out."""
    taken = []
    for n, memory in enumerate(memories):
        fresh = Memory(
            **{f: getattr(memory, f) for f in memory.__struct_fields__} | {"id": f"n{n}"}
        )
        encoding = embedder.encode(fresh.content)
        taken.append(timed(lambda fresh=fresh, e=encoding: index.add(fresh, e)) * 1000)
    taken.sort()
    print(f"add one: p50 {taken[500]:.3f} p99 {taken[990]:.3f} max {taken[-1]:.1f} ms (target 1)")


def beside(index: Index, embedder: Embedder) -> None:
    """Print recall in a scope of 10,000 beside everything that is there."""
    scope = Scope("project", "beside")
    memories = notes(10_000, scope, seed=5)
    encodings = embedder.encode_many([memory.content for memory in memories])
    index.extend(zip(memories, encodings, strict=True))
    ms = recall_ms(search_over(index, memories), memories, scope)
    total = sum(index.stats.memories.values())
    print(f"10,000 of {total:,}: recall p50 {ms[150]:.2f} p99 {ms[297]:.2f} ms (target 10)")
