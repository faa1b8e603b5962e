"""The audit record: one line for each capture that something was taken out of.

A line holds when, which capture, which rules and how often, what kind of scope, and what was done;
never what was taken out, nor the text around it, nor anything computed from either.
"""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

import msgspec

from ..bus.signals import redacted

MAX_BYTES = 1_000_000
BACKUPS = 3

_log = logging.getLogger(__name__)


class Audit:
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
        self._file = file
        self._clock = clock
        self._max_bytes = max_bytes
        self._backups = backups
        self._lock = threading.Lock()  # an import redacts in a thread

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
            with self._lock:
                self._append(msgspec.json.encode(line) + b"\n")
        except OSError as error:
            _log.error("a line of the audit is lost", extra={"error": type(error).__name__})

    def _append(self, line: bytes) -> None:
        self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        target = os.open(self._file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(target, line)
            is_full = os.fstat(target).st_size >= self._max_bytes
        finally:
            os.close(target)
        if is_full:
            self._rotate()

    def _rotate(self) -> None:
        for number in range(self._backups - 1, 0, -1):
            if (older := self._numbered(number)).exists():
                older.replace(self._numbered(number + 1))
        self._file.replace(self._numbered(1))

    def _numbered(self, number: int) -> Path:
        return self._file.with_name(f"{self._file.name}.{number}")
