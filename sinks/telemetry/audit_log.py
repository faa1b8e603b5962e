"""The audit record: one line for each capture that something was taken out of.

A line holds when, which capture, which rules and how often, what kind of scope, and what was done;
never what was taken out, nor the text around it, nor anything computed from either.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from ...bus.signals import redacted
from ..files.private import RotatingFile

MAX_BYTES = 1_000_000
BACKUPS = 3

_log = logging.getLogger(__name__)


class AuditLog:
    """Writes what the signal ``redacted`` tells to ``file``, readable by its owner only.

    Beyond ``max_bytes`` the file becomes ``NAME.1``, that one ``NAME.2``, and so on. A line that
    cannot be written is logged as lost, and hurts nobody.
    """

    def __init__(
        self,
        file: Path,
        *,
        clock: Callable[[], datetime],
        max_bytes: int = MAX_BYTES,
        backups: int = BACKUPS,
    ) -> None:
        self._journal = RotatingFile(file, max_bytes=max_bytes, backups=backups)
        self._clock = clock

    def watch(self) -> None:
        """Write what is told from now on."""
        redacted.connect(self._on_redacted)

    def unwatch(self) -> None:
        redacted.disconnect(self._on_redacted)

    def _on_redacted(
        self,
        sender: str,
        *,
        trace: str,
        memory: str,
        rules: Mapping[str, int],
        scope: str,
        decision: str,
    ) -> None:
        line = {
            "time": self._clock(),
            "trace": trace,
            "memory": memory,
            "rules": rules,
            "scope": scope,
            "decision": decision,
        }
        try:
            self._journal.append(msgspec.json.encode(line))
        except OSError as error:
            _log.error("cannot write an audit log entry", extra={"error": type(error).__name__})
