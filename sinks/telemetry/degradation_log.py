"""Logs degraded answers: the first of each kind at once, then one line a minute with the count."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from ...bus.signals import degraded

EVERY_S = 60.0
MAX_KINDS = 200
_log = logging.getLogger(__name__)


class DegradationLog:
    """Watches ``degraded``. ``now`` tells seconds of a clock that never goes back."""

    def __init__(self, *, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()  # loading tells from a thread
        self._logged: dict[tuple[str, str], float] = {}
        self._since: dict[tuple[str, str], int] = {}

    def watch(self) -> None:
        """Log what is told from now on."""
        degraded.connect(self._on_degraded)

    def unwatch(self) -> None:
        """Stop, and log what was counted and not yet said."""
        degraded.disconnect(self._on_degraded)
        for (stage, reason), times in self._since.items():
            _say(stage, reason, times)
        self._since.clear()

    def _on_degraded(self, stage: str, *, reason: str) -> None:
        kind = (stage, reason)
        with self._lock:
            if kind not in self._logged and len(self._logged) >= MAX_KINDS:
                return
            times = self._since.pop(kind, 0) + 1
            if self._now() - self._logged.get(kind, -EVERY_S) < EVERY_S:
                self._since[kind] = times
                return
            self._logged[kind] = self._now()
        _say(stage, reason, times)


def _say(stage: str, reason: str, times: int) -> None:
    extra = {"stage": stage, "reason": reason, "times": times}
    _log.warning("a degraded answer was given", extra=extra)
