"""Reads transcripts on from where they were left, a slice at a time, whatever their size.

A transcript is named by a hook's payload, so it is trusted with nothing: only a regular file of
this user is read, never through a link, and a line that is too long is passed over unread. How far
each was read is kept in one small file, so that a new daemon goes on there; if it is lost, a
transcript is read again, and what follows from it has the same identity as before.
"""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import Annotated, TypeVar

import anyio
import anyio.to_thread
import msgspec
from cachetools import FIFOCache
from msgspec import Meta, Struct
from msgspec.structs import replace

from ...bus.frames import read_json
from ...bus.sessions import Message
from ..files import replace_file
from .lines import read_line

SLICE_BYTES = 128 * 1024
MAX_LINE_BYTES = 1024 * 1024
MAX_BACKLOG_BYTES = 64 * 1024 * 1024
"""Of a transcript that was never read before, at most its end of this size is."""
MAX_KNOWN = 8_192
# So much before a mark is compared: a line of a transcript has its own id and time there.
_BEFORE_BYTES = 1_024
_MAX_THREADS = 8
_MAX_MARKS_BYTES = 4 * 1024 * 1024
_log = logging.getLogger(__name__)

T = TypeVar("T")


class TranscriptUnreadable(OSError):
    """The file is not there, is no regular file of this user, or cannot be opened."""


class Mark(Struct, frozen=True):
    """How far a file was read. ``inside``: in the middle of a line that is too long to read.

    ``before`` is a digest of what stands before that place; "" where none was made.
    """

    inode: Annotated[int, Meta(ge=0)] = 0
    offset: Annotated[int, Meta(ge=0)] = 0
    inside: bool = False
    before: str = ""


class Slice(Struct, frozen=True):
    """Some messages, and the place after them."""

    messages: tuple[Message, ...]
    mark: Mark


class Transcripts:
    """Remembers in ``file`` how far each transcript was read: the latest 8,192 of them."""

    def __init__(self, file: Path, *, slice_bytes: int = SLICE_BYTES) -> None:
        self._file = file
        self._slice_bytes = slice_bytes
        self._marks: FIFOCache[str, Mark] | None = None
        self._saving = anyio.Lock()
        self._threads = anyio.CapacityLimiter(_MAX_THREADS)

    async def unread(self, path: str, after: Mark | None = None) -> AsyncIterator[Slice]:
        """What was written ``after`` a mark, or since ``keep`` was last called.

        It comes in slices of some milliseconds' work each. Raises ``TranscriptUnreadable``.
        """
        mark = after or (await self._known()).get(path, Mark())
        while True:
            read = await self._beside(partial(read_slice, path, mark, self._slice_bytes))
            if read.mark == mark:
                return
            mark = read.mark
            yield read

    async def unread_bytes(self, paths: Sequence[str]) -> dict[str, int]:
        """How much of each of ``paths`` is after its mark; 0 for what cannot be read."""
        marks = dict(await self._known())
        return await self._beside(
            lambda: {path: _unread(path, marks.get(path, Mark())) for path in paths}
        )

    async def end_of(self, path: str) -> tuple[Message, ...]:
        """The messages in the last slice of ``path``, whatever was read of it before.

        Raises ``TranscriptUnreadable``.
        """
        return await self._beside(partial(read_end, path, self._slice_bytes))

    async def _beside(self, read: Callable[[], T]) -> T:
        # In a thread of our own few: a file system that hangs holds up no search, and no hook.
        return await anyio.to_thread.run_sync(read, abandon_on_cancel=True, limiter=self._threads)

    async def keep(self, path: str, mark: Mark) -> None:
        """Note that ``path`` was read up to ``mark``, and need not be read again up to there."""
        marks = await self._known()
        marks.pop(path, None)
        marks[path] = mark
        async with self._saving:
            data = msgspec.json.encode(dict(marks))
            try:
                await anyio.to_thread.run_sync(replace_file, self._file, data)
            except OSError as error:
                facts = {"error": type(error).__name__}
                _log.warning("cannot save the transcript positions", extra=facts)

    async def _known(self) -> FIFOCache[str, Mark]:
        if self._marks is None:
            loaded = await anyio.to_thread.run_sync(_load, self._file)
            if self._marks is None:
                self._marks = FIFOCache(MAX_KNOWN)
                self._marks.update(loaded)
        return self._marks


def read_slice(path: str, mark: Mark, size: int = SLICE_BYTES) -> Slice:
    """The messages in the next ``size`` bytes after ``mark``, or in the one longer line there.

    A line of which there is a part is left for the next time. Raises ``TranscriptUnreadable``.
    """
    with _opened(path) as (descriptor, found):
        try:
            mark = _from_where(descriptor, mark, found)
            data = os.pread(descriptor, size, mark.offset)
            if b"\n" not in data and len(data) == size and not mark.inside:
                data = os.pread(descriptor, MAX_LINE_BYTES, mark.offset)
            lines, mark = _take(data, mark, found.st_size)
            mark = replace(mark, before=_before(descriptor, mark.offset))
        except OSError as error:
            raise TranscriptUnreadable(error.errno, "cannot be read") from None
    messages = tuple(said for line in lines if (said := read_line(line)) is not None)
    return Slice(messages, mark)


def read_end(path: str, size: int = SLICE_BYTES) -> tuple[Message, ...]:
    """The messages in the last ``size`` bytes of ``path``. Raises ``TranscriptUnreadable``."""
    with _opened(path) as (_, found):
        start = max(0, found.st_size - size)
    return read_slice(path, Mark(found.st_ino, start, inside=start > 0), size).messages


def open_transcript(path: str) -> int:
    """A descriptor of ``path``, which a payload named. Raises ``TranscriptUnreadable``."""
    # Not blocking, since opening a pipe would wait for its writer.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        number = getattr(error, "errno", None)
        raise TranscriptUnreadable(number, "cannot be opened") from None
    found = os.fstat(descriptor)
    if not stat.S_ISREG(found.st_mode) or found.st_uid != os.getuid():
        os.close(descriptor)
        raise TranscriptUnreadable(None, "no regular file of this user")
    return descriptor


@contextmanager
def _opened(path: str) -> Iterator[tuple[int, os.stat_result]]:
    descriptor = open_transcript(path)
    try:
        yield descriptor, os.fstat(descriptor)
    finally:
        os.close(descriptor)


def _from_where(descriptor: int, mark: Mark, found: os.stat_result) -> Mark:
    """``mark``, or the place to begin in a file that is another one now, also by what is in it."""
    is_long_enough = mark.inode == found.st_ino and mark.offset <= found.st_size
    if is_long_enough and mark.before in {"", _before(descriptor, mark.offset)}:
        return mark
    start = max(0, found.st_size - MAX_BACKLOG_BYTES)
    return Mark(found.st_ino, start, inside=start > 0)


def _before(descriptor: int, offset: int) -> str:
    """A digest of what stands in a file before ``offset``."""
    start = max(0, offset - _BEFORE_BYTES)
    return blake2b(os.pread(descriptor, offset - start, start), digest_size=8).hexdigest()


def _unread(path: str, mark: Mark) -> int:
    try:
        with _opened(path) as (descriptor, found):
            return found.st_size - _from_where(descriptor, mark, found).offset
    except OSError:
        return 0


def _take(data: bytes, mark: Mark, size: int) -> tuple[list[bytes], Mark]:
    end = data.rfind(b"\n") + 1
    begins_line = end > 0 or not mark.inside
    if begins_line and mark.offset + len(data) >= size and _is_whole(data[end:]):
        data, end = data + b"\n", len(data)  # whoever wrote it ended before the end of the line
        lines = data.split(b"\n")
        return lines[1 if mark.inside else 0 : -1], Mark(mark.inode, mark.offset + end)
    if end == 0:
        # A whole line of that length is none of ours; a shorter one is still being written.
        passed_over = mark.inside or len(data) >= MAX_LINE_BYTES
        taken = len(data) if passed_over else 0
        return [], Mark(mark.inode, mark.offset + taken, inside=passed_over)
    lines = data[:end].split(b"\n")
    return lines[1 if mark.inside else 0 : -1], Mark(mark.inode, mark.offset + end)


def _is_whole(line: bytes) -> bool:
    """Whether a line without an end is a whole object: no part of one is."""
    if not line.rstrip().endswith(b"}"):
        return False
    try:
        msgspec.json.decode(line, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return False
    return True


def _load(file: Path) -> dict[str, Mark]:
    try:
        if file.stat().st_size <= _MAX_MARKS_BYTES:
            return msgspec.json.decode(file.read_bytes(), type=dict[str, Mark])
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        pass
    _log.warning("cannot read the transcript positions; transcripts are read again")
    return {}


END_BYTES = 256 * 1024
"""A command's end is looked for in so much of the end of a transcript."""
WITHIN_S = 0.1
"""A hook waits for that no longer; it takes a millisecond where the file system does not hang."""
_OUTCOME_THREADS = 2
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
    """Looks up whether a command failed, where a client tells that to its transcript alone.

    Codex gives its hooks what a command printed, but not how it ended. It writes that into the
    transcript before it runs them. Read in threads of its own few: a file system that hangs holds
    up nothing else.
    """

    def __init__(self) -> None:
        self._threads = anyio.CapacityLimiter(_OUTCOME_THREADS)

    async def has_failed(self, transcript: str, call_id: str) -> bool | None:
        """Whether the command with ``call_id`` failed; None where that is not known in time."""
        with anyio.move_on_after(WITHIN_S):
            return await anyio.to_thread.run_sync(
                has_failed, transcript, call_id, abandon_on_cancel=True, limiter=self._threads
            )
        return None


def has_failed(transcript: str, call_id: str) -> bool | None:
    """Whether the end of ``transcript`` says that the command failed; None if it says nothing."""
    for line in reversed(_end_of(transcript).split(b"\n")):
        if _TELLING in line and (code := _exit_code(line, call_id)) is not None:
            return code != 0
    return None


def _exit_code(line: bytes, call_id: str) -> int | None:
    try:
        item = read_json(line, _lines.decode).payload.item
    except (ValueError, RecursionError):
        return None
    return item.exit_code if (item.type, item.id) == ("CommandExecution", call_id) else None


def _end_of(transcript: str) -> bytes:
    try:
        with _opened(transcript) as (descriptor, found):
            return os.pread(descriptor, END_BYTES, max(0, found.st_size - END_BYTES))
    except OSError:
        return b""
