"""What was checked out in a project when something was said in a session."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from ...bus.events import ReviewRequested
from ...bus.values import LEARN
from ..disk import Disk
from .git import head_commit
from .reflog import Checkout, HeadLogs

WITHIN_S = 5.0
"""So long a disk may take: a review has no deadline of its own."""

_THREADS = 4


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
