"""Looks up whether a command has failed, where a client tells that to its transcript alone.

Codex gives its hooks what a command printed, but not how it ended. It writes that into the
transcript before it runs them.
"""

from __future__ import annotations

import os

import anyio
import anyio.to_thread
import msgspec
from msgspec import Struct

from .reader import TranscriptUnreadable, open_transcript

END_BYTES = 256 * 1024
"""A command's end is looked for in so much of the end of a transcript."""
WITHIN_S = 0.1
"""A hook waits for that no longer; it takes a millisecond where the file system does not hang."""
_MAX_THREADS = 2
_TELLING = b'"CommandExecution"'


class _Item(Struct, frozen=True):
    type: str = ""
    id: str = ""
    exit_code: int | None = None


class _Payload(Struct, frozen=True):
    item: _Item = _Item()


class _Line(Struct, frozen=True):
    payload: _Payload = _Payload()


_lines = msgspec.json.Decoder(_Line)


class Outcomes:
    """Reads in threads of its own few: a file system that hangs holds up nothing else."""

    def __init__(self) -> None:
        self._threads = anyio.CapacityLimiter(_MAX_THREADS)

    async def has_failed(self, transcript: str, call_id: str) -> bool:
        """Whether the command with ``call_id`` is known to have failed."""
        with anyio.move_on_after(WITHIN_S):
            return await anyio.to_thread.run_sync(
                has_failed, transcript, call_id, abandon_on_cancel=True, limiter=self._threads
            )
        return False


def has_failed(transcript: str, call_id: str) -> bool:
    """Whether the end of ``transcript`` says that the command with ``call_id`` failed."""
    for line in reversed(_end_of(transcript).split(b"\n")):
        if _TELLING in line and (code := _exit_code(line, call_id)) is not None:
            return code != 0
    return False


def _exit_code(line: bytes, call_id: str) -> int | None:
    try:
        item = _lines.decode(line).payload.item
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    return item.exit_code if (item.type, item.id) == ("CommandExecution", call_id) else None


def _end_of(transcript: str) -> bytes:
    try:
        descriptor = open_transcript(transcript)
    except TranscriptUnreadable:
        return b""
    try:
        start = max(0, os.fstat(descriptor).st_size - END_BYTES)
        return os.pread(descriptor, END_BYTES, start)
    except OSError:
        return b""
    finally:
        os.close(descriptor)
