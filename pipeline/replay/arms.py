"""The arms of the replay: the same sessions without the rule, with it, and with a placebo.

What a session shows is decided by the events of the sessions before it, and what is not shown
leaves no event: the loop of the product is in it. A candidate is shown where its relevance reaches
the floor, moved for its memory; beside one that does, others are from ``BESIDE`` below it on. A
memory is shown once in a session.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from ...bus.values import UseEvent, Usefulness, UseKind
from ...stages.injection.usefulness import floor_shift, together, usefulness
from .users import Offered, Prompt, Session, User

BESIDE = 0.10
"""How far the floor beside a memory that is shown lies below the floor, as the settings ship."""

BETWEEN = timedelta(days=1)
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

Shifts = Mapping[int, float]
_Name = TypeVar("_Name")


class Counts(Struct):
    """What was shown and of use, shown, of use and in the context, and of use at all."""

    right: int = 0
    shown: int = 0
    found: int = 0
    wanted: int = 0

    def add(self, other: Counts) -> None:
        self.right += other.right
        self.shown += other.shown
        self.found += other.found
        self.wanted += other.wanted


class Played(Struct, frozen=True):
    """What became of a user in one arm, a session an entry.

    ``shifts`` are those that held in the session; ``of_use`` the memories shown when they were.
    """

    counts: tuple[Counts, ...]
    shifts: tuple[Shifts, ...]
    of_use: tuple[frozenset[int], ...]

    @property
    def ever_shifted(self) -> list[int]:
        return sorted({memory for held in self.shifts for memory, by in held.items() if by})


def without(user: User, floor: float) -> Played:
    """Every floor stays where it is."""
    return _play(user, floor, lambda _: {}, lambda *_: None)


def with_rule(user: User, floor: float) -> Played:
    """The rule moves floors by what became of the memories in earlier sessions."""
    ledger = Ledger()

    def note(session: int, shown: Sequence[Offered]) -> None:
        for rank, one in enumerate(shown, 1):
            kinds: tuple[UseKind, ...] = ("shown", *one.traces)
            ledger.add(event(one.memory, session, rank, kind) for kind in kinds)

    return _play(user, floor, lambda _: _numbered(ledger.shifts()), note)


def placebo(user: User, floor: float, ruled: Played) -> Played:
    """As many floors are moved by the same amounts in each session, those of other memories.

    Who gets whose shift is drawn once for the user, among the memories that the rule ever moved.
    """
    moved = ruled.ever_shifted
    other = shuffled(moved, user.seed)
    held = [{other[memory]: by for memory, by in one.items() if by} for one in ruled.shifts]
    return _play(user, floor, lambda session: held[session], lambda *_: None)


def shuffled(names: Sequence[_Name], seed: str) -> dict[_Name, _Name]:
    """Another of ``names`` for each of them, or by chance the same."""
    given = list(names)
    random.Random(seed).shuffle(given)  # noqa: S311 - an experiment can be repeated
    return dict(zip(names, given, strict=True))


def _play(
    user: User,
    floor: float,
    shifts_of: Callable[[int], Shifts],
    note: Callable[[int, Sequence[Offered]], None],
) -> Played:
    counts, held, of_use = [], [], []
    for number, session in enumerate(user.sessions):
        shifts = shifts_of(number)
        counted, shown = show(session, floor, shifts)
        note(number, shown)
        counts.append(counted)
        held.append(shifts)
        of_use.append(frozenset(one.memory for one in shown if one.useful))
    return Played(tuple(counts), tuple(held), tuple(of_use))


def show(session: Session, floor: float, shifts: Shifts) -> tuple[Counts, list[Offered]]:
    """What ``session`` is shown, in its order, and what that counts."""
    seen: set[int] = set()
    shown: list[Offered] = []
    counts = Counts()
    for prompt in session:
        fresh = [one for one in _admitted(prompt, floor, shifts) if one.memory not in seen]
        seen.update(one.memory for one in fresh)
        shown += fresh
        counts.add(
            Counts(
                right=sum(one.useful for one in fresh),
                shown=len(fresh),
                found=len(prompt.wanted & seen),
                wanted=len(prompt.wanted),
            )
        )
    return counts, shown


def _admitted(prompt: Prompt, floor: float, shifts: Shifts) -> list[Offered]:
    def over(one: Offered, least: float) -> bool:
        return one.relevance >= least + shifts.get(one.memory, 0.0)

    if not any(over(one, floor) for one in prompt.offered):
        return []
    return [one for one in prompt.offered if over(one, floor - BESIDE)]


def _numbered(shifts: Mapping[str, float]) -> Shifts:
    return {int(memory): by for memory, by in shifts.items()}


def event(memory: int, session: int, rank: int, kind: UseKind) -> UseEvent:
    """What happened to ``memory`` in a session; sessions are a day apart."""
    at = _BEGAN + session * BETWEEN
    return UseEvent(memory_id=f"{memory}", session=f"{session}", at=at, kind=kind, rank=rank)


class Ledger:
    """The events of all memories up to now, and where the rule moves the floors by them."""

    def __init__(self) -> None:
        self._events: dict[str, list[UseEvent]] = {}
        self._uses: dict[str, Usefulness] = {}

    def add(self, events: Iterable[UseEvent]) -> None:
        """Take in ``events``, which happened after all before them."""
        touched = set()
        for event in events:
            self._events.setdefault(event.memory_id, []).append(event)
            touched.add(event.memory_id)
        self._uses |= {memory: usefulness(self._events[memory]) for memory in touched}

    def shifts(self) -> dict[str, float]:
        """What is added to the floor of each memory that there are events of."""
        usual = together(self._uses.values())
        return {memory: floor_shift(use, usual) for memory, use in self._uses.items()}
