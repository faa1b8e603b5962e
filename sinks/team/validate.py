"""Validates what the team's server sends before any of it is stored: every byte may be hostile.

A change is refused as a whole unless it is a well-formed memory of bearable size, in a shared
scope and under its own id; the reason is a constant. The encoding is checked separately: where it
does not fit the model here it is computed anew from the text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from ...bus.anchors import are_sound
from ...bus.triggers import Trigger, check_triggers
from ...bus.values import (
    MAX_QUESTION_CHARS,
    MOST_QUESTIONS,
    NAMESPACES,
    Encoding,
    Memory,
    Scope,
)
from ...config.patterns import regex
from ..models.embedder import Embedder, Encoder
from ..store.rows import Record, Row, content_hash, row_of, times_of, to_record
from .membership import is_foreign
from .protocol import Change

# The author of a foreign version where the server does not name one.
OTHERS = "another member"

MEMORY_ID = regex(r"mem_[0-7][0-9a-hjkmnp-tv-z]{25}")
# What redaction removes from every text that is written: controls, bidi marks and tags.
_HIDDEN = regex("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
# A content hash of another form matches no text here.
_HASH = regex(r"[0-9a-f]{64}")
_MOST_CHARS = 100_000
_MOST_SUMMARY_CHARS = 2_000
_MOST_FIELD_CHARS = 4_096
_MOST_TAGS = 50
_MOST_TAG_CHARS = 200
_MOST_SOURCES = 100
_MOST_AUTHOR_CHARS = 100
# What JSON has exactly. A member goes up a thousand with each of a day's versions: never so far.
_LATEST_VERSION = 2**53 - 1
_YEARS = range(1970, 3000)
# Refused for these reasons, a change does not even name a place in the replica.
_NOWHERE = ("scope", "id")
# A vector of float16 is so far from unit length at most.
_TOLERANCE = 0.01


class ValidatedChange(Struct, frozen=True):
    """A validated change. No record: a tombstone (version 0) or refused (any other version).

    ``is_foreign`` tells somebody else's text. ``author`` and ``forgotten_by`` are of a tombstone,
    ``brings_back`` is of a version; all three are as the server noted them.
    """

    id: str
    version: int
    scope: str
    record: Record | None = None
    is_foreign: bool = False
    author: str = ""
    forgotten_by: tuple[str, ...] = ()
    brings_back: str = ""

    @property
    def key(self) -> str:
        """Under which its version is stored."""
        return f"{self.id}:{self.version}"

    @property
    def is_tombstone(self) -> bool:
        return self.version == 0


class InvalidChange(ValueError):
    """A change that is not stored. ``reason`` is a constant."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"a change was refused: {reason}")
        self.reason = reason


def validate(
    changes: Sequence[Change], scopes: Collection[Scope], *, member: str, encoder: Encoder
) -> tuple[list[ValidatedChange], Counter[str]]:
    """The changes of ``scopes``, and how many were refused for which reason.

    Takes a few milliseconds for some hundreds, and as much again for each that must be encoded.
    """
    arrivals: list[ValidatedChange] = []
    rows: list[Row | None] = []
    refused: Counter[str] = Counter()
    for change in changes:
        try:
            rows.append(_checked(change, scopes, member))
        except InvalidChange as error:
            refused[error.reason] += 1
            if error.reason in _NOWHERE:
                continue
            rows.append(None)
        arrivals.append(_placed(change))
    fresh = iter(_encoded([row for row in rows if row is not None], encoder))
    arrived = [
        arrival if row is None else _arrived(arrival, next(fresh), member)
        for arrival, row in zip(arrivals, rows, strict=True)
    ]
    return arrived, refused


def check_found(memory: Memory, scopes: Collection[Scope], *, member: str) -> Memory:
    """A memory found by a search on the server, with its author; to be shown, not stored.

    Raises InvalidChange.
    """
    _require_place(memory.id, memory.scope, scopes)
    _require_sound(memory)
    return _signed(memory, memory.provenance.author, member)


def _placed(change: Change) -> ValidatedChange:
    """Where a change belongs, without what it says."""
    return ValidatedChange(
        change.id,
        change.version,
        str(change.scope),
        author=change.author,
        forgotten_by=change.forgotten_by,
        brings_back=change.brings_back,
    )


def _arrived(arrival: ValidatedChange, row: Row, member: str) -> ValidatedChange:
    return replace(arrival, record=to_record(row), is_foreign=is_foreign(row.memory, member))


# --- the memory ----------------------------------------------------------------------------------


def _checked(change: Change, scopes: Collection[Scope], member: str) -> Row | None:
    """The row with its author, None for a tombstone. Raises InvalidChange."""
    _require_place(change.id, change.scope, scopes)
    if change.version == 0:
        return None
    if change.row is None:
        raise InvalidChange("unreadable")
    memory = change.row.memory
    claimed = (change.id, change.version, change.scope)
    _require((memory.id, memory.version, memory.scope) == claimed, "another memory")
    _require_sound(memory)
    return Row(_signed(memory, change.author, member), change.row.encoding)


def _require_place(memory_id: str, scope: Scope, scopes: Collection[Scope]) -> None:
    _require(scope in scopes and scope.kind != "user", "scope")
    _require(MEMORY_ID.fullmatch(memory_id) is not None, "id")


def _require_sound(memory: Memory) -> None:
    _require(0 < memory.version <= _LATEST_VERSION, "version")
    _require(memory.namespace in NAMESPACES, "namespace")
    _require(0 <= memory.confidence_percent <= 100, "confidence")
    _require(all(MEMORY_ID.fullmatch(link) for link in _links(memory)), "link")
    _require(all(t.tzinfo is not None and t.year in _YEARS for t in times_of(memory)), "time")
    _require(_has_bearable_size(memory), "size")
    _require(are_sound(memory.anchors), "anchors")
    _require(all(map(_is_plain, _texts(memory))), "text")


def _require(holds: bool, reason: str) -> None:
    if not holds:
        raise InvalidChange(reason)


def _links(memory: Memory) -> Iterable[str]:
    links = (memory.supersedes, memory.superseded_by, memory.contradicts)
    return (link for link in links if link is not None)


def _has_bearable_size(memory: Memory) -> bool:
    return (
        len(memory.content) <= _MOST_CHARS
        and len(memory.summary) <= _MOST_SUMMARY_CHARS
        and len(memory.content_hash) <= _MOST_FIELD_CHARS
        and len(memory.tags) <= _MOST_TAGS
        and all(len(tag) <= _MOST_TAG_CHARS for tag in memory.tags)
        and len(memory.questions) <= MOST_QUESTIONS
        and all(len(one) <= MAX_QUESTION_CHARS for one in memory.questions)
        and _are_sound(memory.triggers)
        and len(memory.sources) <= _MOST_SOURCES
        and all(len(text) <= _MOST_FIELD_CHARS for text in _fields(memory))
    )


def _are_sound(triggers: Iterable[Trigger]) -> bool:
    try:
        check_triggers(triggers)
    except ValueError:
        return False
    return True


def _texts(memory: Memory) -> Iterable[str]:
    yield from (memory.content, memory.summary, memory.content_hash)
    yield from memory.tags
    yield from memory.questions
    for trigger in memory.triggers:
        yield from trigger.texts
    yield from _fields(memory)
    for anchor in memory.anchors:
        yield from (anchor.path, anchor.symbol)


def _fields(memory: Memory) -> Iterable[str]:
    for source in (memory.provenance, *memory.sources):
        yield from (source.hook, source.session, source.client, source.file)
        yield from (source.commit, source.branch, source.gate, source.said)


def _is_plain(text: str) -> bool:
    if text.isascii() and text.isprintable():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return _HIDDEN.search(text) is None


def _signed(memory: Memory, author: str, member: str) -> Memory:
    """``memory`` with the author as the server knows it, for the sender may claim anything.

    A false content hash is removed: it could suppress a local capture as a duplicate.
    """
    named = _HIDDEN.sub("", author)[:_MOST_AUTHOR_CHARS] or OTHERS
    return replace(
        memory,
        provenance=replace(memory.provenance, author="" if author == member else named),
        sources=tuple(replace(source, author=OTHERS) for source in memory.sources),
        content_hash="" if _claims_another_text(memory) else memory.content_hash,
    )


def rightly_signed(
    changes: Iterable[ValidatedChange], here: Iterable[Memory]
) -> list[ValidatedChange]:
    """``changes``, of which those that their named author cannot have written name nobody.

    No author ever gives the same text another summary or date. ``here`` are the stored versions of
    these memories.
    """
    arrived = list(changes)
    known = [*here, *(each.record.memory for each in arrived if each.record)]
    first: dict[tuple[str, str, str], Memory] = {}
    for memory in sorted(known, key=lambda one: one.version):
        first.setdefault(_text_of(memory), memory)
    return [
        _without_author(each, each.record)
        if each.record and _is_reworded(each.record.memory, first)
        else each
        for each in arrived
    ]


def _text_of(memory: Memory) -> tuple[str, str, str]:
    return memory.id, memory.provenance.author, memory.content


def _is_reworded(memory: Memory, first: Mapping[tuple[str, str, str], Memory]) -> bool:
    said = first[_text_of(memory)]
    return (memory.summary, memory.created_at) != (said.summary, said.created_at)


def _without_author(change: ValidatedChange, record: Record) -> ValidatedChange:
    row = row_of(record)
    memory = replace(row.memory, provenance=replace(row.memory.provenance, author=OTHERS))
    signed = to_record(replace(row, memory=memory))
    return replace(change, record=signed, is_foreign=is_foreign(memory, ""))


def _claims_another_text(memory: Memory) -> bool:
    is_hash = _HASH.fullmatch(memory.content_hash) is not None
    return is_hash and memory.content_hash != content_hash(memory.content)


# --- what retrieval needs ------------------------------------------------------------------------


def _encoded(rows: Sequence[Row], encoder: Encoder) -> list[Row]:
    """The rows, encoded anew where the received encoding does not fit the model here."""
    unfit = [row for row in rows if not _fits(row, encoder.embedder)]
    anew = iter(encoder.encode_many([row.memory for row in unfit]))
    known = {id(row) for row in unfit}
    return [Row(row.memory, next(anew)) if id(row) in known else row for row in rows]


def _fits(row: Row, embedder: Embedder | None) -> bool:
    encoding = row.encoding
    return (
        embedder is not None
        and encoding.model == embedder.name
        and _is_consistent(encoding, embedder)
        and _is_as_long_as(encoding, row.memory)
    )


def _is_consistent(encoding: Encoding, embedder: Embedder) -> bool:
    sizes = (encoding.lengths, 2), (encoding.words, 2), (encoding.vectors, 2), (encoding.terms, 4)
    if any(len(part) % size for part, size in sizes):
        return False
    lengths = np.frombuffer(encoding.lengths, dtype="<u2")
    words = np.frombuffer(encoding.words, dtype="<u2")
    if len(encoding.vectors) != 2 * len(lengths) * embedder.dimensions or not len(lengths):
        return False
    if int(lengths.sum(dtype=np.int64)) != len(words):
        return False
    if len(words) and int(words.max()) >= embedder.vocabulary:
        return False
    return _are_unit(encoding.vectors, len(lengths))


def _are_unit(vectors: bytes, count: int) -> bool:
    """Whether each is of unit length, or zero as where the model knows no word."""
    parts = np.frombuffer(vectors, dtype="<f2").reshape(count, -1).astype(np.float32)
    if not np.isfinite(parts).all():
        return False
    squares = np.einsum("ij,ij->i", parts, parts)
    return bool(np.all((squares == 0) | (np.abs(squares - 1) <= _TOLERANCE)))


def _is_as_long_as(encoding: Encoding, memory: Memory) -> bool:
    """No text has more words or terms than it has characters."""
    beside = (memory.summary, *memory.tags, *memory.questions)
    characters = len(memory.content) + sum(map(len, beside)) + 16
    terms = np.frombuffer(encoding.terms, dtype="<u4")
    few = max(len(encoding.words) // 2, len(terms)) <= characters
    return few and bool(np.all(terms[1:] >= terms[:-1]))
