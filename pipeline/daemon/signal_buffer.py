"""Buffers signals until the metrics, which are slow to import, can count them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...bus import signals
from ...bus.signals import NamedSignal, emit

MAX_BUFFERED = 100_000


class SignalBuffer:
    """Buffers every signal from its creation on, but ``redacted``.

    The audit log receives that one from the start, and would receive it twice.
    """

    def __init__(self) -> None:
        self._buffered: list[tuple[NamedSignal, str, dict[str, Any]]] = []
        self._watchers = {
            signal: self._watcher(signal)
            for signal in signals.ALL
            if signal is not signals.redacted
        }
        for signal, watcher in self._watchers.items():
            signal.connect(watcher)

    def _watcher(self, signal: NamedSignal) -> Callable[..., None]:
        def watch(sender: str, **facts: Any) -> None:
            if len(self._buffered) < MAX_BUFFERED:
                self._buffered.append((signal, sender, facts))

        return watch

    def hand_over(self, watch: Callable[[], None]) -> None:
        """Stop buffering, let ``watch`` connect the receivers, and emit what was buffered."""
        for signal, watcher in self._watchers.items():
            signal.disconnect(watcher)
        watch()
        for signal, sender, facts in self._buffered:
            emit(signal, sender, **facts)
        self._buffered.clear()
