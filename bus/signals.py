"""The signals: what may be watched, and never decides anything.

Each is declared here once. The sender is the name of the stage or sink that tells. A watcher that
raises is logged and never reaches the pipeline.
"""

from __future__ import annotations

import logging
from typing import Any

from blinker import NamedSignal, Namespace

# For who may not know blinker.
__all__ = ("ALL", "NamedSignal", "emit")

_signals = Namespace()
_log = logging.getLogger(__name__)

delivered = _signals.signal("delivered", doc="A stage handled an event. event, trace, took_s.")
failed = _signals.signal("failed", doc="A handler raised. event, error.")
dropped = _signals.signal(
    "dropped", doc="An event was dropped before a stage handled it. event, reason."
)
degraded = _signals.signal("degraded", doc="An answer was given in a degraded mode. reason.")
stored = _signals.signal("stored", doc="A memory was committed. namespace, outcome.")
settled = _signals.signal("settled", doc="A capture was processed. outcome.")
injected = _signals.signal("injected", doc="Memories were injected. count, tokens.")
used = _signals.signal("used", doc="Something became of a memory that was shown. kind.")
judged = _signals.signal(
    "judged", doc="A session that was found for a prompt was quoted, or was not. outcome."
)
proposed = _signals.signal(
    "proposed", doc="An action was looked up before it was done. tool, outcome."
)
compared = _signals.signal(
    "compared", doc="The code that a memory names was compared with what it was. state."
)
told = _signals.signal("told", doc="A prompt asked for a fact of the project. fact, outcome.")
abstained = _signals.signal("abstained", doc="An answer injected nothing. reason.")
answered = _signals.signal("answered", doc="A hook was answered. event, outcome, took_s.")
classified = _signals.signal(
    "classified", doc="A prompt's intent was classified. source, intent, votes."
)
fell_back = _signals.signal(
    "fell_back", doc="A component was replaced by its fallback. to, reason."
)
asked = _signals.signal("asked", doc="A request to the language model ended. outcome, took_s.")
redacted = _signals.signal(
    "redacted",
    doc="Secrets were taken out of a capture. trace, memory, rules, scope, decision.",
)
synced = _signals.signal(
    "synced",
    doc="Changes went to or came from the team. sent, received, conflicts, skipped, refused.",
)

ALL: tuple[NamedSignal, ...] = (
    delivered,
    failed,
    dropped,
    degraded,
    stored,
    settled,
    injected,
    used,
    judged,
    proposed,
    compared,
    told,
    abstained,
    answered,
    classified,
    fell_back,
    asked,
    redacted,
    synced,
)


def emit(signal: NamedSignal, sender: str, **facts: Any) -> None:
    """Tell every watcher of ``signal``; what a watcher raises is logged, never passed on."""
    if not signal.receivers:
        return
    for watcher in signal.receivers_for(sender):
        try:
            watcher(sender, **facts)
        except Exception as error:  # noqa: BLE001 - a watcher must never hurt the pipeline
            facts_of_it = {"signal": signal.name, "error": type(error).__name__}
            _log.warning("a signal handler failed", extra=facts_of_it)
