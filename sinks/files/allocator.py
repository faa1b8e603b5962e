"""How this process asks the system for memory, and gives it back.

What glibc does by itself keeps 30 MB at 100,000 memories that nobody uses: it gives each thread an
area of its own, and once a large block was freed it keeps blocks of that size for later.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

# From <malloc.h>.
_M_TRIM_THRESHOLD = -1
_M_MMAP_THRESHOLD = -3
_M_ARENA_MAX = -8
# Arrays of this size are as long as the index, and seldom made; those of one search are smaller.
_LARGE_BYTES = 2_000_000
# So much that is free at the end of the heap is kept for the next search.
_KEPT_BYTES = 8_000_000
_AREAS = 2


def keep_small() -> None:
    """Let large blocks go back at once, and threads share what is free. Does nothing elsewhere."""
    with suppress(AttributeError, OSError):  # another C library
        c = ctypes.CDLL(None)
        c.mallopt(_M_ARENA_MAX, _AREAS)
        c.mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        c.mallopt(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def trim_heap() -> None:
    """Hand freed memory back to the system: 50 MB after a start. Does nothing elsewhere."""
    with suppress(AttributeError, OSError):
        ctypes.CDLL(None).malloc_trim(0)
