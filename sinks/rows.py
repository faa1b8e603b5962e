"""A memory as the database holds it, and the way there and back."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from ..bus.values import Encoding, Memory, Provenance, Scope


class Row(Struct, frozen=True):
    """A memory with what retrieval needs of its text."""

    memory: Memory
    encoding: Encoding


class Usage(Struct, frozen=True):
    """How often a memory went into a context, and when it last did. None: never."""

    times_injected: int = 0
    last_used: datetime | None = None


class Record(NamedTuple):
    """One row of the table ``versions``. Times are UTC without a zone, as the table holds them."""

    key: str
    id: str
    version: int
    scope: str
    namespace: str
    content: str
    summary: str
    tags: str
    confidence_percent: int
    provenance: str
    created_at: datetime
    updated_at: datetime
    valid_from: datetime | None
    valid_to: datetime | None
    supersedes: str | None
    superseded_by: str | None
    content_hash: str
    model: str
    vectors: bytes
    words: bytes
    lengths: bytes


_NOT_TEXT = {
    "version": "BIGINT",
    "confidence_percent": "BIGINT",
    "created_at": "TIMESTAMP",
    "updated_at": "TIMESTAMP",
    "valid_from": "TIMESTAMP",
    "valid_to": "TIMESTAMP",
    "vectors": "BLOB",
    "words": "BLOB",
    "lengths": "BLOB",
}
RECORD_TYPES = {name: _NOT_TEXT.get(name, "VARCHAR") for name in Record._fields}
MEMORY_COLUMNS: tuple[str, ...] = Record._fields[1:17]
ENCODING_COLUMNS: tuple[str, ...] = Record._fields[17:]

_encode = msgspec.json.Encoder().encode
_read_tags = msgspec.json.Decoder(tuple[str, ...]).decode
_NOWHERE = Provenance()


_read_provenance = msgspec.json.Decoder(Provenance).decode


def key_of(memory: Memory) -> str:
    """The primary key of one version."""
    return f"{memory.id}:{memory.version}"


def naive(time: datetime) -> datetime:
    """``time`` in UTC without its zone. Raises ValueError where it has none to begin with."""
    if time.tzinfo is None:
        raise ValueError("a memory's times need a zone")
    return time.astimezone(UTC).replace(tzinfo=None)


def aware(time: datetime) -> datetime:
    """A time of the database as the rest of the program knows it."""
    return time.replace(tzinfo=UTC)


def _naive_or_none(time: datetime | None) -> datetime | None:
    return None if time is None else naive(time)


def _aware_or_none(time: datetime | None) -> datetime | None:
    return None if time is None else aware(time)


def _write_provenance(provenance: Provenance) -> str:
    if provenance == _NOWHERE:
        return "{}"
    known = {name: text for name, text in asdict(provenance).items() if text}
    return _encode(known).decode()


def to_record(row: Row) -> Record:
    """What is written for ``row``.

    Raises ValueError where a text has half a surrogate pair, which no database holds, a time has
    no zone, or the version is not counted from 1.
    """
    memory, encoding = row.memory, row.encoding
    if memory.version < 1:
        raise ValueError("versions count from 1")
    record = Record(
        key=key_of(memory),
        id=memory.id,
        version=memory.version,
        scope=str(memory.scope),
        namespace=memory.namespace,
        content=memory.content,
        summary=memory.summary,
        tags=_encode(memory.tags).decode(),
        confidence_percent=memory.confidence_percent,
        provenance=_write_provenance(memory.provenance),
        created_at=naive(memory.created_at),
        updated_at=naive(memory.updated_at),
        valid_from=_naive_or_none(memory.valid_from),
        valid_to=_naive_or_none(memory.valid_to),
        supersedes=memory.supersedes,
        superseded_by=memory.superseded_by,
        content_hash=memory.content_hash,
        model=encoding.model,
        vectors=encoding.vectors,
        words=encoding.words,
        lengths=encoding.lengths,
    )
    _check_text(record)
    return record


def _check_text(record: Record) -> None:
    for name, value in zip(Record._fields, record, strict=True):
        if isinstance(value, str) and not value.isascii():
            try:
                value.encode()
            except UnicodeEncodeError:
                raise ValueError(f"the {name} of a memory is not valid Unicode") from None


def to_scope(text: str) -> Scope:
    """The scope that ``str(scope)`` wrote."""
    kind, _, identity = text.partition(":")
    return Scope(kind, identity)  # type: ignore[arg-type]


def to_memory(columns: tuple[Any, ...]) -> Memory:
    """The memory of a result with ``MEMORY_COLUMNS``, in that order."""
    return Memory(
        id=columns[0],
        version=columns[1],
        scope=to_scope(columns[2]),
        namespace=columns[3],
        content=columns[4],
        summary=columns[5],
        tags=() if columns[6] == "[]" else _read_tags(columns[6]),
        confidence_percent=columns[7],
        provenance=_NOWHERE if columns[8] == "{}" else _read_provenance(columns[8]),
        created_at=aware(columns[9]),
        updated_at=aware(columns[10]),
        valid_from=_aware_or_none(columns[11]),
        valid_to=_aware_or_none(columns[12]),
        supersedes=columns[13],
        superseded_by=columns[14],
        content_hash=columns[15],
    )


def to_row(columns: tuple[Any, ...]) -> Row:
    """The row of a result with ``MEMORY_COLUMNS`` and ``ENCODING_COLUMNS``, in that order."""
    return Row(to_memory(columns[:16]), Encoding(*columns[16:20]))


def fingerprint(scope: str, namespace: str, content_hash: str) -> int | None:
    """64 bits that equal texts of one scope and namespace share; None for an unknown hash.

    Scanning a column of these for an exact duplicate costs a tenth of scanning the hashes.
    """
    if not content_hash:
        return None
    text = "\0".join((scope, namespace, content_hash))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
