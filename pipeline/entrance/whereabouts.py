"""Which project a session is in, where only some of its hooks can tell.

A hook that comes over HTTP, and every hook of Codex, says where the agent is at that moment, which
follows its ``cd``. What the session's start said holds for all of it.
"""

from __future__ import annotations

from collections import OrderedDict

MAX_SESSIONS = 512


class Whereabouts:
    """Remembers the sessions that were heard of lately."""

    def __init__(self, max_sessions: int = MAX_SESSIONS) -> None:
        self._max_sessions = max_sessions
        self._known: OrderedDict[str, str] = OrderedDict()

    def project(self, session: str, *, told: str, start: str = "") -> str:
        """The project's directory of ``session``, or nothing where nobody ever told it.

        ``told`` is what the hook says of it itself; ``start`` is where a session that starts is.
        """
        if not session:
            return told
        if found := told or start or self._known.get(session, ""):
            self._known[session] = found
            self._known.move_to_end(session)
        while len(self._known) > self._max_sessions:
            self._known.popitem(last=False)
        return found
