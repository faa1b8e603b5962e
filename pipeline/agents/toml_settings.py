"""Edits TOML settings: the table of our MCP server at an agent, and single keys of our own file.

tomlkit keeps the user's comments, order and spacing. Each change is read back: where it would
alter anything else, the file is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Comment, Table, Whitespace

from .agent import BOM, SERVER, Wiring, is_our_server
from .settings_file import SettingsUnreadable, check_writable, read, replace_file

TABLE = "mcp_servers"
_FENCE = f"[{TABLE}.{SERVER}-ends-here]\n"


class TomlSettings:
    """An ``Editor`` of TOML, for an agent that keeps its MCP servers there."""

    def find(self, text: str) -> Wiring:
        server = _table(_parse(text).unwrap(), TABLE).get(SERVER)
        return Wiring(server=server if is_our_server(server) else None)

    def add(self, text: str, wiring: Wiring) -> str:
        """``text`` with the table added last. A server of that name that is not ours stays."""
        if SERVER in _table(_parse(text).unwrap(), TABLE) or wiring.server is None:
            return text
        return with_setting(text, TABLE, SERVER, wiring.server)

    def remove(self, text: str) -> str:
        """``text`` without the table and its sub-tables, nor what ``add`` made around it."""
        before = _table(_parse(text).unwrap(), TABLE)
        if SERVER not in before:
            return text
        document = _parse(_fenced(text))
        around = _table(document, TABLE)
        del around[SERVER]
        if isinstance(around, Table) and around.is_super_table() and not around:
            del document[TABLE]
        document = _parse(document.as_string().replace(_FENCE, ""))
        return _checked(document, text, TABLE, {k: v for k, v in before.items() if k != SERVER})


def _fenced(text: str) -> str:
    """``text`` with a header behind our table's last key, where comments follow that.

    By the grammar they belong to our table, and would go with it.
    """
    document = _parse(text)
    last = _table(document, TABLE)[SERVER]
    while isinstance(last, Table) and last.value.body and isinstance(last.value.body[-1][1], Table):
        last = last.value.body[-1][1]
    if not isinstance(last, Table):
        return text
    body = last.value.body
    keys = [at for at, (key, _) in enumerate(body) if key is not None]
    comments = [at for at, (_, item) in enumerate(body) if isinstance(item, Comment)]
    behind = [at for at in comments if not keys or at > keys[-1]]
    if not behind:
        return text
    body.insert(behind[0], (None, Whitespace(_FENCE)))
    return document.as_string()


def write_setting(file: Path, table: str, key: str, value: str) -> bool:
    """Let ``[table] key`` be ``value`` in ``file``, which becomes its owner's alone.

    Returns whether that changed anything. Raises ``SettingsUnreadable`` where the file is not TOML,
    may only be read, or ``table`` is none, and ``OSError``.
    """
    return _rewrite(file, partial(with_setting, table=table, key=key, value=value))


def remove_setting(file: Path, table: str, key: str) -> bool:
    """Take ``[table] key`` out of ``file``, which becomes its owner's alone.

    Returns and raises as ``write_setting``.
    """
    return _rewrite(file, partial(without_setting, table=table, key=key))


def _rewrite(file: Path, change: Callable[[str], str]) -> bool:
    before = read(file) or ""
    try:
        after = change(before)
    except ValueError as error:
        raise SettingsUnreadable(f"{file} {error}; nothing was changed") from None
    if after == before:
        return False
    check_writable(file)
    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    replace_file(file.resolve(), after, private=True)
    return True


def with_setting(text: str, table: str, key: str, value: object) -> str:
    """``text`` (TOML) in which ``[table] key`` is ``value``. Raises ``ValueError``."""
    document = _parse(text)
    before = _table(document.unwrap(), table)
    if before.get(key) == value:
        return text
    if table not in document:
        document[table] = tomlkit.table(is_super_table=isinstance(value, Mapping))
    _table(document, table)[key] = value
    return _checked(document, text, table, before | {key: value})


def without_setting(text: str, table: str, key: str) -> str:
    """``text`` (TOML) without ``[table] key``, nor a table with nothing else. Raises ValueError."""
    document = _parse(text)
    before = _table(document.unwrap(), table)
    if key not in before:
        return text
    del _table(document, table)[key]
    if len(before) == 1 and not _table(document, table).as_string().strip():
        del document[table]
    return _checked(document, text, table, {k: v for k, v in before.items() if k != key})


def _parse(text: str) -> tomlkit.TOMLDocument:
    if text.startswith(BOM):
        raise ValueError("begins with a byte order mark (U+FEFF), which TOML does not have")
    try:
        return tomlkit.parse(text)
    except (ValueError, TOMLKitError, RecursionError):
        raise ValueError("is not TOML") from None


def _table(settings: MutableMapping[str, Any], name: str) -> Any:
    table = settings.get(name, {})
    if not isinstance(table, dict):
        raise ValueError(f"has no table [{name}] but another value of that name")
    return table


def _checked(document: tomlkit.TOMLDocument, text: str, name: str, wanted: dict[str, Any]) -> str:
    """``document`` as text, in which only the table ``name`` differs from ``text``."""
    after = document.as_string()
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        after = after.replace("\r\n", "\n").replace("\n", "\r\n")
    before = _parse(text).unwrap()
    if _without_empty(_parse(after).unwrap()) != _without_empty(before | {name: wanted}):
        raise ValueError(f"keeps [{name}] in a way that cannot be edited; change it there by hand")
    return after


def _without_empty(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: _comparable(value) for key, value in settings.items() if value != {}}


def _comparable(value: Any) -> Any:
    """``value`` in which nan equals nan."""
    if isinstance(value, dict):
        return {key: _comparable(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_comparable(each) for each in value]
    return repr(value) if isinstance(value, float) else value
