"""The topic index: which memories are about what, by scope.

It lives in memory, is rebuilt from the store when the daemon starts and follows every write. It
may be used from several threads; each memory comes and goes as one.
"""

from __future__ import annotations

import heapq
import threading
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import numpy as np
from msgspec import Struct

from ..bus.values import NAMESPACES, Memory, Scope
from .keyphrases import Keyphrases, display_name, is_dull, topic_key

RELATED = 8
FOUND = 20

_RELATED_READ = 2000
_SLACK_SLOTS = 1000
# So many topics of a scope are searched, and looked for anew after so many more memories.
_SEARCHED = 10_000
_LARGEST_HOLD = 2_000
_NAMESPACE_TOPICS = frozenset(map(topic_key, NAMESPACES))


class TopicInfo(Struct, frozen=True):
    """A topic, how many memories are about it, and the namespaces these are in, sorted."""

    name: str
    memory_count: int
    namespaces: tuple[str, ...]


class TopicIndex:
    """Topics of memories, each scope for itself."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._keyphrases = Keyphrases()
        self._shelves: dict[Scope, _Shelf] = {}
        self._builds = 0
        self._gone: set[str] = set()
        self._last_indexed: datetime | None = None

    @property
    def last_indexed(self) -> datetime | None:
        """The newest ``updated_at`` of all that was indexed; None while that is nothing."""
        return self._last_indexed

    @property
    def memories(self) -> int:
        """How many memories are indexed."""
        with self._lock:
            return sum(len(shelf) for shelf in self._shelves.values())

    def __contains__(self, memory_id: str) -> bool:
        with self._lock:
            return any(memory_id in shelf for shelf in self._shelves.values())

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
        """Forget a memory; one that is not there is no matter."""
        with self._lock:
            if self._builds:
                self._gone.add(memory_id)
            self._remove(memory_id)

    def list(self, scopes: tuple[Scope, ...], *, limit: int | None = None) -> tuple[TopicInfo, ...]:
        """The topics of ``scopes``, those of most memories first, at most ``limit`` of them."""
        with self._lock:
            counts = self._counts(scopes)
            ordered = sorted(_most(counts, limit), key=lambda key: (-counts[key], key))
            return tuple(self._infos(ordered[:limit], counts, scopes))

    def count(self, scopes: tuple[Scope, ...]) -> int:
        """How many topics ``scopes`` have."""
        with self._lock:
            return len(self._counts(scopes))

    def lookup(self, topic: str, scopes: tuple[Scope, ...]) -> tuple[str, ...]:
        """The ids of the memories about ``topic``, in any case or number, the newest first."""
        key = topic_key(topic)
        with self._lock:
            found = [id_ for shelf in self._of(scopes) for id_ in shelf.ids_about(key)]
        return tuple(sorted(found, reverse=True))

    def search(
        self, query: str, scopes: tuple[Scope, ...], *, limit: int = FOUND
    ) -> tuple[TopicInfo, ...]:
        """The topics that ``query`` names: itself, then by its beginning, its words, a part.

        Of a scope with very many topics the 10,000 with most memories and the newest are searched.
        """
        wanted = topic_key(query)
        words = frozenset(wanted.split("-"))
        if not wanted:
            return ()
        telling = [word for word in words if not is_dull(word)] or words
        with self._lock:
            shelves = list(self._of(scopes))
            near = {
                key
                for shelf in shelves
                for searched in shelf.searched()
                for word in telling
                for key in searched
                if word in key
            }
            ranks = {key: rank for key in near | {wanted} if (rank := _rank(key, wanted, words))}
            counts = {key: sum([shelf.count(key) for shelf in shelves]) for key in ranks}
            ranks = {key: rank for key, rank in ranks.items() if counts[key]}
            ordered = sorted(ranks, key=lambda key: (ranks[key], -counts[key], key))
            return tuple(self._infos(ordered[:limit], counts, scopes))

    def related(
        self, topic: str, scopes: tuple[Scope, ...], *, limit: int = RELATED
    ) -> tuple[str, ...]:
        """The topics that come with ``topic`` more often than without it, namespaces apart.

        By memories in common over memories in all plus two, so that one chance meeting counts
        little. Of a topic with very many memories the latest 2,000 are read.
        """
        key = topic_key(topic)
        with self._lock:
            common: Counter[str] = Counter()
            for shelf in self._of(scopes):
                common.update(shelf.keys_beside(key))
            counts = {other: sum(s.count(other) for s in self._of(scopes)) for other in common}
        for other in _NAMESPACE_TOPICS | {key}:
            common.pop(other, None)
        ordered = sorted(common, key=lambda other: (-common[other] / (counts[other] + 2), other))
        return tuple(map(display_name, ordered[:limit]))

    def _add(self, memory: Memory) -> None:
        if memory.superseded_by:
            self._remove(memory.id)
            return
        shelf = self._shelves.setdefault(memory.scope, _Shelf())
        shelf.put(memory, self._keyphrases.topics(memory))
        self._tidy(memory.scope, shelf)
        if self._last_indexed is None or memory.updated_at > self._last_indexed:
            self._last_indexed = memory.updated_at

    def _remove(self, memory_id: str) -> None:
        for scope, shelf in tuple(self._shelves.items()):
            if shelf.remove(memory_id):
                self._tidy(scope, shelf)

    def _tidy(self, scope: Scope, shelf: _Shelf) -> None:
        if shelf.is_hollow:
            self._shelves[scope] = shelf.renumbered()

    def _of(self, scopes: tuple[Scope, ...]) -> Iterator[_Shelf]:
        for scope in dict.fromkeys(scopes):
            if shelf := self._shelves.get(scope):
                yield shelf

    def _counts(self, scopes: tuple[Scope, ...]) -> dict[str, int]:
        counts: dict[str, int] = {}
        for shelf in self._of(scopes):
            if counts:
                for key, count in shelf.counts():
                    counts[key] = counts.get(key, 0) + count
            else:
                counts = dict(shelf.counts())
        return counts

    def _infos(
        self, keys: Iterable[str], counts: dict[str, int], scopes: tuple[Scope, ...]
    ) -> Iterator[TopicInfo]:
        for key in keys:
            namespaces = {name for shelf in self._of(scopes) for name in shelf.namespaces(key)}
            yield TopicInfo(display_name(key), counts[key], tuple(sorted(namespaces)))


def _most(counts: dict[str, int], limit: int | None) -> Iterable[str]:
    """The keys that can be among the ``limit`` with the highest counts."""
    if limit is None or limit >= len(counts):
        return counts
    least = min(heapq.nlargest(limit, counts.values()), default=0)
    return (key for key, count in counts.items() if count >= least)


def _rank(key: str, wanted: str, words: frozenset[str]) -> int:
    """How well ``key`` fits, 1 is best; 0 is not at all."""
    if key == wanted:
        return 1
    if key.startswith(wanted):
        return 2
    parts = key.split("-")
    if words.issubset(parts):
        return 3
    if len(wanted) > 2 and wanted in key:
        return 4
    return 5 if not words.isdisjoint(parts) else 0


class _Shelf:
    """The topics of one scope: numbers instead of strings, so that 100,000 memories are small.

    A memory has a slot. Taking it out empties the slot and leaves its number in the postings, until
    the shelf is hollow and is renumbered.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._keys: list[str] = []
        # Most topics have one memory alone, and then a number takes the place of an array.
        self._postings: list[array[int] | int] = []
        self._live: list[int] = []
        self._slots: dict[str, int] = {}
        self._ids: list[str] = []
        self._versions: list[int] = []
        self._namespaces: list[str] = []
        self._topics: list[tuple[int, ...]] = []
        # By topic: the namespaces of its memories. Few sets are shared by very many topics; one
        # that lost a memory may have lost a namespace, and is counted anew when it is asked for.
        self._spread: list[frozenset[str]] = []
        self._sets: dict[frozenset[str], frozenset[str]] = {}
        self._shrunk: set[int] = set()
        # The topics that were the largest when there were so many, and memories added since.
        self._largest: list[str] = []
        self._largest_of = 0
        self._since = 0

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._slots

    def put(self, memory: Memory, keys: Iterable[str]) -> None:
        """Put a memory on the shelf, unless a newer version of it is there."""
        slot = self._slots.get(memory.id)
        if slot is not None:
            if self._versions[slot] > memory.version:
                return
            self._empty(slot)
        self._fill(memory.id, memory.version, memory.namespace, keys)

    def remove(self, memory_id: str) -> bool:
        """Take a memory off the shelf; tells whether it was there."""
        slot = self._slots.pop(memory_id, None)
        if slot is None:
            return False
        self._empty(slot)
        return True

    @property
    def is_hollow(self) -> bool:
        return len(self._ids) > 2 * len(self._slots) + _SLACK_SLOTS

    def renumbered(self) -> _Shelf:
        """The same shelf without its empty slots and unused topics."""
        shelf = _Shelf()
        for id_, slot in self._slots.items():
            keys = [self._keys[number] for number in self._topics[slot]]
            shelf._fill(id_, self._versions[slot], self._namespaces[slot], keys)
        return shelf

    def counts(self) -> Iterator[tuple[str, int]]:
        return ((key, live) for key, live in zip(self._keys, self._live, strict=True) if live)

    def count(self, key: str) -> int:
        number = self._numbers.get(key)
        return 0 if number is None else self._live[number]

    def searched(self) -> Sequence[Sequence[str]]:
        """The topics that a search looks at, in parts, some of them perhaps without memories."""
        if len(self._keys) <= _SEARCHED:
            return (self._keys,)
        if not self._largest or self._since > _LARGEST_HOLD:
            live = np.array(self._live)
            largest = np.argpartition(live, len(live) - _SEARCHED)[-_SEARCHED:]
            self._largest = [self._keys[number] for number in largest.tolist()]
            self._largest_of, self._since = len(self._keys), 0
        return self._largest, self._keys[self._largest_of :]

    def ids_about(self, key: str) -> list[str]:
        return [self._ids[slot] for slot in self._full(key)]

    def namespaces(self, key: str) -> frozenset[str]:
        number = self._numbers.get(key)
        if number is None:
            return frozenset()
        if number in self._shrunk:
            self._shrunk.discard(number)
            found = frozenset(self._namespaces[slot] for slot in self._full(key))
            self._spread[number] = self._shared(found)
        return self._spread[number]

    def keys_beside(self, key: str) -> Iterator[str]:
        """The keys of every memory about ``key``, once for each memory."""
        for slot in self._full(key, last=_RELATED_READ):
            for number in self._topics[slot]:
                yield self._keys[number]

    def _fill(self, id_: str, version: int, namespace: str, keys: Iterable[str]) -> None:
        slot = len(self._ids)
        self._slots[id_] = slot
        self._ids.append(id_)
        self._versions.append(version)
        self._namespaces.append(namespace)
        alone = self._shared(frozenset((namespace,)))
        self._topics.append(tuple([self._post(key, slot, alone) for key in keys]))
        self._since += 1

    def _post(self, key: str, slot: int, alone: frozenset[str]) -> int:
        """Note that a memory is about ``key``, ``alone`` its namespace; the topic's number."""
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            self._postings.append(slot)
            self._live.append(1)
            self._spread.append(alone)
            return number
        posted = self._postings[number]
        if isinstance(posted, int):
            self._postings[number] = array("I", (posted, slot))
        else:
            posted.append(slot)
        self._live[number] += 1
        spread = self._spread[number]
        if not alone <= spread:
            self._spread[number] = self._shared(spread | alone)
        return number

    def _shared(self, namespaces: frozenset[str]) -> frozenset[str]:
        return self._sets.setdefault(namespaces, namespaces)

    def _empty(self, slot: int) -> None:
        for number in self._topics[slot]:
            self._live[number] -= 1
            self._shrunk.add(number)
        self._topics[slot] = ()
        self._ids[slot] = ""

    def _full(self, key: str, last: int = 0) -> Iterator[int]:
        number = self._numbers.get(key)
        if number is None:
            return iter(())
        posted = self._postings[number]
        slots = (posted,) if isinstance(posted, int) else posted[-last:]
        return (slot for slot in slots if self._ids[slot])
