"""Diagnoses and repairs a database that nobody has open.

``diagnose`` changes nothing. ``repair`` repairs what ``diagnose`` calls repairable; before it
changes a file it keeps a copy and reports where. Both open the file, so no daemon may run: where
one does, the finding is ``held``. Neither may be called on an event loop.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from msgspec import Struct

from ..store.errors import StoreUnavailable, explain, unavailable
from ..store.wal import loss_of, quarantine_orphan_log, readable_bytes, wal_of
from .backups import DamagedLog, read_everything
from .exchange import finish, interrupted
from .kept_copies import UNFINISHED, opened
from .rescue import Mended, can_save, log_bytes, rescue

# Opening writes a few blocks; with less room than this every write is refused.
_LEAST_FREE_BYTES = 16_000_000
_OWNER_WRITES = stat.S_IWUSR | stat.S_IRUSR


class Problem(Struct, frozen=True, kw_only=True):
    """One finding. ``seen`` says what is wrong and ``mend`` what to do, as sentences for the user.

    ``reason`` is that of ``StoreUnavailable``, or ``log`` (the write-ahead log is damaged),
    ``lost_file`` (there is a log, and no file that it belongs to), ``interrupted`` (a restore was,
    between the former file and the new one) or ``leftovers`` (copies that a process left half
    made). ``repairable`` says whether ``repair`` can repair it.
    """

    reason: str
    seen: str
    mend: str
    repairable: bool


def diagnose(database: Path) -> tuple[Problem, ...]:
    """Everything wrong with the file at ``database``; empty where there is none yet.

    Reads every block, which takes about a second for 100,000 memories.
    """
    return tuple(_problems(database))


def repair(database: Path, *, now: datetime) -> tuple[Mended, ...]:
    """Repair whatever ``diagnose`` calls repairable, in the order in which it reports it.

    Raises ``StoreUnavailable`` where a step cannot be done; the steps before it are done.
    """
    problems = [problem for problem in diagnose(database) if problem.repairable]
    repairs = [_repair_one(database, problem.reason, now) for problem in problems]
    # They may have hidden other problems.
    if any(one.reason in {"read_only", "interrupted"} for one in repairs):
        repairs += repair(database, now=now)
    return tuple(repairs)


# --- diagnosis ----------------------------------------------------------------------------------


def _problems(database: Path) -> Iterator[Problem]:
    if not database.parent.is_dir():
        return
    if shutil.disk_usage(database.parent).free < _LEAST_FREE_BYTES:
        yield _problem_of(unavailable("full", database))
    if _is_write_protected(database):
        yield _problem_of(
            unavailable("read_only", database), repairable=_may_make_writable(database)
        )
        return
    if aside := interrupted(database):
        yield _interrupted(database, aside)
        return
    if any(True for _ in _unfinished(database)):
        yield Problem(
            reason="leftovers",
            seen=f"an interrupted process left incomplete copies in {database.parent}",
            mend="they are useless; the repair deletes them",
            repairable=True,
        )
    if loss := loss_of(database):  # what its log holds is saved with the rest
        yield _problem_of(unavailable(loss, database), repairable=True)
    elif database.exists():
        yield from _unreadable(database)
    elif log_bytes(database):
        yield _lost_file(database)


def _unreadable(database: Path) -> Iterator[Problem]:
    if (lost := _torn_bytes(database)) > 0:
        yield _damaged_log(database, f"its last {lost} bytes are incomplete")
    elif not database.stat().st_size:
        return  # opening replaces what was never created to its end
    try:
        read_everything(database)
    except DamagedLog:
        if not lost:
            yield _damaged_log(database, "a write in it is damaged")
    except StoreUnavailable as error:
        yield _problem_of(error, repairable=error.reason == "damaged" and can_save(database))


def _problem_of(error: StoreUnavailable, *, repairable: bool = False) -> Problem:
    seen, _, mend = str(error).partition(". ")
    return Problem(reason=error.reason, seen=seen, mend=mend, repairable=repairable)


def _damaged_log(database: Path, how: str) -> Problem:
    return Problem(
        reason="log",
        seen=f"the write-ahead log {wal_of(database)} is damaged: {how}",
        mend="everything before the damage can be saved; a copy of the log is kept",
        repairable=True,
    )


def _lost_file(database: Path) -> Problem:
    return Problem(
        reason="lost_file",
        seen=f"the write-ahead log {wal_of(database)} has no database {database}",
        mend=(
            "put the database back if you moved it. Otherwise the repair moves the log away, and "
            "an empty database is created"
        ),
        repairable=True,
    )


def _interrupted(database: Path, aside: Path) -> Problem:
    return Problem(
        reason="interrupted",
        seen=f"a restore was interrupted, and {database} lies in {aside}",
        mend="the repair puts it back; then restore the backup again",
        repairable=True,
    )


def _is_write_protected(database: Path) -> bool:
    places = [database.parent, *(p for p in (database, wal_of(database)) if p.exists())]
    return not all(os.access(place, os.R_OK | os.W_OK) for place in places)


def _may_make_writable(database: Path) -> bool:
    places = [p for p in (database.parent, database, wal_of(database)) if p.exists()]
    protected = [place for place in places if not os.access(place, os.R_OK | os.W_OK)]
    return all(
        place.stat().st_uid == os.geteuid()
        and place.stat().st_mode & _OWNER_WRITES != _OWNER_WRITES
        for place in protected
    )


def _unfinished(database: Path) -> Iterator[Path]:
    for pattern in UNFINISHED:
        yield from database.parent.glob(pattern.format(database.name))


def _torn_bytes(database: Path) -> int:
    """How many bytes at the end of the log are not a complete entry."""
    size = log_bytes(database)
    if not size:
        return 0
    with wal_of(database).open("rb") as log:
        return size - readable_bytes(log, size)


# --- repairs -------------------------------------------------------------------------------------


def _repair_one(database: Path, reason: str, now: datetime) -> Mended:
    return {
        "read_only": _make_writable,
        "interrupted": _put_back,
        "leftovers": _delete_unfinished,
        "lost_file": _quarantine_log,
        "log": _cut_log,
        "damaged": rescue,
    }[reason](database, now)


def _make_writable(database: Path, now: datetime) -> Mended:
    places = [p for p in (database.parent, database, wal_of(database)) if p.exists()]
    for place in places:
        search = stat.S_IXUSR if place.is_dir() else 0
        place.chmod(place.stat().st_mode | _OWNER_WRITES | search)
    return Mended(reason="read_only", done=f"{database} is writable again")


def _put_back(database: Path, now: datetime) -> Mended:
    try:
        aside = finish(database)
    except OSError as error:
        raise explain(database, error) from None
    return Mended(reason="interrupted", done=f"{database} was put back from {aside}")


def _delete_unfinished(database: Path, now: datetime) -> Mended:
    for place in list(_unfinished(database)):
        shutil.rmtree(place) if place.is_dir() else place.unlink()
    return Mended(reason="leftovers", done="incomplete copies were deleted")


def _quarantine_log(database: Path, now: datetime) -> Mended:
    lost = quarantine_orphan_log(database, now)
    return Mended(
        reason="lost_file",
        done="the log without a database was moved away",
        kept_aside=(lost.kept_aside,) if lost else (),
    )


def _cut_log(database: Path, now: datetime) -> Mended:
    """Open the file as the daemon does, which truncates the log before the damage."""
    try:
        with opened(database, now) as store:
            recovery = store.recovery
    except StoreUnavailable as error:
        if error.reason != "damaged":
            raise
        return rescue(database, now)  # the file is damaged too
    kept = (recovery.kept_aside,) if recovery else ()
    return Mended(
        reason="log", done="everything before the damage in the log was saved", kept_aside=kept
    )
