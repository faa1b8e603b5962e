"""The memories fetched lately, so that a prompt seldom has to ask the database for them again.

Bounded, and only ever as new as the index: it hears of each memory that is stored or forgotten in
the same moment as the index does.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

from ..bus.values import Memory, Scope

MAX_MEMORIES = 1000

Fetch = Callable[[Sequence[str], Sequence[Scope]], Sequence[Memory]]


class Fetched:
    """A fetch from the store that remembers. Safe to share between threads."""

    def __init__(self, fetch: Fetch, *, max_memories: int = MAX_MEMORIES) -> None:
        self._fetch = fetch
        self._max_memories = max_memories
        self._lock = threading.Lock()
        self._known: OrderedDict[str, Memory] = OrderedDict()
        self._changes = 0

    def __call__(self, ids: Sequence[str], scopes: Sequence[Scope]) -> list[Memory]:
        """The memories with ``ids`` that are in ``scopes``, in the order asked."""
        with self._lock:
            found = {id_: self._known[id_] for id_ in ids if id_ in self._known}
            before = self._changes
        if missing := [id_ for id_ in ids if id_ not in found]:
            fresh = {memory.id: memory for memory in self._fetch(missing, scopes)}
            self._keep(fresh, before)
            found |= fresh
        return [found[id_] for id_ in ids if id_ in found and found[id_].scope in scopes]

    def _keep(self, fresh: dict[str, Memory], before: int) -> None:
        with self._lock:
            if self._changes != before:  # something changed while these were being read
                return
            self._known.update(fresh)
            while len(self._known) > self._max_memories:
                self._known.popitem(last=False)

    def drop(self, memory_id: str) -> None:
        """Forget a memory that was changed or forgotten: the next fetch reads it anew."""
        with self._lock:
            self._changes += 1
            self._known.pop(memory_id, None)
