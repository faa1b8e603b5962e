"""The keys of what memories warn of, kept in a file for the next start of the daemon.

Reading the rules that a text states takes some milliseconds, and a daemon starts several times a
day: it exits when nothing has come for an hour.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from hashlib import blake2b
from pathlib import Path

import msgspec

from ...bus.values import Memory
from ..files import private_opener, replace_file

_log = logging.getLogger(__name__)
_DIGEST_BYTES = 8
_Keys = tuple[str, ...]


class KeyCache:
    """Reads the keys of each version of a memory once. Safe to share between threads.

    ``file`` has a JSON document a line: ``reader``, then the digest of each memory with its keys.
    What another ``reader`` wrote is not used. It is a cache: what cannot be read or written is read
    from the memories, and when one is forgotten the file is deleted.
    """

    def __init__(
        self, read: Callable[[Memory], Sequence[str]], file: Path | None = None, reader: str = ""
    ) -> None:
        self._read = read
        self._file = file
        self._reader = msgspec.json.encode(reader)
        self._lock = threading.Lock()
        # What the file had at the start, and whether it is to be added to.
        self._known: dict[str, _Keys] = {}
        self._is_ours = False
        # The lines that are to be in it, or to be added to it.
        self._lines: list[bytes] = []

    def open(self) -> None:
        """Read the file."""
        with self._lock:
            found = self._load()
            self._known, self._is_ours = found or {}, found is not None

    def _load(self) -> dict[str, _Keys] | None:
        if self._file is None:
            return None
        try:
            reader, _, lines = self._file.read_bytes().partition(b"\n")
            if reader == self._reader:
                return dict(msgspec.json.decode(_as_array(lines), type=list[tuple[str, _Keys]]))
        except FileNotFoundError:
            pass
        except (OSError, ValueError) as error:  # a torn line as well
            _log.warning("the cache of keys cannot be read", extra={"error": type(error).__name__})
        return None

    def known(self, memory: Memory) -> _Keys | None:
        """The keys of ``memory`` as the file has them; None where they have to be read."""
        digest = _digest(memory)
        with self._lock:
            keys = self._known.get(digest)
            if keys is not None:
                self._note(digest, keys)
        return keys

    def read(self, memory: Memory) -> _Keys:
        """The keys of ``memory``, read from its text."""
        keys = tuple(dict.fromkeys(self._read(memory)))
        with self._lock:
            self._note(_digest(memory), keys)
        return keys

    def _note(self, digest: str, keys: _Keys) -> None:
        if self._file is not None:
            self._lines.append(msgspec.json.encode((digest, keys)))

    def replace(self) -> None:
        """Write the file anew, once the keys of all memories were asked for."""
        with self._lock:
            self._known = {}
            self._is_ours = False
            self._write()

    def append(self) -> None:
        """Add to the file what was read since it was written."""
        with self._lock:
            self._write()

    def _write(self) -> None:
        if self._file is None or not self._lines:
            return
        lines = self._lines if self._is_ours else [self._reader, *self._lines]
        write = _append if self._is_ours else replace_file
        try:
            write(self._file, b"".join(line + b"\n" for line in lines))
            self._is_ours = True
        except OSError as error:
            _log.warning("the cache of keys is not kept", extra={"error": type(error).__name__})
        self._lines = []

    def forget(self) -> None:
        """Delete the file and what would be written, so that nothing of a memory stays there."""
        with self._lock:
            self._known, self._is_ours = {}, False
            self._lines = []
            try:
                if self._file is not None:
                    self._file.unlink(missing_ok=True)
            except OSError as error:
                _log.error("the cache of keys stays", extra={"error": type(error).__name__})


def _as_array(lines: bytes) -> bytes:
    return b"[" + b",".join(lines.splitlines()) + b"]"


def _append(file: Path, data: bytes) -> None:
    with open(file, "ab", opener=private_opener) as out:
        out.write(data)


def _digest(memory: Memory) -> str:
    """Tells each version of each memory, with all that its keys are read from."""
    return blake2b(msgspec.msgpack.encode(memory), digest_size=_DIGEST_BYTES).hexdigest()
