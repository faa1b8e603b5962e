"""The versions of a memory that a capture makes: its first, a confirmed one, a corrected one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import TypeVar

from msgspec.structs import replace

from ...bus.events import StoreRequested
from ...bus.triggers import MOST_TRIGGERS
from ...bus.values import (
    CLOSED_TAGS,
    MCP,
    MOST_QUESTIONS,
    TO_DO,
    UNASKED,
    Memory,
    Provenance,
)
from ..store.rows import content_hash

T = TypeVar("T")

# What a confirmation adds to the confidence of a memory, in percent.
_CONFIRMED = 5
_MAX_TAGS = 10
_MAX_SOURCES = 20
# What has so many words in common is a correction (the Dice coefficient of their words).
_MOSTLY = 0.8


def draft(event: StoreRequested, hashed: str, now: datetime) -> Memory:
    """What ``event`` asks to keep, as a new memory; ``hashed`` is its content hash."""
    request, said_at = event.request, _said_at(event, now)
    return Memory(
        id=request.id,
        scope=request.scope,
        namespace=event.namespace,
        content=event.content.text,
        summary=event.summary.text,
        tags=event.tags,
        questions=event.questions or (),
        triggers=event.triggers or (),
        anchors=request.anchors,
        confidence_percent=request.confidence_percent,
        provenance=request.provenance,
        created_at=said_at,
        updated_at=said_at,
        content_hash=hashed,
    )


def is_reworded(old: str, new: str) -> bool:
    """Whether two texts of one hash differ in more than the white space at their ends."""
    return old.strip() != new.strip()


def rewrites(duplicate: Memory, event: StoreRequested, now: datetime) -> bool:
    """Whether somebody asks to keep the text of ``duplicate`` in other case or white space.

    Not where it was said before that of ``duplicate``.
    """
    text = event.content.text
    return (
        event.request.explicit
        and content_hash(text) == duplicate.content_hash
        and is_reworded(duplicate.content, text)
        and _said_at(event, now) >= duplicate.updated_at
    )


def rewritten(memory: Memory, text: str, summary: str, by: Provenance) -> Memory:
    """``memory`` with its words as they stand in ``text``, in another case or white space."""
    gate = "only case or white space differs"
    return replace(
        memory, content=text, summary=summary, anchors=(), provenance=replace(by, gate=gate)
    )


def left_out(duplicate: Memory, event: StoreRequested, merged: Memory, now: datetime) -> str:
    """What of both found no room in ``merged``; empty where nothing is missing."""
    both = (*event.tags, *_open_tags(duplicate, event, now))
    tags = [tag for tag in dict.fromkeys(both) if tag not in merged.tags]
    questions = {*(event.questions or ()), *duplicate.questions} - {*merged.questions}
    triggers = len({*(event.triggers or ()), *duplicate.triggers}) - len(set(merged.triggers))
    parts = [
        f"the tags {', '.join(tags)}" if tags else "",
        f"{len(questions)} of the questions" if questions else "",
        f"{triggers} of the triggers" if triggers else "",
    ]
    missing = "; ".join(filter(None, parts))
    return f"there was no room for {missing}" if missing else ""


def merger(duplicate: Memory, event: StoreRequested, gate: str, now: datetime) -> Memory:
    """``duplicate``, confirmed by what ``event`` asks to keep; ``gate`` says why.

    It takes over the newer text where only case or white space differs.
    """
    merged = _confirmed(duplicate, event, gate, now)
    if not rewrites(duplicate, event, now):
        return merged
    by = event.request.provenance
    return rewritten(merged, event.content.text, event.summary.text, by)


def _confirmed(duplicate: Memory, event: StoreRequested, gate: str, now: datetime) -> Memory:
    request = event.request
    confidence = max(duplicate.confidence_percent, request.confidence_percent) + _CONFIRMED
    return replace(
        duplicate,
        version=duplicate.version + 1,
        namespace=event.namespace if request.own_namespace else duplicate.namespace,
        tags=_united(event.tags, _open_tags(duplicate, event, now), _MAX_TAGS),
        questions=_united(event.questions, duplicate.questions, MOST_QUESTIONS),
        triggers=_united(event.triggers, duplicate.triggers, MOST_TRIGGERS),
        confidence_percent=min(100, confidence),
        provenance=replace(duplicate.provenance, gate=gate),
        sources=_with_source(duplicate.sources, request.provenance),
        updated_at=max(duplicate.updated_at, _said_at(event, now)),
    )


def _open_tags(duplicate: Memory, event: StoreRequested, now: datetime) -> tuple[str, ...]:
    """The tags of ``duplicate``; what is in the way again after it was closed is open again."""
    if duplicate.namespace in TO_DO and _said_at(event, now) > duplicate.updated_at:
        return tuple(tag for tag in duplicate.tags if tag.casefold() not in CLOSED_TAGS)
    return duplicate.tags


def revision(old: Memory, event: StoreRequested, now: datetime) -> Memory:
    """``old``, with the text and the fields that ``event`` brings for it."""
    text = event.content.text
    is_same = text == old.content
    fits = is_same or _is_mostly(old.content, text)
    return replace(
        old,
        version=old.version + 1,
        namespace=event.namespace,
        tags=event.tags,
        questions=_of_revision(event.questions, old.questions, fits),
        triggers=_of_revision(event.triggers, old.triggers, fits),
        content=text,
        summary=old.summary if is_same else event.summary.text,
        content_hash=content_hash(text),
        contradicts=old.contradicts if is_same else None,
        anchors=old.anchors if is_same else (),
        provenance=_revised(old, event.request.provenance, is_same),
        updated_at=max(old.updated_at, _said_at(event, now)),
    )


def _said_at(event: StoreRequested, now: datetime) -> datetime:
    """When a text was said; a transcript's clock is not believed where it is ahead."""
    return min(event.request.said_at or now, now)


def _with_source(sources: Sequence[Provenance], new: Provenance) -> tuple[Provenance, ...]:
    """``sources`` with ``new`` last; of too many the oldest goes that nobody asked for."""
    kept = [one for one in sources if one != new]
    while len(kept) >= _MAX_SOURCES:
        unasked = (at for at, one in enumerate(kept) if one.hook in UNASKED)
        del kept[next(unasked, 0)]
    return (*kept, new)


def _united(new: tuple[T, ...] | None, old: tuple[T, ...], most: int) -> tuple[T, ...]:
    """Both, the new ones first: the others did not keep the memory from being said again."""
    return tuple(dict.fromkeys((*(new or ()), *old)))[:most]


def _of_revision(new: tuple[T, ...] | None, old: tuple[T, ...], fits: bool) -> tuple[T, ...]:
    """What came with a text may not fit another one: of that only its own are known."""
    if new is not None:
        return new
    return old if fits else ()


def _is_mostly(old: str, new: str) -> bool:
    """Whether the two have so many words in common that one corrects the other."""
    words = Counter(old.casefold().split()), Counter(new.casefold().split())
    common = 2 * (words[0] & words[1]).total()
    return common >= _MOSTLY * (words[0].total() + words[1].total())


def _revised(old: Memory, by: Provenance, is_same: bool) -> Provenance:
    """Where the next version of ``old`` comes from; the agent's tags make no text the agent's."""
    if is_same and by.hook == MCP:
        return replace(old.provenance, gate="updated by the agent")
    return replace(by, gate="updated")
