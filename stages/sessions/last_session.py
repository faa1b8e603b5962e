"""Reminds a session that starts of the one before it: how that began, and how it ended.

- session 0f3e2d1c · 3 June · the last one in this project
  > The user asked: Move the queue to Redis streams.
  > It ended with: Done; the consumer group is created at start, and 41 tests pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime

from ...bus.passages import Passage
from ..text.envelope import neutralise, preview
from .excerpt import day_of, short_id

SOURCES = frozenset({"startup", "clear"})
"""How a session starts that knows nothing of the one before it."""

MAX_LINE_CHARS = 160


def last_session(
    passages: Sequence[Passage], *, now: datetime, clean: Callable[[str], str] = str
) -> str:
    """The lines for the envelope about the session of ``passages``; "" where there are none.

    ``clean`` redacts. A session in which the agent said nothing is told by its beginning alone.
    """
    asked = next((one for one in passages if one.speaker == "user"), None)
    if asked is None:
        return ""
    ended = next((one for one in reversed(passages) if one.speaker == "agent"), None)
    day = day_of(asked.said_at, now)
    lines = [f"- {short_id(asked.session)} · {day} · the last one in this project"]
    lines.append(_line("The user asked", asked, clean))
    if ended is not None:
        lines.append(_line("It ended with", ended, clean))
    return "\n".join(lines)


def _line(what: str, passage: Passage, clean: Callable[[str], str]) -> str:
    room = MAX_LINE_CHARS - len(what) - len("  > : ")
    return f"  > {what}: {preview(neutralise(clean(passage.text)), room)}"
