"""Remembers what the signals tell until the metrics, which are slow to import, can count it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...bus import signals
from ...bus.signals import NamedSignal, emit

MAX_BUFFERED = 100_000


class SignalBuffer:
    """Watches every signal from the moment it is made, but ``redacted``.

    The audit hears that one from the start, and would hear it twice.
    """

    def __init__(self) -> None:
        self._told: list[tuple[NamedSignal, str, dict[str, Any]]] = []
        self._watchers = {
            signal: self._watcher(signal)
            for signal in signals.ALL
            if signal is not signals.redacted
        }
        for signal, watcher in self._watchers.items():
            signal.connect(watcher)

    def _watcher(self, signal: NamedSignal) -> Callable[..., None]:
        def watch(sender: str, **facts: Any) -> None:
            if len(self._told) < MAX_BUFFERED:
                self._told.append((signal, sender, facts))

        return watch

    def hand_over(self, watch: Callable[[], None]) -> None:
        """Stop watching, let ``watch`` connect whoever takes over, and tell them all of it."""
        for signal, watcher in self._watchers.items():
            signal.disconnect(watcher)
        watch()
        for signal, sender, facts in self._told:
            emit(signal, sender, **facts)
        self._told.clear()
