"""The memories that a search is likely to find, so that a prompt seldom has to ask the database.

Bounded by bytes, and only ever as new as the index: it hears of each memory that is stored or
forgotten in the same moment as the index does. A fetch from DuckDB takes 2 ms however few it is of;
ten from here take a tenth of one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

import msgspec

from ...bus.values import Memory, Scope

MAX_BYTES = 12_000_000
"""Of memories written down, which is a third of what they take as objects."""

Fetch = Callable[[Sequence[str], Sequence[Scope]], Sequence[Memory]]

_write = msgspec.msgpack.Encoder().encode
_read = msgspec.msgpack.Decoder(Memory).decode


class Fetched:
    """A fetch from the store that remembers. Safe to share between threads."""

    def __init__(self, fetch: Fetch, *, max_bytes: int = MAX_BYTES) -> None:
        self._fetch = fetch
        self._max_bytes = max_bytes
        self._lock = threading.Lock()
        self._known: OrderedDict[str, bytes] = OrderedDict()
        self._bytes = 0
        self._changes = 0

    def __call__(self, ids: Sequence[str], scopes: Sequence[Scope]) -> list[Memory]:
        """The memories with ``ids`` that are in ``scopes``, in the order asked."""
        with self._lock:
            before = self._changes
            written = {id_: self._known[id_] for id_ in ids if id_ in self._known}
            for id_ in written:
                self._known.move_to_end(id_)
        found = {id_: _read(memory) for id_, memory in written.items()}
        if missing := [id_ for id_ in ids if id_ not in found]:
            fresh = self._fetch(missing, scopes)
            found |= {memory.id: memory for memory in fresh}
            self._keep(fresh, before)
        return [found[id_] for id_ in ids if id_ in found and found[id_].scope in scopes]

    def warm(self, memories: Iterable[Memory]) -> None:
        """Remember ``memories`` while there is room. For those that are being loaded anyway."""
        for memory in memories:
            if self._bytes >= self._max_bytes:
                return
            with self._lock:
                self._remember(memory)

    def drop(self, memory_id: str) -> None:
        """Forget a memory that was changed or forgotten: the next fetch reads it anew."""
        with self._lock:
            self._changes += 1
            self._bytes -= len(self._known.pop(memory_id, b""))

    def _keep(self, fresh: Sequence[Memory], before: int) -> None:
        with self._lock:
            if self._changes != before:  # something changed while these were being read
                return
            for memory in fresh:
                self._remember(memory)
            while self._bytes > self._max_bytes:
                self._bytes -= len(self._known.popitem(last=False)[1])

    def _remember(self, memory: Memory) -> None:
        self._bytes -= len(self._known.pop(memory.id, b""))
        written = self._known[memory.id] = _write(memory)
        self._bytes += len(written)
