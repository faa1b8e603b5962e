"""What became of memories after they were shown, and what that adds up to."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

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
