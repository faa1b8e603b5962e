"""An archive on a real store, and captures for it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio.to_thread

from subcog.bus.events import (
    CaptureRequested,
    Event,
    MemoriesStored,
    MemoryForgotten,
    StoreRequested,
    TextStored,
)
from subcog.bus.values import CleanText, Memory, Mode, Provenance, Query
from subcog.sinks.indexes.key_cache import KeyCache
from subcog.sinks.memories.comparison import Judge
from subcog.sinks.memories.repository import Archive
from subcog.stages.statements.comparison import contradicts, holds_beside, says_same
from subcog.stages.statements.outdated import replaces
from subcog.stages.statements.remainder import leaves_clause
from tests.stores import HERE, FakeClock, make_store, put_empty_file

MERGE_SIMILARITY = 0.92


class Bench:
    """Sends events to an archive, and lets its indexes follow as the bus does."""

    def __init__(self, archive: Archive, clock: FakeClock) -> None:
        self.archive = archive
        self.clock = clock
        self.anchors = True
        self._count = 0

    async def publish(self, events: Sequence[Event]) -> Event:
        """Let the indexes follow; the event that settles comes back."""
        *_, settled = (event for event in events if not isinstance(event, TextStored))
        for event in events:
            if isinstance(event, MemoriesStored):
                await self.archive.index_stored(event)
                await self.archive.mentions.note(event)
            elif isinstance(event, MemoryForgotten):
                await self.archive.unindex(event)
                self.archive.mentions.drop(event)
            elif isinstance(event, TextStored) and self.anchors:
                for following in await self.archive.captures.anchor(event):
                    await self.publish([following])
        return settled

    def request(self, text: str, **fields: object) -> StoreRequested:
        self._count += 1
        namespace, tags = fields.pop("namespace", "decisions"), fields.pop("tags", ())
        known = {
            "trace": f"t{self._count}",
            "id": f"mem_{self._count:026}",
            "text": text,
            "scope": HERE,
            "provenance": Provenance(hook="cli"),
        }
        request = CaptureRequested(**(known | fields))
        return StoreRequested(
            trace=request.trace,
            request=request,
            namespace=namespace,
            tags=tags,
            content=CleanText(text),
            summary=CleanText(text[:80]),
            questions=request.questions,
            triggers=request.triggers,
        )

    async def keep(self, text: str, **fields: object):
        """Capture ``text``; what settles it."""
        return await self.publish(await self.archive.captures.store(self.request(text, **fields)))

    async def current(self, memory_id: str) -> Memory | None:
        found = await self.archive.store.get([memory_id], [HERE])
        return found[0] if found else None

    async def find(self, text: str, mode: Mode = "hybrid") -> list[str]:
        """The ids that a search finds, best first."""
        recalled = await self.archive.recall(Query(text=text, scopes=(HERE,), mode=mode))
        return [hit.memory.id for hit in recalled.hits]


def make_archive(folder: Path, clock: FakeClock) -> Archive:
    """An archive in ``folder`` that is not open."""
    return Archive(
        make_store(folder / "subcog.duckdb", clock),
        model_folder=None,
        merge_similarity=MERGE_SIMILARITY,
        judge=Judge(contradicts, replaces, says_same, holds_beside, leaves_clause),
        clock=clock,
        # Each memory warns of its words.
        warning_keys=KeyCache(lambda memory: memory.content.split(), folder / "keys.jsonl"),
    )


@asynccontextmanager
async def opened_desk(folder: Path) -> AsyncIterator[Bench]:
    """An archive in ``folder``, open, and closed at the end."""
    clock = FakeClock()
    await anyio.to_thread.run_sync(put_empty_file, folder / "subcog.duckdb")
    archive = make_archive(folder, clock)
    await archive.open()
    try:
        yield Bench(archive, clock)
    finally:
        await archive.close()
