"""What SQL can ask of the store: views for people, and macros that rank memories (``views.sql``).

They lie in the database in memory that the file is attached to, and are made anew at each opening:
so they are never in the log or in a copy, and never older than this program. Each shows the scopes
that the variable ``subcog_scopes`` of its connection lists, and nothing while there is none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from duckdb import DuckDBPyConnection

_DEFINITIONS = Path(__file__).with_name("views.sql")
_VIEW = re.compile(r"VIEW memory\.main\.(\w+) AS")
_MACRO = re.compile(r"MACRO memory\.main\.(\w+)\((\w+)")


class Column(NamedTuple):
    """A column of a view."""

    name: str
    type: str


@cache
def definitions() -> str:
    """The statements that make them."""
    return _DEFINITIONS.read_text("utf-8")


@cache
def views() -> tuple[str, ...]:
    """The names of the views."""
    return tuple(_VIEW.findall(definitions()))


@cache
def macros() -> tuple[tuple[str, str], ...]:
    """The name of each macro, and of what it is called with."""
    return tuple(_MACRO.findall(definitions()))


def create_views(root: DuckDBPyConnection) -> None:
    """Make views and macros in the database in memory of ``root``, in place of older ones."""
    root.execute(definitions())


def show_scopes(cursor: DuckDBPyConnection, scopes: Sequence[str]) -> None:
    """Let the views and macros show ``scopes`` on ``cursor``, and nothing else."""
    cursor.execute("SET VARIABLE subcog_scopes = ?::VARCHAR[]", [list(scopes)])


def columns(cursor: DuckDBPyConnection) -> dict[str, list[Column]]:
    """The columns of each view, and of what each macro gives."""
    found = {name: _described(cursor, name) for name in views()}
    for name, parameter in macros():
        found[f"{name}(${parameter})"] = _described(cursor, f"{name}(NULL)")
    return found


def _described(cursor: DuckDBPyConnection, what: str) -> list[Column]:
    found = cursor.execute(f"DESCRIBE FROM {what}").fetchall()
    return [Column(name, kind) for name, kind, *_ in found]
