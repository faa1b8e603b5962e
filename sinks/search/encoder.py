"""Encodes memories: by the embedding model, or for text search alone while there is none."""

from __future__ import annotations

from collections.abc import Sequence

from ...bus.values import Encoding, Memory
from ..models.analyzer import Analyzer, searchable, text_encoding
from ..models.embedder import Embedder
from ..store.rows import Row


class Encoder:
    """Set ``embedder`` when it arrives. May be called from any thread."""

    def __init__(self) -> None:
        self.embedder: Embedder | None = None
        self._analyzer = Analyzer()

    def encode(self, memory: Memory) -> Encoding:
        return self.encode_many([memory])[0]

    def encode_many(self, memories: Sequence[Memory]) -> list[Encoding]:
        """The encoding of each memory, in their order."""
        texts = [searchable(memory) for memory in memories]
        if self.embedder is None:
            return [text_encoding(text, self._analyzer) for text in texts]
        return self.embedder.encode_many(texts)

    def refresh(self, rows: Sequence[Row]) -> list[tuple[Memory, Encoding]]:
        """The rows as pairs, encoded anew where they come from another model."""
        stale = [row.memory for row in rows if not self._is_current(row.encoding)]
        anew = {
            memory.id: made for memory, made in zip(stale, self.encode_many(stale), strict=True)
        }
        return [(row.memory, anew.get(row.memory.id, row.encoding)) for row in rows]

    def _is_current(self, encoding: Encoding) -> bool:
        return self.embedder is None or encoding.model == self.embedder.name
