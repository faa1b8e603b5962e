"""One memory on its way into the store, as every format is read, and as our own is written."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ...bus.values import Provenance, Scope

MemoryId = Annotated[str, Meta(pattern=r"^mem_[0-9a-z]{26}$")]
HookEvent = Annotated[datetime, Meta(tz=True)]


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory to import. With an ``id`` it is one of ours, without it its text is what it is.

    ``scope`` says of which kind it is; whose memory it becomes depends on who imports.
    """

    content: str
    id: MemoryId | None = None
    version: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    scope: Scope | None = None
    namespace: str = ""
    summary: str = ""
    tags: tuple[str, ...] = ()
    confidence_percent: Annotated[int, Meta(ge=0, le=100)] = 100
    provenance: Provenance = Provenance()
    created_at: HookEvent | None = None
    updated_at: HookEvent | None = None
    valid_from: HookEvent | None = None
    valid_to: HookEvent | None = None
    supersedes: MemoryId | None = None
    superseded_by: MemoryId | None = None
    contradicts: MemoryId | None = None
    sources: tuple[Provenance, ...] = ()


class Ours(Item, frozen=True, kw_only=True):
    """A memory as we exported it: nothing of what makes it the same one may be missing."""

    id: MemoryId
    scope: Scope
    namespace: str
    created_at: HookEvent
    updated_at: HookEvent


class BadImport(ValueError):
    """A file cannot be imported. The message names file and line."""

    def __init__(self, file: Path, problem: str, line: int = 0) -> None:
        super().__init__(f"{file}, line {line}: {problem}" if line else f"{file}: {problem}")


Items = Iterator[Item]
