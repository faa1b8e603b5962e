"""Simulated users and the arms of the replay: without the rule, with it, and with a placebo.

What a user asks in session after session are the prompts of a recording, with the candidates that
the search found for them. A user has a taste: of the memories that answer a prompt, some are of no
use to this user, who knows them or does otherwise. What may be observed of a memory that is shown
is drawn once, whether or not it will be shown, so that every arm meets the same user.

What a session shows is decided by the events of the sessions before it, and what is not shown
leaves no event: the loop of the product is in it. A candidate is shown where its relevance reaches
the floor, moved for its memory; beside one that does, others are from ``BESIDE`` below it on. A
memory is shown once in a session.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from msgspec import Struct

from ...bus.values import UseEvent, Usefulness, UseKind
from ...stages.injection.usefulness import floor_shift, together, usefulness
from .candidates import Area, Asked, Recording

_Name = TypeVar("_Name")


class Kind(Struct, frozen=True, kw_only=True):
    """A kind of user. All but ``jitter`` are probabilities or shares, 0.0–1.0.

    ``indifferent``: memories of no use to the user whatever is asked; ``turning``: of the memories,
    those for which that is the other way round from the middle of the sessions on. ``strange``:
    prompts that no memory answers, beside those of the recording. ``jitter``: the standard
    deviation of the log-odds of a relevance between two wordings of a prompt. The others are how
    often something is seen of a memory that is shown, if it was of use and if it was not.
    """

    name: str
    hostile: bool = False
    two_areas: bool = False
    indifferent: float = 0.2
    turning: float = 0.0
    strange: float = 0.1
    jitter: float = 0.7
    taken_up: tuple[float, float] = (0.6, 0.05)
    quoted: tuple[float, float] = (0.1, 0.0)
    corrected: tuple[float, float] = (0.01, 0.05)


KINDS = (
    Kind(name="tidy"),
    Kind(name="content", indifferent=0.0),
    Kind(name="terse", strange=0.3, jitter=1.2, taken_up=(0.4, 0.05), quoted=(0.05, 0.0)),
    Kind(name="two areas", two_areas=True),
    Kind(name="turning", turning=0.5),
    Kind(name="traceless", taken_up=(0.05, 0.02), quoted=(0.0, 0.0), corrected=(0.0, 0.02)),
    Kind(name="echoing", hostile=True, taken_up=(0.9, 0.9), quoted=(0.1, 0.1)),
    Kind(name="objecting", hostile=True, corrected=(0.4, 0.4)),
    Kind(
        name="random",
        hostile=True,
        taken_up=(0.3, 0.3),
        quoted=(0.0, 0.0),
        corrected=(0.03, 0.03),
    ),
)
"""``content`` uses whatever answers; ``turning`` changes direction; ``traceless`` uses memories and
nothing shows it. ``echoing`` names whatever is shown, ``objecting`` objects at random, and what is
seen of ``random`` has nothing to do with use."""


class Offered(Struct, frozen=True):
    """A candidate of one prompt: whether it is of use to this user, and what showing it leaves."""

    memory: int
    relevance: float
    useful: bool
    traces: tuple[UseKind, ...]


class Prompt(Struct, frozen=True):
    """A prompt as the user meets it: the memories that would be of use, and the candidates."""

    wanted: frozenset[int]
    offered: tuple[Offered, ...]


Session = tuple[Prompt, ...]


class User(Struct, frozen=True):
    """A user's sessions, oldest first, in a store of so many ``memories``.

    ``before`` and ``after`` are the memories that are of use to the user in either half. ``seed``
    tells this user from all others.
    """

    kind: Kind
    seed: str
    memories: int
    sessions: tuple[Session, ...]
    before: frozenset[int]
    after: frozenset[int]


def users(recording: Recording, kind: Kind, *, number: int, sessions: int) -> Iterator[User]:
    """The first ``number`` users of ``kind``; they are the same each time."""
    areas = recording.double if kind.two_areas else recording.single
    for each in range(number):
        yield _user(areas[each % len(areas)], kind, sessions, f"{kind.name} {each}")


PROMPTS = 6
"""The prompts of a session that search for something."""


def _user(area: Area, kind: Kind, sessions: int, seed: str) -> User:
    chance = random.Random(seed)  # noqa: S311 - an experiment can be repeated
    before = frozenset(m for m in range(area.memories) if chance.random() >= kind.indifferent)
    turned = {m for m in range(area.memories) if chance.random() < kind.turning}
    after = frozenset(m for m in range(area.memories) if (m in before) != (m in turned))
    made = []
    for session in range(sessions):
        taste = before if session < sessions // 2 else after
        asked = chance.sample(area.asked, min(PROMPTS, len(area.asked)))
        made.append(tuple(_prompt(one, taste, kind, chance) for one in asked))
    return User(kind, seed, area.memories, tuple(made), before, after)


def _prompt(asked: Asked, taste: frozenset[int], kind: Kind, chance: random.Random) -> Prompt:
    """One wording of ``asked``; a strange one finds what it found but for what answers."""
    strange = chance.random() < kind.strange
    offered = []
    for one in (one for one in asked.found if not (strange and one.fits)):
        useful = one.fits and one.memory in taste
        relevance = _jittered(one.relevance, kind.jitter, chance)
        offered.append(Offered(one.memory, relevance, useful, _traces(kind, useful, chance)))
    offered.sort(key=lambda one: -one.relevance)
    wanted = frozenset() if strange else taste.intersection(asked.wanted)
    return Prompt(wanted, tuple(offered))


def _jittered(relevance: float, jitter: float, chance: random.Random) -> float:
    odds = math.log(relevance / (1 - relevance)) if relevance < 1 else math.inf
    return 1 / (1 + math.exp(-odds - chance.gauss(0, jitter)))


def _traces(kind: Kind, useful: bool, chance: random.Random) -> tuple[UseKind, ...]:
    which = 0 if useful else 1
    told: tuple[tuple[UseKind, tuple[float, float]], ...] = (
        ("taken_up", kind.taken_up),
        ("quoted", kind.quoted),
        ("corrected", kind.corrected),
    )
    return tuple(name for name, rates in told if chance.random() < rates[which])


# --- the arms -----------------------------------------------------------------------------------

BESIDE = 0.10
"""How far the floor beside a memory that is shown lies below the floor, as the settings ship."""

BETWEEN = timedelta(days=1)
_BEGAN = datetime(2026, 1, 1, tzinfo=UTC)

Shifts = Mapping[int, float]


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

    return _play(user, floor, lambda _: {int(one): by for one, by in ledger.shifts().items()}, note)


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
