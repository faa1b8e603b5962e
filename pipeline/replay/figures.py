"""Whether learning from use makes what is injected better: simulated users, replayed.

Three arms get the same sessions: without the rule of ``stages/injection/usefulness.py``, with it,
and with a placebo that moves as many floors as far, of other memories. ``precision`` is compared
where recall is equal: each arm is played under many floors, and its precision is read off where its
recall is that of the first arm under the floor that ships. Both are over all users of a kind
together. ``over_none`` and ``over_placebo`` are how far the rule is ahead; ``interval`` is 95 %,
from 1,000 resamples of the users of each kind, seed 0.

``at_floor`` has the arms under the floor that ships, and ``lost`` the share of the memories that
are shown when they are of use without the rule, but not with it, in the last third of the sessions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import asdict

from ...bus.values import UseKind
from ...stages.injection.usefulness import floor_shift, usefulness
from ..evaluation.common import Interval, Progress, ratio
from .candidates import Recording
from .simulation import KINDS, Counts, Kind, Played, User, event, placebo, users, with_rule, without

FLOORS = tuple(round(0.25 + 0.04 * step, 2) for step in range(11))
SHIPPED = FLOORS.index(0.45)
USERS = 40
SESSIONS = 60
ARMS = ("without", "rule", "placebo")
MOST_HARM = 0.01
"""So much less precision at equal recall is no harm to a kind of user."""

_RESAMPLES = 1000

Table = npt.NDArray[np.float64]


class Replayed:
    """A user in every arm: ``arms`` under the floor that ships, and what is counted under all.

    ``table`` has shape (arms, floors, 4).
    """

    def __init__(self, user: User) -> None:
        self.user = user
        self.table: Table = np.zeros((len(ARMS), len(FLOORS), 4))
        self.arms: tuple[Played, ...] = ()
        for at, floor in enumerate(FLOORS):
            ruled = with_rule(user, floor)
            arms = (without(user, floor), ruled, placebo(user, floor, ruled))
            self.table[:, at] = [_totals(arm.counts) for arm in arms]
            if at == SHIPPED:
                self.arms = arms


class AtFloor(Struct, frozen=True):
    """What an arm gives under a floor."""

    precision: float
    recall: float


class Ahead(Struct, frozen=True):
    """How much more precision one arm has than another."""

    gain: float
    interval: Interval

    def __str__(self) -> str:
        low, high = self.interval
        return f"{self.gain:+.3f} ({low:+.3f} to {high:+.3f})"


class Compared(Struct, frozen=True, kw_only=True):
    """The arms at the recall of the first, each precision by arm."""

    recall: float
    precision: dict[str, float]
    over_none: Ahead
    over_placebo: Ahead


class Figures(Compared, frozen=True, kw_only=True):
    """The arms compared, over the users of one or more kinds."""

    at_floor: dict[str, AtFloor]
    lost: dict[str, float]

    def row(self, name: str) -> str:
        without_, rule, sham = self.precision.values()
        return (
            f"{name:10}{self.recall:>8.3f}{without_:>9.3f}{rule:>7.3f}{sham:>9.3f}"
            f"{self.over_none!s:>27}{self.over_placebo!s:>27}"
            f"{self.lost['rule']:>7.3f}{self.lost['placebo']:>9.3f}"
        )


class OfKind(Figures, frozen=True, kw_only=True):
    """Those of one kind; memories whose floor was ``raised`` and ``lowered`` in the end, a user."""

    hostile: bool
    raised: float
    lowered: float


class Window(Struct, frozen=True, kw_only=True):
    """Two arms under the floor that ships, from the first to the last of ``sessions``."""

    sessions: tuple[int, int]
    without: AtFloor
    rule: AtFloor

    def row(self) -> str:
        pairs = (f"{one.precision:.3f}, {one.recall:.3f}" for one in (self.without, self.rule))
        return "{:10}{:>28}{:>28}".format("{}-{}".format(*self.sessions), *pairs)


class Drift(Struct, frozen=True, kw_only=True):
    """What the rule does to one memory, by the sessions that it lived through: shifts of its floor.

    ``shown_1000`` is the lowest and the last after up to 1,000 sessions in which it was only shown;
    ``one_bad`` before and after an objection, five sessions in which it helped coming before. A
    ``fallen`` memory helped ten times and does no more, a ``risen`` one was objected to ten times
    and then helps: after so many sessions more its shift is on the other side of 0.
    """

    shown_1000: tuple[float, float]
    one_bad: tuple[float, float]
    fallen_after: int
    risen_after: int

    def lines(self) -> tuple[str, ...]:
        lowest, last = self.shown_1000
        before, after = self.one_bad
        return (
            "shown and never used, up to 1,000 times: floor moved by"
            f" {lowest:+.3f} at least, {last:+.3f} at the end",
            f"useful, then one bad session: {before:+.3f}, then {after:+.3f}",
            f"a change of direction is noticed after {self.fallen_after} sessions (no more use),"
            f" {self.risen_after} (of use again)",
        )


class Verdict(Struct, frozen=True, kw_only=True):
    """Whether the rule is clearly ahead of the placebo, and which kinds of user it harms."""

    beats_placebo: bool
    harmed: list[str]
    switch_on: bool


class Report(Struct, frozen=True, kw_only=True):
    """What ``users`` of each kind come to."""

    users: int
    sessions: int
    overall: Figures
    kinds: dict[str, OfKind]
    turning: list[Window]
    drift: Drift
    verdict: Verdict

    def lines(self) -> Iterator[str]:
        yield (
            f"{self.users} users of each kind, {self.sessions} sessions each;"
            " precision at equal recall:"
        )
        yield ""
        yield (
            f"{'kind':10}{'recall':>8}{'without':>9}{'rule':>7}{'placebo':>9}"
            f"{'rule - without':>27}{'rule - placebo':>27}{'lost':>7}{'placebo':>9}"
        )
        yield from (own.row(name) for name, own in self.kinds.items())
        yield self.overall.row("all")
        yield ""
        yield "users who change direction halfway, under the floor that ships:"
        yield f"{'sessions':10}{'without: precision, recall':>28}{'rule: precision, recall':>28}"
        yield from (window.row() for window in self.turning)
        yield ""
        yield from self.drift.lines()
        yield ""
        yield (
            f"beats the placebo: {'yes' if self.verdict.beats_placebo else 'no'};"
            f" harmed: {', '.join(self.verdict.harmed) or 'none'}"
        )


def evaluate(
    recording: Recording,
    *,
    number: int = USERS,
    sessions: int = SESSIONS,
    progress: Progress = lambda done, total: None,
) -> Report:
    """Replay ``number`` users of each kind; ``progress`` hears (done, in all)."""
    every: dict[str, list[Replayed]] = {}
    for kind in KINDS:
        own = every.setdefault(kind.name, [])
        for user in users(recording, kind, number=number, sessions=sessions):
            own.append(Replayed(user))
            progress(sum(map(len, every.values())), number * len(KINDS))
    kinds = {kind.name: _of_kind(kind, every[kind.name]) for kind in KINDS}
    overall = figures(list(every.values()))
    return Report(
        users=number,
        sessions=sessions,
        overall=overall,
        kinds=kinds,
        turning=_windows(every["turning"], sessions),
        drift=drift(),
        verdict=verdict(overall, kinds),
    )


def verdict(overall: Compared, kinds: Mapping[str, Compared]) -> Verdict:
    """Over all users, and by kind."""
    harmed = [name for name, own in kinds.items() if own.over_none.gain < -MOST_HARM]
    beats = overall.over_placebo.interval[0] > 0
    return Verdict(beats_placebo=beats, harmed=harmed, switch_on=beats and not harmed)


def figures(kinds: Sequence[Sequence[Replayed]]) -> Figures:
    """The arms compared, over the users of all ``kinds``."""
    together = [one for own in kinds for one in own]
    tables = [np.stack([one.table for one in own]) for own in kinds]
    counted = np.sum([table.sum(0) for table in tables], axis=0)[:, SHIPPED]
    return Figures(
        **asdict(compare(tables)),
        at_floor={arm: _at_floor(own) for arm, own in zip(ARMS, counted, strict=True)},
        lost={"rule": _lost(together, 1), "placebo": _lost(together, 2)},
    )


def _of_kind(kind: Kind, replayed: Sequence[Replayed]) -> OfKind:
    ends = [[*one.arms[1].shifts[-1].values()] for one in replayed]
    return OfKind(
        **asdict(figures([replayed])),
        hostile=kind.hostile,
        raised=_mean([sum(by > 0 for by in end) for end in ends]),
        lowered=_mean([sum(by < 0 for by in end) for end in ends]),
    )


def _at_floor(counted: Sequence[float]) -> AtFloor:
    right, shown, found, wanted = counted
    return AtFloor(ratio(right, shown), ratio(found, wanted))


def _totals(counts: Sequence[Counts]) -> tuple[int, int, int, int]:
    total = Counts()
    for one in counts:
        total.add(one)
    return total.right, total.shown, total.found, total.wanted


def _mean(counts: Sequence[int]) -> float:
    return round(sum(counts) / max(1, len(counts)), 1)


# --- at equal recall -----------------------------------------------------------------------------


def compare(tables: Sequence[Table]) -> Compared:
    """The arms at equal recall; ``tables`` has one a kind, of shape (users, arms, floors, 4)."""
    chance = np.random.default_rng(0)

    def resample() -> Table:
        draws = [chance.integers(0, len(table), len(table)) for table in tables]
        return _sum([table[draw] for table, draw in zip(tables, draws, strict=True)])

    all_ = _sum(tables)
    point = _precisions(all_)
    drawn = np.stack([_precisions(resample()) for _ in range(_RESAMPLES)])
    return Compared(
        recall=round(_recall(all_), 4),
        precision=dict(zip(ARMS, np.round(point, 4).tolist(), strict=True)),
        over_none=_ahead(point[1] - point[0], drawn[:, 1] - drawn[:, 0]),
        over_placebo=_ahead(point[1] - point[2], drawn[:, 1] - drawn[:, 2]),
    )


def _sum(tables: Sequence[Table]) -> Table:
    return np.asarray(sum(table.sum(0) for table in tables))


def _ahead(gain: float, drawn: Table) -> Ahead:
    low, high = np.round(np.percentile(drawn, (2.5, 97.5)), 4).tolist()
    return Ahead(round(float(gain), 4), (low, high))


def _recall(counted: Table) -> float:
    found, wanted = counted[0, SHIPPED, 2:]
    return float(found / max(wanted, 1))


def _precisions(counted: Table) -> Table:
    """The precision of each arm at the recall of the first; ``counted`` is (arms, floors, 4)."""
    right, shown, found, wanted = np.moveaxis(counted, 2, 0)
    precision, recall = right / np.maximum(shown, 1), found / np.maximum(wanted, 1)
    level = _recall(counted)
    # Recall falls as the floor rises, and interp wants it rising.
    pairs = zip(recall, precision, strict=True)
    return np.array([np.interp(level, own[::-1], arm[::-1]) for own, arm in pairs])


# --- over time -----------------------------------------------------------------------------------


def _lost(replayed: Sequence[Replayed], arm: int) -> float:
    """The share of memories that ``arm`` never shows any more when they are of use."""
    lost = known = 0
    for one in replayed:
        late = len(one.user.sessions) * 2 // 3
        kept, mine = (frozenset().union(*one.arms[n].of_use[late:]) for n in (0, arm))
        lost += len(kept - mine)
        known += len(kept)
    return ratio(lost, known)


def _windows(replayed: Sequence[Replayed], sessions: int) -> list[Window]:
    """Both arms in each sixth of the sessions; the users turn after the third."""
    length = max(1, sessions // 6)
    return [
        Window(
            sessions=(start + 1, start + length),
            without=_window(replayed, 0, start, length),
            rule=_window(replayed, 1, start, length),
        )
        for start in range(0, length * 6, length)
    ]


def _window(replayed: Sequence[Replayed], arm: int, start: int, length: int) -> AtFloor:
    parts = [_totals(one.arms[arm].counts[start : start + length]) for one in replayed]
    return _at_floor([sum(column) for column in zip(*parts, strict=True)])


def drift() -> Drift:
    """Play the four lives."""
    idle: tuple[UseKind, ...] = ("shown",)
    shown = [_shift(*idle * count) for count in (*range(1, 50), 100, 1000)]
    good: tuple[UseKind, ...] = ("taken_up",)
    bad: tuple[UseKind, ...] = ("corrected",)
    fallen = (_shift(*good * 10, *idle * n) > 0 for n in range(1, 100))
    risen = (_shift(*bad * 10, *good * n) < 0 for n in range(1, 100))
    return Drift(
        shown_1000=(round(min(shown), 4), round(shown[-1], 4)),
        one_bad=(round(_shift(*good * 5), 4), round(_shift(*good * 5, *bad), 4)),
        fallen_after=[*fallen].index(True) + 1,
        risen_after=[*risen].index(True) + 1,
    )


def _shift(*kinds: UseKind) -> float:
    """Where the floor is moved after sessions of which each has one kind of event."""
    events = [event(0, session, 1, kind) for session, kind in enumerate(kinds)]
    return floor_shift(usefulness(events))
