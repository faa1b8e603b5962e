"""The calls that move many memories: export, import, backup and restoring one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

import anyio.to_thread
import msgspec

from ...bus.events import Draft, ImportRequested, ImportSettled
from ...bus.values import Memory, Place
from ..app.app import App
from ..imports.item import Item
from . import backups
from .params import CallRefused, FileParams, ImportParams, PageParams, Params, scope_of

IMPORT_S = 50.0
# Of the texts of one page of an export, in characters; a frame has 16 MB.
PAGE_CHARS = 2_000_000


class TransferCalls:
    """Each method of ``table`` answers one call."""

    def __init__(self, app: App) -> None:
        self._app = app
        self.table: dict[str, tuple[type[Params], Callable[..., Awaitable[Any]]]] = {
            "export": (PageParams, self.export),
            "import": (ImportParams, self.import_items),
            "backup": (FileParams, self.backup),
            "restore_backup": (FileParams, self.restore_backup),
        }

    async def export(self, params: PageParams, place: Place) -> dict[str, Any]:
        """One page by id, and the id to go on after, or None at the end."""
        archive = await self._app.archive.get()
        found = await archive.store.page(place.readable, after=params.after, limit=params.limit)
        page = _bounded(found)
        return {
            "memories": [msgspec.to_builtins(memory) for memory in page],
            "next": page[-1].id if page else None,
        }

    async def import_items(self, params: ImportParams, place: Place) -> dict[str, Any]:
        drafts = tuple(self._draft(item, params.scope, place) for item in params.items)
        event = ImportRequested(trace=self._app.new_id(), drafts=drafts, rehearsal=params.dry_run)
        settled = await self._app.bus.request(event, ImportSettled, within_s=IMPORT_S)
        return {"outcomes": settled.outcomes, "redacted": settled.redacted}

    def _draft(self, item: Item, scope: str, place: Place) -> Draft:
        now = self._app.clock()
        created = item.created_at or now
        memory = Memory(
            id=item.id or f"mem_{self._app.new_id()}",
            version=item.version,
            scope=scope_of(item.scope.kind if item.scope else scope, place),
            namespace=item.namespace,
            content=item.content,
            summary=item.summary,
            tags=item.tags,
            confidence_percent=item.confidence_percent,
            provenance=item.provenance,
            created_at=created,
            updated_at=item.updated_at or created,
            valid_from=item.valid_from,
            valid_to=item.valid_to,
            supersedes=item.supersedes,
            superseded_by=item.superseded_by,
            contradicts=item.contradicts,
            sources=item.sources,
        )
        return Draft(memory=memory, known_by_id=item.id is not None)

    async def backup(self, params: FileParams, place: Place) -> dict[str, Any]:
        archive = await self._app.archive.get()
        file = Path(params.file)
        try:
            await archive.store.backup(file)
            size = await anyio.to_thread.run_sync(self._note_backup, file)
        except FileExistsError as error:
            raise CallRefused(str(error)) from None
        except OSError as error:
            if isinstance(error, ConnectionError):
                raise
            raise CallRefused(f"{file} cannot be written ({error.strerror})") from None
        return {"file": str(file), "memories": archive.count, "bytes": size}

    def _note_backup(self, file: Path) -> int:
        """Remember where it is, for what is forgotten later may be in it; its size."""
        from ...sinks.repair.kept_copies import note_backup

        note_backup(self._app.paths.database, file)
        return file.stat().st_size

    async def restore_backup(self, params: FileParams, place: Place) -> dict[str, Any]:
        try:
            restored = await backups.restore(self._app, Path(params.file))
        except backups.BadBackup as error:
            raise CallRefused(str(error)) from None
        return msgspec.to_builtins(restored)  # type: ignore[no-any-return]


def _bounded(memories: Sequence[Memory]) -> Sequence[Memory]:
    """The first of ``memories``, at least one, that together are not too long for a frame."""
    chars = 0
    for number, memory in enumerate(memories):
        chars += len(memory.content)
        if number and chars > PAGE_CHARS:
            return memories[:number]
    return memories
