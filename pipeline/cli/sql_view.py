"""How the answer to a question in SQL looks in a terminal.

A table, one row a line; where the columns do not fit, a block a row, one column a line.
"""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...bus.service_results import SqlResult, SqlViewsResult
from ...stages.text.unicode import cut, one_line, visible
from .wording import counted

_MAX_CELL_CHARS = 2_000
# A column that is narrower, and cut, shows hardly a word.
_LEAST_CELL_CHARS = 12
_BETWEEN_CHARS = 3
# So wide that nothing is cut or wrapped.
_PIPED_CHARS = 1_000_000
_NUMBERS = ("INT", "FLOAT", "DOUBLE", "DECIMAL")


def show_rows(answer: SqlResult) -> None:
    """Print the rows, and how many there are."""
    console = _console()
    if answer.rows and _fits(answer, console.width):
        console.print(_table(answer))
    else:
        _show_blocks(console, answer)
    more = "; there are more: --limit" if answer.more else ""
    rows = counted(len(answer.rows), "row")
    console.print(Text(f"{rows} in {answer.took_ms:.0f} ms{more}", style="dim"))


def _fits(answer: SqlResult, width: int) -> bool:
    """Whether each column of a table gets what it needs, or enough to read."""
    needed = 0
    for column in answer.columns:
        cells = [column.name, *(_cell(row[column.name]).plain for row in answer.rows)]
        needed += min(max(map(cell_len, cells)), _LEAST_CELL_CHARS) + _BETWEEN_CHARS
    return needed - _BETWEEN_CHARS <= width


def _show_blocks(console: Console, answer: SqlResult) -> None:
    """Print each row as lines of ``column: value``, with an empty line behind it."""
    for row in answer.rows:
        for column in answer.columns:
            name = Text(f"{one_line(visible(column.name))}: ", style="bold")
            console.print(name + _cell(row[column.name]))
        console.print()


def _table(answer: SqlResult) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for column in answer.columns:
        is_number = any(kind in column.type for kind in _NUMBERS)
        table.add_column(_cell(column.name), justify="right" if is_number else "left")
    for row in answer.rows:
        table.add_row(*(_cell(row[column.name]) for column in answer.columns))
    return table


def show_views(answer: SqlViewsResult) -> None:
    """Print what can be asked for, and an example."""
    console = _console()
    for view in answer.views:
        console.print(Text(view.name, style="bold"))
        names = ", ".join(f"{one.name} {one.type}" for one in view.columns)
        console.print(Text(f"  {names}"))
    console.print(Text(f"\nfor example: {answer.example}", style="dim"), soft_wrap=True)


def _console() -> Console:
    """Where it is printed: as wide as the terminal, or of any width where there is none."""
    console = Console()
    return console if console.is_terminal else Console(width=_PIPED_CHARS)


def _cell(value: Any) -> Text:
    """One value on one line, without what a terminal would obey."""
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, datetime):
        value = f"{value.astimezone():%Y-%m-%d %H:%M:%S}"
    if isinstance(value, float):
        value = f"{value:.6g}"
    if not isinstance(value, str):
        value = msgspec.json.encode(value).decode()
    return Text(cut(one_line(visible(value)), _MAX_CELL_CHARS))
