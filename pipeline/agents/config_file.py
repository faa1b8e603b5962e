"""Sets one text of the user's ``config.toml``, and leaves every other character of it as it is."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

from .settings_file import SettingsUnreadable, read, replace_file

_HEADER = re.compile(r"[ \t]*\[")
_STRING = r"(?:\"(?:[^\"\\]|\\.)*\"|'[^']*')"


def write_setting(file: Path, table: str, key: str, value: str) -> bool:
    """Let ``[table] key`` be ``value`` in ``file``, which becomes its owner's alone.

    Returns whether that changed anything. Raises ``SettingsUnreadable`` where the file keeps the
    key in a way that is not edited here, and ``OSError``.
    """
    before = read(file) or ""
    try:
        after = with_setting(before, table, key, value)
    except ValueError as error:
        raise SettingsUnreadable(f"{file} {error}; nothing was changed") from None
    if after == before:
        return False
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file.resolve(), after, private=True)
    return True


def with_setting(text: str, table: str, key: str, value: str) -> str:
    """``text`` (TOML) in which ``[table] key`` is ``value``. Raises ``ValueError``."""
    settings = _parse(text)
    section = settings.get(table, {})
    if isinstance(section, dict) and section.get(key) == value:
        return text
    after = "".join(_edited(text.splitlines(keepends=True), table, key, json.dumps(value)))
    if not isinstance(section, dict) or _parse(after) != settings | {table: section | {key: value}}:
        raise ValueError(f"keeps {table}.{key} in another way; change it there by hand")
    return after


def _edited(lines: list[str], table: str, key: str, value: str) -> list[str]:
    """``lines`` with ``value`` where the key stands, else below its table's head, or at the end."""
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    entry = f"{key} = {value}{newline}"
    if (at := _head(lines, table)) is None:
        gap = [] if not lines else [newline] if lines[-1].endswith("\n") else [newline, newline]
        return [*lines, *gap, f"[{table}]{newline}", entry]
    setting = re.compile(rf"([ \t]*\"?{re.escape(key)}\"?[ \t]*=[ \t]*){_STRING}")
    for number in range(at + 1, len(lines)):
        if _HEADER.match(lines[number]):
            break
        if found := setting.match(lines[number]):
            changed = found[1] + value + lines[number][found.end() :]
            return [*lines[:number], changed, *lines[number + 1 :]]
    head = lines[at] if lines[at].endswith("\n") else lines[at] + newline
    return [*lines[:at], head, entry, *lines[at + 1 :]]


def _head(lines: list[str], table: str) -> int | None:
    """The number of the line that begins ``table``."""
    heading = re.compile(rf"[ \t]*\[[ \t]*\"?{re.escape(table)}\"?[ \t]*\]")
    return next((number for number, line in enumerate(lines) if heading.match(line)), None)


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not TOML") from None
