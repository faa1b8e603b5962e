"""Recovery of a write-ahead log that a crash or a bad disk damaged.

It happens when the database is opened, and never before a copy of the log was kept. ``repair.py``
diagnoses and repairs a database that cannot be opened. A ``Presence`` notices that the file or its
log was taken away while it is open, ``loss_of`` that the file was deleted or emptied before, and a
``Tally`` that the log was.
"""

from __future__ import annotations

import filecmp
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

from msgspec import Struct

from ...config.patterns import regex
from ..files import FILE_MODE, free_name, private_opener, replace_file
from .errors import unavailable

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

_POSITION = regex(r"Corrupt WAL file: entry at byte position (\d+)")
# An entry is its size and its checksum, 8 bytes each, and then its data. DuckDB names the
# position of the data.
_ENTRY_HEAD = 16
_VERSION_ENTRY = 98
_KNOWN_LAYOUTS = (2,)
_LONGEST_HEAD = 128

Loss = Literal["", "missing", "emptied"]


class Recovery(Struct, frozen=True, kw_only=True):
    """What was done to a damaged write-ahead log when the database was opened."""

    at: datetime
    reason: str
    kept_aside: Path
    dropped_bytes: int

    def __str__(self) -> str:
        return (
            f"{self.reason}; {self.dropped_bytes} bytes of the write-ahead log could not be read. "
            f"A copy of the log was kept as {self.kept_aside}: delete it when nothing is missing."
        )


def wal_of(database: Path) -> Path:
    """The write-ahead log of ``database``."""
    return database.with_name(database.name + ".wal")


def quarantine(wal: Path, now: datetime) -> Path:
    """Copy ``wal`` to a name of its own, readable by its owner alone; the same log only once."""
    for earlier in wal.parent.glob(f"{wal.name}.damaged-*"):
        if filecmp.cmp(wal, earlier, shallow=False):
            return earlier
    target = free_name(wal.with_name(f"{wal.name}.damaged-{now:%Y%m%dT%H%M%S}"))
    with wal.open("rb") as source, open(target, "xb", opener=private_opener) as copy:
        shutil.copyfileobj(source, copy)
        copy.flush()
        os.fsync(copy.fileno())
    return target


def cut_damage(database: Path, message: str, now: datetime) -> Recovery | None:
    """Keep a copy of the log and truncate it before the entry named by DuckDB's ``message``.

    Everything that was committed before that entry can be read then. A log of which not even the
    beginning can be read is emptied. None where ``message`` tells of no damage to the log, or
    of one that truncation does not repair.
    """
    if not is_log_damage(database, message):
        return None
    wal = wal_of(database)
    size = wal.stat().st_size
    found = _POSITION.search(message)
    end = max(0, int(found[1]) - _ENTRY_HEAD) if found else 0
    if end >= size:
        return None
    kept = quarantine(wal, now)
    os.truncate(wal, end)
    return Recovery(
        at=now,
        reason="a write in the write-ahead log was damaged; it and all later ones were dropped",
        kept_aside=kept,
        dropped_bytes=size - end,
    )


def is_log_damage(database: Path, message: str) -> bool:
    """Whether DuckDB's ``message`` tells of a damaged log.

    Not of one that is whole and cannot be replayed, since a block of the file is damaged.
    """
    wal = wal_of(database)
    if "WAL" not in message or not wal.exists():
        return False
    if _POSITION.search(message):
        return True
    with wal.open("rb") as log:
        return readable_bytes(log, wal.stat().st_size) == 0


def quarantine_orphan_log(database: Path, now: datetime) -> Recovery | None:
    """Move a log away whose database is missing: DuckDB would delete it silently.

    None where there is no such log.
    """
    wal = wal_of(database)
    if database.exists() or not wal.exists() or not (size := wal.stat().st_size):
        return None
    kept = quarantine(wal, now)
    wal.unlink()
    return Recovery(
        at=now,
        reason="there was a write-ahead log without its database, which was moved or deleted",
        kept_aside=kept,
        dropped_bytes=size,
    )


def find_torn_tail(database: Path, now: datetime) -> Recovery | None:
    """Keep a copy of a log whose incomplete end DuckDB skipped silently; None for a whole one.

    To be called after the database was opened and before anything is written to it.
    """
    wal = wal_of(database)
    if not wal.exists() or not (size := wal.stat().st_size):
        return None
    with wal.open("rb") as log:
        end = readable_bytes(log, size)
    if end == size:
        return None
    return Recovery(
        at=now,
        reason=(
            "the last write was incomplete"
            if end
            else "the write-ahead log could not be read at all"
        ),
        kept_aside=quarantine(wal, now),
        dropped_bytes=size - end,
    )


def readable_bytes(log: BinaryIO, size: int) -> int:
    """How many bytes of a log are complete entries, by their sizes; 0 for a damaged beginning.

    A log of an unknown layout, as of a later DuckDB, counts as complete.
    """
    end = _head_bytes(log.read(_LONGEST_HEAD))
    if end is None:
        return size
    if not end:
        return 0
    while end + _ENTRY_HEAD <= size:
        log.seek(end)
        length = int.from_bytes(log.read(8), "little")
        if not length or end + _ENTRY_HEAD + length > size:
            return end
        end += _ENTRY_HEAD + length
    return end


def first_entry(log: bytes) -> bytes:
    """The first entry of a log, which says to which file it belongs; empty where it is damaged."""
    return log[: _head_bytes(log[:_LONGEST_HEAD]) or 0]


def entries(log: bytes) -> Iterator[bytes]:
    """Each whole entry after the first."""
    at = len(first_entry(log))
    while at and at + _ENTRY_HEAD <= len(log):
        end = at + _ENTRY_HEAD + int.from_bytes(log[at : at + 8], "little")
        if end > len(log) or end == at + _ENTRY_HEAD:
            return
        yield log[at:end]
        at = end


def kind_of(entry: bytes) -> int:
    """What an entry does, as DuckDB numbers it; 0 where it cannot be read."""
    try:
        return _Fields(entry[_ENTRY_HEAD : _ENTRY_HEAD + _LONGEST_HEAD]).field(100)
    except (IndexError, ValueError):
        return 0


def _head_bytes(head: bytes) -> int | None:
    """The length of the log's first entry, 0 where it is damaged, None for an unknown layout."""
    reader = _Fields(head)
    try:
        if reader.field(100) != _VERSION_ENTRY:
            return 0
        if reader.field(101) not in _KNOWN_LAYOUTS:
            return None
        if reader.next_is(102):
            for _ in range(reader.field(102)):
                reader.number()
            reader.field(103)
        return reader.position + 2 if reader.next_is(0xFFFF) else 0
    except (IndexError, ValueError):
        return 0


class _Fields:
    """Reads DuckDB's serialised fields: a number of 2 bytes, then a LEB128 integer."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.position = 0

    def next_is(self, field: int) -> bool:
        ahead = self._data[self.position : self.position + 2]
        return ahead == field.to_bytes(2, "little")

    def field(self, field: int) -> int:
        if not self.next_is(field):
            raise ValueError("another field stands here")
        self.position += 2
        return self.number()

    def number(self) -> int:
        value = shift = 0
        while True:
            byte = self._data[self.position]
            self.position += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if value > 0xFF:
                raise ValueError("no field of a log's beginning is that large")
            if byte < 0x80:
                return value


# --- whether they are still there -----------------------------------------------------------------


class Presence:
    """The file at ``path`` and its log, as they were when they were opened.

    A process writes on into a file that was deleted or moved away, and into its log, and nobody
    finds again what it wrote.
    """

    def __init__(self, path: Path, log: Path) -> None:
        self._path, self._log = path, log
        self._file_inode: int | None = None
        self._log_inode: int | None = None
        self._is_lost = False

    def note_opened(self) -> None:
        """Both were just opened."""
        self._is_lost = False
        self._file_inode = _inode_unless_empty(self._path)
        self.note_log()

    def note_log(self) -> None:
        """The log may be another one now: it was created, or a checkpoint removed it."""
        self._log_inode = _inode(self._log)

    @property
    def is_in_place(self) -> bool:
        """Whether the file is where it was, not empty, and the log too at the last check."""
        return not self._is_lost and _inode_unless_empty(self._path) == self._file_inode

    def check(self) -> None:
        """Raise StoreUnavailable, ``gone``, where one of them is not. Writer's thread only.

        No other thread can tell a log that was taken away from one that a checkpoint replaces.
        """
        found = _inode(self._log)
        self._is_lost = not self.is_in_place or self._log_inode not in {None, found}
        if self._is_lost:
            is_emptied = loss_of(self._path) == "emptied"
            raise unavailable("emptied" if is_emptied else "gone", self._path)


class Tally:
    """How many memories were ever committed to the file at ``path``, noted beside it.

    Else nobody could tell that a log was deleted while nobody had the file open: a file without a
    log is whole. It holds for the file with its inode, as for an older one copied over it.
    """

    def __init__(self, path: Path) -> None:
        self._path, self._file = path, tally_of(path)
        self._count: int | None = None
        self._missing = 0

    def find_missing(self, connection: DuckDBPyConnection) -> int:
        """How many memories were noted and are not there, just after the file was opened."""
        self._count, self._missing = None, 0
        count = self.know(connection)
        try:
            inode, noted = map(int, self._file.read_text().split())
        except (OSError, ValueError):
            return 0
        if inode == _inode(self._path):
            self._missing = max(0, noted - count)
        return self._missing

    def know(self, connection: DuckDBPyConnection) -> int:
        """How many there are; to be called before more are added. Writer's thread only."""
        if self._count is None:
            [(self._count,)] = connection.execute("SELECT count(*) FROM store.memories").fetchall()
        return self._count

    def add(self, memories: int) -> None:
        """So many more are committed, and as many missing as before. Writer's thread only."""
        if self._count is None:
            return
        self._count += memories
        # On a full disk nothing is noted, and so no loss is told.
        with suppress(OSError), open(self._file, "w", opener=private_opener) as note:
            note.write(f"{_inode(self._path)} {self._count + self._missing}")

    def clear(self) -> None:
        """There may be fewer from now on, and that is no loss. Raises ``OSError``."""
        self._count, self._missing = None, 0
        # Overwritten where it lies: a full disk then has no more room, and no less, than before.
        with suppress(FileNotFoundError), self._file.open("r+") as note:
            note.write("-")


def tally_of(path: Path) -> Path:
    """Where the ``Tally`` of the database at ``path`` is noted."""
    return path.with_name(f"{path.name}.tally")


def note_lost_log(path: Path, missing: int, now: datetime) -> Path:
    """Leave a note beside ``path`` that so many memories are missing. Raises ``OSError``."""
    note = free_name(path.with_name(f"{path.name}.log-missing-{now:%Y%m%dT%H%M%S}"))
    replace_file(note, b"%d" % missing)
    return note


def _inode(path: Path) -> int | None:
    try:
        return path.stat().st_ino
    except FileNotFoundError:
        return None


def _inode_unless_empty(path: Path) -> int | None:
    """No open database is an empty file: its head is written first."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_ino if found.st_size else None


def beginning_of(path: Path) -> Path:
    """What lies beside the database at ``path`` while it is being created.

    A process that is killed then leaves an empty file behind, in which there never was anything.
    """
    return path.with_name(f"{path.name}.new")


def backup_list_of(path: Path) -> Path:
    """The list of the backups that were made of the database at ``path``.

    It outlives them, so wherever it lies there was a database.
    """
    return path.with_name(f"{path.name}.backups")


def replacement_of(path: Path) -> Path:
    """The copy of a backup that is to take the place of the database at ``path``, until it does."""
    return path.with_name(f"{path.name}.restoring")


def loss_of(path: Path) -> Loss:
    """What was lost of the database at ``path``; "" for one that is there, or never was.

    ``missing``: there is no file, though what lies beside it is left of one. ``emptied``: the file
    is empty, and was not left so while it was being created.
    """
    try:
        is_empty = not path.stat().st_size
    except FileNotFoundError:
        return "missing" if _was_there(path) and not beginning_of(path).exists() else ""
    return "emptied" if is_empty and not beginning_of(path).exists() else ""


def _was_there(path: Path) -> bool:
    """Whether backups were made of a database at ``path``, it was written to, or set aside."""
    if backup_list_of(path).exists() or tally_of(path).exists():
        return True
    patterns = (f"{path.name}.before-restore-*", f"{path.name}.damaged-*")
    return any(True for pattern in patterns for _ in path.parent.glob(pattern))


def make_room(path: Path) -> None:
    """Prepare for a database at ``path`` to be opened, or created.

    Removes what a process left that was killed while it created it. Raises StoreUnavailable for a
    file that was deleted, in whose place DuckDB would begin another, or emptied, of which it says
    less.
    """
    if loss := loss_of(path):
        raise unavailable(loss, path)
    if not path.exists():
        beginning_of(path).touch(FILE_MODE)
    elif not path.stat().st_size:
        path.unlink()
