"""How much what became of a memory moves the floor that it must reach to be shown.

A memory's chance to help when it is shown has a beta posterior. The prior is worth a few sessions,
and its mean is what is usual for the user's memories: where nothing that is used leaves a trace, or
everything seems to, one memory's traces say nothing. Each session in which the memory was shown
counts once, however often it was shown there. The constants were chosen by replay
(``subcog eval use``); docs/adr has what else was tried.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable

from msgspec import Struct

from ...bus.values import UseEvent, Usefulness
from ..ports import Uses

PRIOR_SESSIONS = 4.0
"""What the prior weighs, in sessions."""

PRIOR_MEAN = 0.5
"""Its mean where nothing is known of the other memories."""

MOST_RAISED = 0.30
MOST_LOWERED = 0.10
"""How far a floor is moved at most: up for a memory that never helps, down for one that does."""

_LOWERING = 0.5
# The part of a distance that is taken off, in standard deviations of the posterior: chance alone
# makes distances, and where use tells nothing these are all there is.
_DOUBT = 0.3
# So many sessions' worth of "as ever" are mixed into what is usual, until there is evidence on it.
_USUAL_SESSIONS = 10.0
HELPED = frozenset({"taken_up", "quoted", "captured_again", "heeded"})
_BAD = frozenset({"corrected", "failed_anyway"})
VOTES = frozenset({"kept", "buried"})
# Of such a session nothing could be seen, so that nothing was seen says nothing.
_UNTRACEABLE = {"shown", "untraceable"}
_VOTE_SESSIONS = 4.0
# Being shown and not used says less: many memories help without leaving a trace.
_UNUSED_SESSIONS = 0.5
# What is kept of the evidence for one side when a session speaks for the other: what was useful
# before the user changed direction is soon forgotten. And no side is ever worth more sessions.
_KEPT_SHARE = 0.8
_MOST_SESSIONS = 10.0
_TWO_SIDED_95 = 1.96
# A shift below this would not be seen in a floor of two decimals.
_SEEN = 0.005


def usefulness(events: Iterable[UseEvent]) -> Usefulness:
    """Sum up the events of one memory, in the order in which they happened.

    The order within a session is of no account. The last vote holds: a memory that the user keeps
    has nothing against it.
    """
    seen: dict[str, set[str]] = {}
    vote = ""
    for event in events:
        if event.kind in VOTES:
            vote = event.kind
        else:
            seen.setdefault(event.session, set()).add(event.kind)
    helped = idle = 0.0
    for kinds in seen.values():
        if kinds != _UNTRACEABLE:
            helped, idle = _after(kinds, helped, idle)
    if vote == "kept":
        helped, idle = helped + _VOTE_SESSIONS, 0.0
    return Usefulness(helped=helped, idle=idle, buried=vote == "buried")


def helps(kinds: Collection[str]) -> bool:
    """Whether a memory of which ``kinds`` of events were seen in a session helped there."""
    return not HELPED.isdisjoint(kinds) and _BAD.isdisjoint(kinds)


def _after(kinds: set[str], helped: float, idle: float) -> tuple[float, float]:
    """The evidence for and against a memory after one more session."""
    if helps(kinds):
        return min(_MOST_SESSIONS, helped + 1.0), idle * _KEPT_SHARE
    weight = 1.0 if kinds & _BAD else _UNUSED_SESSIONS
    return helped * _KEPT_SHARE**weight, min(_MOST_SESSIONS, idle + weight)


def together(uses: Iterable[Usefulness]) -> Usefulness:
    """The evidence on many memories, which says what is usual among them."""
    helped = idle = 0.0
    for use in uses:
        helped += use.helped
        idle += use.idle
    return Usefulness(helped=helped, idle=idle)


def mean(use: Usefulness, usual: Usefulness | None = None) -> float:
    """The expected chance that the memory helps when it is shown, 0.0–1.0.

    ``usual`` is the evidence on all the memories of the user, ``together``.
    """
    helped, idle = _posterior(use, usual)
    return helped / (helped + idle)


def interval(use: Usefulness, usual: Usefulness | None = None) -> tuple[float, float]:
    """Where that chance lies with a probability of 95 %, as (low, high).

    The log-odds of a beta distribution of a and b are nearly normal: their mean is ψ(a) − ψ(b),
    their variance ψ′(a) + ψ′(b), and ψ″(a) − ψ″(b) their third moment, by which the bounds are
    corrected for skewness (Cornish and Fisher). Each is within 0.03 of the exact quantile where
    a and b are 1 or more.
    """
    helped, idle = _posterior(use, usual)
    (middle, spread, third), (other, more, less) = _polygammas(helped), _polygammas(idle)
    deviation = math.sqrt(spread + more)
    skewness = (third - less) / deviation**3
    lean = (_TWO_SIDED_95**2 - 1) * skewness / 6
    low, high = (middle - other + deviation * (lean + z) for z in (-_TWO_SIDED_95, _TWO_SIDED_95))
    return _chance(low), _chance(high)


def floor_shift(use: Usefulness, usual: Usefulness | None = None) -> float:
    """What is added to the floor of relevance for this memory, -0.10 to 0.30; 0.0 unknown.

    It is as much as the chance to help lies below what is ``usual``, and half as much as it lies
    above, less some doubt. A memory that is only ever shown never gets a negative one.
    """
    if not (use.helped or use.idle):
        return 0.0
    below = _prior_mean(usual) - mean(use, usual)
    far = max(0.0, abs(below) - _DOUBT * _deviation(use, usual))
    return min(MOST_RAISED, far) if below > 0 else -min(MOST_LOWERED, _LOWERING * far)


def _deviation(use: Usefulness, usual: Usefulness | None) -> float:
    """The standard deviation of the posterior."""
    helped, idle = _posterior(use, usual)
    both = helped + idle
    return math.sqrt(helped * idle / (both + 1)) / both


def _prior_mean(usual: Usefulness | None) -> float:
    """The usual chance to help, 0.0–1.0, both exclusive."""
    if usual is None:
        return PRIOR_MEAN
    helped = PRIOR_MEAN * _USUAL_SESSIONS + usual.helped
    return helped / (_USUAL_SESSIONS + usual.helped + usual.idle)


def _posterior(use: Usefulness, usual: Usefulness | None) -> tuple[float, float]:
    """The two parameters of the beta distribution."""
    prior = _prior_mean(usual)
    return PRIOR_SESSIONS * prior + use.helped, PRIOR_SESSIONS * (1 - prior) + use.idle


def _polygammas(x: float) -> tuple[float, float, float]:
    """ψ, ψ′ and ψ″ of x > 0: asymptotic series at x + 2, and the recurrence from there down."""
    y = x + 2
    return (
        math.log(y) - 1 / (2 * y) - 1 / (12 * y**2) - 1 / (x + 1) - 1 / x,
        1 / y + 1 / (2 * y**2) + 1 / (6 * y**3) + 1 / (x + 1) ** 2 + 1 / x**2,
        -1 / y**2 - 1 / y**3 - 1 / (2 * y**4) - 2 / (x + 1) ** 3 - 2 / x**3,
    )


def _chance(log_odds: float) -> float:
    return 1 / (1 + math.exp(-log_odds))


class NoUses:
    """Knows nothing of any memory."""

    usual = Usefulness()

    def of(self, memory_id: str) -> Usefulness:
        return self.usual


class Learned(Struct, frozen=True):
    """What the ``uses`` of memories say; floors are moved only if ``moves_floors``."""

    uses: Uses = NoUses()
    moves_floors: bool = True

    def is_buried(self, memory_id: str) -> bool:
        """Whether the user does not want it shown unasked."""
        return self.uses.of(memory_id).buried

    def mean(self, memory_id: str) -> float:
        """The expected chance that it helps, 0.0–1.0."""
        return mean(self.uses.of(memory_id), self.uses.usual)

    def interval(self, memory_id: str) -> tuple[float, float]:
        """Where that chance lies with a probability of 95 %."""
        return interval(self.uses.of(memory_id), self.uses.usual)

    def shift(self, memory_id: str) -> float:
        """What is added to the floor for it; 0.0 for one of which nothing is known."""
        if not self.moves_floors:
            return 0.0
        return floor_shift(self.uses.of(memory_id), self.uses.usual)


NOTHING_LEARNED = Learned()
BURIED = "buried by the user: shown only where it is asked for"


def moved(shift: float) -> str:
    """What is said of a floor that was moved by ``shift``; "" where that cannot be seen."""
    if abs(shift) < _SEEN:
        return ""
    return f"{'raised' if shift > 0 else 'lowered'} by {abs(shift):.2f} after its use so far"
