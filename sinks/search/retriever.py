"""Search: the warm index ranks, and the winners alone are fetched from the store."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.values import Hit, Memory, Query, Recalled, Scope, copies
from ...config.languages import ENGLISH, language_of
from ..models.cross_encoder import CrossEncoder
from ..models.embedder import Embedder, EncodedQuery, Encoder
from .index import Index
from .newer_memories import Fetch, NewerMemories
from .ranking import Candidate, Ranking
from .reranking import Reworded, as_read, second_stage, unread, with_reworded
from .sql_search import search_by_sql
from .wordings import reworded

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

RERANK_TOP_K = 6
"""How many candidates are reranked: of those that answer, nine in ten are among them."""

RERANK_MIN_RELEVANCE = 0.05
"""Candidates with a lower first-stage relevance are not reranked: they hardly ever answer. On the
projects of ``perf/relevance``, .02 reranks half as many again and finds one answer more in 1,000.
"""

RERANK_ENOUGH, RERANK_SURE = 2, 0.7
"""When so many candidates are at least so relevant, no further one is reranked: what follows them
would hardly be shown beside them. A broad question is exempt, as it asks for all there is.
"""

THOROUGH_TOP_K = 20
"""The same where the question is all that is waited for, however they fare in the first stage: of
answers in other words than the question, 60 in 100 are then among the first three, and not 23.
"""

RERANK_MIN_PASTED = 0.3
"""The same for a log, a trace or the like: the cross-encoder takes what shares its subject for an
answer. On four projects that nothing was fitted on, 13 of 21 wrong memories had less, and 1 of 23
right ones.
"""

RERANK_BUDGET_S = 0.05
"""By default no further candidate is reranked after so long, less what the question waited for its
turn: of many that come at once the later ones get first-stage relevance alone instead of an answer
too late. Searching for other wordings comes before it and has half as long.
"""

THOROUGH_BUDGET_S = 1.0
"""The same where the question is all that is waited for: 20 candidates take a tenth of it."""

MOST_WORDINGS = 3
"""So many other wordings of a question are searched for: those that the fewest memories have."""

MOST_REWORDED = 2
"""So many memories of a question are read a second time, with the question in their own words."""

THREADS = 2
"""More searches at once than this only take turns with one interpreter, and all end late."""

RERANKED_AT_ONCE = min(2, os.cpu_count() or 1)
"""So many candidates of a question are reranked at once: the model runs outside the interpreter."""

Rank = Callable[[EncodedQuery, datetime], Ranking]


class Latest(Protocol):
    """The store's newest memories."""

    def __call__(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> Awaitable[tuple[Memory, ...]]:
        """The newest of ``scopes``, newest first."""


class Search:
    """Answers queries from an index and a store.

    ``fetch`` gives the memories with some ids that are in some scopes; it is called in a worker
    thread, and may leave out what is gone. ``embedder`` may arrive later than the rest: until
    it does, text search answers. So may ``reranker``: until it does, first-stage relevance decides.
    ``cut`` counts the questions that it had no time to rerank all candidates of.
    """

    def __init__(
        self,
        index: Index,
        embedder: Embedder | None,
        *,
        fetch: Fetch,
        latest: Latest,
        clock: Callable[[], datetime],
    ) -> None:
        self._index = index
        self._fetch = fetch
        self._latest = latest
        self._clock = clock
        self._newer = NewerMemories(index, fetch, clock)
        self._threads = anyio.CapacityLimiter(THREADS)
        self._thorough = anyio.CapacityLimiter(1)  # leaves the other threads to the prompts
        self._rerankers = ThreadPoolExecutor(THREADS, "rerank")
        self.reranker: CrossEncoder | None = None
        self.rerank_budget_s = RERANK_BUDGET_S
        self.cut = 0
        self.embedder = embedder

    @property
    def embedder(self) -> Embedder | None:
        return self._index.embedder

    @embedder.setter
    def embedder(self, embedder: Embedder | None) -> None:
        self._index.embedder = embedder

    async def recall(self, query: Query) -> Recalled:
        """Answer ``query``, best first, from its scopes alone; in one worker thread."""
        work = partial(self.recall_now, query, came=time.perf_counter())
        limiter = self._thorough if query.thorough else self._threads
        return await anyio.to_thread.run_sync(work, limiter=limiter)

    async def newer(self, memory: Memory) -> Memory | None:
        """The newest of its scope that holds and contradicts ``memory``, as far as is known."""
        found = await anyio.to_thread.run_sync(self._newer.of, [memory], [memory.scope])
        return next(iter(found.get(memory.id, ())), None)

    async def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> tuple[Memory, ...]:
        """The newest memories of ``scopes``, newest first."""
        return await self._latest(scopes, limit=limit, namespaces=namespaces)

    def recall_now(self, query: Query, *, came: float | None = None) -> Recalled:
        """The same, in the thread that calls; ``came`` is when it was asked, if not now."""
        rank = partial(self._index.search, _widened(query))
        return self._recall(query, rank, self._index, came=came)

    def recall_by_sql(
        self,
        cursor: DuckDBPyConnection,
        query: Query,
        encoder: Encoder,
        reason: str,
        *,
        within_s: float = math.inf,
    ) -> Recalled:
        """The same without the index, which is missing for ``reason``; in a worker thread."""
        empty = Index(encoder.embedder)
        rank = partial(search_by_sql, cursor, _widened(query), encoder, within_s=within_s)
        recalled = self._recall(query, rank, empty)
        return replace(recalled, degraded=reason)

    def _recall(
        self, query: Query, rank: Rank, index: Index, *, came: float | None = None
    ) -> Recalled:
        began = time.perf_counter()
        waited_s = 0.0 if came is None else began - came
        degraded = None
        if query.mode != "text" and index.usable_embedder is None:
            degraded = "embedder.unavailable" if self.embedder is None else "embedder.changed"
        language = ENGLISH if query.mode == "vector" else language_of(query.asked or query.text)
        foreign = language != ENGLISH
        question = _encoded(index, query.text, query.asked or query.text, language)
        ranking = rank(question, self._clock())
        reads = self.reranker is not None and bool(query.asked) and not (foreign or query.pasted)
        least_s = THOROUGH_BUDGET_S if query.thorough else -math.inf
        budget_s = max(self.rerank_budget_s, least_s) - waited_s
        known = ranking.candidates
        other = self._in_other_words(query, known, rank, index, budget_s / 2) if reads else {}
        candidates = with_reworded(other, known, _widened(query).limit)
        until = time.perf_counter() + budget_s
        hits, is_cut = self._answers(query, candidates, other, until, foreign=foreign)
        self.cut += is_cut
        return Recalled(
            hits=hits,
            mode="text" if degraded else query.mode,
            total=ranking.total,
            took_ms=(time.perf_counter() - began) * 1000,
            degraded=degraded or ("reranker.cut" if is_cut else None),
        )

    def encode(self, text: str) -> EncodedQuery:
        """A question in the terms of the search, whatever its language is."""
        return _encoded(self._index, text, text, language_of(text))

    def _in_other_words(
        self, query: Query, known: Sequence[Candidate], rank: Rank, index: Index, within_s: float
    ) -> dict[str, Reworded]:
        """What says in other words than the question what it asks about, by id: the best few.

        Each is a candidate as it would be if the question had its words.
        """
        until = time.perf_counter() + within_s
        counted = [
            (count, other)
            for other in reworded(query.asked, query.text)
            if (count := index.having(other.wording.forms, query.scopes))
        ]
        before = {one.id: one.relevance for one in known}
        found: dict[str, Reworded] = {}
        for _, other in sorted(counted, key=itemgetter(0))[:MOST_WORDINGS]:
            if time.perf_counter() > until:
                break
            question = _encoded(index, other.text, other.question, ENGLISH)
            better = {
                one.id: Reworded(one, other.question, was)
                for one in rank(question, self._clock()).candidates[:RERANK_TOP_K]
                if one.relevance >= RERANK_MIN_RELEVANCE
                and one.relevance > (was := before.get(one.id, 0.0))
            }
            for memory in self._fetch(list(better), query.scopes):
                if other.is_said_in(memory.content):
                    sofar = found.setdefault(memory.id, better[memory.id])
                    found[memory.id] = max(sofar, better[memory.id], key=attrgetter("relevance"))
        best = sorted(found.values(), key=lambda one: -one.candidate.order)[:MOST_REWORDED]
        return {one.candidate.id: one for one in best}

    def _answers(
        self,
        query: Query,
        candidates: Sequence[Candidate],
        other: Mapping[str, Reworded],
        until: float,
        *,
        foreign: bool,
    ) -> tuple[tuple[Hit, ...], bool]:
        """The hits that are relevant enough; the best are reranked, if the query is a question.

        Not of one in a ``foreign`` language, of which the cross-encoder knows as little. Also says
        whether time ran out before all that were to be reranked had been.
        """
        relevant = _relevant(candidates, query)
        if self.reranker is None or not query.asked or foreign:
            hits = _in_order(self._hits(relevant), query)
            return self._current(hits, query, 0.0, {}), False
        top_k, least = _to_rerank(query)
        to_rerank = {one.id for one in candidates[:top_k] if one.relevance >= least}
        wanted = to_rerank | {one.id for one in relevant}
        hits = self._hits([one for one in candidates if one.id in wanted])
        first = [hit for hit in hits if hit.memory.id in to_rerank]
        scores: dict[str, float] = {}
        read = partial(second_stage, self.reranker, query.asked, self.embedder, other, scores)
        reranked, is_cut = self._rerank(read, query, first, until)
        told = (reranked.get(hit.memory.id) or unread(hit, other) for hit in hits)
        found = _in_order([hit for hit in told if _is_relevant(hit, query)], query)
        return self._current(found, query, until, scores), is_cut

    def _rerank(
        self, read: Callable[[Hit], Hit], query: Query, hits: Sequence[Hit], until: float
    ) -> tuple[dict[str, Hit], bool]:
        """``hits`` with the relevance of the second stage, by id, until enough of them are found.

        Or until time runs out, of which the second value says whether it did. Of those read at once
        there are never more than may still be missing.
        """
        missing = len(hits) if query.broad or query.thorough else RERANK_ENOUGH
        reranked: dict[str, Hit] = {}
        while len(reranked) < len(hits) and missing > 0:
            if time.perf_counter() > until:
                return reranked, True
            one, *others = hits[len(reranked) :][: min(missing, RERANKED_AT_ONCE)]
            beside = [self._rerankers.submit(read, other) for other in others]
            scored = [read(one), *(other.result() for other in beside)]
            reranked |= {hit.memory.id: hit for hit in scored}
            missing -= sum(hit.relevance >= RERANK_SURE for hit in scored)
        return reranked, False

    def _current(
        self, hits: Sequence[Hit], query: Query, until: float, scores: dict[str, float]
    ) -> tuple[Hit, ...]:
        """``hits`` by what holds now: what replaced them, and what contradicts them, first.

        Of what contradicts one memory first what reads like the answer, if there is time ``until``
        when to read it, else the newest.
        """
        best_first = partial(self._best_first, query=query, until=until, scores=scores)
        found = self._newer.instead_of(hits, query)
        return self._newer.beside(found, query, best_first)[: query.limit]

    def _best_first(
        self, newer: Sequence[Memory], query: Query, until: float, scores: dict[str, float]
    ) -> Sequence[Memory]:
        """``newer`` by how each reads as an answer, which ``scores`` has by id for those read."""
        if len(newer) < 2 or self.reranker is None or not query.asked:
            return newer
        for one in newer:
            if one.id in scores:
                continue
            if time.perf_counter() > until:
                return newer
            scores[one.id] = self.reranker.score(
                query.asked, as_read(one, query.asked, self.embedder)
            )
        return sorted(newer, key=lambda one: -scores[one.id])

    def undenied(
        self,
        memories: Sequence[Memory],
        scopes: Sequence[Scope],
        lifts: Callable[[Memory, Memory, datetime], bool],
    ) -> list[Memory]:
        """Those of ``memories`` of which no newer one that contradicts them ``lifts`` the rule."""
        newer, now = self._newer.of(memories, scopes), self._clock()
        return [
            memory
            for memory in memories
            if not any(lifts(one, memory, now) for one in newer.get(memory.id, ()))
        ]

    def _hits(self, candidates: Sequence[Candidate]) -> tuple[Hit, ...]:
        if not candidates:
            return ()
        scopes = tuple(dict.fromkeys(one.scope for one in candidates))
        memories = {memory.id: memory for memory in self._fetch([s.id for s in candidates], scopes)}
        copied = copies(memories[one.id] for one in candidates if one.id in memories)
        found = tuple(
            Hit(
                memory=memories[one.id],
                text=one.text,
                late=one.late,
                vector=one.vector,
                order=one.order,
                relevance=one.relevance,
            )
            for one in candidates
            if one.id in memories
        )
        return _once_each(found, copied) if copied else found


def _once_each(hits: Sequence[Hit], copied: Mapping[str, Memory]) -> tuple[Hit, ...]:
    """``hits`` without copies: the memory that stands for them is where the best of them is."""
    found: dict[str, Hit] = {}
    for hit in hits:
        memory = copied.get(hit.memory.id, hit.memory)
        found.setdefault(memory.id, replace(hit, memory=memory))
    return tuple(found.values())


def _encoded(index: Index, text: str, asked: str, language: str) -> EncodedQuery:
    return index.encode_query(text) if language == ENGLISH else index.encode_words(asked, language)


def _widened(query: Query) -> Query:
    """``query`` with as many candidates as are reranked, if it asks for fewer."""
    wide = query.thorough and query.limit < THOROUGH_TOP_K
    return replace(query, limit=THOROUGH_TOP_K) if wide else query


def _to_rerank(query: Query) -> tuple[int, float]:
    """How many candidates are reranked at most, and from which first-stage relevance on."""
    if query.thorough:
        return THOROUGH_TOP_K, 0.0
    return RERANK_TOP_K, RERANK_MIN_PASTED if query.pasted else RERANK_MIN_RELEVANCE


def _in_order(hits: Sequence[Hit], query: Query) -> Sequence[Hit]:
    """``hits``, where all that is relevant is looked at in the order of its relevance."""
    return sorted(hits, key=lambda hit: -hit.relevance) if query.thorough else hits


def _relevant(candidates: Sequence[Candidate], query: Query) -> list[Candidate]:
    floors = dict(query.floors)
    return [
        one for one in candidates if one.relevance >= floors.get(one.namespace, query.min_relevance)
    ]


def _is_relevant(hit: Hit, query: Query) -> bool:
    """Whether ``hit`` is relevant enough; the floors of namespaces are first-stage relevances."""
    floors = {} if hit.by_words is not None else dict(query.floors)
    return hit.relevance >= floors.get(hit.memory.namespace, query.min_relevance)
