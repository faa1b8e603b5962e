"""The tasks, patterns and gotchas of the scopes in use, warm: looked up by what they are about.

A cache of the store. A scope's guides are read when it is first asked for, the newest of them, and
follow what is stored and forgotten from then on. No search and no database is needed on a prompt.
"""

from __future__ import annotations

import contextlib
import heapq
import math
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Protocol

import anyio
import anyio.to_thread
from cachetools import LRUCache

from ...bus.enrichment import GUIDES, Guide
from ...bus.events import MemoriesStored, MemoryForgotten, SessionStarted
from ...bus.values import Memory, Scope

if TYPE_CHECKING:  # the daemon listens before it imports numpy
    from ..models.embedder import Embedder, Floats
    from ..search.index import Index

MAX_GUIDES = 500
"""Of one scope; the newest."""

MAX_SCOPES = 24
MOST_FOUND = 8
"""Of one namespace in one look-up."""

_READ_PER_KEY = 50
_MAX_VECTORS = 2048
_MAX_PARSED = 512
# So many memories are assumed to lack a word: in a small store every word is rare.
_PRIOR_MEMORIES = 20


class Archive(Protocol):
    """The part of the repository that is needed here."""

    @property
    def index(self) -> Index: ...
    def latest(
        self, scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
    ) -> Awaitable[tuple[Memory, ...]]: ...


class GuideIndex:
    """Fulfils the port ``Guides``. For the event loop's thread alone.

    ``archive`` waits for the repository, and raises ``ConnectionError`` where there is none;
    ``loaded`` is the same without waiting, or None. ``read`` makes a guide of a memory.
    """

    def __init__(
        self,
        *,
        archive: Callable[[], Awaitable[Archive]],
        loaded: Callable[[], Archive | None],
        read: Callable[[Memory], Guide],
        clock: Callable[[], datetime],
    ) -> None:
        self._archive = archive
        self._loaded = loaded
        self._read = read
        self._clock = clock
        self._of: Archive | None = None
        self._scopes: LRUCache[Scope, _ScopeGuides] = LRUCache(MAX_SCOPES)
        self._loading = anyio.Lock()
        self._vector = lru_cache(maxsize=_MAX_VECTORS)(_vector_of)
        self._parsed = lru_cache(maxsize=_MAX_PARSED)(read)

    # --- looking up ------------------------------------------------------------------------------

    async def find(
        self, scopes: tuple[Scope, ...], keys: Mapping[str, Sequence[str]]
    ) -> tuple[Guide, ...]:
        """At most eight guides of each namespace, those that share the rarest keys first."""
        by_scope = [
            guides for scope in dict.fromkeys(scopes) if len(guides := await self._guides_of(scope))
        ]
        now = self._clock()
        found = (
            guide
            for namespace, wanted in keys.items()
            for guide in _best(by_scope, namespace, wanted, now)
        )
        return tuple(found)

    def read(self, memory: Memory) -> Guide:
        return self._parsed(memory)

    def cosines(self, text: str, others: Sequence[str]) -> tuple[float | None, ...]:
        archive = self._loaded()
        embedder = archive.index.usable_embedder if archive else None
        if embedder is None:
            return (None,) * len(others)
        vector = _vector_of(embedder, text)
        return tuple(float(self._vector(embedder, other) @ vector) for other in others)

    def rarity(
        self, words: Sequence[str], scopes: tuple[Scope, ...]
    ) -> tuple[tuple[str, float], ...]:
        archive = self._loaded()
        return _idf(archive.index, words, scopes) if archive else ()

    # --- following -------------------------------------------------------------------------------

    async def warm(self, event: SessionStarted) -> None:
        """Read the guides that the session's prompts will look up."""
        with contextlib.suppress(ConnectionError):
            for scope in event.place.readable:
                await self._guides_of(scope)

    def stored(self, event: MemoriesStored) -> None:
        self._note(memory for memory, _ in event.stored)

    def forgotten(self, event: MemoryForgotten) -> None:
        # The caches hold texts, and nothing of a forgotten one may stay.
        self._parsed.cache_clear()
        self._vector.cache_clear()
        if (guides := self._scopes.get(event.scope)) is not None:
            guides.remove(event.id)

    def _note(self, memories: Iterable[Memory]) -> None:
        for memory in memories:
            guides = self._scopes.get(memory.scope)
            if guides is None:
                continue
            guides.remove(memory.id)
            if _is_guide(memory):
                guides.add(self._read(memory))

    # --- reading ---------------------------------------------------------------------------------

    async def _guides_of(self, scope: Scope) -> _ScopeGuides:
        archive = await self._archive()
        if archive is not self._of:  # it was replaced
            self._of = archive
            self._scopes.clear()
        guides = self._scopes.get(scope)
        if guides is None or not guides.complete:
            guides = await self._load(archive, scope)
        return guides

    async def _load(self, archive: Archive, scope: Scope) -> _ScopeGuides:
        async with self._loading:
            # Created first: what is stored while the others are read is newer and goes into it.
            guides = self._scopes.setdefault(scope, _ScopeGuides())
            if not guides.complete:
                memories = await archive.latest((scope,), limit=MAX_GUIDES, namespaces=GUIDES)
                fresh = [memory for memory in memories if _is_guide(memory)]
                parsed = await anyio.to_thread.run_sync(self._read_all, fresh)
                for guide in reversed(parsed):
                    guides.add_older(guide)
                guides.complete = True
        return guides

    def _read_all(self, memories: Iterable[Memory]) -> list[Guide]:
        return [self._read(memory) for memory in memories]


class _ScopeGuides:
    """The guides of one scope, by key; of each key the latest last."""

    def __init__(self) -> None:
        self.complete = False
        self._guides: dict[str, Guide] = {}
        self._by_key: dict[tuple[str, str], dict[str, None]] = {}
        self._gone: set[str] = set()

    def __len__(self) -> int:
        return len(self._guides)

    def __getitem__(self, memory_id: str) -> Guide:
        return self._guides[memory_id]

    def having(self, namespace: str, key: str) -> dict[str, None]:
        return self._by_key.get((namespace, key), {})

    def add(self, guide: Guide) -> None:
        self._guides[guide.memory_id] = guide
        for key in guide.keys:
            self._by_key.setdefault((guide.namespace, key), {})[guide.memory_id] = None
        while len(self._guides) > MAX_GUIDES:
            self.remove(next(iter(self._guides)))

    def add_older(self, guide: Guide) -> None:
        """Add a guide from the store, unless a newer version was added or removed meanwhile."""
        if guide.memory_id not in self._guides and guide.memory_id not in self._gone:
            self.add(guide)

    def remove(self, memory_id: str) -> None:
        if not self.complete:
            self._gone.add(memory_id)
        guide = self._guides.pop(memory_id, None)
        if guide is None:
            return
        for key in guide.keys:
            ids = self._by_key[guide.namespace, key]
            del ids[memory_id]
            if not ids:
                del self._by_key[guide.namespace, key]


def _is_guide(memory: Memory) -> bool:
    return memory.namespace in GUIDES and memory.superseded_by is None


def _best(
    by_scope: Sequence[_ScopeGuides], namespace: str, keys: Iterable[str], now: datetime
) -> list[Guide]:
    """Those that share the rarest keys; of many that share a common key the newest are read."""
    found: list[tuple[float, Guide]] = []
    having = [[guides.having(namespace, key) for guides in by_scope] for key in dict.fromkeys(keys)]
    total = sum(map(len, by_scope))
    weights = [math.log1p(total / max(1, sum(map(len, row)))) for row in having]
    for number, guides in enumerate(by_scope):
        scores: dict[str, float] = {}
        for row, weight in zip(having, weights, strict=True):
            for memory_id in islice(reversed(row[number]), _READ_PER_KEY):
                scores[memory_id] = scores.get(memory_id, 0.0) + weight
        best = heapq.nlargest(2 * MOST_FOUND, scores, key=scores.__getitem__)
        found += [(scores[memory_id], guides[memory_id]) for memory_id in best]
    found = [one for one in found if one[1].valid_to is None or one[1].valid_to > now]
    found.sort(key=lambda one: (-one[0], -one[1].updated_at.timestamp()))
    return [guide for _, guide in found[:MOST_FOUND]]


def _vector_of(embedder: Embedder, text: str) -> Floats:
    vector = embedder.encode_query(text).vector
    assert vector is not None  # noqa: S101 - an embedder always makes one
    return vector


def _idf(
    index: Index, words: Sequence[str], scopes: Sequence[Scope]
) -> tuple[tuple[str, float], ...]:
    """Each of ``words`` with 0.0 (in every memory of ``scopes``) to 1.0 (in none), rarest first.

    A name of several parts counts as its rarest part. Words that a search leaves out are left out.
    """
    by_scope = [one for _, one in index.scope_indexes(scopes)]
    total = sum(map(len, by_scope)) + _PRIOR_MEMORIES
    weighed = []
    for word in dict.fromkeys(words):
        terms = index.encode_query(word).terms.tolist()
        if terms:
            having = min(sum(len(s.postings.lookup(t)[0]) for s in by_scope) for t in terms)
            weighed.append((word, round(1 - math.log1p(having) / math.log1p(total), 3)))
    return tuple(sorted(weighed, key=lambda one: -one[1]))
