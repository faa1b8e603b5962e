"""The indexes of what memories name: topics, files, commands. They follow what is stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from itertools import islice

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.events import MemoriesStored, MemoryForgotten
from ...bus.values import Memory, Scope
from ..indexes.key_cache import KeyCache
from ..indexes.mentions import FileIndex, WarningIndex
from ..indexes.topic_index import TopicIndex
from ..search.index import Index
from ..store.store import Store

FEW = 4
"""Up to so many memories are indexed on the event loop, more on a worker thread."""
# Memories read at once.
_PAGE = 6_000
# Memories a slice (about 2 ms), and the pause after it.
_SLICE = 50
_PAUSE_S = 0.002
# So many memories that no earlier start has read are read at once: those of the last day's work.
_READ_AT_ONCE = 100
# Of more, so many are fetched at a time, and read with a pause after each.
_UNREAD = 200
_UNREAD_PAUSE_S = 0.005


class MentionIndexes:
    """``fill`` them once after the start; what is stored and forgotten meanwhile counts as well.

    ``read_rest`` then reads what ``keys`` did not know from an earlier start. ``interned`` gives
    the id of a memory as it is held already; None for one that was forgotten.
    """

    def __init__(
        self,
        store: Store,
        *,
        interned: Callable[[str], str | None],
        keys: KeyCache,
        clock: Callable[[], datetime],
    ) -> None:
        self.topics = TopicIndex()
        self.files = FileIndex()
        self.warnings = WarningIndex()
        self._keys = keys
        # How many were read while they were filled; by id, what has to be read after that, and
        # whether it is the time for it.
        self._read_at_once = 0
        self._unread: dict[str, Scope] = {}
        self._is_filled = False
        self._store = store
        self._interned = interned
        self._clock = clock
        # How many threads note memories, and what was forgotten while one did.
        self._noting = 0
        self._gone: set[str] = set()
        # While they are filled: what was noted since, None for what was taken out.
        self._newer: dict[str, Memory | None] | None = None

    async def fill(self, index: Index) -> None:
        """Note what is in ``index``, which is full, in small slices with pauses."""
        await anyio.to_thread.run_sync(self._keys.open)
        self._unread, self._newer, self._is_filled = {}, {}, False
        self._read_at_once = 0
        try:
            await self._fill(index)
            self._is_filled = True
        finally:
            if not self._is_filled:
                self._newer = None

    async def read_rest(self) -> None:
        """After ``fill``, once: read what memories warn of where that is not known.

        May take minutes. Where the store fails, it goes on when it is called again.
        """
        if not self._is_filled:
            return
        while self._unread:
            page = dict(islice(self._unread.items(), _UNREAD))
            for memory in await self._store.get(list(page), list(set(page.values()))):
                await anyio.to_thread.run_sync(self._read_unless_gone, memory)
                await anyio.sleep(_UNREAD_PAUSE_S)
            for memory_id in page:
                self._unread.pop(memory_id, None)
        self._newer, self._is_filled = None, False
        await anyio.to_thread.run_sync(self._keys.save)

    def _read_unless_gone(self, memory: Memory) -> None:
        keys = self._keys.read_unknown(memory)
        own = self._interned(memory.id)
        if own and not self._is_expired(memory):
            self.warnings.add(replace(memory, id=own), keys)
        self._note_newer([memory])

    async def _fill(self, index: Index) -> None:
        expired = 0
        async for memories in self._store.current():
            expired += sum(self._is_expired(memory) for memory in memories)
            await self._note_slowly(memories)
        if self.topics.memories + expired < index.count:  # rows moved on disk meanwhile
            for scope in await self._store.counts():
                await self._note_what_is_missing(scope)

    async def _note_what_is_missing(self, scope: Scope) -> None:
        after = ""
        while page := await self._store.page([scope], after=after, limit=_PAGE):
            after = page[-1].id
            await self._note_slowly([memory for memory in page if memory.id not in self.topics])

    async def _note_slowly(self, memories: Sequence[Memory]) -> None:
        for start in range(0, len(memories), _SLICE):
            part = memories[start : start + _SLICE]
            await anyio.to_thread.run_sync(self._note_unless_gone, part)
            await anyio.sleep(_PAUSE_S)

    def _note_unless_gone(self, memories: Sequence[Memory]) -> None:
        """Note what is still in the index: the rest was forgotten since it was read.

        What was noted anew or taken out since then stays so.
        """
        here = [(memory, self._interned(memory.id)) for memory in memories]
        alive = [replace(m, id=own) for m, own in here if own and not self._is_expired(m)]
        self.topics.build(alive)
        for memory in alive:
            self.files.add(memory)
            keys = self._keys.known(memory)
            if keys is None and self._read_at_once < _READ_AT_ONCE:
                self._read_at_once += 1
                keys = self._keys.read_unknown(memory)
            if keys is None:
                self._unread[memory.id] = memory.scope
            else:
                self.warnings.add(memory, keys)
        self._note_newer(memories)

    def _note_newer(self, memories: Sequence[Memory]) -> None:
        """Of ``memories``, note what came or went since they were read, and while it is noted."""
        since = self._newer or {}
        for old in [memory for memory in memories if memory.id in since]:
            noted: Memory | None = old
            while (newer := since[old.id]) is not noted:
                if newer:
                    self._put(newer)
                else:
                    self._take_out(old.id)
                noted = newer

    async def note(self, event: MemoriesStored) -> None:
        """Note what committed memories name."""
        memories = [memory for memory, _ in event.stored]
        if len(memories) <= FEW:
            self._note_all(memories)
            return
        self._noting += 1
        try:
            await anyio.to_thread.run_sync(self._note_all, memories)
        finally:
            self._noting -= 1
            for memory_id in self._gone:  # the thread may have brought it back
                self._take_out(memory_id)
            if not self._noting:
                self._gone.clear()

    def _note_all(self, memories: Sequence[Memory]) -> None:
        for memory in memories:
            self._add(memory)

    def _add(self, memory: Memory) -> None:
        if self._newer is not None:
            self._newer[memory.id] = memory
        self._put(memory)

    def _put(self, memory: Memory) -> None:
        if self._is_expired(memory):
            self._take_out(memory.id)
        else:
            self.topics.add(memory)
            self.files.add(memory)
            self.warnings.add(memory, self._keys.read(memory))

    def drop(self, event: MemoryForgotten) -> None:
        """Take out a forgotten memory."""
        if self._newer is not None:
            self._newer[event.id] = None
        if self._noting:
            self._gone.add(event.id)
        self._take_out(event.id)

    async def forget_keys(self, memory_id: str) -> None:
        """Take a memory that is to be forgotten out of what is kept on disk."""
        await anyio.to_thread.run_sync(self._keys.forget, memory_id)

    def close(self) -> None:
        """Keep nothing more on disk: another archive may be opened in the same place."""
        self._keys.close()

    def _take_out(self, memory_id: str) -> None:
        self.topics.remove(memory_id)
        self.files.remove(memory_id)
        self.warnings.remove(memory_id)

    def _is_expired(self, memory: Memory) -> bool:
        return memory.is_over(self._clock())
