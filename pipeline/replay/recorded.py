"""What the rule would have done to the contexts of a real store, by its recorded events.

A file has a ``RecordedEvent`` a line. Each session's floors are moved by the events of the sessions
that began before it. A row ``shown`` with a prompt is judged where its relevance is known: without
the rule it stands against the floor of the settings, with the rule against the moved one. What was
not shown left no row and nothing to observe, so there is no gain to be had from a log: it tells how
often what the rule would have withheld was of use, and how often what it would have kept was. The
placebo beside it gives each memory's shifts to another one, 200 times (seeds 0 to 199).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from ...bus.values import UseEvent
from ...config.settings import ContextSettings
from ...stages.injection.usefulness import helps
from ..evaluation.common import Interval, read_rows, share, share_text
from .simulation import Ledger, shuffled

PROMPT = "UserPromptSubmit"
"""The moment at which a memory has to reach the floor that the rule moves."""

OUTCOMES = ("kept", "withheld", "allowed", "below")
"""What would have become of a memory that was shown: it reaches both floors, that of the settings
alone, the moved one alone, or neither."""

_PLACEBOS = 200


class RecordedEvent(UseEvent, frozen=True, kw_only=True):
    """A line: a ``UseEvent``, and for what was shown the relevance that it was shown with."""

    relevance: Annotated[float, Meta(ge=0.0, le=1.0)] | None = None


class Judged(Struct, frozen=True):
    """A memory that was shown with a prompt: against which floor, and whether it was of use."""

    memory: str
    relevance: float
    floor: float
    used: bool


class Past(Struct, frozen=True):
    """The shifts that held in one session, and what of it is judged."""

    shifts: Mapping[str, float]
    judged: tuple[Judged, ...]


class Became(Struct, frozen=True, kw_only=True):
    """How many of what was shown had one of ``OUTCOMES``, and the share of them that was of use."""

    shown: int
    use_rate: float | None


class Drawn(Struct, frozen=True, kw_only=True):
    """The means of the same over the placebos, and the range of 95 % of the use rates."""

    shown: float
    use_rate: float | None
    interval: Interval | None


class Report(Struct, frozen=True, kw_only=True):
    """What became of what was shown, by outcome."""

    events: int
    sessions: int
    memories: int
    judged: int
    unjudged: int
    rule: dict[str, Became]
    placebo: dict[str, Drawn]

    def lines(self) -> Iterator[str]:
        yield (
            f"{self.events} events of {self.memories} memories in"
            f" {self.sessions} sessions; judged {self.judged}, not {self.unjudged}"
        )
        yield ""
        yield f"{'':10}{'shown':>8}{'of use':>9}{'placebo: shown':>17}{'of use':>9}{'95 %':>17}"
        for name in OUTCOMES:
            yield _row(name, self.rule[name], self.placebo[name])


def evaluate(file: Path, *, context: ContextSettings) -> Report:
    """Replay the events of ``file`` under the floors of ``context``.

    Raises ``OSError``, and ``ValueError`` with file and line where a line is none, or where a time
    has no zone.
    """
    events = read_rows(file, RecordedEvent)
    if not events:
        raise ValueError(f"{file} holds no events")
    if any(event.at.tzinfo is None for event in events):
        raise ValueError(f"{file} has a time without a zone")
    past = tuple(replay(events, context))
    judged = sum(len(one.judged) for one in past)
    return Report(
        events=len(events),
        sessions=len(past),
        memories=len({event.memory_id for event in events}),
        judged=judged,
        unjudged=sum(event.kind == "shown" for event in events) - judged,
        rule=_became(_outcomes(past, {})),
        placebo=_placebo(past),
    )


def replay(events: Sequence[RecordedEvent], context: ContextSettings) -> Iterator[Past]:
    """Each session in the order in which they began."""
    sessions: dict[str, list[RecordedEvent]] = {}
    for event in sorted(events, key=lambda one: one.at):
        sessions.setdefault(event.session, []).append(event)
    ledger = Ledger()
    for own in sessions.values():
        yield Past(ledger.shifts(), tuple(_judged(own, context)))
        ledger.add(own)


def _judged(session: Sequence[RecordedEvent], context: ContextSettings) -> Iterator[Judged]:
    kinds: dict[str, set[str]] = {}
    for event in session:
        kinds.setdefault(event.memory_id, set()).add(event.kind)
    for event in session:
        if event.kind == "shown" and event.moment == PROMPT and event.relevance is not None:
            beside = event.rank > 1
            floor = context.min_relevance_beside if beside else context.min_relevance
            used = helps(kinds[event.memory_id])
            yield Judged(event.memory_id, event.relevance, floor, used)


def _outcomes(past: Sequence[Past], other: Mapping[str, str]) -> Counter[tuple[str, bool]]:
    """How often each thing became of what was shown, of use or not.

    ``other`` names the memory whose shift each memory gets; its own where it is not named.
    """
    return Counter(
        (_outcome(row, one.shifts.get(other.get(row.memory, row.memory), 0.0)), row.used)
        for one in past
        for row in one.judged
    )


def _outcome(row: Judged, shift: float) -> str:
    before, after = row.relevance >= row.floor, row.relevance >= row.floor + shift
    if before and after:
        return "kept"
    if before:
        return "withheld"
    return "allowed" if after else "below"


def _became(outcomes: Counter[tuple[str, bool]]) -> dict[str, Became]:
    made = {}
    for name in OUTCOMES:
        used, shown = outcomes[name, True], outcomes[name, True] + outcomes[name, False]
        made[name] = Became(shown=shown, use_rate=share(used, shown))
    return made


def _placebo(past: Sequence[Past]) -> dict[str, Drawn]:
    moved = sorted({memory for one in past for memory, by in one.shifts.items() if by})
    drawn = [_became(_outcomes(past, shuffled(moved, f"{n}"))) for n in range(_PLACEBOS)]
    return {name: _mean([one[name] for one in drawn]) for name in OUTCOMES}


def _mean(drawn: Sequence[Became]) -> Drawn:
    rates = sorted(one.use_rate for one in drawn if one.use_rate is not None)
    edge = len(rates) // 40
    return Drawn(
        shown=round(sum(one.shown for one in drawn) / len(drawn), 1),
        use_rate=share(sum(rates), len(rates)),
        interval=(rates[edge], rates[-1 - edge]) if rates else None,
    )


def _row(name: str, rule: Became, sham: Drawn) -> str:
    mine, theirs = share_text(rule.use_rate), share_text(sham.use_rate)
    between = " to ".join(map(share_text, sham.interval)) if sham.interval else "–"
    return f"{name:10}{rule.shown:>8}{mine:>9}{sham.shown:>17}{theirs:>9}{between:>17}"
