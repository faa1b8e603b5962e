"""How much of a prompt's time the stages after the race need: a moving 99th percentile."""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Callable

WINDOW = 200
MAX_OPEN = 1024
# For the answer to leave, and for what a busy machine adds to anything.
FLOOR_S = 0.012
# The stages after the race take prompts one by one, about so long for each, so that of many races
# under one deadline those that were called last must end first.
EACH_S = 0.001


class Reserve:
    """Measures from ``begin`` to ``end`` of each trace; ``now`` tells seconds."""

    def __init__(self, *, now: Callable[[], float], floor_s: float = FLOOR_S) -> None:
        self._now = now
        self._floor_s = floor_s
        self._open: OrderedDict[str, float] = OrderedDict()
        self._took_s: deque[float] = deque(maxlen=WINDOW)

    def begin(self, trace: str) -> None:
        """The race of ``trace`` is over."""
        self._open[trace] = self._now()
        if len(self._open) > MAX_OPEN:
            self._open.popitem(last=False)

    def end(self, trace: str) -> None:
        """The answer of ``trace`` is ready."""
        if (began := self._open.pop(trace, None)) is not None:
            self._took_s.append(self._now() - began)

    def need_s(self, racing: int = 1) -> float:
        """What to leave of a prompt's time while so many race."""
        took_s = sorted(self._took_s)
        p99_s = took_s[len(took_s) * 99 // 100] if took_s else 0.0
        return max(self._floor_s, p99_s) + racing * EACH_S
