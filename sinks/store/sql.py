"""Statements that are parsed once: in DuckDB 2 parsing is half of what a small one costs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import duckdb
from duckdb import DuckDBPyConnection


class Statement:
    """One statement of SQL, for any connection and thread: each run works on a copy."""

    def __init__(self, sql: str) -> None:
        self.sql = sql
        self._parsed: duckdb.Statement | None = None

    def run(
        self, connection: DuckDBPyConnection, parameters: Sequence[Any] = ()
    ) -> DuckDBPyConnection:
        """Execute it; what it found is to be fetched from what is returned."""
        if self._parsed is None:
            [self._parsed] = connection.extract_statements(self.sql)
        return connection.execute(self._parsed, parameters)


def by_count(sql: Callable[[int], str], *, most: int) -> Callable[[int], Statement]:
    """Statements that differ in how many placeholders they have; ``most`` of them are kept."""

    @lru_cache(maxsize=most)
    def statement(count: int) -> Statement:
        return Statement(sql(count))

    return statement
