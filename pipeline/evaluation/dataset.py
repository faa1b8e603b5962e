"""What every evaluation needs: labelled rows from a file, and a scratch search over memories."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from msgspec import Struct

from ...bus.values import Memory, Scope
from ...sinks.models.analyzer import searchable
from ...sinks.models.embedder import Embedder
from ...sinks.search.index import Index
from ...sinks.search.retriever import Search

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
