"""Which memories say that a command of some shape fails; a cache, maintained like the topics."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from ...bus.values import Memory, Scope

MOST_FOUND = 8
"""Of one shape in one scope, and in one look-up; the newest."""


class FailureIndex:
    """Shapes of commands, each scope for itself. Safe to share between threads.

    ``shapes`` reads them from a memory; most memories have none.
    """

    def __init__(self, shapes: Callable[[Memory], Sequence[str]]) -> None:
        self._shapes = shapes
        self._lock = threading.Lock()
        self._ids: dict[Scope, dict[str, tuple[str, ...]]] = {}
        self._known: dict[str, tuple[Scope, tuple[str, ...]]] = {}

    def __len__(self) -> int:
        return len(self._known)

    def add(self, memory: Memory) -> None:
        """Index ``memory``, or its newer version."""
        shapes = tuple(dict.fromkeys(self._shapes(memory)))
        with self._lock:
            self._drop(memory.id)
            if not shapes or memory.superseded_by is not None:
                return
            self._known[memory.id] = (memory.scope, shapes)
            by_shape = self._ids.setdefault(memory.scope, {})
            for shape in shapes:
                by_shape[shape] = (*by_shape.get(shape, ()), memory.id)

    def build(self, memories: Iterable[Memory]) -> None:
        """Add many, the oldest first."""
        for memory in memories:
            self.add(memory)

    def remove(self, memory_id: str) -> None:
        """Remove a memory; does nothing if it is not there."""
        with self._lock:
            self._drop(memory_id)

    def failing(self, shapes: Iterable[str], scopes: Iterable[Scope]) -> tuple[str, ...]:
        """The ids of the memories that say that such a command fails, newest first, at most 8."""
        wanted = tuple(dict.fromkeys(shapes))
        with self._lock:
            found = [
                id_
                for scope in dict.fromkeys(scopes)
                for shape in wanted
                for id_ in self._ids.get(scope, {}).get(shape, ())[-MOST_FOUND:]
            ]
        return tuple(sorted(dict.fromkeys(found), reverse=True)[:MOST_FOUND])

    def _drop(self, memory_id: str) -> None:
        scope, shapes = self._known.pop(memory_id, (None, ()))
        for shape in shapes:
            by_shape = self._ids[scope] if scope is not None else {}
            left = tuple(id_ for id_ in by_shape[shape] if id_ != memory_id)
            if left:
                by_shape[shape] = left
            else:
                del by_shape[shape]
