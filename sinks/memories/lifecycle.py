"""Supersedes, expires and restores memories.

Nothing is overwritten: each change is a new version, and older versions stay as history.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.events import (
    ChangeSettled,
    Event,
    ExpireRequested,
    MemoriesStored,
    RestoreRequested,
    SupersedeRequested,
)
from ...bus.signals import emit, stored
from ...bus.values import Memory, Scope
from ..models.embedder import Encoder
from ..store.rows import Row
from ..store.store import Store
from .comparison import Judge

# How far a chain of superseded memories is followed to find a cycle.
_MAX_CHAIN = 1000


class Lifecycle:
    """Writes new versions of stored memories. Read-modify-write holds ``write_lock``.

    Each method raises ``StoreUnavailable`` where the store cannot be used.
    """

    def __init__(
        self, store: Store, *, encoder: Encoder, judge: Judge, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._judge = judge
        self._clock = clock
        self.write_lock = anyio.Lock()

    async def find(self, memory_id: str, scopes: Sequence[Scope]) -> Memory | None:
        """The current version of a memory that is in one of ``scopes``."""
        found = await self._store.get([memory_id], scopes)
        return found[0] if found else None

    async def has_changed(self, memory: Memory, since: int) -> bool:
        """Whether what ``memory`` says, or its place, was changed after version ``since``."""
        if memory.version == since:
            return False
        history = await self._store.history(memory.id, [memory.scope])
        said = {
            (m.content, m.namespace, m.tags, m.questions, m.triggers)
            for m in history
            if m.version >= since
        }
        return len(said) > 1 or all(m.version != since for m in history)

    # --- supersede -------------------------------------------------------------------------------

    async def supersede(self, event: SupersedeRequested) -> tuple[Event, ...]:
        """Mark the old memory of ``event`` as superseded by the new one."""
        old, new, instead_of = event.old, event.new, event.instead_of
        return await self.mark_superseded(event.trace, old, new, event.scopes, instead_of)

    async def mark_superseded(
        self,
        trace: str,
        old_id: str,
        new_id: str,
        scopes: Sequence[Scope],
        instead_of: str | None = None,
    ) -> tuple[Event, ...]:
        """Mark ``old_id`` as superseded by ``new_id``; ``ChangeSettled`` comes last.

        Refused where it is superseded already, unless by ``instead_of``.
        """
        async with self.write_lock:
            old, new = await self.find(old_id, scopes), await self.find(new_id, scopes)
            if old is None or new is None:
                return (_missing(trace, old_id if old is None else new_id),)
            if old.superseded_by == new.id:
                return (ChangeSettled(trace=trace, memory=old),)
            if old.superseded_by not in {None, instead_of}:
                reason = f"{old.id} is superseded already, by {old.superseded_by}; restore it first"
                return (ChangeSettled(trace=trace, reason=reason),)
            if refusal := await self._refusal(old, new, scopes):
                return (ChangeSettled(trace=trace, reason=refusal),)
            marked = self.superseded(old, new.id)
            return await self._commit(trace, marked, self._superseding(new, old))

    async def _refusal(self, old: Memory, new: Memory, scopes: Sequence[Scope]) -> str | None:
        if old.id == new.id:
            return "a memory cannot supersede itself"
        follower: Memory | None = new
        for _ in range(_MAX_CHAIN):
            if follower is None or follower.superseded_by is None:
                return None
            if follower.superseded_by == old.id:
                return f"{new.id} is itself superseded by {old.id}"
            follower = await self.find(follower.superseded_by, scopes)
        return f"{new.id} is superseded by too many others"

    def superseded(self, old: Memory, new_id: str) -> Memory:
        """The next version of ``old``, marked as superseded."""
        return self._next(old, f"superseded by {new_id}", superseded_by=new_id, contradicts=None)

    def _superseding(self, new: Memory, old: Memory) -> Memory:
        contradicts = denied_by_successor(new, old)
        return self._next(new, f"supersedes {old.id}", supersedes=old.id, contradicts=contradicts)

    # --- expire and restore ----------------------------------------------------------------------

    async def expire(self, event: ExpireRequested) -> tuple[Event, ...]:
        """End the validity of a memory."""
        async with self.write_lock:
            memory = await self.find(event.id, event.scopes)
            if memory is None:
                return (_missing(event.trace, event.id),)
            at = event.at or self._clock()
            return await self._commit(event.trace, self._next(memory, "expired", valid_to=at))

    async def restore(self, event: RestoreRequested) -> tuple[Event, ...]:
        """Bring a memory back into force, with the text of ``event.version`` if one is given.

        The newest word counts: what had superseded it holds less than what somebody restores. But
        of a text that was outdated in part it is wanted for the rest, and stays as old as it was.
        """
        async with self.write_lock:
            memory = await self.find(event.id, event.scopes)
            if memory is None:
                return (_missing(event.trace, event.id),)
            wanted = memory
            if event.version is not None:
                history = await self._store.history(event.id, event.scopes)
                versions = {each.version: each for each in history}
                if event.version not in versions:
                    known = ", ".join(map(str, versions))
                    reason = f"{event.id} has no version {event.version}; it has {known}"
                    return (ChangeSettled(trace=event.trace, reason=reason),)
                wanted = _last_worded(versions[event.version], history)
            restored = self._restored(memory, wanted, event.version)
            follower = await self._follower(memory, event.scopes)
            if follower is None:
                return await self._commit(event.trace, self._dated(restored, wanted, event))
            unlinked = await self._without_link(follower, memory, event)
            if not event.undoes and self._outdates_part(follower, restored):
                history = await self._store.history(event.id, event.scopes)
                restored = replace(restored, updated_at=_last_said(wanted, history).updated_at)
                unlinked = replace(unlinked, contradicts=unlinked.contradicts or memory.id)
            elif not event.undoes:
                restored = replace(restored, contradicts=follower.id)
            restored = self._dated(restored, wanted, event)
            return await self._commit(event.trace, restored, unlinked)

    def _dated(self, restored: Memory, wanted: Memory, event: RestoreRequested) -> Memory:
        """``restored``, as old as ``wanted`` where something is undone."""
        return replace(restored, updated_at=wanted.updated_at) if event.undoes else restored

    def _outdates_part(self, newer: Memory, older: Memory) -> bool:
        texts = newer.content, older.content
        return self._judge.contradicts(*texts) and self._judge.leaves_part(*texts)

    def _restored(self, memory: Memory, wanted: Memory, version: int | None) -> Memory:
        return self._next(
            # Whose text it is, and where it came from, belongs to the text.
            replace(memory, provenance=wanted.provenance),
            "restored" if version is None else f"restored version {version}",
            namespace=wanted.namespace,
            content=wanted.content,
            summary=wanted.summary,
            tags=wanted.tags,
            content_hash=wanted.content_hash,
            anchors=wanted.anchors,
            questions=wanted.questions,
            triggers=wanted.triggers,
            contradicts=wanted.contradicts,
            valid_to=None,
            superseded_by=None,
        )

    async def _follower(self, memory: Memory, scopes: Sequence[Scope]) -> Memory | None:
        """The successor of ``memory``, if it has one."""
        if memory.superseded_by is None:
            return None
        follower = await self.find(memory.superseded_by, scopes)
        return follower if follower is not None and follower.supersedes == memory.id else None

    async def _without_link(
        self, follower: Memory, memory: Memory, event: RestoreRequested
    ) -> Memory:
        """The next version of ``follower``, with its link to ``memory`` removed.

        What is undone leaves the contradiction that was noted before.
        """
        unlinked = self._next(follower, f"no longer supersedes {memory.id}", supersedes=None)
        if event.undoes:
            history = await self._store.history(follower.id, event.scopes)
            said = [one for one in history if one.content_hash == follower.content_hash]
            if any(one.contradicts == memory.id for one in said):
                unlinked = replace(unlinked, contradicts=memory.id)
        # Nobody said it again: of the two the restored one is the newer.
        return replace(unlinked, updated_at=follower.updated_at)

    # --- what is found in a text later -----------------------------------------------------------

    async def annotate(
        self, trace: str, read: Memory, *, unless: Callable[[Memory], bool], **found: object
    ) -> tuple[MemoriesStored, ...]:
        """Note what was ``found`` in the text of ``read`` in the next version of that memory.

        Not where it has another text by now, or is such as ``unless`` tells.
        """
        async with self.write_lock:
            memory = await self.find(read.id, [read.scope])
            if memory is None or memory.content_hash != read.content_hash or unless(memory):
                return ()
            noted = replace(memory, version=memory.version + 1, **found)
            encoding = await anyio.to_thread.run_sync(self._encoder.encode, noted)
            await self._store.put([Row(noted, encoding)])
        return (MemoriesStored(trace=trace, stored=((noted, encoding),)),)

    # --- commit ----------------------------------------------------------------------------------

    def _next(self, memory: Memory, gate: str, **changes: object) -> Memory:
        return replace(
            memory,
            version=memory.version + 1,
            updated_at=self._clock(),
            provenance=replace(memory.provenance, gate=gate),
            **changes,
        )

    async def _commit(self, trace: str, *memories: Memory) -> tuple[Event, ...]:
        """Commit all of ``memories`` or none; the first is the one that the change was about."""
        encodings = await anyio.to_thread.run_sync(self._encoder.encode_many, memories)
        pairs = tuple(zip(memories, encodings, strict=True))
        with anyio.CancelScope(shield=True):  # a commit that is under way cannot be called back
            await self._store.put([Row(memory, encoding) for memory, encoding in pairs])
        for memory in memories:
            emit(stored, "store", namespace=memory.namespace, outcome="changed")
        return (
            MemoriesStored(trace=trace, stored=pairs),
            ChangeSettled(trace=trace, memory=memories[0]),
        )


def denied_by_successor(new: Memory, old: Memory) -> str | None:
    """The id of what ``new`` contradicts in place of ``old``: what that did, if nothing else."""
    denied = (
        id_ for id_ in (new.contradicts, old.contradicts) if id_ not in {None, old.id, new.id}
    )
    return next(denied, None)


def _last_worded(wanted: Memory, history: Sequence[Memory]) -> Memory:
    """``wanted`` with the contradiction that was noted of its text, maybe in a later version."""
    return replace(wanted, contradicts=_last_said(wanted, history).contradicts)


def _last_said(wanted: Memory, history: Sequence[Memory]) -> Memory:
    """The last version with the text of ``wanted`` before it was superseded."""
    said = [
        one
        for one in history
        if one.content_hash == wanted.content_hash and one.superseded_by is None
    ]
    return max(said, key=lambda one: one.version, default=wanted)


def _missing(trace: str, memory_id: str) -> ChangeSettled:
    return ChangeSettled(trace=trace, missing=memory_id)
