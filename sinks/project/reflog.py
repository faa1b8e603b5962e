"""Which commit was checked out at a moment, from the log that git keeps of its ``HEAD``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from ...config.patterns import regex
from ..files import Look
from .git import find_repository, git_dir

_MAX_LOG_BYTES = 4_000_000
# What HEAD was, what it became, who did it, when, and the zone: what was done follows a tab.
_ENTRY = regex(
    r"[0-9a-f]+ (?P<commit>[0-9a-f]{40}(?:[0-9a-f]{24})?) [^\t]*> (?P<at_s>\d{1,12}) [-+]\d+"
)


def commit_at(root: str, moment: datetime) -> str | None:
    """The hash of what was checked out at ``root`` then; None where git keeps no log of that.

    "" if the log begins later. ``moment`` is aware.
    """
    look = Look()
    repository = find_repository(Path(root), look)
    if repository is None:
        return None
    own = git_dir(repository.top, repository.top / ".git", look)
    log = look.text(own / "logs" / "HEAD", _MAX_LOG_BYTES) if own is not None else None
    return _last_before(log, moment.timestamp()) if log else None


def _last_before(log: str, moment_s: float) -> str:
    for line in reversed(log.splitlines()):
        entry = _ENTRY.match(line)
        if entry is not None and int(entry["at_s"]) <= moment_s:
            return entry["commit"]
    return ""
