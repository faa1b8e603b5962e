"""By which moment the age of passages is counted, so that a clock that is ahead deletes nothing."""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta
from pathlib import Path

from ..files import replace_file
from .forgotten import EPOCH

CONFIRMED_AFTER = timedelta(days=1)


class Ages:
    """``now`` is the last moment that the clock had reached a day ago; None if that is unknown.

    A clock that is ahead for less than a day is never counted by. ``file`` keeps the moments.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        self.now: datetime | None = None

    def oldest(self, days: int) -> datetime:
        """What was said before is older than so many days; the epoch where that is unknown."""
        return self.now - timedelta(days=days) if self.now else EPOCH

    def look(self, clock: datetime) -> None:
        """Note what the clock says. Not for an event loop."""
        seen, confirmed = self._read()
        if seen is None or seen > clock:  # it was ahead
            seen, confirmed = clock, confirmed and min(confirmed, clock)
        elif clock - seen >= CONFIRMED_AFTER:
            seen, confirmed = clock, seen
        self.now = confirmed
        moments = " ".join(one.isoformat() for one in (seen, confirmed) if one)
        with suppress(OSError):  # then nothing becomes too old
            replace_file(self._file, moments.encode())

    def _read(self) -> tuple[datetime | None, datetime | None]:
        try:
            moments = [*map(datetime.fromisoformat, self._file.read_text().split()), None, None]
        except (OSError, ValueError):
            return None, None
        if any(one and one.tzinfo is None for one in moments):  # subcog writes none of these
            return None, None
        return moments[0], moments[1]
