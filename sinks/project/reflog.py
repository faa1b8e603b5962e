"""What was checked out at a moment, from the log that git keeps of its ``HEAD``."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from cachetools import TTLCache

from ...bus.events import ReviewRequested
from ...bus.values import LEARN
from ...config.patterns import regex
from ..disk import Disk
from ..files import Look
from .git import branch_of, find_repository, git_dir, head_commit

WITHIN_S = 5.0
"""So long a disk may take: a review has no deadline of its own."""

_THREADS = 4
_MAX_LOG_BYTES = 4_000_000
_MAX_LOGS = 16
# A log is read again after so long, in seconds: another repository may lie there.
_LOG_S = 600.0
# What HEAD was, what it became, who did it, when, and the zone: what was done follows a tab.
_ENTRY = regex(
    r"[0-9a-f]+ (?P<commit>[0-9a-f]{40}(?:[0-9a-f]{24})?) [^\t]*> (?P<at_s>\d{1,12}) [-+]\d+"
    r"(?:\t(?P<done>.*))?"
)
# Where no branch was left, git writes the whole hash of the commit.
_MOVED = regex(
    r"checkout: moving from (?P<left>\S+) to |Branch: renamed refs/heads/(?P<old>\S+) to "
)
_HASH = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")


class Checkout(NamedTuple):
    """What was checked out: the commit's hash and the branch; "" for what is not known, or none."""

    commit: str = ""
    branch: str = ""


class _Log(NamedTuple):
    """A log as it was read at ``read_s``: from when on what was checked out, the latest first."""

    read_s: float
    entries: tuple[tuple[int, Checkout], ...] | None


class HeadLogs:
    """The logs of working trees; each is read once for all the moments before that.

    ``now`` is in seconds since 1970. For any thread.
    """

    def __init__(self, *, now: Callable[[], float] = time.time) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._logs: TTLCache[str, _Log] = TTLCache(_MAX_LOGS, _LOG_S, timer=now)

    def at(self, root: str, moment: datetime) -> Checkout | None:
        """What was checked out at ``root`` then; None where git keeps no log of that.

        Nothing is known of it if the log begins later. ``moment`` is aware.
        """
        moment_s = moment.timestamp()
        entries = self._log(root, moment_s).entries
        if entries is None:
            return None
        return next((there for at_s, there in entries if at_s <= moment_s), Checkout())

    def _log(self, root: str, moment_s: float) -> _Log:
        with self._lock:
            log = self._logs.get(root)
        # The log counts whole seconds, and what is in the same one may still be added.
        if log is None or not moment_s + 1 < log.read_s:
            # It may be on a disk that hangs: it is read without holding the lock.
            log = _Log(self._now(), _read(root))
            with self._lock:
                self._logs[root] = log
        return log


def _read(root: str) -> tuple[tuple[int, Checkout], ...] | None:
    look = Look()
    repository = find_repository(Path(root), look)
    if repository is None:
        return None
    own = git_dir(repository.top, repository.top / ".git", look)
    log = look.text(own / "logs" / "HEAD", _MAX_LOG_BYTES) if own is not None else None
    return tuple(_backwards(log, repository.branch or "")) if log else None


def _backwards(log: str, branch: str) -> Iterator[tuple[int, Checkout]]:
    """The entries of ``log``, the latest first; ``branch`` is what is checked out after them."""
    for line in reversed(log.splitlines()):
        entry = _ENTRY.match(line)
        if entry is None:
            continue
        yield int(entry["at_s"]), Checkout(entry["commit"], branch)
        if moved := _MOVED.match(entry["done"] or ""):
            left = moved["left"] or moved["old"]
            branch = "" if _HASH.match(left) else branch_of(f"ref: refs/heads/{left}") or ""


class Checkouts:
    """Asks git's logs, and reads each of them once for a whole transcript. For any thread."""

    def __init__(self) -> None:
        self._logs = HeadLogs()
        self._disk = Disk(_THREADS)

    def at(self, event: ReviewRequested, said_at: datetime | None) -> Checkout:
        """What was checked out when something in the session of ``event`` was said.

        A review at the end of a turn is about what was said just now, also where git keeps no log;
        of a transcript that is read later nothing is known then.
        """
        root = event.place.root
        then = self._logs.at(root, said_at) if said_at is not None else None
        if then is None and event.hook != LEARN:
            return Checkout(head_commit(root), event.place.branch or "")
        return then or Checkout()

    async def find(
        self, event: ReviewRequested, moments: Sequence[datetime | None]
    ) -> list[Checkout]:
        """The same at each of ``moments``, for the event loop.

        Where the disk does not answer nothing is known: the present branch may be another one.
        """
        try:
            return await self._disk.look(
                event.place.root,
                lambda: [self.at(event, one) for one in moments],
                within_s=WITHIN_S,
            )
        except TimeoutError:
            return [Checkout()] * len(moments)
