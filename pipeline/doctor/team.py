"""Looks at the team: whether its server can be used, and whether the two have the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .finding import Finding

# A team that is behind for longer, in seconds, is not merely slow.
LAG_S = 3600.0


def examine(status: Mapping[str, Any] | None) -> Finding:
    """What the daemon's ``status`` says of it."""
    team = status["team"] if status else None
    if team is None:
        return Finding(check="team", ok=True, seen="none was joined")
    seen = f"{team['team']} as {team['member']}, on {team['server']}"
    if problem := team["problem"]:
        mend = f"{problem['message'].rstrip('.')}. What is captured meanwhile waits here."
        return Finding(check="team", ok=False, seen=f"{seen}: {problem['reason']}", mend=mend)
    if (team["lag_s"] or 0) > LAG_S:
        hours = team["lag_s"] / 3600
        seen = f"{seen}: behind for {hours:.0f} h, and {team['outbox']} changes wait to be sent"
        mend = "`subcog team status` says what holds them up"
        return Finding(check="team", ok=False, seen=seen, mend=mend)
    return Finding(check="team", ok=True, seen=seen)
