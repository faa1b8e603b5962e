"""Stores imports: many memories in one commit, idempotently."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from datetime import datetime

import anyio
import anyio.to_thread
from msgspec.structs import replace

from ...bus.events import (
    Admitted,
    Draft,
    Event,
    ImportAdmitted,
    ImportSettled,
    MemoriesStored,
)
from ...bus.signals import emit, stored
from ...bus.values import Encoding, ImportedItem, Memory, Scope
from ..models.embedder import Encoder
from ..store.rows import Row, content_hash
from ..store.store import Store
from ..store.tombstones import wording_of
from .lifecycle import Lifecycle
from .versions import is_reworded, rewritten

# The first characters of an id are the time it was made, the rest tells it from others.
_TIME_CHARS = len("mem_") + 10
_REST_BYTES = 10
_CROCKFORD = str.maketrans("abcdefghijklmnopqrstuvwxyz234567", "0123456789abcdefghjkmnpqrstvwxyz")


class BulkImport:
    """Handles ``ImportAdmitted`` and counts the outcomes.

    ``stored``: new here. ``updated``: another version was here. ``unchanged``: this
    version, a newer one or a memory with the same text was here. ``differs``: one with another
    text was here, be it in case or white space alone, and stays, for the draft is to be new or is
    older. ``forgotten``: it, or its text in whatever form, with or without its heading, was deleted
    here for good, and stays deleted. ``declined``: it was empty.
    """

    def __init__(
        self, store: Store, *, encoder: Encoder, lifecycle: Lifecycle, clock: Callable[[], datetime]
    ) -> None:
        self._store = store
        self._encoder = encoder
        self._lifecycle = lifecycle
        self._clock = clock

    async def store(self, event: ImportAdmitted) -> tuple[Event, ...]:
        """Commit the whole batch, or nothing of it. Raises ``StoreUnavailable``."""
        async with self._lifecycle.write_lock:
            batch = await self._batch(event.admitted)
            outcomes = Counter(batch.outcomes)
            rows = [] if event.rehearsal else await self._write(batch.fresh)
        outcomes["declined"] += event.declined
        settled = ImportSettled(
            trace=event.trace,
            outcomes={name: count for name, count in outcomes.items() if count},
            redacted=sum(bool(one.content.redactions) for one in event.admitted),
            items=tuple(batch.items) if event.rehearsal else (),
        )
        if not rows:
            return (settled,)
        emit(stored, "store", namespace="import", outcome="imported")
        return (MemoriesStored(trace=event.trace, stored=tuple(rows)), settled)

    async def _write(self, memories: Sequence[Memory]) -> list[tuple[Memory, Encoding]]:
        if not memories:
            return []
        encodings = await anyio.to_thread.run_sync(self._encoder.encode_many, memories)
        pairs = list(zip(memories, encodings, strict=True))
        with anyio.CancelScope(shield=True):  # a commit that is under way cannot be called back
            taken = await self._store.put([Row(memory, encoding) for memory, encoding in pairs])
        return [pair for pair, was_taken in zip(pairs, taken, strict=True) if was_taken]

    # --- what is new -----------------------------------------------------------------------------

    async def _batch(self, admitted: Sequence[Admitted]) -> _Batch:
        memories = [_whole(one) for one in admitted]
        barred = await anyio.to_thread.run_sync(self._forgotten, memories, admitted)
        ids = {
            id_
            for memory in memories
            for id_ in (memory.id, memory.supersedes, memory.superseded_by, memory.contradicts)
            if id_ is not None
        }
        scopes = await self._store.scopes_of(list(ids))
        places = _places(memories, admitted) | scopes
        by_id: list[Memory] = []
        by_text: list[Memory] = []
        for memory, one in zip(memories, admitted, strict=True):
            if one.draft.known_by_id:
                known = scopes if one.draft.as_new else places
                by_id.append(_with_free_ids(memory, known, as_new=one.draft.as_new))
            else:
                by_text.append(memory)
        batch = _Batch(barred, as_new=any(one.draft.as_new for one in admitted))
        copies = [memory.id for memory in by_id if memory.id not in ids]
        await self._sort_by_id(by_id, scopes | await self._store.scopes_of(copies), batch)
        await self._sort_by_text(by_text, batch)
        return batch

    def _forgotten(
        self, memories: Sequence[Memory], admitted: Sequence[Admitted]
    ) -> Set[tuple[Scope, str]]:
        """The scope and content hash of what was forgotten, be it in a scope of ``before``.

        Not for the event loop.
        """
        return {
            (memory.scope, memory.content_hash)
            for memory, one in zip(memories, admitted, strict=True)
            for text in _as_said(memory.content, one.draft)
            if self._store.is_forgotten(text, memory.scope, one.draft.before)
        }

    async def _sort_by_id(
        self, memories: Sequence[Memory], scopes: Mapping[str, Scope], batch: _Batch
    ) -> None:
        if not memories:
            return
        ids = [memory.id for memory in memories]
        places = {m.scope for m in memories} | {scopes[id_] for id_ in ids if id_ in scopes}
        here = {m.id: m for m in await self._store.get(ids, list(places))}
        for memory in memories:
            present = here.get(memory.id)
            if present is None and (memory.id in scopes or batch.bars(memory)):
                batch.note(memory, "forgotten")
            elif present is None:
                batch.add(memory, "stored")
                here[memory.id] = memory
            elif batch.as_new:
                is_same = _say_the_same(memory, present)
                batch.note(memory, "unchanged" if is_same else "differs")
            elif (newer := self._newer(memory, present)) is None:
                batch.note(memory, "unchanged")
            elif batch.bars(newer) and not _say_the_same(newer, present):
                batch.note(memory, "forgotten")
            else:
                batch.add(newer, "updated")
                here[memory.id] = newer

    def _newer(self, memory: Memory, present: Memory) -> Memory | None:
        """What ``memory`` makes of the one that is here; None for nothing.

        A text that was changed by hand in the file counts as a new version.
        """
        if memory.version > present.version:
            return memory
        if memory.version < present.version or memory.content == present.content:
            return None
        provenance = replace(present.provenance, gate="changed in an imported file")
        return replace(
            memory,
            version=present.version + 1,
            updated_at=self._clock(),
            provenance=provenance,
        )

    async def _sort_by_text(self, memories: Sequence[Memory], batch: _Batch) -> None:
        if not memories:
            return
        known = await self._store.known_texts({_text(memory) for memory in memories})
        older: dict[tuple[str, Scope], list[Memory]] = {}
        for memory in memories:
            same = known.get(_text(memory), ())
            if any(not is_reworded(one.content, memory.content) for one in same):
                batch.note(memory, "unchanged")
            elif batch.bars(memory):
                batch.note(memory, "forgotten")
            elif not same:
                known[_text(memory)] = (memory,)
                batch.add(memory, "stored")
            elif await self._keeps_text(same[0], memory, batch, older.get(_text(memory), ())):
                batch.note(memory, "differs")
            else:
                newer = self._in_text_of(memory, same[0])
                older.setdefault(_text(memory), []).append(same[0])
                known[_text(memory)] = (newer, *same[1:])
                batch.add(newer, "updated")

    async def _keeps_text(
        self, present: Memory, memory: Memory, batch: _Batch, older: Sequence[Memory]
    ) -> bool:
        """Whether ``present`` stays as it is, though ``memory`` has its text in another form.

        What was here already does where the drafts are to be new, and so does what had that form
        before, in its ``older`` versions of this batch or those that are stored.
        """
        if present.id not in batch.new:
            if batch.as_new:
                return True
            older = (*older, *await self._store.history(present.id, [present.scope]))
        return any(not is_reworded(one.content, memory.content) for one in older)

    def _in_text_of(self, memory: Memory, present: Memory) -> Memory:
        """The next version of ``present``, in the case and white space of ``memory``."""
        newer = rewritten(present, memory.content, memory.summary, memory.provenance)
        return replace(newer, version=present.version + 1, updated_at=self._clock())


class _Batch:
    """What is to be written, and what was counted; ``barred`` are texts that were forgotten.

    ``as_new``: what is here stays as it is. ``new`` are the ids of what was not here.
    """

    def __init__(self, barred: Set[tuple[Scope, str]], *, as_new: bool) -> None:
        self.as_new = as_new
        self.fresh: list[Memory] = []
        self.new: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.items: list[ImportedItem] = []
        self._barred = barred

    def bars(self, memory: Memory) -> bool:
        """Whether what ``memory`` says was forgotten in its scope."""
        return (memory.scope, memory.content_hash) in self._barred

    def add(self, memory: Memory, outcome: str) -> None:
        """Have ``memory`` written."""
        self.fresh.append(memory)
        if outcome == "stored":
            self.new.add(memory.id)
        self.note(memory, outcome)

    def note(self, memory: Memory, outcome: str) -> None:
        """Count what becomes of ``memory``."""
        self.outcomes[outcome] += 1
        item = ImportedItem(outcome=outcome, namespace=memory.namespace, summary=memory.summary)
        self.items.append(item)


def _whole(one: Admitted) -> Memory:
    text = one.content.text
    return replace(
        one.draft.memory, content=text, summary=one.summary.text, content_hash=content_hash(text)
    )


def _as_said(text: str, draft: Draft) -> tuple[str, ...]:
    """``text``, and without the heading under which it stood in somebody's file."""
    title, _, below = text.partition("\n\n")
    if draft.known_by_id or not below or "\n" in title or title.endswith((".", "!", "?")):
        return (text,)
    return (text, below)


def _say_the_same(one: Memory, other: Memory) -> bool:
    return wording_of(one.content) == wording_of(other.content)


def _text(memory: Memory) -> tuple[str, Scope]:
    return memory.content_hash, memory.scope


def _places(memories: Sequence[Memory], admitted: Sequence[Admitted]) -> dict[str, Scope]:
    """The scope in which each id keeps its name: where several have it, that of the first."""
    places: dict[str, Scope] = {}
    for memory, one in zip(memories, admitted, strict=True):
        if one.draft.known_by_id and not one.draft.as_new:
            places.setdefault(memory.id, memory.scope)
    return places


def _with_free_ids(memory: Memory, scopes: Mapping[str, Scope], *, as_new: bool) -> Memory:
    """``memory`` with ids of its own scope in place of those that belong to another scope.

    ``as_new``: in place of those that are free as well, for whoever wrote the file chose them. Of
    what is the user's or the organisation's no copy is made then.
    """

    def own(id_: str | None) -> str | None:
        if id_ is None or _is_taken_for(scopes.get(id_), memory.scope, as_new=as_new):
            return id_
        return id_in(memory.scope, id_)

    return replace(
        memory,
        id=own(memory.id) or memory.id,
        supersedes=own(memory.supersedes),
        superseded_by=own(memory.superseded_by),
        contradicts=own(memory.contradicts),
    )


def _is_taken_for(known: Scope | None, scope: Scope, *, as_new: bool) -> bool:
    """Whether an id that is ``known`` in that scope is the same memory's in ``scope``."""
    if known is None:
        return not as_new
    return known == scope or (as_new and known.kind != "project")


def id_in(scope: Scope, memory_id: str) -> str:
    """The id that a copy of ``memory_id`` has in ``scope``: always the same, of the same time."""
    digest = hashlib.sha256(f"{scope}\0{memory_id}".encode()).digest()[:_REST_BYTES]
    rest = base64.b32encode(digest).decode().lower().translate(_CROCKFORD)
    return memory_id[:_TIME_CHARS] + rest
