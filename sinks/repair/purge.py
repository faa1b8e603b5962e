"""Deletes a forgotten memory from the copies of the database as well.

A backup is opened, the memory is deleted from it, and the file is compacted. A damaged file cannot
be opened, so it is deleted as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import duckdb
from msgspec import Struct

from ..store.database import Database
from ..store.errors import StoreUnavailable, explain
from ..store.writes import forget
from ..team.outbox import Outbox
from .kept_copies import Copy, remove_copy

_MEMORY_LIMIT_MB = 256


class Cleaned(Struct, frozen=True):
    """What was done to the copies: ``left`` are those that could not be purged, and why."""

    cleaned: tuple[Path, ...] = ()
    removed: tuple[Path, ...] = ()
    left: tuple[tuple[Path, str], ...] = ()


def clean_copies(
    copies: Sequence[Copy], memory_id: str, scopes: Sequence[str], now: datetime
) -> Cleaned:
    """Make sure that none of ``copies`` holds a memory of ``scopes``. Not for an event loop."""
    cleaned, removed, left = [], [], []
    for copy in copies:
        try:
            if copy.is_database:
                _purge(copy.file, memory_id, scopes, now)
                cleaned.append(copy.file)
            else:
                remove_copy(copy)
                removed.append(copy.file)
        except StoreUnavailable as error:
            left.append((copy.file, str(error)))
        except OSError as error:
            left.append((copy.file, f"it cannot be deleted ({error.strerror})"))
    return Cleaned(tuple(cleaned), tuple(removed), tuple(left))


def _purge(file: Path, memory_id: str, scopes: Sequence[str], now: datetime) -> None:
    database = Database(file, memory_limit_mb=_MEMORY_LIMIT_MB, clock=lambda: now, queue=Outbox())
    database.open()
    try:
        with database.transaction() as connection:
            if forget(connection, memory_id, scopes, now):
                database.note_forgotten(connection, memory_id)
        # Also where it was forgotten before: its bytes may still be in the file.
        database.compact()
    except duckdb.Error as error:
        raise explain(file, error) from None
    finally:
        database.close()
