"""A memory as the database holds it, and the way there and back."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from ...bus.values import Encoding, Memory, Scope


class Row(Struct, frozen=True):
    """A memory with what retrieval needs of its text."""

    memory: Memory
    encoding: Encoding


class Usage(Struct, frozen=True):
    """How often a memory went into a context, and when it last did. None: never."""

    times_injected: int = 0
    last_used: datetime | None = None


class Record(NamedTuple):
    """One row of the table ``versions``, and the memory it is made of.

    ``wanted``: somebody asked to keep it, so that a tombstone of its text does not bar it but is
    lifted. ``merged`` is another text that the memory took in with this version.
    """

    key: str
    id: str
    version: int
    scope: str
    body: str
    model: str
    vectors: bytes
    words: bytes
    lengths: bytes
    terms: bytes
    memory: Memory
    wanted: bool = False
    merged: str = ""


VERSION_TYPES = {
    "key": "VARCHAR",
    "id": "VARCHAR",
    "version": "BIGINT",
    "scope": "VARCHAR",
    "body": "VARCHAR",
    "model": "VARCHAR",
    "vectors": "BLOB",
    "words": "BLOB",
    "lengths": "BLOB",
    "terms": "BLOB",
}
HEAD_TYPES = {
    "id": "VARCHAR",
    "key": "VARCHAR",
    "version": "BIGINT",
    "scope": "VARCHAR",
    "namespace": "VARCHAR",
    "fingerprint": "BIGINT",
    "created_at": "TIMESTAMP",
    "valid_from": "TIMESTAMP",
    "valid_to": "TIMESTAMP",
    "superseded_by": "VARCHAR",
}

_write_body = msgspec.json.Encoder().encode
to_memory = msgspec.json.Decoder(Memory).decode
"""The memory that was written as JSON; fields that are new since get their defaults."""
_canonical = msgspec.json.Encoder(order="deterministic").encode
_EMPTY: tuple[object, ...] = (None, "", [], {})


def naive(time: datetime) -> datetime:
    """``time`` in UTC without its zone, as tables hold it.

    Raises ValueError where it has no zone, or lies beyond all years in UTC.
    """
    if time.tzinfo is None:
        raise ValueError("a memory's times need a zone")
    try:
        return time.astimezone(UTC).replace(tzinfo=None)
    except OverflowError:
        raise ValueError(f"{time} is no time in UTC") from None


def aware(time: datetime) -> datetime:
    """A time of the database as the rest of the program knows it."""
    return time.replace(tzinfo=UTC)


def times_of(memory: Memory) -> tuple[datetime, ...]:
    """Those that it has, in any zone or none."""
    times = (memory.created_at, memory.updated_at, memory.valid_from, memory.valid_to)
    return tuple(time for time in times if time is not None)


def usage_of(times_injected: int, last_used: datetime | None) -> Usage:
    """The use of a memory, of its columns."""
    return Usage(times_injected, aware(last_used) if last_used else None)


def to_record(row: Row) -> Record:
    """What is written for ``row``.

    Raises ValueError where a text has half a surrogate pair, which is no Unicode, a time has no
    zone, or the version is not counted from 1.
    """
    memory, encoding = row.memory, row.encoding
    if memory.version < 1:
        raise ValueError("versions count from 1")
    for time in times_of(memory):
        naive(time)
    try:
        body = _write_body(memory).decode()
    except UnicodeEncodeError:
        raise ValueError("the text of a memory is not valid Unicode") from None
    return Record(
        f"{memory.id}:{memory.version}",
        memory.id,
        memory.version,
        str(memory.scope),
        body,
        encoding.model,
        encoding.vectors,
        encoding.words,
        encoding.lengths,
        encoding.terms,
        memory,
    )


def row_of(record: Record) -> Row:
    """The memory and its encoding, as ``to_record`` got them."""
    encoding = Encoding(record.model, record.vectors, record.words, record.lengths, record.terms)
    return Row(record.memory, encoding)


def version_values(record: Record) -> tuple[Any, ...]:
    """The values of ``VERSION_TYPES``."""
    return record[: len(VERSION_TYPES)]


def head_values(record: Record) -> tuple[Any, ...]:
    """The values of ``HEAD_TYPES``."""
    memory = record.memory
    return (
        record.id,
        record.key,
        record.version,
        record.scope,
        memory.namespace,
        fingerprint_of(record),
        naive(memory.created_at),
        naive(memory.valid_from) if memory.valid_from else None,
        naive(memory.valid_to) if memory.valid_to else None,
        memory.superseded_by,
    )


def digest(memory: Memory) -> bytes:
    """SHA-256 of a version without its authors: equal for versions with the same content.

    The team's server names the author. Empty fields are left out, so that a field added by a
    later subcog changes nothing. Raises ValueError where a text is not valid
    Unicode.
    """
    try:
        canonical = _canonical(_canonical_form(msgspec.to_builtins(memory)))
    except UnicodeEncodeError:
        raise ValueError("the text of a memory is not valid Unicode") from None
    return hashlib.sha256(canonical).digest()


def _canonical_form(value: Any) -> Any:
    """``value`` without authors and without what is empty."""
    if isinstance(value, dict):
        pairs = ((name, _canonical_form(each)) for name, each in value.items() if name != "author")
        return {name: each for name, each in pairs if each not in _EMPTY}
    if isinstance(value, list | tuple):
        return [_canonical_form(each) for each in value]
    return value


def content_hash(text: str) -> str:
    """Equal for texts that differ in white space and case alone."""
    return hashlib.sha256(" ".join(text.lower().split()).encode()).hexdigest()


def to_scope(text: str) -> Scope:
    """The scope that ``str(scope)`` wrote."""
    kind, _, identity = text.partition(":")
    return msgspec.convert({"kind": kind, "id": identity}, Scope)


def to_row(columns: tuple[Any, ...]) -> Row:
    """The row of the columns body, model, vectors, words, lengths, terms."""
    return Row(to_memory(columns[0]), Encoding(*columns[1:]))


def fingerprint_of(record: Record) -> int | None:
    """The fingerprint of the memory of ``record``."""
    return fingerprint(record.scope, record.memory.namespace, record.memory.content_hash)


def fingerprint(scope: str, namespace: str, content_hash: str) -> int | None:
    """64 bits that equal texts of one scope and namespace share; None for an unknown hash.

    Scanning a column of these for an exact duplicate costs a tenth of scanning the hashes.
    """
    if not content_hash:
        return None
    text = "\0".join((scope, namespace, content_hash))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)
