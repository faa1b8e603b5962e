"""The result of one check, and the checks of the sessions and of the team."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath

from msgspec import Struct

from ...bus.results import StatusResult
from ...config.settings import SessionsSettings


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


def examine_sessions(
    status: StatusResult | None, settings: SessionsSettings, project: PurePath
) -> Finding:
    """What is kept of sessions, and whether anything said in ``project`` is."""
    excluded = next((one for one in settings.exclude if project.is_relative_to(one)), None)
    if not settings.enabled:
        seen = "switched off; nothing that is said is kept (sessions.enabled)"
    elif excluded is not None:
        seen = f"nothing said in this project is kept (sessions.exclude has {excluded})"
    elif status is None or status.sessions is None:
        seen = "still being loaded, or no daemon could be asked"
    else:
        seen = f"{status.sessions} sessions, {status.passages} passages"
    return Finding(check="sessions", ok=True, seen=seen)


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
