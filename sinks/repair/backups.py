"""The backups that subcog makes by itself: whole, checked, bounded, and without what was forgotten.

What was forgotten since a backup was made is carried over into a copy of it before it is restored.
Nothing here may be called on an event loop.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
from duckdb import DuckDBPyConnection
from msgspec import Struct

from ..files import FOLDER_MODE
from ..passages import table as passages
from ..passages.forgotten import Forgotten
from ..sql import search_tables
from ..store.database import Database
from ..store.errors import StoreUnavailable, explain, unavailable
from ..store.migrations import MIGRATIONS, ForeignSchema, schema_version, tables
from ..store.rows import naive, to_memory
from ..store.sql import attach
from ..store.tombstones import Note, Print, add_notes, latest_notes, print_of, wording_of
from ..store.wal import is_log_damage, loss_of, wal_of
from ..store.writes import add_tombstones
from ..team.outbox import Outbox, drop_ids
from .kept_copies import MEMORY_LIMIT_MB, keeping_date, note_backup, opened

_STEM, _TIME = "subcog-", "%Y%m%dT%H%M%SZ"
_ROOM_BYTES = 64_000_000
_BATCH_ROWS = 2_000
# Why a backup cannot be opened, now or later.
_USELESS = {"damaged", "foreign", "newer"}
_TICK = timedelta(microseconds=1)
_TABLES = frozenset(
    "memories versions team shared outbox received forgotten_texts merged_texts passages "
    "forgotten_passages use_events use_sums".split()
).union(search_tables.TABLES)


class Bounds(Struct, frozen=True):
    """How many backups are kept, of how many bytes together, and how old the newest may become."""

    keep: int
    bytes: int
    every: timedelta


class Seen(Struct, frozen=True):
    """How many backups there are, the newest, when it was made, and the bytes of all together."""

    count: int = 0
    newest: Path | None = None
    newest_at: datetime | None = None
    bytes: int = 0


class AutomaticBackups:
    """The backups in ``folder`` of the database at ``database``.

    One that is named by a time later than now, since a clock was ahead, counts as the oldest.
    """

    def __init__(self, database: Path, folder: Path, bounds: Bounds) -> None:
        self.folder = folder
        self._database = database
        self._bounds = bounds

    def files(self, now: datetime) -> tuple[Path, ...]:
        """The backups, oldest first."""
        found = [(_made_at(file), file) for file in self.folder.glob(f"{_STEM}*.duckdb")]
        return tuple(file for _, file in sorted((at <= now, file) for at, file in found if at))

    def look(self, now: datetime) -> Seen:
        """What there is; a file that goes meanwhile is none."""
        sizes = {}
        for file in self.files(now):
            with suppress(OSError):
                sizes[file] = file.stat().st_size
        newest = next(reversed(sizes), None)
        made_at = _made_at(newest) if newest else None
        return Seen(len(sizes), newest, made_at, sum(sizes.values()))

    def is_due(self, now: datetime, *, is_quiet: bool = True) -> bool:
        """Whether it is time for the next, and something was written since the last.

        Where people are asking things, it is only once the last is twice as old as it may be.
        """
        newest = self.look(now).newest_at
        if newest is None or newest > now:
            return True
        age = self._bounds.every * (1 if is_quiet else 2)
        return now - newest >= age and _written_at(self._database) > newest

    def make(self, database: Database, now: datetime) -> Path:
        """Write one, read every block of it, and delete the oldest beyond the bounds.

        Writes go on meanwhile. Raises ``OSError``; the earlier backups are left as they are then.
        """
        self.folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        for unfinished in self.folder.glob(f"{_STEM}*.unchecked*"):
            unfinished.unlink()
        file = self.folder / f"{_STEM}{now.astimezone(UTC).strftime(_TIME)}.duckdb"
        size = self._database.stat().st_size + database.wal_bytes()
        if shutil.disk_usage(self.folder).free < 2 * size + _ROOM_BYTES:
            raise unavailable("full", file)
        unchecked = file.with_suffix(".unchecked")
        database.backup(unchecked)
        try:
            read_everything(unchecked)
        except BaseException:
            unchecked.unlink()
            raise
        unchecked.rename(file)
        note_backup(self._database, file)
        self._thin_out(now)
        return file

    def _thin_out(self, now: datetime) -> None:
        """Delete the oldest beyond the bounds; the newest stays, however large it is."""
        taken = 0
        for number, file in enumerate(reversed(self.files(now))):
            taken += file.stat().st_size
            if number and (number >= self._bounds.keep or taken > self._bounds.bytes):
                _remove(file)

    def purge(self, buried: Buried, now: datetime) -> None:
        """Forget in each what was forgotten since. One that will never open again is deleted.

        Raises ``OSError`` at the end where one could not be changed now, which is kept.
        """
        problem: OSError | None = None
        for file in self.files(now):
            try:
                self._purge(file, buried, now)
            except OSError as error:
                problem = problem or error
        if problem is not None:
            raise problem

    def _purge(self, file: Path, buried: Buried, now: datetime) -> None:
        try:
            with keeping_date(file):
                carry_over(file, buried, now, bring_back=False)
        except StoreUnavailable as error:
            if error.reason not in _USELESS:
                raise
            _remove(file)


def _remove(file: Path) -> None:
    """Delete a backup with its log, and the notes beside it of what is to be done with it."""
    file.unlink()
    for beside in file.parent.glob(f"{file.name}.*"):
        beside.unlink()


def _made_at(file: Path) -> datetime | None:
    try:
        return datetime.strptime(file.stem.removeprefix(_STEM), _TIME).replace(tzinfo=UTC)
    except ValueError:
        return None


def _written_at(database: Path) -> datetime:
    files = [file for file in (database, wal_of(database)) if file.exists()]
    return datetime.fromtimestamp(max(file.stat().st_mtime for file in files), UTC)


class DamagedLog(ValueError):
    """DuckDB cannot read the write-ahead log."""


def read_everything(database: Path) -> None:
    """Read each value of each table. Raises ``DamagedLog`` and ``StoreUnavailable``."""
    memory_limit = f"{MEMORY_LIMIT_MB}MB"
    try:
        with duckdb.connect(config={"memory_limit": memory_limit, "threads": 1}) as connection:
            attach(connection, database, "store", read_only=True)
            found = schema_version(connection)
            if found > len(MIGRATIONS):
                raise unavailable("newer", database, found=found, known=len(MIGRATIONS))
            for table in _TABLES & tables(connection):
                # Checksums are verified when blocks are read, so all must be read.
                connection.execute(f"SELECT bit_xor(hash(t)) FROM store.{table} t").fetchall()  # noqa: S608 - constants
    except StoreUnavailable:
        raise
    except ForeignSchema:
        raise unavailable("foreign", database) from None
    except (duckdb.Error, OSError) as error:
        if is_log_damage(database, str(error)):
            raise DamagedLog from None
        raise explain(database, error) from None


class Buried(Struct, frozen=True):
    """What a database says was forgotten, and the ids of the memories that it has.

    ``ids`` has the scope, and when it was created and forgotten, of each forgotten memory.
    """

    ids: Mapping[str, tuple[str, datetime, datetime]] = {}
    texts: Mapping[Print, Note] = {}
    passages: tuple[Forgotten, ...] = ()
    alive: frozenset[str] = frozenset()


class Returning(Struct, frozen=True):
    """How many memories and passages of a backup were forgotten since, and how many are newer.

    ``there`` is how many memories it has in all.
    """

    memories: int
    passages: int
    newer: int = 0
    there: int = 0


def read_buried(connection: DuckDBPyConnection) -> Buried:
    """What the database attached as ``store`` says was forgotten."""
    there = tables(connection)
    found = connection.execute(
        "SELECT id, scope, created_at, forgotten_at FROM store.memories"
    ).fetchall()
    return Buried(
        ids={row[0]: row[1:] for row in found if row[3] is not None},
        texts=latest_notes(connection) if "forgotten_texts" in there else {},
        passages=tuple(passages.forgotten(connection)) if "passages" in there else (),
        alive=frozenset(row[0] for row in found if row[3] is None),
    )


def read_buried_file(database: Path) -> Buried | None:
    """The same of a file that nobody has open; None where it cannot be read, or is lost."""
    if not database.exists():
        return None if loss_of(database) or wal_of(database).exists() else Buried()
    try:
        with duckdb.connect(config={"threads": 1}) as connection:
            attach(connection, database, "store", read_only=True)
            return read_buried(connection)
    except duckdb.Error:
        return None


def count_returning(copy: Path, buried: Buried, now: datetime) -> Returning:
    """How much of ``copy`` was forgotten since. Raises StoreUnavailable."""
    with opened(copy, now) as database, database.reading() as connection:
        found = _Comparison(connection, buried)
        return Returning(len(found.returning), found.said(), found.newer, found.there)


def carry_over(copy: Path, buried: Buried, now: datetime, *, bring_back: bool) -> Returning:
    """Forget in ``copy`` what was forgotten since, unless it is to be brought back.

    What ``copy`` does not have stays forgotten either way. Raises StoreUnavailable.
    """
    outbox = Outbox()
    with opened(copy, now, outbox) as database:
        with database.transaction() as connection:
            found = _Comparison(connection, buried)
            add_notes(connection, found.notes())
            add_tombstones(connection, found.missing())
            ids = list(found.returning)
            if bring_back:
                said = found.said()
                add_notes(connection, found.lifting(now))
            else:
                if ids or found.passages:
                    database.mark_uncompacted()
                database.tombstones.delete(connection, ids, now)
                drop_ids(connection, ids)
                passages.remember_forgotten(connection, found.passages)
                said = sum(passages.delete_forgotten(connection, one) for one in found.passages)
            for scope in sorted(outbox.joined.sends):
                outbox.queue_tombstones(connection, scope, now)
        if database.needs_compaction:  # from an attempt that got no further as well
            database.compact()
            database.note_purged(database.deletions())
    return Returning(len(ids), said, found.newer)


class _Comparison:
    """A backup on ``connection`` beside what was ``buried`` since.

    ``returning`` are its memories that were forgotten since, with the prints of what they say.
    """

    def __init__(self, connection: DuckDBPyConnection, buried: Buried) -> None:
        self._connection = connection
        self._buried = buried
        self._here = latest_notes(connection)
        self._there = read_buried(connection)
        self.passages = [one for one in buried.passages if one not in self._there.passages]
        self.returning = dict(self._find())

    @property
    def there(self) -> int:
        """How many memories the backup has."""
        return len(self._there.alive)

    @property
    def newer(self) -> int:
        """How many memories are there now that the backup does not have."""
        return len(self._buried.alive - self._there.alive)

    def said(self) -> int:
        """How many passages were forgotten since."""
        return len(
            {id_ for one in self.passages for id_ in passages.covered(self._connection, one)}
        )

    def notes(self) -> Iterator[tuple[Print, Note]]:
        """What was noted of texts later than in the backup."""
        for print_, note in self._buried.texts.items():
            known = self._here.get(print_)
            if known is None or known.noted_at < note.noted_at:
                yield print_, note

    def missing(self) -> list[tuple[str, str, datetime, datetime]]:
        """The forgotten memories of which the backup knows nothing, for ``add_tombstones``."""
        known = self._there.alive | self._there.ids.keys()
        return [(id_, *rest) for id_, rest in self._buried.ids.items() if id_ not in known]

    def lifting(self, now: datetime) -> Iterator[tuple[Print, Note]]:
        """Notes by which the texts of what is brought back are no longer forgotten."""
        for print_ in {each for prints in self.returning.values() for each in prints}:
            note = self._buried.texts.get(print_)
            if note is not None and not note.lifted:
                at = naive(now)
                yield print_, Note(max(at, note.noted_at + _TICK), lifted=True)

    def _find(self) -> Iterator[tuple[str, list[Print]]]:
        since = self._since()
        by_id = self._there.alive & self._buried.ids.keys()
        if not (since or by_id):
            return
        keys = sorted({print_.key for print_ in self._buried.texts})
        for id_, scope, body in _current(self._connection):
            wording = wording_of(to_memory(body).content)
            prints = [print_of(key, scope, wording) for key in keys]
            said = not since.isdisjoint(prints) and id_ not in self._buried.alive
            if said or id_ in by_id:
                yield id_, prints

    def _since(self) -> set[Print]:
        """The texts that are forgotten now, and were not when the backup was made."""
        then = {print_ for print_, note in self._here.items() if not note.lifted}
        return {p for p, note in self._buried.texts.items() if not note.lifted} - then


def _current(connection: DuckDBPyConnection) -> Iterator[tuple[str, str, str]]:
    """The id, scope and body of each memory's current version."""
    found = connection.execute(
        "SELECT m.id, m.scope, v.body FROM store.memories m JOIN store.versions v ON v.key = m.key"
    )
    while batch := found.fetchmany(_BATCH_ROWS):
        yield from batch
