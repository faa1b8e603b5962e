"""Fill a budget with notes by value per token, so that their envelope stays inside it.

A pure helper of ``choose``. Costs are measured on the real envelope, never guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from msgspec import Struct

from .envelope import Note, wrap
from .tokens import count_tokens, count_units


class Budget(Struct, frozen=True):
    """What a text costs or may cost, in estimated tokens and in UTF-16 units."""

    tokens: int
    units: int

    def __add__(self, other: Budget) -> Budget:
        return Budget(self.tokens + other.tokens, self.units + other.units)

    def __sub__(self, other: Budget) -> Budget:
        return Budget(self.tokens - other.tokens, self.units - other.units)

    def covers(self, other: Budget) -> bool:
        return self.tokens >= other.tokens and self.units >= other.units


class Offer(Struct, frozen=True):
    """A memory that may be packed: its notes, the longest first, and what it is worth."""

    notes: tuple[Note, ...]
    value: float

    @property
    def id(self) -> str:
        return self.notes[0].id


class Packed(Struct, frozen=True):
    """The notes packed, most valuable first, their envelope, and why the others stayed out."""

    ids: tuple[str, ...]
    text: str
    tokens: int
    refused: dict[str, str]


def pack(offers: Sequence[Offer], *, ceiling: int, budget: Budget, now: datetime) -> Packed:
    """Pack at most ``ceiling`` of ``offers`` (most valuable first) into ``budget``.

    The best ``ceiling`` compete by value per token and the others stand in where one of them did
    not fit. What does not fit is skipped; a shorter note of it is tried first.
    """
    packer = _Packer(budget, now)
    refused: dict[str, str] = {}
    for offer in _by_density(offers, ceiling, packer):
        if len(packer.notes) >= ceiling:
            refused[offer.id] = f"over the ceiling of {ceiling}"
        elif not packer.take(offer):
            refused[offer.id] = "does not fit into what is left of the budget"
    return packer.close(offers, refused)


def _by_density(offers: Sequence[Offer], ceiling: int, packer: _Packer) -> list[Offer]:
    def density(offer: Offer) -> float:
        return offer.value / max(1, packer.cost(offer.notes[0]).tokens)

    return [*sorted(offers[:ceiling], key=density, reverse=True), *offers[ceiling:]]


class _Packer:
    """One envelope being filled. ``frame`` is what the envelope costs without any note."""

    def __init__(self, budget: Budget, now: datetime) -> None:
        self.notes: dict[str, Note] = {}
        self._budget = budget
        self._now = now
        self._spent = Budget(0, 0)
        self._frame: Budget | None = None
        self._costs: dict[int, Budget] = {}

    def cost(self, note: Note) -> Budget:
        """What ``note`` adds to an envelope that there is already."""
        known = self._costs.get(id(note))
        if known is None:
            alone = self._measure([note])
            if self._frame is None:
                self._frame = alone + alone - self._measure([note, note])
            known = self._costs[id(note)] = alone - self._frame
        return known

    def take(self, offer: Offer) -> bool:
        for note in offer.notes:
            spent = self._spent + self.cost(note)
            if self._frame is not None and self._budget.covers(spent + self._frame):
                self.notes[offer.id] = note
                self._spent = spent
                return True
        return False

    def close(self, offers: Sequence[Offer], refused: dict[str, str]) -> Packed:
        """Order what was taken by value; the sum of estimates may be off, the real text never."""
        ids = [offer.id for offer in offers if offer.id in self.notes]
        while ids:
            text = wrap([self.notes[id_] for id_ in ids], now=self._now)
            cost = _cost(text)
            if self._budget.covers(cost):
                return Packed(tuple(ids), text, cost.tokens, refused)
            refused[ids.pop()] = "does not fit into what is left of the budget"
        return Packed((), "", 0, refused)

    def _measure(self, notes: list[Note]) -> Budget:
        return _cost(wrap(notes, now=self._now))


def _cost(text: str) -> Budget:
    return Budget(count_tokens(text), count_units(text))
