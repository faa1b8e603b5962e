"""Stores captures: as a new memory, merged into a near-duplicate, or as a revision of one."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from datetime import datetime
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import CaptureSettled, Event, MemoriesStored, StoreRequested
from ...bus.signals import emit, stored
from ...bus.values import Encoding, Kept, Memory, Provenance
from ..search.index import Encoder, Index
from ..search.retriever import Fetch
from ..store.errors import StoreUnavailable
from ..store.rows import Row, content_hash
from ..store.store import Store
from .lifecycle import Lifecycle

_log = logging.getLogger(__name__)

# What a confirmation adds to the confidence of a memory, in percent.
_CONFIRMED = 5
_MAX_TAGS = 10
_MAX_SOURCES = 20
# How many of the nearest memories are checked for contradiction, and from which similarity on.
_COMPARED = 3
_COMPARABLE = 0.3


class _Comparison(Struct, frozen=True):
    """A new text beside the stored ones: ``near`` are (id, similarity), best first.

    ``other`` is the nearest similar memory that contradicts it.
    """

    encoding: Encoding
    near: Sequence[tuple[str, float]]
    other: Memory | None


class CaptureWriter:
    """Handles ``StoreRequested``. ``CaptureSettled`` follows the commit."""

    def __init__(
        self,
        store: Store,
        *,
        index: Index,
        fetch: Fetch,
        encoder: Encoder,
        lifecycle: Lifecycle,
        merge_similarity: float,
        contradicts: Callable[[str, str], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._index = index
        self._fetch = fetch
        self._encoder = encoder
        self._lifecycle = lifecycle
        self._merge_similarity = merge_similarity
        self._contradicts = contradicts
        self._clock = clock
        # One lock a text, which exists only while somebody holds or awaits it.
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def store(self, event: StoreRequested) -> tuple[Event, ...]:
        """Commit a redacted text, or merge it into the memory that says the same."""
        try:
            if event.request.revises is not None:
                return await self._revise(event, event.request.revises)
            # Two simultaneous captures of one text must become one memory.
            hashed = content_hash(event.content.text)
            key = f"{event.request.scope} {event.namespace} {hashed}"
            async with self._locks.setdefault(key, anyio.Lock()):
                return await self._store_new(event, hashed)
        except StoreUnavailable as error:
            _log.error("a memory could not be stored", extra={"reason": error.reason})
            return (could_not_store(event, str(error)),)

    async def _store_new(self, event: StoreRequested, hashed: str) -> tuple[Event, ...]:
        memory = self._draft(event, hashed)
        same = await self._store.find_hash(hashed, memory.scope, memory.namespace)
        if same is not None and same.id == memory.id:  # a retry of the same capture
            return (self._settled(event, same, "stored"),)
        if same is not None and (merged := await self._merge(event, same.id, "the same text")):
            return merged
        compares = event.request.supersedes is None
        comparison = await anyio.to_thread.run_sync(self._compare, memory, compares)
        if not (event.request.explicit or event.request.verbatim) and comparison.near:
            nearest, similarity = comparison.near[0]
            denied = comparison.other is not None and comparison.other.id == nearest
            if similarity >= self._merge_similarity and not denied:
                merged = await self._merge(event, nearest, f"{similarity:.2f} alike")
                if merged is not None:
                    return merged
        return await self._add(event, memory, comparison)

    def _draft(self, event: StoreRequested, hashed: str) -> Memory:
        request, said_at = event.request, self._said_at(event)
        return Memory(
            id=request.id,
            scope=request.scope,
            namespace=event.namespace,
            content=event.content.text,
            summary=event.summary.text,
            tags=event.tags,
            confidence_percent=request.confidence_percent,
            provenance=request.provenance,
            created_at=said_at,
            updated_at=said_at,
            content_hash=hashed,
        )

    def _said_at(self, event: StoreRequested) -> datetime:
        """When a text was said; a transcript's clock is not believed where it is ahead."""
        now = self._clock()
        return min(event.request.said_at or now, now)

    def _compare(self, memory: Memory, compares: bool) -> _Comparison:
        """On a worker thread: encode the text once, and find what is similar."""
        encoding = self._encoder.encode(memory)
        near = self._index.nearest(encoding, memory.scope, memory.namespace, _COMPARED)
        other = self._contradicted(memory, near) if compares else None
        return _Comparison(encoding, near, other)

    def _contradicted(self, memory: Memory, near: Sequence[tuple[str, float]]) -> Memory | None:
        ids = [memory_id for memory_id, similarity in near if similarity >= _COMPARABLE]
        for other in self._fetch(ids, [memory.scope]) if ids else ():
            if self._is_valid(other) and self._contradicts(memory.content, other.content):
                return other
        return None

    # --- new -------------------------------------------------------------------------------------

    async def _add(
        self, event: StoreRequested, memory: Memory, comparison: _Comparison
    ) -> tuple[Event, ...]:
        replaced, other = event.request.supersedes, comparison.other
        memory = replace(
            memory,
            contradicts=other.id if other else None,
            provenance=_with_gate(memory.provenance, _reason(event, comparison)),
        )
        if replaced is not None:
            return await self._add_successor(event, memory, comparison.encoding, replaced)
        [taken] = await self._store.put([Row(memory, comparison.encoding)])
        if not taken:
            return (await self._settled_retry(event, memory),)
        return (
            self._stored(event, memory, comparison.encoding, "stored"),
            self._settled(event, memory, "stored", other),
        )

    async def _settled_retry(self, event: StoreRequested, memory: Memory) -> CaptureSettled:
        """The answer to a retry of a capture whose memory has changed since."""
        found = await self._lifecycle.find(memory.id, [memory.scope])
        if found is not None:
            return self._settled(event, found, "stored")
        return _declined(event, "it was stored before and forgotten since")

    async def _add_successor(
        self, event: StoreRequested, memory: Memory, encoding: Encoding, old_id: str
    ) -> tuple[Event, ...]:
        async with self._lifecycle.write_lock:
            old = await self._lifecycle.find(old_id, [memory.scope])
            if old is None:
                return (_declined(event, f"there is no memory {old_id} to supersede"),)
            memory = replace(memory, supersedes=old.id)
            marked = self._lifecycle.superseded(old, memory.id)
            pairs = ((memory, encoding), (marked, await self._encoded(marked)))
            await self._store.put([Row(*pair) for pair in pairs])
        return (
            MemoriesStored(trace=event.trace, stored=pairs),
            self._settled(event, memory, "stored"),
        )

    # --- into a stored memory --------------------------------------------------------------------

    async def _merge(
        self, event: StoreRequested, duplicate_id: str, similarity: str
    ) -> tuple[Event, ...] | None:
        """Confirm the duplicate; None where it is no longer valid, so that the text is stored."""
        async with self._lifecycle.write_lock:
            duplicate = await self._lifecycle.find(duplicate_id, [event.request.scope])
            if duplicate is None or not self._is_valid(duplicate):
                return None
            merged = self._merged(duplicate, event, f"merged: {similarity}")
            events = await self._write(event, merged, "merged")
        replaced = event.request.supersedes
        if replaced is not None and replaced != duplicate_id:
            marks = await self._lifecycle.mark_superseded(
                event.trace, replaced, duplicate_id, [event.request.scope]
            )
            return (*events[:-1], *marks[:-1], events[-1])
        return events

    def _is_valid(self, memory: Memory) -> bool:
        ended = memory.valid_to is not None and memory.valid_to <= self._clock()
        return memory.superseded_by is None and not ended

    def _merged(self, duplicate: Memory, event: StoreRequested, gate: str) -> Memory:
        request = event.request
        confidence = max(duplicate.confidence_percent, request.confidence_percent) + _CONFIRMED
        sources = dict.fromkeys((*duplicate.sources, request.provenance))
        return replace(
            duplicate,
            version=duplicate.version + 1,
            tags=tuple(dict.fromkeys((*duplicate.tags, *event.tags)))[:_MAX_TAGS],
            confidence_percent=min(100, confidence),
            provenance=_with_gate(duplicate.provenance, gate),
            sources=tuple(sources)[:_MAX_SOURCES],
            updated_at=max(duplicate.updated_at, self._said_at(event)),
        )

    async def _revise(self, event: StoreRequested, memory_id: str) -> tuple[Event, ...]:
        async with self._lifecycle.write_lock:
            old = await self._lifecycle.find(memory_id, [event.request.scope])
            if old is None:
                return (_declined(event, f"there is no memory {memory_id} to update"),)
            text = event.content.text
            is_same = text == old.content
            if is_same and (event.namespace, event.tags) == (old.namespace, old.tags):
                return (self._settled(event, old, "stored"),)
            revised = replace(
                old,
                version=old.version + 1,
                namespace=event.namespace,
                tags=event.tags,
                content=text,
                summary=old.summary if is_same else event.summary.text,
                content_hash=content_hash(text),
                contradicts=old.contradicts if is_same else None,
                provenance=_with_gate(event.request.provenance, "updated"),
                updated_at=max(old.updated_at, self._said_at(event)),
            )
            return await self._write(event, revised, "updated")

    # --- commit ----------------------------------------------------------------------------------

    async def _write(
        self, event: StoreRequested, memory: Memory, outcome: str
    ) -> tuple[Event, ...]:
        encoding = await self._encoded(memory)
        await self._store.put([Row(memory, encoding)])
        return (
            self._stored(event, memory, encoding, outcome),
            self._settled(event, memory, "merged" if outcome == "merged" else "stored"),
        )

    async def _encoded(self, memory: Memory) -> Encoding:
        return await anyio.to_thread.run_sync(self._encoder.encode, memory)

    def _stored(
        self, event: StoreRequested, memory: Memory, encoding: Encoding, outcome: str
    ) -> MemoriesStored:
        emit(stored, "store", namespace=memory.namespace, outcome=outcome)
        return MemoriesStored(trace=event.trace, stored=((memory, encoding),))

    def _settled(
        self, event: StoreRequested, memory: Memory, outcome: str, other: Memory | None = None
    ) -> CaptureSettled:
        kept = Kept(
            outcome="merged" if outcome == "merged" else "stored",
            namespace=memory.namespace,
            memory_id=memory.id,
            summary=memory.summary,
            redactions=event.content.redactions,
            contradicts=other.id if other else None,
        )
        return CaptureSettled(trace=event.trace, kept=kept, memory=memory, other=other)


def _reason(event: StoreRequested, comparison: _Comparison) -> str:
    if event.request.explicit:
        return "explicit"
    if not comparison.near:
        return "new: nothing is like it"
    nearest, similarity = comparison.near[0]
    return f"new: {similarity:.2f} alike to {nearest}"


def _with_gate(provenance: Provenance, gate: str) -> Provenance:
    return replace(provenance, gate=gate)


def _declined(event: StoreRequested, reason: str) -> CaptureSettled:
    kept = Kept(outcome="declined", namespace=event.namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)


def could_not_store(event: StoreRequested, reason: str) -> CaptureSettled:
    """The end of a capture that the store could not take."""
    kept = Kept(outcome="failed", namespace=event.namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)
