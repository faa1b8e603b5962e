"""A team's server as a test reads it: with what no client of a team ever asks for."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import Any

from subcog.bus.values import Encoding, Memory, Scope
from subcog.sinks.store.reads import scope_texts
from subcog.sinks.store.rows import Row, to_memory
from subcog.sinks.team.postgres.store import PostgresStore

_VERSIONS = b"""
    SELECT v.version = m.version, m.created_at,
        v.body, v.model, v.vectors, v.words, v.lengths, v.terms
    FROM subcog.versions v JOIN subcog.memories m ON m.team = v.team AND m.id = v.id
    WHERE cardinality(%(scopes)s::text[]) = 0 OR m.scope = ANY (%(scopes)s)
    ORDER BY v.id, v.version
"""


# Whether it is the current one, when the memory was made as the server sees it, and the version.
Version = tuple[bool, datetime, Row]


class ReadableStore(PostgresStore):
    """All that a member may read, by the names that the store on this machine has for it."""

    async def get(self, ids: Sequence[str], scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        found = {memory.id: memory for memory in await self.page(scopes, limit=100_000)}
        return tuple(found[each] for each in dict.fromkeys(ids) if each in found)

    async def page(self, scopes: Sequence[Scope], *, limit: int) -> tuple[Memory, ...]:
        current = await self._current(scope_texts(scopes))
        return tuple(row.memory for row in current[:limit])

    async def latest(self, scopes: Sequence[Scope], *, limit: int) -> tuple[Memory, ...]:
        """By the server's time, which bounds what a member claims."""
        found = [
            (created_at, row.memory.id, row.memory)
            for is_current, created_at, row in await self._versions(scope_texts(scopes))
            if is_current and self._is_valid(row.memory)
        ]
        return tuple(memory for _, _, memory in sorted(found)[::-1][:limit])

    async def history(self, memory_id: str, scopes: Sequence[Scope]) -> tuple[Memory, ...]:
        found = (row.memory for _, _, row in await self._versions(scope_texts(scopes)))
        return tuple(memory for memory in found if memory.id == memory_id)

    async def counts(self) -> dict[Scope, int]:
        return dict(Counter(row.memory.scope for row in await self._current([])))

    async def load(self) -> AsyncIterator[Sequence[Row]]:
        yield await self._current([])

    def _is_valid(self, memory: Memory) -> bool:
        now = self._clock()
        has_begun = memory.valid_from is None or memory.valid_from <= now
        is_over = memory.valid_to is not None and memory.valid_to <= now
        return memory.superseded_by is None and has_begun and not is_over

    async def _current(self, scopes: Sequence[str]) -> list[Row]:
        return [row for is_current, _, row in await self._versions(scopes) if is_current]

    async def _versions(self, scopes: Sequence[str]) -> list[Version]:
        def read(connection: Any) -> list[Version]:
            return list(_rows(connection.execute(_VERSIONS, {"scopes": list(scopes)})))

        return await self._run(read)


def _rows(found: Any) -> Iterator[Version]:
    for is_current, created_at, body, *blobs in found:
        try:
            yield is_current, created_at, Row(to_memory(body), Encoding(*blobs))
        except ValueError:  # a member can put anything there
            continue
