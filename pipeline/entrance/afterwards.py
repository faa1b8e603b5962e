"""What a session is told with its next prompt: how a marker ended that had been set aside."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from ...hooks import starter

MOST_SESSIONS = 100


class Afterwards:
    """Lines for the user, by session; of more than ``MOST_SESSIONS`` the oldest are dropped."""

    def __init__(self) -> None:
        self._lines: OrderedDict[str, tuple[str, ...]] = OrderedDict()

    def note(self, session: str, *lines: str) -> None:
        """Have ``lines`` told with the next prompt of ``session``."""
        if not session or not lines:
            return
        known = self._lines.pop(session, ())
        self._lines[session] = tuple(dict.fromkeys((*known, *lines)))
        while len(self._lines) > MOST_SESSIONS:
            self._lines.popitem(last=False)

    def beside(self, session: str, body: bytes) -> tuple[bytes, Callable[[], None]]:
        """The hook's answer, with what there is to tell.

        The second is to be called where the answer did not reach the user: it is told again then.
        """
        lines = self._lines.pop(session, ())
        return starter.message(lines, body), lambda: self.note(session, *lines)
