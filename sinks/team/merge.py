"""Three-way merge of memory versions, without a database.

The team's server takes the version that arrives first. Local versions follow it, merged field by
field: a field that only one side changed is taken from that side. Where both sides changed the
text, both texts are kept, as two memories of which one contradicts the other.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ...bus.values import Memory
from ...config.ids import ulid_beside
from ..store.rows import Row, digest

T = TypeVar("T")

_MERGED = "merged: it was changed here and elsewhere"
# The same limits as for a capture.
_MAX_TAGS = 10
_MAX_SOURCES = 20
# Where both sides changed one of these, theirs is kept.
_CHOSEN = ("namespace", "valid_from", "valid_to", "supersedes", "superseded_by", "contradicts")
_PREFIX = "mem_"


# --- all local versions of a memory --------------------------------------------------------------


class Chain(Struct, frozen=True):
    """All versions of a memory on this machine, by number.

    ``unsent`` are those that the team does not have yet, ``pulled`` those that came from it.
    """

    versions: Mapping[int, Row]
    unsent: frozenset[int]
    pulled: frozenset[int]

    def unconfirmed(self, version: int) -> list[int]:
        """The numbers of the local versions that must give way to the team's ``version``.

        What was sent is confirmed, unless the team now has another text under that number, which
        means that its server was restored from a backup. What came from the team and is sent again
        since then has its place there.
        """
        mine = {n for n in self.unsent if n == version or n not in self.pulled}
        if version in self.versions:
            mine.update(n for n in self.versions if n >= version and n not in self.pulled)
        return sorted(mine)


class MergedChain(Struct, frozen=True):
    """What becomes of the versions numbered ``replaced``: ``versions`` follow the team's.

    ``fork`` are the versions of a new memory; ``contradicting`` is as in ``Merged``.
    """

    replaced: Sequence[int]
    versions: tuple[Memory, ...]
    fork: tuple[Memory, ...]
    contradicting: tuple[tuple[str, str], ...]


def merge_chain(
    chain: Chain, mine: Sequence[int], version: int, theirs: Row | None, now: datetime
) -> MergedChain:
    """Put the versions numbered ``mine`` after ``theirs``, which is the team's ``version``.

    ``theirs`` None: the team's version was refused, and ``mine`` are only renumbered past it.
    """
    confirmed = {n: row.memory for n, row in chain.versions.items() if n not in mine}
    earlier = [n for n in confirmed if n < mine[0]]
    base = confirmed[max(earlier)] if earlier else None
    if theirs is not None:
        confirmed[version] = theirs.memory
    last = max((version, *confirmed))
    current = confirmed[max(confirmed)] if confirmed else None
    versions: list[Memory] = []
    fork: list[Memory] = []
    contradicting: list[tuple[str, str]] = []
    for number in mine:
        memory = chain.versions[number].memory
        if fork:
            fork.append(forked(memory, fork[0].id, beside=memory.id, version=len(fork) + 1))
            continue
        if current is None:
            current = memory
            made: Memory | None = memory
        else:
            merged = merge(base, current, memory, fork_id=fork_id(memory), now=now)
            made = merged.mine
            fork += [merged.fork] if merged.fork else []
            contradicting += [merged.contradicting] if merged.contradicting else []
        if made is not None:
            last += 1
            current = replace(made, version=last)
            versions.append(current)
        base = memory
    return MergedChain(mine, tuple(versions), tuple(fork), tuple(contradicting))


# --- one version ---------------------------------------------------------------------------------


class Merged(Struct, frozen=True):
    """What to write after theirs.

    ``mine`` is the version after theirs, None where it would add nothing. ``fork`` is a new memory
    with my text. ``contradicting`` are the ids of my and of their successor where each side
    superseded the memory by another one: both stay in force until somebody decides.
    """

    mine: Memory | None = None
    fork: Memory | None = None
    contradicting: tuple[str, str] | None = None


def merge(
    base: Memory | None, theirs: Memory, mine: Memory, *, fork_id: str, now: datetime
) -> Merged:
    """Apply the changes from ``base`` to ``mine`` on top of ``theirs``; no base: all changed."""
    if _text_changed(base, mine) and _text_changed(base, theirs) and mine.content != theirs.content:
        return Merged(fork=forked(mine, fork_id, beside=theirs.id))
    merged = _merged(base, theirs, mine)
    contradicting = _contradicting(base, theirs, mine)
    if _without_gate(merged) == _without_gate(theirs):
        return Merged(contradicting=contradicting)
    merged = replace(
        merged,
        version=theirs.version + 1,
        updated_at=now,
        provenance=replace(merged.provenance, gate=_MERGED),
    )
    return Merged(mine=merged, contradicting=contradicting)


def forked(mine: Memory, fork_id: str, *, beside: str, version: int = 1) -> Memory:
    """``mine`` as a version of a new memory that contradicts ``beside``."""
    return replace(
        mine,
        id=fork_id,
        version=version,
        contradicts=beside,
        provenance=replace(mine.provenance, gate=f"kept beside {beside}, changed elsewhere first"),
    )


def fork_id(mine: Memory) -> str:
    """The id of the memory that ``mine`` becomes where it cannot be merged; deterministic."""
    hashed = hashlib.sha256(mine.id.encode() + digest(mine)).digest()
    return _PREFIX + ulid_beside(mine.id.removeprefix(_PREFIX), hashed)


def _text_changed(base: Memory | None, memory: Memory) -> bool:
    return base is None or memory.content != base.content


def _merged(base: Memory | None, theirs: Memory, mine: Memory) -> Memory:
    """All fields except version, time and gate."""
    # Text, summary, hash, who wrote it and what it names belong together.
    text = mine if _text_changed(base, mine) and not _text_changed(base, theirs) else theirs
    sides = {
        name: (getattr(base, name, None), getattr(theirs, name), getattr(mine, name))
        for name in theirs.__struct_fields__
    }
    return replace(
        theirs,
        **{name: _choose(*sides[name]) for name in _CHOSEN},
        tags=_union(*sides["tags"], _MAX_TAGS),
        sources=_union(*sides["sources"], _MAX_SOURCES),
        confidence_percent=_merged_confidence(*sides["confidence_percent"]),
        content=text.content,
        summary=text.summary,
        content_hash=text.content_hash,
        provenance=text.provenance,
        anchors=text.anchors,
        questions=_fitting(*sides["questions"], text is mine),
        triggers=_fitting(*sides["triggers"], text is mine),
    )


def _choose(base: object, theirs: T, mine: T) -> T:
    return mine if theirs == base else theirs


def _fitting(base: object, theirs: T, mine: T, is_my_text: bool) -> T:
    """What came with the text that is chosen, and what was given since with the one before."""
    return mine if is_my_text and mine != base else _choose(base, theirs, mine)


def _merged_confidence(base: object, theirs: int, mine: int) -> int:
    if base in (mine, theirs):
        return _choose(base, theirs, mine)
    return max(theirs, mine)


def _union(
    base: tuple[T, ...] | None, theirs: tuple[T, ...], mine: tuple[T, ...], most: int
) -> tuple[T, ...]:
    """What both kept and what either added, theirs first; never fewer than theirs."""
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


def _without_gate(memory: Memory) -> Memory:
    return replace(memory, provenance=replace(memory.provenance, gate=""))
