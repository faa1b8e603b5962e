"""The search index: every searchable memory, in memory, scope by scope. A cache of the store."""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import reduce
from itertools import chain, islice
from types import MappingProxyType

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from ...bus.values import Encoding, Memory, Query, Scope
from ..models.analyzer import Analyzer, searchable, term_of
from ..models.arrays import distinct
from ..models.embedder import Embedder, EncodedQuery
from ..models.grams import asked_words, grams_of
from ..models.spelling import corrected
from .by_words import rank_by_words
from .ranking import Collection, Ranking, rank
from .scope_index import Entry, Flags, Floats, Rows, ScopeIndex


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

    A superseded memory is found by ``search`` alone, as who asks for it needs what replaced it; it
    is not counted.
    """

    def __init__(self, embedder: Embedder | None = None) -> None:
        self.embedder = embedder
        self._model = ""
        self._dimensions = 0
        self._analyzer = Analyzer()
        self._scope_indexes: dict[Scope, ScopeIndex] = {}
        self._scope_of: dict[str, Scope] = {}
        self._unencoded: set[str] = set()
        self._superseded: dict[Scope, set[str]] = {}
        # Searches read them while they change, so the tuples are replaced.
        self._contradicted_by: dict[str, tuple[str, ...]] = {}
        self._contradicts: dict[str, str] = {}
        self._writing = threading.Lock()

    @property
    def model(self) -> str:
        return self._model

    def add(self, memory: Memory, encoding: Encoding) -> None:
        """Make ``memory`` findable in place of any version of it that is."""
        with self._writing:
            self._leave(memory)
            entry = self._entry(memory, encoding)
            self._scope_index(memory.scope).add(entry)
            self._tidy(memory.scope)

    def extend(self, pairs: Iterable[tuple[Memory, Encoding]]) -> None:
        """Add many memories, some fifty times faster than one by one."""
        with self._writing:
            by_scope: dict[Scope, list[Entry]] = {}
            for memory, encoding in pairs:
                self._leave(memory)
                by_scope.setdefault(memory.scope, []).append(self._entry(memory, encoding))
            for scope, entries in by_scope.items():
                self._scope_index(scope).extend(entries)
                self._tidy(scope)

    def clear(self) -> None:
        """Take everything out."""
        with self._writing:
            self._scope_indexes, self._scope_of = {}, {}
            self._unencoded, self._superseded = set(), {}
            self._contradicted_by, self._contradicts = {}, {}

    def fold_postings(self) -> None:
        """Merge the postings that ``extend`` added: call after the last of it."""
        with self._writing:
            for scope_index in self._scope_indexes.values():
                scope_index.postings.fold()

    def __contains__(self, id: str) -> bool:  # noqa: A002 - the name a memory gives it
        return id in self._scope_of and not self._is_superseded(id)

    def interned_id(self, id: str) -> str | None:  # noqa: A002 - the name a memory gives it
        """``id`` as the index holds it, so that others need not hold it again; None if not here."""
        scope = self._scope_of.get(id) if id in self else None
        scope_index = None if scope is None else self._scope_indexes.get(scope)
        row = None if scope_index is None else scope_index.row_of.get(id)
        return None if scope_index is None or row is None else scope_index.table.ids[row]

    def remove(self, id: str) -> None:  # noqa: A002 - the name a memory gives it
        """Make a memory unfindable; nothing happens if it is not here."""
        with self._writing:
            self._forget(id)

    def search(
        self,
        query: Query,
        question: EncodedQuery,
        now: datetime,
        collection: Collection | None = None,
    ) -> Ranking:
        """The best ``query.limit`` memories of the query's scopes, best first.

        By text alone while there is no embedder, or one that made none of the vectors.
        ``collection`` is what the memories here were taken from, where they are not all there are.
        """
        scope_indexes = self.scope_indexes(query.scopes)
        if question.asked:
            return rank_by_words(scope_indexes, query, question, now, collection)
        return rank(scope_indexes, query, question, self.usable_embedder, now, collection)

    @property
    def usable_embedder(self) -> Embedder | None:
        """The embedder, if the vectors are its own."""
        fits = self.embedder is not None and self._model in {"", self.embedder.name}
        return self.embedder if fits else None

    def having(self, words: Sequence[Sequence[str]], scopes: Sequence[Scope]) -> int:
        """How many memories of ``scopes`` have each of ``words`` in one of its forms.

        Words that text search does not count are not looked for; none where all are such.
        """
        every = [terms for forms in words if len(terms := self._analyzer.terms(" ".join(forms)))]
        if not every:
            return 0
        total = 0
        for _, scope_index in self.scope_indexes(scopes):
            found = (scope_index.find(terms, scope_index.rows).rows for terms in every)
            each = (reduce(np.union1d, rows) for rows in found)
            total += len(reduce(np.intersect1d, each))
        return total

    def meant(self, words: Sequence[str], scopes: Sequence[Scope]) -> dict[str, str]:
        """What each misspelt one of a question's lower-case ``words`` was meant as."""

        def having(stems: Iterable[str]) -> list[str]:
            terms = {term_of(stem): stem for stem in stems}
            asked = np.array(sorted(terms), dtype=np.uint32)
            known = [one.known(asked).tolist() for _, one in self.scope_indexes(scopes)]
            return [terms[term] for term in set(chain.from_iterable(known))]

        return corrected(words, self._analyzer.stem, having)

    def encode_query(self, text: str) -> EncodedQuery:
        """A question in the terms of the embedder, or of text search while there is none."""
        embedder = self.usable_embedder
        if embedder is not None:
            return embedder.encode_query(text)
        return EncodedQuery(terms=distinct(self._analyzer.terms(text)))

    def encode_words(self, text: str, language: str) -> EncodedQuery:
        """A question in a ``language`` that the embedder does not know, by its words alone."""
        asked = asked_words(text, language, self._analyzer)
        terms = [term for word in asked for term in (*word.grams.tolist(), word.term)]
        known = [term for term in terms if term is not None]
        return EncodedQuery(terms=distinct(np.array(known, dtype=np.uint32)), asked=asked)

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
        scope_index = self._scope_indexes.get(scope)
        if scope_index is None or text.model != self._model or not text.vectors:
            return []
        near = similarities(scope_index, text, namespace, k + _SPARE, self.usable_embedder)
        return [(id_, alike) for id_, alike in near if id_ in self][:k]

    def related(self, text: Encoding, scope: Scope, *, k: int) -> list[tuple[str, float]]:
        """The ``k`` memories of ``scope`` that are about the same: (id, cosine), best first.

        Unlike ``nearest`` also those that share no word with ``text``.
        """
        scope_index = self._scope_indexes.get(scope)
        if scope_index is None or text.model != self._model or not text.vectors:
            return []
        near, cosines = _proposed(scope_index, text)
        best = np.argsort(-cosines, kind="stable")
        found = ((scope_index.table.ids[near[at]], float(cosines[at])) for at in best)
        return list(islice((one for one in found if one[0] in self), k))

    @property
    def count(self) -> int:
        """How many memories are here, expired ones too, that none supersedes."""
        return len(self._scope_of) - self._count_superseded(tuple(self._superseded))

    @property
    def stats(self) -> IndexStats:
        scope_indexes = list(self._scope_indexes.items())
        return IndexStats(
            memories=MappingProxyType(
                {
                    str(scope): len(scope_index) - self._count_superseded([scope])
                    for scope, scope_index in scope_indexes
                }
            ),
            bytes=sum(scope_index.nbytes for _, scope_index in scope_indexes)
            + 200 * len(self._scope_of),
            unencoded=len(self._unencoded),
        )

    def scope_indexes(self, scopes: Sequence[Scope]) -> list[tuple[Scope, ScopeIndex]]:
        """The parts of the index that belong to ``scopes``; nothing else of it is read."""
        found = ((scope, self._scope_indexes.get(scope)) for scope in dict.fromkeys(scopes))
        return [(scope, scope_index) for scope, scope_index in found if scope_index is not None]

    def contradicted_by(self, memory_id: str) -> tuple[str, ...]:
        """The ids of the memories that contradict this one, which need neither hold nor be newer.

        They may be of another scope.
        """
        return self._contradicted_by.get(memory_id, ())

    def _is_superseded(self, memory_id: str) -> bool:
        scope = self._scope_of.get(memory_id)
        return scope is not None and memory_id in self._superseded.get(scope, ())

    def _count_superseded(self, scopes: Iterable[Scope]) -> int:
        return sum(len(self._superseded.get(scope, ())) for scope in scopes)

    def _scope_index(self, scope: Scope) -> ScopeIndex:
        scope_index = self._scope_indexes.get(scope)
        if scope_index is None:
            scope_index = self._scope_indexes[scope] = ScopeIndex(max(self._dimensions, 1))
        return scope_index

    def _entry(self, memory: Memory, encoding: Encoding) -> Entry:
        terms = np.frombuffer(encoding.terms, dtype="<u4")
        if not len(terms):
            terms = self._analyzer.terms(searchable(memory))
        usable = self._fits(encoding)
        if not usable:
            self._unencoded.add(memory.id)
        return Entry(memory, terms, encoding if usable else None, grams_of(searchable(memory)))

    def _fits(self, encoding: Encoding) -> bool:
        if not encoding.vectors:
            return False
        if not self._model and (self.embedder is None or encoding.model == self.embedder.name):
            self._model = encoding.model
            self._dimensions = len(encoding.vectors) // max(len(encoding.lengths), 1)
            for scope_index in self._scope_indexes.values():
                scope_index.widen(self._dimensions)
        return encoding.model == self._model and _whole(encoding, self._dimensions)

    def _leave(self, memory: Memory) -> None:
        """Take out a version that cannot simply be replaced where it is, and note the new one."""
        if self._scope_of.get(memory.id, memory.scope) != memory.scope:
            self._forget(memory.id)
        self._unencoded.discard(memory.id)
        self._scope_of[memory.id] = memory.scope
        superseded = self._superseded.setdefault(memory.scope, set())
        if memory.superseded_by is None:
            superseded.discard(memory.id)
        else:
            superseded.add(memory.id)
        self._link(memory.id, memory.contradicts)

    def _forget(self, memory_id: str) -> None:
        scope = self._scope_of.pop(memory_id, None)
        self._unencoded.discard(memory_id)
        self._link(memory_id, None)
        if scope is not None:
            self._superseded.get(scope, set()).discard(memory_id)
            self._scope_indexes[scope].remove(memory_id)
            self._tidy(scope)

    def _link(self, memory_id: str, contradicts: str | None) -> None:
        """Note what ``memory_id`` contradicts, instead of what it did before."""
        before = self._contradicts.pop(memory_id, None)
        if before is not None:
            others = tuple(one for one in self._contradicted_by.pop(before) if one != memory_id)
            if others:
                self._contradicted_by[before] = others
        if contradicts is not None:
            self._contradicts[memory_id] = contradicts
            self._contradicted_by[contradicts] = (*self.contradicted_by(contradicts), memory_id)

    def _tidy(self, scope: Scope) -> None:
        scope_index = self._scope_indexes[scope]
        if not len(scope_index):
            del self._scope_indexes[scope]
        elif scope_index.needs_compaction:
            self._scope_indexes[scope] = scope_index.compacted()


def _whole(encoding: Encoding, dimensions: int) -> bool:
    """Whether the parts of an encoding fit each other; what is damaged is found by text alone."""
    if len(encoding.lengths) % 2:
        return False
    counts = array("H", encoding.lengths)
    vectors = 2 * dimensions * len(counts)
    return len(encoding.vectors) == vectors and len(encoding.words) == 2 * sum(counts)


# Memories that the vectors propose, and that are then compared word by word; of so many passages
# that are near by sign the vectors are read at all.
_PROPOSED = 20
# So many more than asked for may be superseded.
_SPARE = 3
_RESCORED = 200
# Texts that differ in a number or a negation contradict each other, however alike they are.
_DIFFERENT = 0.85

WordIds = npt.NDArray[np.uint16]


def similarities(
    scope_index: ScopeIndex,
    text: Encoding,
    namespace: str | None,
    k: int,
    embedder: Embedder | None,
) -> list[tuple[str, float]]:
    """The ``k`` living rows most nearly the same as ``text``: (id, 0–1), best first.

    The lesser of two figures: the cosine of the whole texts and the Dice coefficient of their
    words. Either alone takes texts for equal that are merely about the same thing.
    """
    near, cosines = _proposed(scope_index, text, namespace)
    if not len(near):
        return []
    ours = distinct(np.frombuffer(text.words, dtype="<u2"))
    dice, differ = _common(scope_index, near, ours, embedder)
    alike = np.clip(np.minimum(cosines, dice), 0.0, 1.0)
    alike = np.where(differ, np.minimum(alike, np.float32(_DIFFERENT)), alike)
    best = np.argsort(-alike, kind="stable")[:k]
    return [(scope_index.table.ids[near[at]], float(alike[at])) for at in best]


def _proposed(
    scope_index: ScopeIndex, text: Encoding, namespace: str | None = None
) -> tuple[Rows, Floats]:
    """The living rows whose vectors are nearest to that of ``text``, and their cosines with it."""
    count, mean = scope_index.rows, _mean(text)
    allowed = _allowed(scope_index, namespace, count)
    near = scope_index.passages.nearest(mean, _PROPOSED, count, allowed, rescored=_RESCORED)
    cosines = scope_index.passages.means(near) @ mean if len(near) else np.zeros(0, np.float32)
    return near, cosines


def _mean(text: Encoding) -> Floats:
    vectors = np.frombuffer(text.vectors, dtype="<f2").astype(np.float32)
    counts = np.frombuffer(text.lengths, dtype="<u2").astype(np.float32)
    mean = counts @ vectors.reshape(len(counts), -1)
    return np.asarray(mean / (np.linalg.norm(mean) + 1e-9), dtype=np.float32)


def _allowed(scope_index: ScopeIndex, namespace: str | None, count: int) -> Flags:
    allowed: Flags = scope_index.table.alive.view[:count]
    if namespace is not None:
        allowed = allowed & (
            scope_index.table.namespaces.view[:count] == scope_index.table.number(namespace)
        )
    return allowed


def _common(
    scope_index: ScopeIndex, rows: Rows, ours: WordIds, embedder: Embedder | None
) -> tuple[Floats, Flags]:
    """How alike the distinct words of each row and ``ours`` are, and where a decisive one differs.

    Alike is the Dice coefficient, each word by its weight.
    """
    owners, theirs = _distinct_words(scope_index, rows)
    common = np.isin(theirs, ours)
    weights = _weights(theirs, embedder)
    own_weight = float(_weights(ours, embedder).sum())
    shared = _by_row(owners, weights * common, len(rows))
    both = _by_row(owners, weights, len(rows)) + own_weight
    empty = np.float32(not len(ours))
    dice = np.where(both > 0, 2 * shared / np.maximum(both, np.float32(1e-9)), empty)
    if embedder is None:
        return dice, np.zeros(len(rows), dtype=np.bool_)
    decisive = embedder.decisive(theirs)
    missing = int(embedder.decisive(ours).sum()) - _by_row(owners, decisive & common, len(rows))
    added = _by_row(owners, decisive & ~common, len(rows))
    return dice, (missing > 0) | (added > 0)


def _distinct_words(scope_index: ScopeIndex, rows: Rows) -> tuple[Rows, WordIds]:
    """The distinct words of each of ``rows``, with the place of the row that has them."""
    passages = scope_index.passages.of(rows)
    words, counts = scope_index.passages.words(passages)
    places = np.repeat(np.arange(len(rows)), scope_index.passages.numbers(rows))
    keys = distinct((np.repeat(places, counts) << 16) | words)
    return keys >> 16, (keys & 0xFFFF).astype(np.uint16)


def _weights(words: WordIds, embedder: Embedder | None) -> Floats:
    return np.ones(len(words), np.float32) if embedder is None else embedder.idf(words)


def _by_row(owners: Rows, values: npt.NDArray[np.generic], rows: int) -> Floats:
    return np.bincount(owners, weights=values, minlength=rows).astype(np.float32)
