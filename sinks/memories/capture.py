"""Stores captures: as a new memory, merged into a near-duplicate, or as a revision of one."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from weakref import WeakValueDictionary

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.anchors import Anchor
from ...bus.events import (
    CaptureSettled,
    ChangeSettled,
    Event,
    MemoriesStored,
    StoreRequested,
    TextStored,
)
from ...bus.signals import emit, stored
from ...bus.values import (
    BRINGS_BACK,
    Encoding,
    Kept,
    Memory,
)
from ..models.embedder import Encoder
from ..store.errors import StoreUnavailable
from ..store.rows import Row, content_hash
from ..store.store import Store
from .comparison import RECORDS, Comparer, Comparison
from .lifecycle import Lifecycle, denied_by_successor
from .versions import draft, is_reworded, left_out, merger, revision

_log = logging.getLogger(__name__)

_FORGOTTEN = "it was forgotten, and nobody asked to keep it again"
_REWRITTEN = "it takes the place of the text that differed in case or white space alone"
_NOT_REWRITTEN = "the text that is there stays; it differs in case or white space alone"
_FORGOTTEN_SINCE = "it was stored before and forgotten since"


FindAnchors = Callable[[str, str], Awaitable[tuple[Anchor, ...]]]
"""Finds where the code is that a text names, in the project at a root; it must not take long."""


async def no_anchors(text: str, root: str) -> tuple[Anchor, ...]:
    """Nothing is looked for."""
    return ()


class CaptureWriter:
    """Handles ``StoreRequested`` and ``TextStored``. ``CaptureSettled`` follows the commit.

    ``find_anchors`` finds the code that a text names; by itself it finds none. Nobody waits for it:
    where the process ends before it, the memory has no anchors until the text is captured again.
    """

    def __init__(
        self,
        store: Store,
        *,
        comparer: Comparer,
        encoder: Encoder,
        lifecycle: Lifecycle,
        merge_similarity: float,
        clock: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._comparer = comparer
        self._encoder = encoder
        self._lifecycle = lifecycle
        self._merge_similarity = merge_similarity
        self._clock = clock
        self.find_anchors: FindAnchors = no_anchors
        # One lock a text, which exists only while somebody holds or awaits it.
        self._locks: WeakValueDictionary[str, anyio.Lock] = WeakValueDictionary()

    async def store(self, event: StoreRequested) -> tuple[Event, ...]:
        """Commit a redacted text, or merge it into the memory that says the same."""
        try:
            is_forgotten = self._is_forgotten(event)
            if is_forgotten and not event.request.explicit:
                return (_declined(event, _FORGOTTEN),)
            events = await self._keep(event)
            return _telling_of_return(events) if is_forgotten else events
        except StoreUnavailable as error:
            _log.error("a memory could not be stored", extra={"reason": error.reason})
            return (_could_not_store(event, str(error)),)

    def _is_forgotten(self, event: StoreRequested) -> bool:
        """Whether this text was forgotten; a memory that is there may be revised by itself."""
        request = event.request
        if request.revises is not None and not request.explicit:
            return False
        unasked = not request.explicit
        text, before = event.content.text, request.before
        return self._store.is_forgotten(text, request.scope, before, unasked=unasked)

    async def _keep(self, event: StoreRequested) -> tuple[Event, ...]:
        if event.request.revises is not None:
            return await self._revise(event, event.request.revises)
        # Two simultaneous captures of one text must become one memory.
        hashed = content_hash(event.content.text)
        key = f"{event.request.scope} {hashed}"
        async with self._locks.setdefault(key, anyio.Lock()):
            return await self._store_new(event, hashed)

    async def _store_new(self, event: StoreRequested, hashed: str) -> tuple[Event, ...]:
        memory = draft(event, hashed, self._clock())
        same = await self._store.find_hash(hashed, memory.scope, memory.namespace)
        if same is not None and same.id == memory.id:  # a retry of the same capture
            return (self._settled_again(event, same), *_text_stored(event, same))
        if same is not None and same.id == event.request.supersedes:
            return await self._revise(event, same.id)  # only its case or white space is corrected
        if same is not None and (merged := await self._merge(event, same.id, "the same text")):
            return (*merged, *_text_stored(event, _settled_memory(merged) or same))
        comparison = await anyio.to_thread.run_sync(self._comparer.compare, memory, event.request)
        if not event.request.verbatim and comparison.near:
            nearest, similarity = comparison.near[0]
            denied = any(other.id == nearest for other in comparison.others)
            if similarity >= self._merge_similarity and not denied:
                merged = await self._merge(event, nearest, f"{similarity:.2f} alike")
                if merged is not None:
                    return merged
        return await self._add(event, memory, comparison)

    # --- new -------------------------------------------------------------------------------------

    async def _add(
        self, event: StoreRequested, memory: Memory, comparison: Comparison
    ) -> tuple[Event, ...]:
        replaced, other = event.request.supersedes, comparison.other
        if comparison.replaces and other is not None:
            replaced, other = other.id, next(iter(comparison.others[1:]), None)
        memory = replace(
            memory,
            contradicts=other.id if other else None,
            provenance=replace(memory.provenance, gate=_reason(event, comparison)),
        )
        if replaced is not None:
            return await self._add_successor(event, memory, comparison, replaced)
        row = Row(memory, comparison.encoding)
        [taken] = await self._store.put([row], wanted=event.request.explicit)
        if not taken:
            return (await self._settled_retry(event, memory),)
        return (
            self._stored(event, memory, comparison.encoding, "stored"),
            self._settled(event, memory, "stored", other),
            *_text_stored(event, memory),
        )

    async def _settled_retry(self, event: StoreRequested, memory: Memory) -> CaptureSettled:
        """The answer to a retry of a capture whose memory has changed since."""
        found = await self._lifecycle.find(memory.id, [memory.scope])
        if found is not None:
            return self._settled_again(event, found)
        return _declined(event, _FORGOTTEN_SINCE)

    def _settled_again(self, event: StoreRequested, memory: Memory) -> CaptureSettled:
        """The answer to a retry: whoever asks may not have had the first one."""
        settled = self._settled(event, memory, "stored")
        links = {"supersedes": memory.supersedes, "contradicts": memory.contradicts}
        return replace(settled, kept=replace(settled.kept, **links))

    async def _add_successor(
        self, event: StoreRequested, memory: Memory, comparison: Comparison, old_id: str
    ) -> tuple[Event, ...]:
        async with self._lifecycle.write_lock:
            if memory.id in await self._store.scopes_of([memory.id]):
                return (await self._settled_retry(event, memory),)
            if not event.request.explicit and self._is_forgotten(event):  # since it was asked
                return (_declined(event, _FORGOTTEN),)
            old = await self._lifecycle.find(old_id, [memory.scope])
            if old is None or old.superseded_by is not None:
                if comparison.replaces:  # it changed while they were compared
                    return await self._add(
                        event, memory, replace(comparison, replaces=False, others=())
                    )
                return (_declined(event, _why_not(old, old_id)),)
            denied = denied_by_successor(memory, old)
            memory = replace(memory, supersedes=old.id, contradicts=denied)
            marked = self._lifecycle.superseded(old, memory.id)
            pairs = ((memory, comparison.encoding), (marked, await self._encoded(marked)))
            await self._store.put([Row(*pair) for pair in pairs], wanted=event.request.explicit)
        return (
            MemoriesStored(trace=event.trace, stored=pairs),
            self._settled(event, memory, "stored", old if comparison.replaces else None),
            *_text_stored(event, memory),
        )

    # --- into a stored memory --------------------------------------------------------------------

    async def _merge(
        self, event: StoreRequested, duplicate_id: str, similarity: str
    ) -> tuple[Event, ...] | None:
        """Confirm the duplicate; None where it is no longer valid, so that the text is stored."""
        async with self._lifecycle.write_lock:
            duplicate = await self._lifecycle.find(duplicate_id, [event.request.scope])
            if duplicate is None or not duplicate.holds(self._clock()):
                return None
            now = self._clock()
            merged = merger(duplicate, event, f"merged: {similarity}", now)
            missing = left_out(duplicate, event, merged, now)
            reason = "; ".join(filter(None, (_of_form(duplicate, event, merged), missing)))
            events = await self._write(event, merged, "merged", reason)
        replaced = event.request.supersedes
        if replaced is not None and replaced != duplicate_id:
            *marks, change = await self._lifecycle.mark_superseded(
                event.trace, replaced, duplicate_id, [event.request.scope]
            )
            if isinstance(change, ChangeSettled) and change.memory is None:
                reason = change.reason or _why_not(None, change.missing or replaced)
                return (*events[:-1], _declined(event, reason))
            return (*events[:-1], *marks, events[-1])
        return events

    async def _revise(self, event: StoreRequested, memory_id: str) -> tuple[Event, ...]:
        async with self._lifecycle.write_lock:
            old = await self._lifecycle.find(memory_id, [event.request.scope])
            if old is None:
                return (_declined(event, f"there is no memory {memory_id} to update"),)
            text = event.content.text
            is_same = text == old.content
            asked = is_same or event.request.explicit
            if not asked and self._store.is_forgotten(text, old.scope, unasked=True):
                return (_declined(event, _FORGOTTEN),)
            revised = revision(old, event, self._clock())
            if is_same and _says_as_much(revised, old):
                return (self._settled(event, old, "stored"),)
            made_from = event.request.made_from
            if made_from is not None and await self._lifecycle.has_changed(old, made_from):
                return (_declined(event, f"{memory_id} was changed since it was read"),)
            written = await self._write(event, revised, "updated")
            return written if is_same else (*written, *_text_stored(event, revised))

    # --- the code that a text names --------------------------------------------------------------

    async def anchor(self, event: TextStored) -> tuple[Event, ...]:
        """Note where the code is that the memory of ``event`` names, in its next version."""
        if not event.root:
            return ()
        anchors = await self.find_anchors(event.memory.content, event.root)
        if not anchors:
            return ()
        return await self._lifecycle.annotate(
            event.trace, event.memory, unless=lambda now: now.anchors == anchors, anchors=anchors
        )

    # --- commit ----------------------------------------------------------------------------------

    async def _write(
        self, event: StoreRequested, memory: Memory, outcome: str, reason: str = ""
    ) -> tuple[Event, ...]:
        encoding = await self._encoded(memory)
        merged = event.content.text if outcome == "merged" else ""
        wanted = event.request.explicit
        await self._store.put([Row(memory, encoding)], wanted=wanted, merged=merged)
        return (
            self._stored(event, memory, encoding, outcome),
            self._settled(event, memory, outcome, reason=reason),
        )

    async def _encoded(self, memory: Memory) -> Encoding:
        return await anyio.to_thread.run_sync(self._encoder.encode, memory)

    def _stored(
        self, event: StoreRequested, memory: Memory, encoding: Encoding, outcome: str
    ) -> MemoriesStored:
        emit(stored, "store", namespace=memory.namespace, outcome=outcome)
        return MemoriesStored(trace=event.trace, stored=((memory, encoding),))

    def _settled(
        self,
        event: StoreRequested,
        memory: Memory,
        outcome: str,
        other: Memory | None = None,
        *,
        reason: str = "",
    ) -> CaptureSettled:
        kept = Kept(
            outcome="merged" if outcome == "merged" else "stored",
            namespace=memory.namespace,
            memory_id=memory.id,
            summary=memory.summary,
            reason=reason,
            redactions=event.content.redactions,
            contradicts=other.id if other and memory.supersedes != other.id else None,
            supersedes=other.id if other and memory.supersedes == other.id else None,
        )
        return CaptureSettled(trace=event.trace, kept=kept, memory=memory, other=other)


def _of_form(duplicate: Memory, event: StoreRequested, merged: Memory) -> str:
    """What becomes of a text that only case or white space tells from ``duplicate``; else empty."""
    text = event.content.text
    if content_hash(text) != duplicate.content_hash or not is_reworded(duplicate.content, text):
        return ""
    return _REWRITTEN if merged.content == text else _NOT_REWRITTEN


def _settled_memory(events: tuple[Event, ...]) -> Memory | None:
    """The memory as the last of ``events`` left it."""
    *_, last = events
    return last.memory if isinstance(last, CaptureSettled) else None


def _text_stored(event: StoreRequested, memory: Memory) -> tuple[TextStored, ...]:
    """Have it read again; the record of a task tells what was, not what is."""
    if memory.namespace in RECORDS:
        return ()
    root = event.request.root if memory.scope.kind == "project" else ""
    return (TextStored(trace=event.trace, memory=memory, root=root),)


def _reason(event: StoreRequested, comparison: Comparison) -> str:
    if event.request.brings_back:
        return BRINGS_BACK + event.request.brings_back
    if event.request.explicit:
        return "explicit"
    if not comparison.near:
        return "new: nothing is like it"
    nearest, similarity = comparison.near[0]
    return f"new: {similarity:.2f} alike to {nearest}"


def _says_as_much(new: Memory, old: Memory) -> bool:
    return (new.namespace, new.tags, new.questions, new.triggers) == (
        old.namespace,
        old.tags,
        old.questions,
        old.triggers,
    )


def _declined(event: StoreRequested, reason: str) -> CaptureSettled:
    kept = Kept(outcome="declined", namespace=event.namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)


def _why_not(old: Memory | None, old_id: str) -> str:
    """Why ``old``, which should have the id ``old_id``, cannot be superseded."""
    if old is None:
        return f"there is no memory {old_id} to supersede"
    return f"{old_id} is superseded already, by {old.superseded_by}; restore it first"


def _telling_of_return(events: tuple[Event, ...]) -> tuple[Event, ...]:
    """``events``, where what settles the capture says that its text had been forgotten."""
    return tuple(
        replace(event, kept=replace(event.kept, was_forgotten=True))
        if isinstance(event, CaptureSettled) and event.kept.outcome != "declined"
        else event
        for event in events
    )


def _could_not_store(event: StoreRequested, reason: str) -> CaptureSettled:
    """The end of a capture that the store could not take."""
    kept = Kept(outcome="failed", namespace=event.namespace, reason=reason)
    return CaptureSettled(trace=event.trace, kept=kept)
