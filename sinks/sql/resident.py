"""The memory of this process while a question runs: looked at, and bounded.

DuckDB counts only a part of what it allocates, so its own limit holds for that part alone.
"""

from __future__ import annotations

import logging
import mmap
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOOK_EVERY_S = 0.05
MOST_BEYOND_MB = 1024
"""So much more than it may, and the process ends: DuckDB heeds an interrupt between steps alone."""

_MEGABYTE = 1 << 20
_STATM = Path("/proc/self/statm")
_log = logging.getLogger(__name__)


def resident_mb() -> int:
    """The resident memory in megabytes; the most there ever was where there is no ``/proc``."""
    try:
        return int(_STATM.read_bytes().split()[1]) * mmap.PAGESIZE // _MEGABYTE
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most // (_MEGABYTE if sys.platform == "darwin" else 1024)


@contextmanager
def bounded(interrupt: Callable[[], None], most_mb: int) -> Iterator[threading.Event]:
    """Call ``interrupt`` while resident memory has grown by more than ``most_mb``.

    Gives an event that is set as soon as it was called. If memory grows by ``MOST_BEYOND_MB`` more,
    the process ends, as the kernel would end it, but before the whole machine has no memory left.
    """
    ended, passed = threading.Event(), threading.Event()
    began_mb = resident_mb()

    def watch() -> None:
        while not ended.wait(LOOK_EVERY_S):
            grown_mb = resident_mb() - began_mb
            if grown_mb > most_mb:
                passed.set()
                interrupt()
            if grown_mb > most_mb + MOST_BEYOND_MB:
                _end_process()

    watcher = threading.Thread(target=watch, name="question-memory", daemon=True)
    watcher.start()
    try:
        yield passed
    finally:
        ended.set()
        watcher.join()


def _end_process() -> None:
    _log.error("a question in SQL took too much memory and could not be interrupted; ending")
    os.kill(os.getpid(), signal.SIGKILL)
