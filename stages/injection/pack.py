"""Pack notes into one envelope within a budget, the most valuable a token first.

A pure helper of ``inject`` and of a session's greeting; it knows nothing of events.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import cached_property

from msgspec import Struct

from ..text.envelope import Note, enclose, quote
from ..text.unicode import Size, size_of


class Budget(Struct, frozen=True):
    """What a text may cost, in estimated tokens and in UTF-16 units."""

    tokens: int
    units: int

    def covers(self, size: Size) -> bool:
        return self.tokens >= size.tokens and self.units >= size.units


class Offer:
    """A memory that may be packed, and what it is worth.

    ``write`` gives its notes, the longest first; it is called once, and only where they are needed.
    """

    def __init__(self, id: str, value: float, write: Callable[[], tuple[Note, ...]]) -> None:  # noqa: A002 - the name a memory gives it
        self.id = id
        self.value = value
        self._write = write

    @cached_property
    def notes(self) -> tuple[Note, ...]:
        return self._write()


class Packed(Struct, frozen=True):
    """The notes packed, most valuable first, their envelope, and why the others stayed out."""

    ids: tuple[str, ...]
    text: str
    tokens: int
    refused: dict[str, str]


def pack(
    offers: Sequence[Offer],
    *,
    ceiling: int,
    budget: Budget,
    now: datetime,
    in_order: bool = False,
) -> Packed:
    """Pack at most ``ceiling`` of ``offers`` (most valuable first) into ``budget``.

    The best ``ceiling`` compete by value per token and the others stand in where one of them did
    not fit. What does not fit is skipped; a shorter note of it is tried first. With
    ``in_order`` the first come first, however long: of what happened at a time, the newest.
    """
    packer = _Packer(budget, now)
    refused: dict[str, str] = {}
    for offer in offers if in_order else _by_density(offers, ceiling, packer):
        if len(packer.notes) >= ceiling:
            refused[offer.id] = f"over the ceiling of {ceiling}"
        elif not packer.take(offer):
            refused[offer.id] = "does not fit into what is left of the budget"
    return packer.close(offers, refused)


def _by_density(offers: Sequence[Offer], ceiling: int, packer: _Packer) -> list[Offer]:
    def density(offer: Offer) -> float:
        return offer.value / max(1, packer.quoted(offer.notes[0]).size.tokens)

    return [*sorted(offers[:ceiling], key=density, reverse=True), *offers[ceiling:]]


class _Quoted(Struct, frozen=True):
    """A note as it stands in the envelope, and what it adds to one."""

    lines: tuple[str, ...]
    size: Size


class _Packer:
    """One envelope being filled."""

    def __init__(self, budget: Budget, now: datetime) -> None:
        self.notes: dict[str, _Quoted] = {}
        self._budget = budget
        self._now = now
        self._size = size_of(enclose(()))
        self._quoted: dict[int, _Quoted] = {}

    def quoted(self, note: Note) -> _Quoted:
        known = self._quoted.get(id(note))
        if known is None:
            lines = tuple(quote(note, now=self._now))
            known = _Quoted(lines, size_of("".join(f"\n{line}" for line in lines)))
            self._quoted[id(note)] = known
        return known

    def take(self, offer: Offer) -> bool:
        for note in offer.notes:
            quoted = self.quoted(note)
            if self._budget.covers(self._size + quoted.size):
                self.notes[offer.id] = quoted
                self._size += quoted.size
                return True
        return False

    def close(self, offers: Sequence[Offer], refused: dict[str, str]) -> Packed:
        """Put what was taken into one envelope, in the order of its value."""
        ids = tuple(offer.id for offer in offers if offer.id in self.notes)
        if not ids:
            return Packed((), "", 0, refused)
        text = enclose(line for id_ in ids for line in self.notes[id_].lines)
        return Packed(ids, text, self._size.tokens, refused)
