"""The topics of one scope: numbers in arrays, so that 100,000 memories are small."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import numpy as np

from ...bus.values import Memory
from .keyphrases import choose_topics, is_namespace_key

_RELATED_READ = 2000
_SLACK_SLOTS = 1000
# So many topics of a scope are searched, and looked for anew after so many more memories.
_SEARCHED = 10_000
_LARGEST_HOLD = 2_000
# What is listed is chosen anew after one in so many memories has changed.
_CHOICE_HOLD = 200
_NO_TAGS: Mapping[str, str] = {}


class TopicScope:
    """For one writer or reader at a time.

    A memory has a slot, and its topics are a run of ``_topics``. Each place of that run knows the
    place where its topic stood before, so that a topic's memories are followed from the latest
    back. Taking a memory out empties its slot and leaves its run, until it is hollow and is
    renumbered.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._keys: list[str] = []
        # By topic: memories, and where it stands last. Places count from 1; 0 is nowhere.
        self._live = array("I")
        self._last = array("I")
        # By topic: the namespaces of its memories. Few sets are shared by very many topics; one
        # that lost a memory may have lost a namespace, and is counted anew when it is asked for.
        self._namespace_sets = array("I")
        # By topic: in how many memories it is a tag, and where it was written otherwise than its
        # key, how.
        self._tagged = array("I")
        self._spellings: dict[int, str] = {}
        self._shrunk: set[int] = set()
        self._sets = _Sets()
        self._slots: dict[str, int] = {}
        self._ids: list[str] = []
        self._versions = array("Q")
        self._alone = array("I")
        self._starts = array("I")
        self._topics = array("I")
        self._is_tag = array("B")
        self._before = array("I")
        # The topics that were the largest when there were so many, memories added since, and the
        # topics that are newer, as they were when there were so many.
        self._largest = ""
        self._largest_of = 0
        self._since = 0
        self._newest = ""
        self._newest_of = 0
        self._listed: tuple[int, ...] = ()
        self._changes = 1  # since these were chosen

    def __len__(self) -> int:
        return len(self._slots)

    def __contains__(self, memory_id: str) -> bool:
        return memory_id in self._slots

    def put(self, memory: Memory, keys: Iterable[str], tags: Mapping[str, str] = _NO_TAGS) -> None:
        """Add a memory, unless a newer version of it is there.

        ``tags`` holds those of ``keys`` that are tags, and how each was written.
        """
        slot = self._slots.get(memory.id)
        if slot is not None:
            if self._versions[slot] > memory.version:
                return
            self._empty(slot)
        self.fill(memory.id, memory.version, memory.namespace, keys, tags)

    def remove(self, memory_id: str) -> bool:
        """Remove a memory; returns whether it was there."""
        slot = self._slots.pop(memory_id, None)
        if slot is None:
            return False
        self._empty(slot)
        return True

    @property
    def is_hollow(self) -> bool:
        return len(self._ids) > 2 * len(self._slots) + _SLACK_SLOTS

    def renumbered(self) -> TopicScope:
        """A copy without its empty slots and unused topics."""
        topics = TopicScope()
        for id_, slot in self._slots.items():
            numbers = self._topics_of(slot)
            keys = [self._keys[number] for number in numbers]
            flags = zip(numbers, self._is_tag[self._starts[slot] :], strict=False)
            tags = {self._keys[number]: self.name(number) for number, is_tag in flags if is_tag}
            (namespace,) = self._sets[self._alone[slot]]
            topics.fill(id_, self._versions[slot], namespace, keys, tags)
        return topics

    def count(self, key: str) -> int:
        number = self._numbers.get(key)
        return 0 if number is None else self._live[number]

    def counts_of(self, keys: Collection[str]) -> dict[str, int]:
        """The counts of those of ``keys`` that have any."""
        numbers, live = self._numbers, self._live
        return {key: count for key in keys if key in numbers and (count := live[numbers[key]])}

    def name(self, number: int) -> str:
        """The topic as it was last written as a tag, or its key."""
        return self._spellings.get(number) or self._keys[number]

    def spelling(self, key: str) -> str:
        """How ``key`` was last written as a tag; "" for what is no tag."""
        number = self._numbers.get(key)
        return self.name(number) if number is not None and self._tagged[number] else ""

    def listed(self) -> Iterator[str]:
        """The keys that tell most of what the scope is about; at most 60."""
        if self._changes and self._changes * _CHOICE_HOLD >= len(self._slots):
            self._listed, self._changes = self._choose(), 0
        return (self._keys[number] for number in self._listed if self._live[number])

    def _choose(self) -> tuple[int, ...]:
        frequency = np.array(self._live, dtype=np.uint32)
        named = np.array(self._tagged, dtype=np.uint32) > 0
        named[[number for key, number in self._numbers.items() if is_namespace_key(key)]] = True
        return tuple(choose_topics(self._keys, frequency, named, len(self._slots)))

    def having(self, words: Iterable[str]) -> Iterator[str]:
        """The topics that are searched with one of ``words`` in them, some of them more than once.

        Perhaps some without memories. Of very many topics, the largest and the newest are searched.
        """
        for text in self._searched():
            for word in filter(None, words):  # nothing is everywhere, and never at an end
                at = text.find(word)
                while at >= 0:
                    end = text.find("\n", at)
                    yield text[text.rfind("\n", 0, at) + 1 : end]
                    at = text.find(word, end)

    def _searched(self) -> Sequence[str]:
        """The topics to search, a line each: so one look for a word sees them all."""
        if len(self._keys) > _SEARCHED and (not self._largest or self._since > _LARGEST_HOLD):
            live = np.array(self._live, dtype=np.uint32)
            largest = np.argpartition(live, len(live) - _SEARCHED)[-_SEARCHED:]
            self._largest = _lines([self._keys[number] for number in largest.tolist()])
            self._largest_of, self._since = len(self._keys), 0
            self._newest = ""
        if self._newest_of != len(self._keys) or not self._newest:
            self._newest = _lines(self._keys[self._largest_of :])
            self._newest_of = len(self._keys)
        return self._largest, self._newest

    def ids_about(self, key: str) -> list[str]:
        return [self._ids[slot] for slot in self._full(key)]

    def namespaces(self, key: str) -> frozenset[str]:
        number = self._numbers.get(key)
        if number is None:
            return frozenset()
        if number in self._shrunk:
            self._shrunk.discard(number)
            alone = {self._alone[slot] for slot in self._full(key)}
            joined = frozenset[str]().union(*[self._sets[one] for one in alone])
            self._namespace_sets[number] = self._sets.number(joined)
        return self._sets[self._namespace_sets[number]]

    def keys_beside(self, key: str) -> Iterator[str]:
        """The keys of every memory about ``key``, once for each memory."""
        for slot in self._full(key, last=_RELATED_READ):
            for number in self._topics_of(slot):
                yield self._keys[number]

    def fill(
        self,
        id_: str,
        version: int,
        namespace: str,
        keys: Iterable[str],
        tags: Mapping[str, str] = _NO_TAGS,
    ) -> None:
        """Give a memory that is not here the next slot."""
        slot = len(self._ids)
        self._slots[id_] = slot
        self._ids.append(id_)
        self._versions.append(version)
        alone = self._sets.number(frozenset((namespace,)))
        self._alone.append(alone)
        self._starts.append(len(self._topics))
        for key in keys:
            self._post(key, alone, tags.get(key, ""))
        self._since += 1
        self._changes += 1

    def _post(self, key: str, alone: int, tag: str) -> None:
        """Note that the last memory is about ``key``; ``alone`` is the set of its namespace."""
        number = self._numbers.get(key)
        place = len(self._topics) + 1
        if number is None:
            number = self._numbers[key] = len(self._keys)
            self._keys.append(key)
            self._live.append(1)
            self._last.append(place)
            self._namespace_sets.append(alone)
            self._before.append(0)
            self._tagged.append(0)
        else:
            self._live[number] += 1
            self._before.append(self._last[number])
            self._last[number] = place
            if (joined := self._namespace_sets[number]) != alone:
                self._namespace_sets[number] = self._sets.joined(joined, alone)
        self._topics.append(number)
        self._is_tag.append(bool(tag))
        if tag:
            self._tagged[number] += 1
            if tag != key:
                self._spellings[number] = tag
            else:
                self._spellings.pop(number, None)

    def _empty(self, slot: int) -> None:
        start = self._starts[slot]
        for place, number in enumerate(self._topics_of(slot), start):
            self._live[number] -= 1
            self._tagged[number] -= self._is_tag[place]
            self._shrunk.add(number)
        self._ids[slot] = ""
        self._changes += 1

    def _topics_of(self, slot: int) -> array[int]:
        end = self._starts[slot + 1] if slot + 1 < len(self._starts) else len(self._topics)
        return self._topics[self._starts[slot] : end]

    def _full(self, key: str, last: int | None = None) -> Iterator[int]:
        """The slots of the memories about ``key``, the latest first."""
        number = self._numbers.get(key)
        if number is None:
            return iter(())
        slots = (bisect_right(self._starts, place - 1) - 1 for place in self._places(number))
        return (slot for slot in islice(slots, last) if self._ids[slot])

    def _places(self, number: int) -> Iterator[int]:
        place = self._last[number]
        while place:
            yield place
            place = self._before[place - 1]


def _lines(keys: Iterable[str]) -> str:
    return "".join([f"{key}\n" for key in keys])


class _Sets:
    """Sets of namespaces, of which there are few, by number."""

    def __init__(self) -> None:
        self._sets: list[frozenset[str]] = []
        self._numbers: dict[frozenset[str], int] = {}
        self._joined: dict[tuple[int, int], int] = {}

    def __getitem__(self, number: int) -> frozenset[str]:
        return self._sets[number]

    def number(self, namespaces: frozenset[str]) -> int:
        number = self._numbers.get(namespaces)
        if number is None:
            number = self._numbers[namespaces] = len(self._sets)
            self._sets.append(namespaces)
        return number

    def joined(self, one: int, other: int) -> int:
        """The number of the union of two sets."""
        number = self._joined.get((one, other))
        if number is None:
            number = self._joined[one, other] = self.number(self._sets[one] | self._sets[other])
        return number
