"""Counts and reasons in words, as people read them."""

from __future__ import annotations

import shutil
import sys
import textwrap
from contextlib import suppress
from datetime import datetime


def counted(number: int, one: str, many: str = "") -> str:
    """``1 memory``, ``1,204 memories``; ``many`` is ``one`` with an "s" unless given."""
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def memories(number: int) -> str:
    """So many memories: "1 memory", "1,204 memories"."""
    return counted(number, "memory", "memories")


def local_time(moment: datetime) -> str:
    """``moment`` in the user's zone, in which commands take dates too, and what zone that is."""
    with suppress(OverflowError):  # the first or last day of all, which is another there
        moment = moment.astimezone()
    return f"{moment:%Y-%m-%d %H:%M %z}"


def fitted(line: str, indent: int) -> str:
    """``line``, in a terminal broken between words where it is too wide; elsewhere as it is."""
    if sys.stdout is None or not sys.stdout.isatty():
        return line
    return textwrap.fill(
        line,
        shutil.get_terminal_size().columns,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        replace_whitespace=False,
        drop_whitespace=True,
    )


_DEGRADED = {
    "index.loading": "the index was still being loaded, and SQL searched: ask again in a moment",
    "index.failed": "the index could not be loaded, and SQL searched: `subcog doctor` tells why",
    "index.off": "SQL searched, as the index is switched off",
    "reranker.cut": "there was no time to rerank every memory",
    "embedder.unavailable": "only words were searched for, as the embedding is not loaded",
    "embedder.changed": "only words were searched for: the embedding is not the one of the index",
}


def degraded_search(reason: str, mode: str) -> str:
    """Why an answer may be worse than usual, with the name that metrics have for it."""
    told = _DEGRADED.get(reason, f"only {mode} search answered")
    return f"{told}; {reason}"
