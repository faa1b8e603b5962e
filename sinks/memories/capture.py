"""Keeps captures: commits a new memory, merges it into one that says the same, or revises one."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import anyio
import anyio.to_thread
from msgspec import Struct
from msgspec.structs import replace

from ...bus.events import CaptureSettled, Event, MemoryStored, StoreRequested
from ...bus.signals import emit, stored
from ...bus.values import Encoding, Kept, Memory, Provenance
from ..search.encoder import Encoder
from ..search.index import Index
from ..search.memory_cache import Fetch
from ..store.errors import StoreUnavailable
from ..store.rows import Row, content_hash
from ..store.store import Store
from .lifecycle import Changing

_log = logging.getLogger(__name__)

# Being confirmed makes a memory so much surer, in percent.
_CONFIRMED = 5
_MAX_TAGS = 10
_MAX_SOURCES = 20
# So many of the nearest memories are read for what they say otherwise, from this likeness on.
_COMPARED = 3
_COMPARABLE = 0.3


class _Looked(Struct, frozen=True):
    """What a new text looks like beside the old ones: ``near`` are (id, likeness), best first.

    ``other`` is the nearest of the memories alike that says otherwise.
    """

    encoding: Encoding
    near: Sequence[tuple[str, float]]
    other: Memory | None


class Keeping:
    """Fulfils ``StoreRequested``. Nothing is settled before it is committed."""

    def __init__(
        self,
        store: Store,
        *,
        index: Index,
        fetch: Fetch,
        encoder: Encoder,
        changing: Changing,
        merge_similarity: float,
        contradicts: Callable[[str, str], bool],
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._index = index
        self._fetch = fetch
        self._encoder = encoder
        self._changing = changing
        self._merge_similarity = merge_similarity
        self._contradicts = contradicts
        self._clock = clock
        self._turns = _Turns()

    async def keep(self, event: StoreRequested) -> tuple[Event, ...]:
        """Commit a redacted text, or merge it into the memory that says the same."""
        try:
            if event.request.revises is not None:
                return await self._revise(event, event.request.revises)
            # Two captures of one text at the same moment are one memory, so they take turns.
            hashed = content_hash(event.content.text)
            async with self._turns.of(f"{event.request.scope} {event.namespace} {hashed}"):
                return await self._keep(event, hashed)
        except StoreUnavailable as error:
            _log.error("a memory could not be stored", extra={"reason": error.reason})
            return (could_not_store(event, str(error)),)

    async def _keep(self, event: StoreRequested, hashed: str) -> tuple[Event, ...]:
        memory = self._draft(event, hashed)
        same = await self._store.find_hash(hashed, memory.scope, memory.namespace)
        if same is not None and same.id == memory.id:  # the same capture, come a second time
            return (self._settled(event, same, "stored"),)
        if same is not None and (merged := await self._merge(event, same.id, "the same text")):
            return merged
        compares = event.request.supersedes is None
        looked = await anyio.to_thread.run_sync(self._look, memory, compares)
        if not event.request.explicit and looked.near:
            nearest, likeness = looked.near[0]
            denied = looked.other is not None and looked.other.id == nearest
            if likeness >= self._merge_similarity and not denied:
                merged = await self._merge(event, nearest, f"{likeness:.2f} alike")
                if merged is not None:
                    return merged
        return await self._add(event, memory, looked)

    def _draft(self, event: StoreRequested, hashed: str) -> Memory:
        request, now = event.request, self._clock()
        return Memory(
            id=request.id,
            scope=request.scope,
            namespace=event.namespace,
            content=event.content.text,
            summary=event.summary.text,
            tags=event.tags,
            confidence_percent=request.confidence_percent,
            provenance=request.provenance,
            created_at=now,
            updated_at=now,
            content_hash=hashed,
        )

    def _look(self, memory: Memory, compares: bool) -> _Looked:
        """In a worker thread: encode the text once, and find what is like it."""
        encoding = self._encoder.encode(memory)
        near = self._index.nearest(encoding, memory.scope, memory.namespace, _COMPARED)
        other = self._contradicted(memory, near) if compares else None
        return _Looked(encoding, near, other)

    def _contradicted(self, memory: Memory, near: Sequence[tuple[str, float]]) -> Memory | None:
        ids = [memory_id for memory_id, likeness in near if likeness >= _COMPARABLE]
        for other in self._fetch(ids, [memory.scope]) if ids else ():
            if self._holds(other) and self._contradicts(memory.content, other.content):
                return other
        return None

    # --- new -------------------------------------------------------------------------------------

    async def _add(
        self, event: StoreRequested, memory: Memory, looked: _Looked
    ) -> tuple[Event, ...]:
        replaced, other = event.request.supersedes, looked.other
        memory = replace(
            memory,
            contradicts=other.id if other else None,
            provenance=_gated(memory.provenance, _reason(event, looked)),
        )
        if replaced is not None:
            return await self._add_instead(event, memory, looked.encoding, replaced)
        [taken] = await self._store.put([Row(memory, looked.encoding)])
        if not taken:
            return (await self._settled_before(event, memory),)
        return (
            self._told(event, memory, looked.encoding, "stored"),
            self._settled(event, memory, "stored", other),
        )

    async def _settled_before(self, event: StoreRequested, memory: Memory) -> CaptureSettled:
        """The same capture, come a second time, of which the text has changed since."""
        found = await self._changing.find(memory.id, [memory.scope])
        if found is not None:
            return self._settled(event, found, "stored")
        return _declined(event, "it was stored before and forgotten since")

    async def _add_instead(
        self, event: StoreRequested, memory: Memory, encoding: Encoding, old_id: str
    ) -> tuple[Event, ...]:
        async with self._changing.turn:
            old = await self._changing.find(old_id, [memory.scope])
            if old is None:
                return (_declined(event, f"there is no memory {old_id} to supersede"),)
            memory = replace(memory, supersedes=old.id)
            marked = self._changing.superseded(old, memory.id)
            rows = [Row(memory, encoding), Row(marked, await self._encoded(marked))]
            await self._store.put(rows)
        return (
            *(MemoryStored(trace=event.trace, memory=r.memory, encoding=r.encoding) for r in rows),
            self._settled(event, memory, "stored"),
        )

    # --- into what is there ----------------------------------------------------------------------

    async def _merge(
        self, event: StoreRequested, twin_id: str, likeness: str
    ) -> tuple[Event, ...] | None:
        """Make the twin surer; None where it holds no longer, so that the text is to be kept."""
        async with self._changing.turn:
            twin = await self._changing.find(twin_id, [event.request.scope])
            if twin is None or not self._holds(twin):
                return None
            merged = self._merged(twin, event, f"merged: {likeness}")
            events = await self._write(event, merged, "merged")
        replaced = event.request.supersedes
        if replaced is not None and replaced != twin_id:
            marks = await self._changing.supersede(
                event.trace, replaced, twin_id, [event.request.scope]
            )
            return (*events[:-1], *marks[:-1], events[-1])
        return events

    def _holds(self, memory: Memory) -> bool:
        """Whether a memory is in force now."""
        ended = memory.valid_to is not None and memory.valid_to <= self._clock()
        return memory.superseded_by is None and not ended

    def _merged(self, twin: Memory, event: StoreRequested, gate: str) -> Memory:
        request = event.request
        surer = max(twin.confidence_percent, request.confidence_percent) + _CONFIRMED
        sources = dict.fromkeys((*twin.sources, request.provenance))
        return replace(
            twin,
            version=twin.version + 1,
            tags=tuple(dict.fromkeys((*twin.tags, *event.tags)))[:_MAX_TAGS],
            confidence_percent=min(100, surer),
            provenance=_gated(twin.provenance, gate),
            sources=tuple(sources)[:_MAX_SOURCES],
            updated_at=self._clock(),
        )

    async def _revise(self, event: StoreRequested, memory_id: str) -> tuple[Event, ...]:
        """Make the text the next version of the memory it revises."""
        async with self._changing.turn:
            old = await self._changing.find(memory_id, [event.request.scope])
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
                provenance=_gated(event.request.provenance, "updated"),
                updated_at=self._clock(),
            )
            return await self._write(event, revised, "updated")

    # --- commit ----------------------------------------------------------------------------------

    async def _write(
        self, event: StoreRequested, memory: Memory, outcome: str
    ) -> tuple[Event, ...]:
        encoding = await self._encoded(memory)
        await self._store.put([Row(memory, encoding)])
        return (
            self._told(event, memory, encoding, outcome),
            self._settled(event, memory, "merged" if outcome == "merged" else "stored"),
        )

    async def _encoded(self, memory: Memory) -> Encoding:
        return await anyio.to_thread.run_sync(self._encoder.encode, memory)

    def _told(
        self, event: StoreRequested, memory: Memory, encoding: Encoding, outcome: str
    ) -> MemoryStored:
        emit(stored, "store", namespace=memory.namespace, outcome=outcome)
        return MemoryStored(trace=event.trace, memory=memory, encoding=encoding)

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


class _Turns:
    """Locks by name, that are there only while somebody needs them."""

    def __init__(self) -> None:
        self._locks: dict[str, tuple[anyio.Lock, list[None]]] = {}

    @asynccontextmanager
    async def of(self, name: str) -> AsyncIterator[None]:
        lock, waiting = self._locks.setdefault(name, (anyio.Lock(), []))
        waiting.append(None)
        try:
            async with lock:
                yield
        finally:
            waiting.pop()
            if not waiting:
                del self._locks[name]


def _reason(event: StoreRequested, looked: _Looked) -> str:
    if event.request.explicit:
        return "explicit"
    if not looked.near:
        return "new: nothing is like it"
    nearest, likeness = looked.near[0]
    return f"new: {likeness:.2f} alike to {nearest}"


def _gated(provenance: Provenance, gate: str) -> Provenance:
    return replace(provenance, gate=gate)


def _declined(event: StoreRequested, reason: str) -> CaptureSettled:
    kept = Kept(outcome="declined", namespace=event.namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)


def could_not_store(event: StoreRequested, reason: str) -> CaptureSettled:
    """The end of a capture that the store could not take."""
    kept = Kept(outcome="failed", namespace=event.namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)
