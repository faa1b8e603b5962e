"""What became of memories after they were shown, and what that adds up to."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from .results import Result
from .values import Value

UseKind = Literal[
    "shown",
    "untraceable",
    "taken_up",
    "quoted",
    "captured_again",
    "heeded",
    "corrected",
    "failed_anyway",
    "kept",
    "buried",
]
"""What may become of a memory, an event each.

``shown``: it went into a context; ``untraceable``, beside that: it names nothing by which its use
could be told. ``taken_up``: what it names and the prompt did not, was used
afterwards. ``quoted``: the agent named its id. ``captured_again``: somebody wanted it kept once
more. ``heeded``: the failure it warned of did not come. ``corrected``: the user objected right
after. ``failed_anyway``: what it warned of failed again. ``kept`` and ``buried`` are the votes of
the user.
"""


class UseEvent(Value, frozen=True, kw_only=True):
    """One thing that happened to a memory in a session. Times are aware UTC.

    ``moment`` is the hook at which it happened, ``rank`` its place in the context, counted from 1,
    or 0 where there is none. ``detail`` says in a few words what was seen, and never quotes.
    """

    memory_id: str
    session: str
    at: datetime
    kind: UseKind
    moment: str = ""
    rank: int = 0
    detail: str = ""


class Usefulness(Value, frozen=True, kw_only=True):
    """The evidence on one memory: sessions in which it helped, and in which it did not.

    Both are sums of weights, 0.0 and more. ``buried``: the user does not want it unasked.
    """

    helped: float = 0.0
    idle: float = 0.0
    buried: bool = False


class DayStats(Result, frozen=True, kw_only=True):
    """One day, by this machine's clock.

    ``prompts`` were answered, ``served`` of them given something, ``tokens`` in all; None where the
    trace of prompts does not reach back so far. ``shown`` counts memories that went into a context,
    ``used`` those of which it was seen that they helped, ``corrected`` those to which the
    user objected. ``asked`` memories were kept because somebody asked, ``automatic`` ones were not.
    """

    day: str
    prompts: int | None
    served: int | None
    tokens: int | None
    shown: int
    used: int
    corrected: int
    asked: int
    automatic: int


class MostUsed(Result, frozen=True):
    """A memory and how often it was seen to help."""

    id: str
    summary: str
    used: int


class StatsResult(Result, frozen=True, kw_only=True):
    """``stats``: the last days, oldest first.

    Of ``memories`` that are valid, ``unused`` were never shown.
    ``log_since`` is the time of the first prompt in the trace of prompts; None where there is none.
    """

    days: tuple[DayStats, ...]
    memories: int
    unused: int
    most_used: tuple[MostUsed, ...]
    log_since: datetime | None
