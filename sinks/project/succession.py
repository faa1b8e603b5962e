"""Which project goes on with a scope that several had before they were told apart.

Users, ports of ssh and the case of a path did not count once, so ``ana@host:p`` and ``bob@host:p``
had one scope. What is stored in it cannot be told apart any more. It is read on by the one that is
seen first, and by no other; a project whose scope it is today as well takes it back.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path

import msgspec

from ...bus.values import Scope
from ..files import replace_file

MAX_ENTRIES = 10_000
MAX_BYTES = 4_000_000
_log = logging.getLogger(__name__)


class Succession:
    """Remembers in ``file`` which scope of today goes on with which of before.

    Without a file it is remembered as long as this lives. Safe to use from several threads.
    """

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._lock = threading.Lock()
        self._successors: dict[str, str] | None = None

    def goes_on(self, before: Scope, now: Scope) -> bool:
        """Whether the project with the scope ``now`` reads what is stored in ``before``."""
        with self._lock:
            if self._successors is None:
                self._successors = self._read()
            held = self._successors.get(before.id)
            if held == now.id:
                return True
            if held is not None and before != now:
                return False
            if held is None and len(self._successors) >= MAX_ENTRIES:
                return before == now
            self._successors[before.id] = now.id
            self._write(self._successors)
            return True

    def _read(self) -> dict[str, str]:
        if self._file is None:
            return {}
        try:
            with self._file.open("rb") as source:
                return msgspec.json.decode(source.read(MAX_BYTES), type=dict[str, str])
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            _log.warning("cannot read the earlier scopes", extra={"error": type(error).__name__})
            return {}

    def _write(self, successors: dict[str, str]) -> None:
        if self._file is None:
            return
        try:
            replace_file(self._file, msgspec.json.encode(successors))
        except OSError as error:  # it is decided anew after the next start
            _log.warning("cannot note the earlier scopes", extra={"error": type(error).__name__})
