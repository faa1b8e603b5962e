"""Encodes memories as they are stored and searched."""

from __future__ import annotations

from collections.abc import Sequence

from ...bus.values import Encoding, Memory
from .analyzer import Analyzer, searchable, text_encoding
from .embedder import Embedder


class Encoder:
    """Encodes memories by the embedding model, or for text search alone while there is none.

    Set ``embedder`` when it arrives. May be called from any thread.
    """

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

    def refresh(
        self, pairs: Sequence[tuple[Memory, Encoding]]
    ) -> Sequence[tuple[Memory, Encoding]]:
        """The pairs, encoded anew where their encoding comes from another model."""
        if self.embedder is None:
            return pairs
        stale = [memory for memory, encoding in pairs if encoding.model != self.embedder.name]
        made = zip(stale, self.encode_many(stale), strict=True)
        anew = {memory.id: encoding for memory, encoding in made}
        return [(memory, anew.get(memory.id, encoding)) for memory, encoding in pairs]
