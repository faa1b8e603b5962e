"""The result of one check, and the check of the team."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from ...bus.results import StatusResult


class Unrepaired(RuntimeError):
    """Something could not be repaired; the message says why, and what to do instead."""


Repair = Callable[[], tuple[str, ...]]


class Finding(Struct, frozen=True, kw_only=True):
    """The check's name, whether it passed, what was seen, and how to fix it.

    ``repair`` repairs it and returns what it did, a line each; None where only the user can. Raises
    ``Unrepaired`` or ``OSError``.
    """

    check: str
    ok: bool
    seen: str
    mend: str = ""
    repair: Repair | None = None


# A team that is behind for longer, in seconds, is not merely slow.
LAG_S = 3600.0


def examine_team(status: StatusResult | None) -> Finding:
    """What the daemon's ``status`` says of it."""
    team = status.team if status else None
    if team is None:
        return Finding(check="team", ok=True, seen="no team joined")
    seen = f"{team.team} as {team.member}, on {team.server}"
    if problem := team.problem:
        mend = f"{problem.message.rstrip('.')}. New memories are sent later."
        return Finding(check="team", ok=False, seen=f"{seen}: {problem.reason}", mend=mend)
    if team.lag_s is not None and team.lag_s > LAG_S:
        hours = team.lag_s / 3600
        seen = f"{seen}: behind for {hours:.0f} h, and {team.outbox} changes wait to be sent"
        mend = "`subcog team status` shows why"
        return Finding(check="team", ok=False, seen=seen, mend=mend)
    return Finding(check="team", ok=True, seen=seen)
