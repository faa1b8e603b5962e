"""Joins what two people made of the same version of a memory, without a database.

The team's server takes the version that comes first. What the other made is put after it, field
by field: what one side alone changed is taken from that side. Where both wrote another text both
are kept, as two memories of which one says that it contradicts the other.
"""

from __future__ import annotations

import hashlib
from datetime import datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...bus.ids import ulid_beside
from ...bus.values import Memory
from ..store.rows import digest

T = TypeVar("T")

_MERGED = "merged: it was changed here and elsewhere"
# As many as a capture may have.
_MOST_TAGS = 10
_MOST_SOURCES = 20
# Theirs where both sides changed them.
_CHOSEN = ("namespace", "valid_from", "valid_to", "supersedes", "superseded_by", "contradicts")
_PREFIX = "mem_"


class Reconciled(Struct, frozen=True):
    """What is to be written after theirs.

    ``mine`` is the version after theirs, None where it would say nothing new. ``fork`` is a memory
    of its own with my text. ``contradicting`` are my successor of the memory and theirs, where
    each side let another one supersede it: both hold, and somebody should decide.
    """

    mine: Memory | None = None
    fork: Memory | None = None
    contradicting: tuple[str, str] | None = None


def reconcile(
    base: Memory | None, theirs: Memory, mine: Memory, *, fork_id: str, now: datetime
) -> Reconciled:
    """Put what ``mine`` made of ``base`` after ``theirs``; without a base all of it is changed."""
    if _changed(base, mine) and _changed(base, theirs) and mine.content != theirs.content:
        return Reconciled(fork=forked(mine, fork_id, beside=theirs.id))
    merged = _merged(base, theirs, mine)
    contradicting = _contradicting(base, theirs, mine)
    if _says_the_same(merged, theirs):
        return Reconciled(contradicting=contradicting)
    merged = replace(
        merged,
        version=theirs.version + 1,
        updated_at=now,
        provenance=replace(merged.provenance, gate=_MERGED),
    )
    return Reconciled(mine=merged, contradicting=contradicting)


def forked(mine: Memory, fork_id: str, *, beside: str, version: int = 1) -> Memory:
    """A version of mine as one of a memory of its own."""
    return replace(
        mine,
        id=fork_id,
        version=version,
        contradicts=beside,
        provenance=replace(mine.provenance, gate=f"kept beside {beside}, changed elsewhere first"),
    )


def fork_id(mine: Memory) -> str:
    """The id of the memory that ``mine`` becomes where it cannot be merged: always the same."""
    hashed = hashlib.sha256(mine.id.encode() + digest(mine)).digest()
    return _PREFIX + ulid_beside(mine.id.removeprefix(_PREFIX), hashed)


def _changed(base: Memory | None, memory: Memory) -> bool:
    """Whether the text is another than that of ``base``."""
    return base is None or memory.content != base.content


def _merged(base: Memory | None, theirs: Memory, mine: Memory) -> Memory:
    """All fields but version, time and gate."""
    # Text, summary, hash and who wrote it belong together.
    text = mine if _changed(base, mine) and not _changed(base, theirs) else theirs
    sides = {
        name: (getattr(base, name, None), getattr(theirs, name), getattr(mine, name))
        for name in theirs.__struct_fields__
    }
    return replace(
        theirs,
        **{name: _choose(*sides[name]) for name in _CHOSEN},
        tags=_union(*sides["tags"], _MOST_TAGS),
        sources=_union(*sides["sources"], _MOST_SOURCES),
        confidence_percent=_surer(*sides["confidence_percent"]),
        content=text.content,
        summary=text.summary,
        content_hash=text.content_hash,
        provenance=text.provenance,
    )


def _choose(base: object, theirs: T, mine: T) -> T:
    return mine if theirs == base else theirs


def _surer(base: object, theirs: int, mine: int) -> int:
    if base in (mine, theirs):
        return _choose(base, theirs, mine)
    return max(theirs, mine)


def _union(
    base: tuple[T, ...] | None, theirs: tuple[T, ...], mine: tuple[T, ...], most: int
) -> tuple[T, ...]:
    """What both have kept and what either has added; theirs come first."""
    base = base or ()
    kept = [one for one in theirs if one not in base or one in mine]
    added = [one for one in dict.fromkeys(mine) if one not in base and one not in theirs]
    return tuple([*kept, *added][: max(most, len(theirs))])


def _contradicting(base: Memory | None, theirs: Memory, mine: Memory) -> tuple[str, str] | None:
    was = base.superseded_by if base else None
    ours, others = mine.superseded_by, theirs.superseded_by
    if ours is None or others is None or len({was, ours, others}) < 3:
        return None
    return ours, others


def _says_the_same(merged: Memory, theirs: Memory) -> bool:
    return _without_gate(merged) == _without_gate(theirs)


def _without_gate(memory: Memory) -> Memory:
    return replace(memory, provenance=replace(memory.provenance, gate=""))
