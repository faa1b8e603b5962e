"""The copies of a database: those that subcog keeps beside it, and the user's backups.

Each may still hold what was forgotten since, and is purged of it. Backups may lie
anywhere, so a list of them is kept beside the database.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import duckdb
import msgspec
from msgspec import Struct

from ...bus.values import Memory, Scope
from ...config.patterns import regex
from ..files import free_name, replace_file
from ..passages import table as passages
from ..store.database import Database
from ..store.errors import StoreUnavailable, explain
from ..store.wal import backup_list_of, wal_of
from ..team.outbox import Outbox

Kind = Literal["backup", "before a restore", "damaged log", "damaged database"]

# What a process leaves behind when it is killed while making a copy; {} is the database's name.
UNFINISHED = (".subcog-copy-*", "{}.restoring", "{}.restoring.wal", "{}.restoring.wal.damaged-*")

_PATTERNS: tuple[tuple[str, Kind], ...] = (
    ("{}.before-restore-*", "before a restore"),
    ("{}.wal.damaged-*", "damaged log"),
    ("{}.damaged-*", "damaged database"),
)
_LOST = {
    "damaged log": "what was written last before that may be lost (after a crash or on a full disk "
    "it was never acknowledged)",
    "damaged database": "what could be read of it was saved",
}
_MAX_NOTED = 1_000
_STAMP = regex(r"-(\d{8}T\d{6})(?:-\d+)?\Z")
_LOG = ".wal"


class Copy(Struct, frozen=True, kw_only=True):
    """One copy: its file, its kind, when it was made, and its bytes on disk.

    ``changed_at`` is when anything of the file was changed last, its date and its name included.
    """

    file: Path
    kind: Kind
    at: datetime
    changed_at: datetime
    bytes: int

    @property
    def is_database(self) -> bool:
        """Whether it can be opened, so that a single memory can be deleted from it."""
        return self.kind in {"backup", "before a restore"}

    def may_hold(self, created_at: datetime) -> bool:
        """Whether a memory created at that time may be in it."""
        return self.changed_at >= created_at


def find_copies(database: Path) -> tuple[Copy, ...]:
    """Every copy that still exists, oldest first."""
    found = {copy.file: copy for copy in (*_beside(database), *_backups(database))}
    return tuple(sorted(found.values(), key=lambda copy: (copy.at, copy.file)))


def damage_seen(database: Path) -> tuple[str, ...]:
    """A sentence for each file that was set aside since it was damaged, oldest first.

    And for each note of memories that are missing without such a file, and each list of backups
    that cannot be read.
    """
    beside = sorted(_beside(database), key=lambda copy: (copy.at, copy.file))
    copies = [copy for copy in beside if copy.kind.startswith("damaged")]
    damaged = tuple(
        f"a {copy.kind} was found on {copy.at:%Y-%m-%d at %H:%M} UTC, and {_LOST[copy.kind]}. It "
        f"is kept as {copy.file}; `subcog restore latest` brings back the newest backup, and "
        f"`subcog copies --remove {copy.file}` ends this notice once nothing is missing"
        for copy in copies
    )
    return damaged + tuple(_lost_logs(database)) + tuple(map(_unread, unread_lists(database)))


def _unread(file: Path) -> str:
    return (
        f"the list of the backups {file} cannot be read: those that are named in it alone are not "
        f"known, and may still hold what was forgotten. Deleting {file} ends this notice"
    )


def _lost_logs(database: Path) -> Iterator[str]:
    for note in sorted(database.parent.glob(f"{database.name}.log-missing-*")):
        at, missing = _named_at(note), _text_of(note)
        if at and missing:
            yield (
                "the write-ahead log was deleted, or the file replaced by an older one, before "
                f"{at:%Y-%m-%d at %H:%M} UTC, and memories that were there are missing: {missing}. "
                f"`subcog restore latest` brings back the newest backup, and deleting {note} ends "
                "this notice"
            )


def _text_of(note: Path) -> str:
    """What is in ``note``; nothing where it cannot be read, as where it was deleted just now."""
    try:
        return note.read_text()
    except (OSError, UnicodeDecodeError):
        return ""


def remove_copy(copy: Copy) -> None:
    """Delete a copy, and the log that belongs to it. Raises ``OSError``."""
    copy.file.unlink(missing_ok=True)
    wal_of(copy.file).unlink(missing_ok=True)


def note_backup(database: Path, backup: Path) -> None:
    """Remember that ``backup`` was made, so that ``find_copies`` finds it.

    A list that cannot be read is set aside: where other backups are stands in it alone. Raises
    ``OSError``.
    """
    file, earlier = backup_list_of(database), _noted(database)
    if earlier is None:
        file.rename(free_name(_damaged_list(file)))
    noted = [*(earlier or ()), str(backup.absolute())]
    distinct = list(dict.fromkeys(noted))[-_MAX_NOTED:]
    replace_file(file, msgspec.json.encode(distinct), durable=True)


def unread_lists(database: Path) -> tuple[Path, ...]:
    """The lists of backups that cannot be read: the present one, and what was set aside of it."""
    file = backup_list_of(database)
    aside = sorted(file.parent.glob(f"{_damaged_list(file).name}*"))
    return (*aside, *((file,) if _noted(database) is None else ()))


def _damaged_list(file: Path) -> Path:
    return file.with_name(f"{file.name}.damaged")


def _noted(database: Path) -> list[str] | None:
    """The paths in the list of backups; None where there is one that cannot be read."""
    try:
        return msgspec.json.decode(backup_list_of(database).read_bytes(), type=list[str])
    except FileNotFoundError:
        return []
    except (OSError, ValueError):  # ValueError: what is no JSON, and what is no UTF-8
        return None


def _beside(database: Path) -> Iterator[Copy]:
    for pattern, kind in _PATTERNS:
        for file in database.parent.glob(pattern.format(database.name)):
            is_log_of_copy = kind != "damaged log" and file.suffix == _LOG
            if not is_log_of_copy and (copy := _copy(file, kind)):
                yield copy


def _backups(database: Path) -> Iterator[Copy]:
    for name in _noted(database) or ():
        if copy := _copy(Path(name), "backup"):
            yield copy


def _copy(file: Path, kind: Kind) -> Copy | None:
    try:
        seen = file.stat()
        log = wal_of(file)
        size = seen.st_size + (log.stat().st_size if log.exists() else 0)
    except (OSError, ValueError):  # ValueError: a NUL, which no file name can have
        return None
    changed_at = datetime.fromtimestamp(max(seen.st_mtime, seen.st_ctime), UTC)
    # A backup is given its date again when something forgotten is taken out of it. A file that is
    # set aside keeps the date of its content, so its name says when that was.
    at = datetime.fromtimestamp(seen.st_mtime, UTC) if kind == "backup" else None
    at = at or _named_at(file) or changed_at
    return Copy(file=file, kind=kind, at=at, changed_at=changed_at, bytes=size)


def _named_at(file: Path) -> datetime | None:
    if (stamp := _STAMP.search(file.name)) is None:
        return None
    try:
        return datetime.strptime(stamp[1], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None


@contextmanager
def keeping_date(file: Path) -> Iterator[None]:
    """Whatever is done to ``file``, it is as old as before. Raises ``OSError``."""
    before = file.stat()
    yield
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


MEMORY_LIMIT_MB = 256


class Cleaned(Struct, frozen=True):
    """What was done to the copies: ``left`` are those that could not be purged, and why."""

    cleaned: tuple[Path, ...] = ()
    removed: tuple[Path, ...] = ()
    left: tuple[tuple[Path, str], ...] = ()


def clean_copies(
    copies: Sequence[Copy],
    forgotten: Sequence[Memory],
    scopes: Sequence[Scope],
    now: datetime,
    *,
    is_kept: Callable[[str], bool] = lambda id_: False,
) -> Cleaned:
    """Make sure that none of ``copies`` holds ``forgotten``, which are the versions of one memory.

    Nor another memory of its scope that says the same, which may be older than it, unless that
    ``is_kept`` by its id, nor passages of ``scopes`` that do. All are deleted from a backup,
    which is then compacted. A damaged file that is younger cannot be opened, so it is deleted as
    a whole. Not for an event loop.
    """
    cleaned, removed, left = [], [], []
    since = min(version.created_at for version in forgotten)
    for copy in copies:
        try:
            if copy.is_database:
                with keeping_date(copy.file):
                    held = _purge(copy, forgotten, scopes, now, is_kept)
                if held:
                    cleaned.append(copy.file)
            elif copy.may_hold(since):
                remove_copy(copy)
                removed.append(copy.file)
        except StoreUnavailable as error:
            left.append((copy.file, str(error)))
        except OSError as error:
            left.append((copy.file, f"it cannot be deleted ({error.strerror})"))
    return Cleaned(tuple(cleaned), tuple(removed), tuple(left))


def _purge(
    copy: Copy,
    forgotten: Sequence[Memory],
    scopes: Sequence[Scope],
    now: datetime,
    is_kept: Callable[[str], bool],
) -> bool:
    """Whether ``copy`` held what was ``forgotten``, or may have held it."""
    first, texts = forgotten[0], {version.content for version in forgotten}
    with opened(copy.file, now, Outbox()) as database:
        with database.transaction() as connection:
            gone = passages.forget_saying(connection, scopes, texts)
            others = _saying_the_same(connection, forgotten)
            for id_ in (first.id, *(one for one in others if not is_kept(one))):
                if database.tombstones.forget(connection, id_, [str(first.scope)], now):
                    database.note_forgotten(connection, id_)
                    gone += 1
        # Also where it was forgotten before: its bytes may still be in the file.
        since = min(version.created_at for version in forgotten)
        held = gone > 0 or copy.may_hold(since)
        if held:
            database.compact()
    return held


def _saying_the_same(
    connection: duckdb.DuckDBPyConnection, forgotten: Sequence[Memory]
) -> list[str]:
    """The ids of other memories with a text of ``forgotten``: it may have been kept twice."""
    said = {version.content_hash for version in forgotten if version.content_hash}
    found = [
        row
        for hashed in said
        for row in connection.execute(
            "SELECT m.id FROM store.memories m JOIN store.versions v ON v.key = m.key "
            "WHERE m.scope = ? AND m.id <> ? AND contains(v.body, ?)",
            [str(forgotten[0].scope), forgotten[0].id, hashed],
        ).fetchall()
    ]
    return [id_ for (id_,) in found]


@contextmanager
def opened(file: Path, now: datetime, queue: Outbox | None = None) -> Iterator[Database]:
    """The database at ``file``, which nobody else has open. Raises StoreUnavailable."""
    database = Database(file, memory_limit_mb=MEMORY_LIMIT_MB, clock=lambda: now, queue=queue)
    database.open()
    try:
        yield database
    except duckdb.Error as error:
        raise explain(file, error) from None
    finally:
        database.close()
