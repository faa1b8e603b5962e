"""A new text beside what is stored: what it repeats, and what it says otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from msgspec import Struct

from ...bus.events import CaptureRequested
from ...bus.values import FAILED_COMMAND, Encoding, Memory
from ..models.embedder import Encoder
from ..search.index import Index
from ..search.newer_memories import Fetch

# How many of the nearest memories are checked for contradiction, and from which similarity on:
# "Kim has left, Kar releases from now on" has few words of what it replaces.
_COMPARED = 8
_COMPARABLE = 0.15
NEAR = 12
"""So many of the nearest are fetched, as records of tasks and what is over lie among them."""
RECORDS = frozenset(("tasks",))
"""What was done stays true."""


def may_be_denied(older: Memory, newer: Memory) -> bool:
    """Whether ``older`` is no record, or one of a failed command and ``newer`` is none.

    Two commands that fail, and what works, read alike and say nothing of each other.
    """
    both_failed = FAILED_COMMAND in older.tags and FAILED_COMMAND in newer.tags
    return older.namespace not in RECORDS and not both_failed


def _takes_back(newer: Memory, older: Memory, now: datetime) -> bool:
    return True


class Judge(Struct, frozen=True):
    """What compares a text with an older one.

    ``contradicts`` tells whether it says otherwise, ``settles`` whether it says itself that the
    older one holds no more, ``says_same`` whether a text adds nothing to another one,
    ``holds_beside`` whether it plainly speaks of another thing, and ``leaves_part`` whether a part
    of what it contradicts holds. ``lifts`` tells whether a memory that contradicts an older one
    takes a rule of it back by now.
    """

    contradicts: Callable[[str, str], bool]
    settles: Callable[[str, str], bool]
    says_same: Callable[[str, str], bool]
    holds_beside: Callable[[str, str], bool]
    leaves_part: Callable[[str, str], bool]
    lifts: Callable[[Memory, Memory, datetime], bool] = _takes_back


class Comparison(Struct, frozen=True):
    """A new text beside the stored ones: ``near`` has the most similar, as (id, similarity).

    ``others`` are the similar memories that it contradicts, the nearest first, but before them
    those of which the text says itself that they hold no more; ``replaces`` tells whether there are
    such.
    """

    encoding: Encoding
    near: Sequence[tuple[str, float]]
    others: Sequence[Memory]
    replaces: bool = False

    @property
    def other(self) -> Memory | None:
        return self.others[0] if self.others else None


class Comparer:
    """Compares a text with the nearest memories of its scope. For any thread."""

    def __init__(
        self,
        *,
        index: Index,
        fetch: Fetch,
        encoder: Encoder,
        judge: Judge,
        clock: Callable[[], datetime],
    ) -> None:
        self._index = index
        self._fetch = fetch
        self._encoder = encoder
        self._judge = judge
        self._clock = clock

    def compare(self, memory: Memory, request: CaptureRequested) -> Comparison:
        """For a worker thread: encode the text once, and find what is similar.

        What was asked for is kept whatever is near it.
        """
        encoding = self._encoder.encode(memory)
        near: Sequence[tuple[str, float]] = ()
        if not request.explicit:
            near = self._index.nearest(encoding, memory.scope, memory.namespace, k=1)
        others = self._contradicted(memory, encoding) if request.supersedes is None else ()
        over = [one for one in others if self._replaces(memory, one, request)]
        others = (*over, *(one for one in others if one not in over))
        return Comparison(encoding, near, others, bool(over))

    def _replaces(self, memory: Memory, other: Memory, request: CaptureRequested) -> bool:
        """Whether the user said ``memory`` later than ``other``, and that it holds no more.

        What somebody asked to keep is replaced by nothing that nobody asked to keep.
        """
        may_replace = request.own_words and (request.explicit or not other.is_asked_for)
        later = may_replace and memory.updated_at >= other.updated_at
        return later and self._judge.settles(memory.content, other.content)

    def _contradicted(self, memory: Memory, encoding: Encoding) -> tuple[Memory, ...]:
        """Those near it that it contradicts, of whatever namespace: that was often detected."""
        near = self._index.nearest(encoding, memory.scope, k=NEAR)
        ids = [memory_id for memory_id, similarity in near if similarity >= _COMPARABLE]
        found = self._fetch(ids, [memory.scope]) if ids else ()
        valid = [one for one in found if may_be_denied(one, memory) and one.holds(self._clock())]
        return tuple(
            other
            for other in valid[:_COMPARED]
            if self._judge.contradicts(memory.content, other.content)
        )
