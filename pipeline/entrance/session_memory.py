"""Greetings that wait for the first prompt of their session.

Gemini CLI puts what is said at a session's start in front of the first prompt, as one message, and
leaves that message out when the session is resumed: the user's words would be lost with ours. What
is said to a prompt comes behind it, and is kept.
"""

from __future__ import annotations

from collections import OrderedDict

from ...stages.text.tokens import count_tokens

WITH_PROMPT = frozenset({"gemini"})
"""Agents that are greeted with the first prompt."""
MAX_SESSIONS = 256


class Greetings:
    """What the latest sessions are still to be told."""

    def __init__(self) -> None:
        self._held: OrderedDict[str, str] = OrderedDict()

    def concern(self, client: str, event: str) -> bool:
        """Whether the answer to ``event`` may be a greeting that waits, or take one along."""
        return client in WITH_PROMPT and event in {"SessionStart", "UserPromptSubmit"}

    def hold(self, session: str, context: str) -> None:
        """Keep ``context``, if there is any, for ``session`` instead of what was held for it."""
        if not context:
            return
        self._held.pop(session, None)
        self._held[session] = context
        while len(self._held) > MAX_SESSIONS:
            self._held.popitem(last=False)

    def take(self, session: str, *, max_tokens: int) -> str:
        """What is held for ``session``, once; it waits on where it does not fit."""
        held = self._held.get(session, "")
        if not held or count_tokens(held) > max_tokens:
            return ""
        return self._held.pop(session)
