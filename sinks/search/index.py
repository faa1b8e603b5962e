"""The search index: every searchable memory, in memory, scope by scope. A cache of the store."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from types import MappingProxyType

import numpy as np
from msgspec import Struct

from ...bus.values import Encoding, Memory, Query, Scope
from ..models.analyzer import Words, searchable
from ..models.embedder import Embedder, Question
from .near_duplicates import similarities
from .ranking import Ranking, rank
from .scope_index import Entry, ScopeIndex


class IndexStats(Struct, frozen=True):
    """How much is indexed: memories a scope, and bytes in all, estimated where not counted.

    ``unencoded`` memories are found by text alone, as they have no vectors of the model in use.
    """

    memories: Mapping[str, int]
    bytes: int
    unencoded: int


class Index:
    """One writer at a time (a lock sees to it); any number of searches beside it.

    ``model`` names the model whose vectors are used: that of the embedder, else that of the
    first encoding. Encodings of another model are left aside, and those memories found by text.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder = embedder
        self._model = ""
        self._dimensions = 0
        self._words = Words()
        self._shelves: dict[Scope, ScopeIndex] = {}
        self._scope_of: dict[str, Scope] = {}
        self._unencoded: set[str] = set()
        self._writing = threading.Lock()

    @property
    def model(self) -> str:
        return self._model

    def add(self, memory: Memory, encoding: Encoding) -> None:
        """Make ``memory`` findable in place of any version of it that is; hide a superseded one."""
        with self._writing:
            self._leave(memory)
            if memory.superseded_by is None:
                entry = self._entry(memory, encoding)
                self._shelf(memory.scope).add(entry)
                self._scope_of[memory.id] = memory.scope
                self._tidy(memory.scope)

    def extend(self, pairs: Iterable[tuple[Memory, Encoding]]) -> None:
        """Add many memories, some fifty times faster than one by one."""
        with self._writing:
            by_scope: dict[Scope, list[Entry]] = {}
            for memory, encoding in pairs:
                self._leave(memory)
                if memory.superseded_by is None:
                    by_scope.setdefault(memory.scope, []).append(self._entry(memory, encoding))
                    self._scope_of[memory.id] = memory.scope
            for scope, entries in by_scope.items():
                self._shelf(scope).extend(entries)
                self._tidy(scope)

    def settle(self) -> None:
        """Make what ``extend`` added as quick to search as it can be; after the last of it."""
        with self._writing:
            for shelf in self._shelves.values():
                shelf.postings.fold()

    def __contains__(self, id: str) -> bool:  # noqa: A002 - the name a memory gives it
        return id in self._scope_of

    def own(self, id: str) -> str | None:  # noqa: A002 - the name a memory gives it
        """``id`` as the index holds it, so that others need not hold it again; None if not here."""
        scope = self._scope_of.get(id)
        shelf = None if scope is None else self._shelves.get(scope)
        row = None if shelf is None else shelf.row_of.get(id)
        return None if shelf is None or row is None else shelf.table.ids[row]

    def remove(self, id: str) -> None:  # noqa: A002 - the name a memory gives it
        """Make a memory unfindable; nothing happens if it is not here."""
        with self._writing:
            self._forget(id)

    def search(self, query: Query, question: Question, now: datetime) -> Ranking:
        """The best ``query.limit`` memories of the query's scopes, best first.

        By text alone while there is no embedder, or one that made none of the vectors.
        """
        shelves = self.shelves(query.scopes)
        return rank(shelves, query, question, self.usable_embedder, now)

    @property
    def usable_embedder(self) -> Embedder | None:
        """The embedder, if the vectors are its own."""
        fits = self.embedder is not None and self._model in {"", self.embedder.name}
        return self.embedder if fits else None

    def ask(self, text: str) -> Question:
        """A question in the terms of the embedder, or of text search while there is none."""
        embedder = self.usable_embedder
        if embedder is not None:
            return embedder.ask(text)
        return Question(terms=np.unique(self._words.terms(text)))

    def nearest(
        self, text: str | Encoding, scope: Scope, namespace: str | None = None, k: int = 5
    ) -> list[tuple[str, float]]:
        """The ``k`` memories most nearly the same as ``text``, as (id, similarity 0–1).

        From 0.9 on a text says the same in nearly the same words; one that differs in a number
        or a negation never gets there. Empty while there is no embedder for a plain text.
        """
        if isinstance(text, str):
            embedder = self.usable_embedder
            if embedder is None:
                return []
            text = embedder.encode(text)
        shelf = self._shelves.get(scope)
        if shelf is None or text.model != self._model or not text.vectors:
            return []
        return similarities(shelf, text, namespace, k, self.usable_embedder)

    @property
    def count(self) -> int:
        """How many memories can be found."""
        return len(self._scope_of)

    @property
    def stats(self) -> IndexStats:
        shelves = list(self._shelves.items())
        return IndexStats(
            memories=MappingProxyType({str(scope): len(shelf) for scope, shelf in shelves}),
            bytes=sum(shelf.nbytes for _, shelf in shelves) + 200 * len(self._scope_of),
            unencoded=len(self._unencoded),
        )

    def shelves(self, scopes: Sequence[Scope]) -> list[tuple[Scope, ScopeIndex]]:
        """The parts of the index that belong to ``scopes``; nothing else of it is read."""
        distinct = dict.fromkeys(scopes)
        return [(scope, self._shelves[scope]) for scope in distinct if scope in self._shelves]

    def _shelf(self, scope: Scope) -> ScopeIndex:
        shelf = self._shelves.get(scope)
        if shelf is None:
            shelf = self._shelves[scope] = ScopeIndex(max(self._dimensions, 1))
        return shelf

    def _entry(self, memory: Memory, encoding: Encoding) -> Entry:
        terms = np.frombuffer(encoding.terms, dtype="<u4")
        if not len(terms):
            terms = self._words.terms(searchable(memory))
        usable = self._fits(encoding)
        if not usable:
            self._unencoded.add(memory.id)
        return Entry(memory, terms, encoding if usable else None)

    def _fits(self, encoding: Encoding) -> bool:
        if not encoding.vectors:
            return False
        if not self._model and (self.embedder is None or encoding.model == self.embedder.name):
            self._model = encoding.model
            self._dimensions = len(encoding.vectors) // max(len(encoding.lengths), 1)
            for shelf in self._shelves.values():
                shelf.widen(self._dimensions)
        return encoding.model == self._model and _whole(encoding, self._dimensions)

    def _leave(self, memory: Memory) -> None:
        """Take out a version that cannot simply be replaced where it is."""
        if self._scope_of.get(memory.id, memory.scope) != memory.scope or memory.superseded_by:
            self._forget(memory.id)
        self._unencoded.discard(memory.id)

    def _forget(self, memory_id: str) -> None:
        scope = self._scope_of.pop(memory_id, None)
        self._unencoded.discard(memory_id)
        if scope is not None:
            self._shelves[scope].remove(memory_id)
            self._tidy(scope)

    def _tidy(self, scope: Scope) -> None:
        shelf = self._shelves[scope]
        if not len(shelf):
            del self._shelves[scope]
        elif shelf.worn:
            self._shelves[scope] = shelf.kept()


def _whole(encoding: Encoding, dimensions: int) -> bool:
    """Whether the parts of an encoding fit each other; what is damaged is found by text alone."""
    if len(encoding.lengths) % 2:
        return False
    counts = array("H", encoding.lengths)
    vectors = 2 * dimensions * len(counts)
    return len(encoding.vectors) == vectors and len(encoding.words) == 2 * sum(counts)
