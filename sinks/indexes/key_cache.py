"""The keys of what memories warn of, kept in a file for the next start of the daemon.

Reading the rules that a text states takes some milliseconds, and a daemon starts several times a
day: it exits when nothing has come for an hour.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path

import msgspec

from ...bus.values import Memory
from ..files import Look, replace_file, unfinished

_log = logging.getLogger(__name__)
_DIGEST_BYTES = 8
_MOST_BYTES = 64_000_000
_Keys = tuple[str, ...]
_Told = list[tuple[str, str, _Keys]]


class KeyCache:
    """Reads the keys of memories, and knows those that an earlier start has read.

    ``file`` has a JSON document a line: ``reader``, then the id of each memory, a digest of it, and
    its keys. What another ``reader`` wrote is not used. It is a cache: what cannot be read or
    written is read from the memories. ``open`` it, ask for every memory, and ``save`` it; a memory
    that is forgotten leaves it at once. Safe to share between threads.
    """

    def __init__(
        self, read: Callable[[Memory], Sequence[str]], file: Path | None = None, reader: str = ""
    ) -> None:
        self._read = read
        self._file = file
        self._reader = msgspec.json.encode(reader)
        self._lock = threading.Lock()
        # By digest, what the file had; by id, the lines that are to be in it.
        self._known: dict[str, _Keys] = {}
        self._lines: dict[str, bytes] | None = None
        self._is_new = True
        self._forgotten: set[str] = set()

    def open(self) -> None:
        """Read the file. What is asked for from now on is what ``save`` writes."""
        known = _load(self._file, self._reader) if self._file is not None else {}
        with self._lock:
            self._known, self._is_new = known, not known
            self._lines = {} if self._file is not None else None
            self._forgotten = set()

    def known(self, memory: Memory) -> _Keys | None:
        """The keys of ``memory`` as the file has them; None where they have to be read."""
        digest = _digest(memory)
        keys = self._known.get(digest)
        if keys is not None:
            self._note(memory.id, digest, keys)
        return keys

    def read(self, memory: Memory) -> _Keys:
        """The keys of ``memory``, read from its text."""
        return tuple(dict.fromkeys(self._read(memory)))

    def read_unknown(self, memory: Memory) -> _Keys:
        """The same of one that was not known, to be saved."""
        keys = self.read(memory)
        self._note(memory.id, _digest(memory), keys)
        self._is_new = True
        return keys

    def _note(self, memory_id: str, digest: str, keys: _Keys) -> None:
        if (lines := self._lines) is not None:
            lines[memory_id] = msgspec.json.encode((memory_id, digest, keys))

    def save(self) -> None:
        """Write the file, once the keys of all memories were asked for. Not twice."""
        with self._lock:
            if self._file is None or self._lines is None:
                return
            lines = [line for id_, line in self._lines.items() if id_ not in self._forgotten]
            if self._is_new or len(lines) != len(self._known):
                self._write(self._file, [self._reader, *lines])
            self._let_go()

    def close(self) -> None:
        """Save nothing more."""
        with self._lock:
            self._let_go()

    def _let_go(self) -> None:
        self._known, self._lines = {}, None
        self._forgotten = set()

    def forget(self, memory_id: str) -> None:
        """Take the memory out of the file, and of what is to be saved."""
        with self._lock:
            if self._lines is not None:
                self._forgotten.add(memory_id)
            if self._file is None or not self._file.is_file():
                return
            beginning = b"[%s," % msgspec.json.encode(memory_id)
            try:
                lines = self._file.read_bytes().splitlines()
            except OSError:
                lines = []  # nothing of it can be kept then
            self._write(self._file, [line for line in lines if not line.startswith(beginning)])

    def _write(self, file: Path, lines: Sequence[bytes]) -> None:
        """Write ``lines``; nothing where the data directory was moved away.

        Where they cannot be written the file goes: it may have what was forgotten.
        """
        try:
            if file.parent.is_dir():
                replace_file(file, b"".join(line + b"\n" for line in lines))
        except OSError as error:
            _log.warning("the cache of keys is not kept", extra={"error": type(error).__name__})
            with suppress(OSError):
                file.unlink(missing_ok=True)


def _load(file: Path, reader: bytes) -> dict[str, _Keys]:
    text = Look().text(file, _MOST_BYTES)
    try:
        unfinished(file).unlink(missing_ok=True)
        first, *lines = (text or "").encode().splitlines() or [b""]
        if first == reader:
            told = msgspec.json.decode(b"[%s]" % b",".join(lines), type=_Told)
            return {digest: keys for _, digest, keys in told}
    except (OSError, ValueError):  # torn, or something else
        pass
    return {}


def _digest(memory: Memory) -> str:
    """Tells each version of each memory, with all that its keys are read from."""
    return blake2b(msgspec.msgpack.encode(memory), digest_size=_DIGEST_BYTES).hexdigest()
