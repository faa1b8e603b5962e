"""The port through which the store hands its writes to whatever replicates them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import Protocol

from duckdb import DuckDBPyConnection

from .rows import Record


class ChangeQueue(Protocol):
    """Called on the writer's thread; each call but ``open`` within the transaction of the write."""

    def open(self, connection: DuckDBPyConnection) -> None:
        """The file was opened or reopened: read from its tables what is to be queued."""

    def note(
        self, connection: DuckDBPyConnection, records: Iterable[Record], now: datetime
    ) -> None:
        """Queue versions that were just written."""

    def note_forgotten(self, connection: DuckDBPyConnection, memory_id: str, now: datetime) -> None:
        """Queue that a memory was deleted."""


class NoQueue:
    """Queues nothing: the store of a machine whose writes go nowhere else."""

    def open(self, connection: DuckDBPyConnection) -> None:
        pass

    def note(
        self, connection: DuckDBPyConnection, records: Iterable[Record], now: datetime
    ) -> None:
        pass

    def note_forgotten(self, connection: DuckDBPyConnection, memory_id: str, now: datetime) -> None:
        pass
