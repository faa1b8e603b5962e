"""Tells open sessions that memories changed: what can be read anew, never what is in it.

A watch holds what changed since it was last asked, merged and bounded, so that a client that is
slow to read, or never reads, costs next to nothing and holds nobody up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import anyio
from msgspec import Struct

from ...bus.events import MemoriesStored, MemoryForgotten
from ...bus.values import Memory, Scope

# Changes that come close together are told together.
GATHER_S = 0.05
BUSY_CHECK_S = 0.02
# Of more changes than this it is only told that there were some.
MAX_NAMED = 256


class Changed(Struct, frozen=True):
    """What changed. ``namespaces`` None means any; ``ids`` None means very many."""

    ids: frozenset[str] | None
    namespaces: frozenset[str] | None


class Watch:
    """One session's view of what changes in its scopes."""

    def __init__(self, scopes: tuple[Scope, ...], *, is_busy: Callable[[], bool]) -> None:
        self.scopes = frozenset(scopes)
        self._is_busy = is_busy
        self._woken = anyio.Event()
        self._clear()

    def _clear(self) -> None:
        self._ids: set[str] = set()
        self._namespaces: set[str] = set()
        self._everywhere = False

    def note(self, memory_id: str, namespace: str | None) -> None:
        """Something changed; its ``namespace`` may not be known."""
        if len(self._ids) <= MAX_NAMED:
            self._ids.add(memory_id)
        if namespace is None:
            self._everywhere = True
        else:
            self._namespaces.add(namespace)
        self._woken.set()

    async def next(self) -> Changed:
        """What changed since the last time: wait for it, and until it can be read."""
        await self._woken.wait()
        await anyio.sleep(GATHER_S)
        while self._is_busy():  # noqa: ASYNC110 - inboxes can be counted, not waited for
            await anyio.sleep(BUSY_CHECK_S)
        changed = Changed(
            frozenset(self._ids) if len(self._ids) <= MAX_NAMED else None,
            None if self._everywhere else frozenset(self._namespaces),
        )
        self._woken = anyio.Event()
        self._clear()
        return changed


class Changes:
    """Who watches. ``is_busy`` says whether what was stored cannot be found yet."""

    def __init__(self, *, is_busy: Callable[[], bool]) -> None:
        self._is_busy = is_busy
        self._watches: set[Watch] = set()

    @contextmanager
    def watching(self, scopes: tuple[Scope, ...]) -> Iterator[Watch]:
        """Watch ``scopes`` for as long as the context is open."""
        watch = Watch(scopes, is_busy=self._is_busy)
        self._watches.add(watch)
        try:
            yield watch
        finally:
            self._watches.remove(watch)

    def stored(self, event: MemoriesStored) -> None:
        """Memories, or versions of them, were committed."""
        for memory, _ in event.stored if self._watches else ():
            self._stored(memory)

    def forgotten(self, event: MemoryForgotten) -> None:
        """A memory was deleted; where it was is not told."""
        self._tell(event.scope, event.id, None)

    def _stored(self, memory: Memory) -> None:
        # A later version may have come from another namespace.
        self._tell(memory.scope, memory.id, memory.namespace if memory.version == 1 else None)

    def _tell(self, scope: Scope, memory_id: str, namespace: str | None) -> None:
        for watch in self._watches:
            if scope in watch.scopes:
                watch.note(memory_id, namespace)
