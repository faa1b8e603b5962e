"""Markdown for the reference pages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """The lines of a table; bars in cells are escaped."""
    columns = list(head)
    yield f"| {' | '.join(columns)} |"
    yield f"|{'---|' * len(columns)}"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def code(value: object) -> str:
    """``value`` as code."""
    return f"`{value}`"
