"""What evaluations need: labelled rows from a file, a search or the whole product for a while."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ...bus.prompts import Span
from ...bus.values import Memory, Scope
from ...config.paths import find_paths
from ...config.settings import Settings
from ...sinks.models.analyzer import searchable
from ...sinks.models.embedder import Embedder
from ...sinks.search.index import Index
from ...sinks.search.retriever import Search
from ..app.app import App

_BATCH = 500
_LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
_Row = TypeVar("_Row")


class JudgedMemory(Struct, frozen=True):
    """A line of ``memories.jsonl``."""

    id: str
    text: str
    scope: str = ""
    namespace: str = "context"
    tags: tuple[str, ...] = ()
    created_at: str = ""

    def __post_init__(self) -> None:
        self._moment()  # a line whose time is none is refused as it is read

    def _moment(self) -> datetime:
        """The time of ``created_at``, a day or a moment, in UTC where it names no zone."""
        moment = datetime.fromisoformat(self.created_at) if self.created_at else _LONG_AGO
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)

    def memory(self) -> Memory:
        moment = self._moment()
        return Memory(
            id=self.id,
            scope=Scope("project", self.scope),
            namespace=self.namespace,
            content=self.text,
            summary="",
            tags=self.tags,
            created_at=moment,
            updated_at=moment,
        )


class Shelf:
    """The memories of a dataset by when they were made; none of them was ever shown."""

    def __init__(self, memories: Sequence[Memory]) -> None:
        self._memories = sorted(memories, key=lambda one: (one.created_at, one.id), reverse=True)

    async def made(
        self,
        scopes: tuple[Scope, ...],
        *,
        limit: int,
        namespaces: tuple[str, ...] = (),
        within: Span | None = None,
        by_use: bool = False,
    ) -> tuple[Memory, ...]:
        return tuple(
            memory
            for memory in self._memories
            if memory.scope in scopes
            and (not namespaces or memory.namespace in namespaces)
            and (within is None or within.since <= memory.created_at < within.until)
        )[:limit]


def read_rows(path: Path, kind: type[_Row]) -> list[_Row]:
    """The rows of a JSONL file; other fields are ignored, blank lines skipped.

    Raises ``OSError``, and ``ValueError`` with file and line for a line that is no ``kind``.
    """
    rows = []
    decoder = msgspec.json.Decoder(kind)
    with path.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                try:
                    rows.append(decoder.decode(line))
                except (msgspec.DecodeError, UnicodeDecodeError) as error:
                    raise ValueError(f"{path}, line {number}: {error}") from error
    return rows


def scratch_search(
    memories: Sequence[Memory], embedder: Embedder, step: Callable[[int], None] = lambda _: None
) -> Search:
    """A search over an index of ``memories`` alone; ``step`` hears how many were added each time.

    Raises ``ValueError`` where an id occurs twice.
    """
    by_id = {memory.id: memory for memory in memories}
    if len(by_id) != len(memories):
        raise ValueError("memories.jsonl uses an id more than once")
    index = Index(embedder)
    for start in range(0, len(memories), _BATCH):
        part = memories[start : start + _BATCH]
        encodings = embedder.encode_many([searchable(memory) for memory in part])
        index.extend(zip(part, encodings, strict=True))
        step(len(part))

    def fetch(ids: Sequence[str], scopes: Sequence[Scope]) -> list[Memory]:
        return [by_id[one] for one in ids if by_id[one].scope in scopes]

    return Search(index, embedder, fetch=fetch, latest=_no_latest, clock=lambda: datetime.now(UTC))


def _no_latest(
    scopes: tuple[Scope, ...], *, limit: int, namespaces: tuple[str, ...] = ()
) -> Awaitable[tuple[Memory, ...]]:
    raise NotImplementedError


@asynccontextmanager
async def scratch_app(settings: Settings) -> AsyncIterator[tuple[App, Path]]:
    """The product, loaded, in a folder of its own, and a project's folder; both go afterwards.

    It has neither team nor language model.
    """
    alone = replace(
        settings, team=replace(settings.team, url=""), llm=replace(settings.llm, model="")
    )
    with TemporaryDirectory(prefix="subcog-eval-") as scratch:
        paths = find_paths({"HOME": scratch, "SUBCOG_HOME": f"{scratch}/home"})
        project = Path(scratch, "project")
        for folder in (paths.database.parent, paths.state, project):
            folder.mkdir(parents=True, exist_ok=True)
        app = App(alone, paths)
        async with app.running():
            try:
                await app.load()
                (await app.archive.get()).search.rerank_budget_s = math.inf
                yield app, project
            finally:
                await app.unload()
