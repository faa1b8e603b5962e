"""The topic index: which memories are about what, by scope.

It lives in memory, is rebuilt from the store when the daemon starts and follows every write. It
may be used from several threads; each memory comes and goes as one.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import chain

from ...bus.results import Topic
from ...bus.values import NAMESPACES, Memory, Scope
from .keyphrases import Keyphrases, display_name, is_dull, is_namespace_key, topic_key
from .topic_scope import TopicScope

RELATED = 8
FOUND = 20

_NAMESPACE_TOPICS = frozenset(map(topic_key, NAMESPACES))


class TopicIndex:
    """Topics of memories, each scope for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keyphrases = Keyphrases()
        self._scopes: dict[Scope, TopicScope] = {}
        self._builds = 0
        self._gone: set[str] = set()
        self._last_indexed: datetime | None = None

    @property
    def last_indexed(self) -> datetime | None:
        """The newest ``updated_at`` of all that was indexed; None while that is nothing."""
        return self._last_indexed

    @property
    def memories(self) -> int:
        with self._lock:
            return sum(len(topics) for topics in self._scopes.values())

    def __contains__(self, memory_id: str) -> bool:
        with self._lock:
            return any(memory_id in topics for topics in self._scopes.values())

    def build(self, memories: Iterable[Memory]) -> None:
        """Add ``memories``, for instance in a thread while others write.

        What is newer in the index stays, and what is removed meanwhile does not come back.
        """
        with self._lock:
            self._builds += 1
        try:
            for memory in memories:
                with self._lock:
                    if memory.id not in self._gone:
                        self._add(memory)
        finally:
            with self._lock:
                self._builds -= 1
                if not self._builds:
                    self._gone.clear()

    def add(self, memory: Memory) -> None:
        """Index ``memory`` in place of its older version; one that is superseded is taken out."""
        with self._lock:
            self._add(memory)

    def remove(self, memory_id: str) -> None:
        """Remove a memory; does nothing if it is not there."""
        with self._lock:
            if self._builds:
                self._gone.add(memory_id)
            self._remove(memory_id)

    def list(self, scopes: tuple[Scope, ...], *, limit: int | None = None) -> tuple[Topic, ...]:
        """The topics of ``scopes`` that tell most, those of most memories first.

        At most 60 a scope (``topic_ranking``), and at most ``limit``. The others are found by
        ``search`` and ``lookup``.
        """
        with self._lock:
            scoped = list(self._of(scopes))
            counts = _counts(scoped, _listed(scoped))
            ordered = sorted(counts, key=lambda key: (-counts[key], key))
            return tuple(self._infos(ordered[:limit], counts, scoped))

    def count(self, scopes: tuple[Scope, ...]) -> int:
        """How many topics of ``scopes`` are listed."""
        with self._lock:
            return len(_listed(list(self._of(scopes))))

    def count_about(self, topic: str, scopes: tuple[Scope, ...]) -> int:
        """How many memories ``lookup`` of ``topic`` finds; takes microseconds."""
        key = topic_key(topic)
        with self._lock:
            return sum(topics.count(key) for topics in self._of(scopes))

    def lookup(self, topic: str, scopes: tuple[Scope, ...]) -> tuple[str, ...]:
        """The ids of the memories about ``topic``, in any case or number, the newest first."""
        key = topic_key(topic)
        with self._lock:
            found = [id_ for topics in self._of(scopes) for id_ in topics.ids_about(key)]
        return tuple(sorted(found, reverse=True))

    def search(
        self, query: str, scopes: tuple[Scope, ...], *, limit: int = FOUND
    ) -> tuple[Topic, ...]:
        """The topics that ``query`` names: itself, then by its beginning, its words, a part.

        Of a scope with very many topics the 10,000 with most memories and the newest are searched.
        """
        wanted = topic_key(query)
        words = frozenset(filter(None, wanted.split("-")))  # a key cut short may end in "-"
        if not words:
            return ()
        telling = [word for word in words if not is_dull(word)] or words
        with self._lock:
            scoped = list(self._of(scopes))
            near = {wanted}.union(*[topics.having(telling) for topics in scoped])
            counts = _counts(scoped, near)
            ranks = {key: rank for key in counts if (rank := _rank(key, wanted, words))}
            ordered = sorted([(rank, -counts[key], key) for key, rank in ranks.items()])
            return tuple(self._infos([key for *_, key in ordered[:limit]], counts, scoped))

    def related(self, topic: str, scopes: tuple[Scope, ...]) -> tuple[str, ...]:
        """The topics that come with ``topic`` more often than without it, namespaces apart.

        By memories in common over memories in all plus two, so that one chance meeting counts
        little. Of a topic with very many memories the latest 2,000 are read.
        """
        key = topic_key(topic)
        with self._lock:
            scoped = list(self._of(scopes))
            common = Counter(chain.from_iterable(topics.keys_beside(key) for topics in scoped))
            counts = _counts(scoped, common)
            names = {other: self._name(other, scoped) for other in common}
        for other in _NAMESPACE_TOPICS | {key}:
            common.pop(other, None)
        ordered = sorted(common, key=lambda other: (-common[other] / (counts[other] + 2), other))
        return tuple(names[other] for other in ordered[:RELATED])

    def _infos(
        self, keys: Iterable[str], counts: Mapping[str, int], scoped: Sequence[TopicScope]
    ) -> Iterator[Topic]:
        for key in keys:
            namespaces = frozenset[str]().union(*[topics.namespaces(key) for topics in scoped])
            yield Topic(
                name=self._name(key, scoped),
                memory_count=counts[key],
                namespaces=tuple(sorted(namespaces)),
            )

    def _name(self, key: str, scoped: Iterable[TopicScope]) -> str:
        """A tag as it was written, a namespace by its own name, a name in a form that was written.

        Everything else by its key.
        """
        if is_namespace_key(key):
            return display_name(key)
        spelt = next(filter(None, (topics.spelling(key) for topics in scoped)), "")
        return spelt or self._keyphrases.display(key)

    def _add(self, memory: Memory) -> None:
        if memory.superseded_by:
            self._remove(memory.id)
            return
        topics = self._scopes.setdefault(memory.scope, TopicScope())
        keys = self._keyphrases.topics(memory)
        topics.put(memory, keys, {key: tag for key, tag in keys.items() if tag})
        self._tidy(memory.scope, topics)
        if self._last_indexed is None or memory.updated_at > self._last_indexed:
            self._last_indexed = memory.updated_at

    def _remove(self, memory_id: str) -> None:
        for scope, topics in tuple(self._scopes.items()):
            if topics.remove(memory_id):
                self._tidy(scope, topics)

    def _tidy(self, scope: Scope, topics: TopicScope) -> None:
        if topics.is_hollow:
            self._scopes[scope] = topics.renumbered()

    def _of(self, scopes: tuple[Scope, ...]) -> Iterator[TopicScope]:
        for scope in dict.fromkeys(scopes):
            if topics := self._scopes.get(scope):
                yield topics


def _counts(scoped: Sequence[TopicScope], keys: Collection[str]) -> Mapping[str, int]:
    """In how many memories of ``scoped`` each of ``keys`` is, where it is in any."""
    counts: Counter[str] = Counter()
    for topics in scoped:
        counts.update(topics.counts_of(keys))
    return counts


def _listed(scoped: Iterable[TopicScope]) -> set[str]:
    return {key for topics in scoped for key in topics.listed()}


def _rank(key: str, wanted: str, words: frozenset[str]) -> int:
    """How well ``key`` fits, 1 is best; 0 is not at all."""
    parts = key.split("-")
    if wanted not in key and not words.issubset(parts):
        return 0 if words.isdisjoint(parts) else 5
    if key.startswith(wanted):
        return 1 if key == wanted else 2
    if words.issubset(parts):
        return 3
    if len(wanted) > 2:
        return 4
    return 0 if words.isdisjoint(parts) else 5
