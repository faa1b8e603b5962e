"""Memories as the arguments of the server's function ``put``, and back."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from msgspec import structs

from ....bus.values import Encoding, Memory
from ...models.analyzer import searchable, tokenize
from ...store.rows import Record, Row, digest, fingerprint_of, to_memory, to_record
from .connection import HalfVector

DIMENSIONS = 256
"""Of the column ``embedding``; vectors of another model's size are kept, but not searched."""

COLUMN_TYPES = (
    "text bigint text text bigint timestamptz timestamptz timestamptz text text text text "
    "bytea bytea bytea bytea bytea text"
).split()
"""Of the parameters of ``put``, but for the last: that type the connection knows."""

# Rows that are made into columns in about 2 ms.
_SLICE = 10
# More of a text than this is not looked through for words.
_SEARCHED_CHARS = 100_000
_TAG_SEPARATOR = "\x1f"


def to_columns(rows: Sequence[Row]) -> list[list[Any]]:
    """One list a parameter of ``put``. Raises ValueError for a row that cannot be stored."""
    made: list[tuple[Any, ...]] = []
    for first in range(0, len(rows), _SLICE):
        made += map(_values, rows[first : first + _SLICE])
        time.sleep(0)  # lets the event loop have the interpreter
    return [list(column) for column in zip(*made, strict=True)]


def _values(row: Row) -> tuple[Any, ...]:
    memory = unsigned(row.memory)
    record: Record = to_record(Row(memory, row.encoding))
    return (
        record.id,
        record.version,
        record.scope,
        memory.namespace,
        fingerprint_of(record),
        memory.created_at,
        memory.valid_from,
        memory.valid_to,
        memory.superseded_by,
        _TAG_SEPARATOR.join(memory.tags) or None,
        record.body,
        record.model,
        record.vectors,
        record.words,
        record.lengths,
        record.terms,
        digest(memory),
        search_text(searchable(memory)),
        mean_vector(row.encoding),
    )


def unsigned(memory: Memory) -> Memory:
    """``memory`` without an author: who wrote it is for the server to say."""
    if not memory.provenance.author:
        return memory
    return structs.replace(memory, provenance=structs.replace(memory.provenance, author=""))


def signed(memory: Memory, author: str) -> Memory:
    """``memory`` with the author that the server names."""
    return structs.replace(memory, provenance=structs.replace(memory.provenance, author=author))


def search_text(text: str) -> str:
    """The words of ``text`` as search splits them here, so that both find the same."""
    return " ".join(tokenize(text[:_SEARCHED_CHARS]))


def mean_vector(encoding: Encoding) -> HalfVector | None:
    """The direction of all passages together; None without vectors that could be compared."""
    vectors = np.frombuffer(encoding.vectors, dtype="<f2").astype(np.float32)
    if not len(vectors) or len(vectors) % DIMENSIONS:
        return None
    return half_vector(vectors.reshape(-1, DIMENSIONS).mean(axis=0))


def half_vector(vector: Any) -> HalfVector | None:
    """``vector`` of any length, as the server reads it; None where it has no direction here."""
    values = np.asarray(vector, dtype=np.float32)
    length = float(np.linalg.norm(values))
    if values.shape != (DIMENSIONS,) or not np.isfinite(length) or length == 0.0:
        return None
    halves = (values / length).astype(">f2").tobytes()
    return HalfVector(DIMENSIONS.to_bytes(2, "big") + b"\0\0" + halves)


def read_memory(body: str) -> Memory | None:
    """The memory written as ``body``; None where that is none."""
    try:
        return to_memory(body)
    except (msgspec.DecodeError, RecursionError):
        return None
