"""Load shedding: hooks beyond what can be answered in time are answered with nothing at once.

Working on all of them would answer none: they share the processor, and all would miss their
deadlines. A hook that captures something is never shed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ...bus.events import Event, PromptSubmitted, ToolFailed, ToolUsed
from ...stages.text.markup import split_markers

MOST_AT_ONCE = 12
"""A prompt takes 5–7 ms of one processor, and reranking is skipped while others wait: with so many
at once, each is still answered in time."""
LEAST_S = 0.02
"""The deadline of a hook that must not be shed although its time is over, in seconds."""

_LONGEST_WAIT_S = 10.0
_TIME_DIGITS = 12


class LoadShedding:
    """Counts the hooks that are being answered; at most ``most`` at once."""

    def __init__(self, *, most: int = MOST_AT_ONCE) -> None:
        self._most = most
        self._inside = 0

    @contextmanager
    def inside(self) -> Iterator[None]:
        """Count one more hook within the block."""
        self._inside += 1
        try:
            yield
        finally:
            self._inside -= 1

    def sheds(self, asked: Event, *, left_s: float) -> bool:
        """Whether to answer ``asked`` with nothing: overload or too late, and only context is lost.

        ``left_s`` is how long its hook will still wait.
        """
        return (self._inside >= self._most or left_s < LEAST_S) and _is_optional(asked)


def _is_optional(asked: Event) -> bool:
    if isinstance(asked, PromptSubmitted):
        return not split_markers(asked.text)[1]
    return isinstance(asked, (ToolUsed, ToolFailed))


def waited_s(identity: str, *, now: float, since: float) -> float:
    """How long a hook has waited that began at the time in its ``identity``, or from ``since`` on.

    Times are seconds since 1970. 0 where the identity holds no time, or not one of this clock.
    """
    try:
        began = int(identity[:_TIME_DIGITS], 16) / 1000
    except ValueError:
        return 0.0
    waited = now - max(began, since)
    return waited if 0 <= waited <= _LONGEST_WAIT_S else 0.0
