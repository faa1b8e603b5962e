"""Simulated users: what each asks in session after session, and what of memory is of use to them.

The prompts are those of a recording, with the candidates that the search found for them. A user has
a taste: of the memories that answer a prompt, some are of no use to this user, who knows them or
does otherwise. What may be observed of a memory that is shown is drawn once, whether or not it will
be shown, so that every arm of an experiment meets the same user.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator

from msgspec import Struct

from ...bus.values import UseKind
from .candidates import Area, Asked, Recording


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
