"""Reads the fields of other programs, which write the same thing in several ways."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

# A number of seconds from here on is taken for milliseconds: it would be the year 5138.
_MILLISECONDS_FROM = 1e11


def text_of(fields: Mapping[str, Any], names: Iterable[str]) -> str:
    """The first of ``names`` that holds something. Raises ``ValueError`` if that is no string."""
    for name in names:
        value = fields.get(name)
        if value is not None and value != "":
            if not isinstance(value, str):
                raise ValueError(f'"{name}" is no string')
            return value
    return ""


def strings_of(value: Any) -> tuple[str, ...]:
    """A list of strings, also one that is written as JSON, or as words between commas."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            value = value.split(",")
    if not isinstance(value, list | tuple):
        return ()
    return tuple(each.strip() for each in value if isinstance(each, str) and each.strip())


def tags_of(*values: Any) -> tuple[str, ...]:
    """Every tag of ``values``, each once."""
    return tuple(dict.fromkeys(tag for value in values for tag in strings_of(value)))


def moment_of(value: Any) -> datetime | None:
    """A moment in ISO 8601 or as seconds or milliseconds since 1970; UTC where no zone is told."""
    try:
        if isinstance(value, int | float) and not isinstance(value, bool):
            seconds = value / 1000 if value >= _MILLISECONDS_FROM else value
            return datetime.fromtimestamp(seconds, UTC)
        if isinstance(value, str) and value.strip():
            moment = datetime.fromisoformat(value.strip())
            return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    except (ValueError, OverflowError, OSError):
        pass
    return None
