"""Finds, adds and removes the table of our MCP server in TOML settings; the rest is not touched.

Each change is read back: what cannot be changed by adding or taking out that table is refused.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

from .wiring import SERVER, Wiring, is_our_server

TABLE = f"mcp_servers.{SERVER}"
_HEADER = re.compile(r"[ \t]*\[")
_OURS = re.compile(rf"[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*\"?{SERVER}\"?[ \t]*[.\]]")


class TomlSettings:
    """An ``Editor`` of TOML, for an agent that keeps its MCP servers there."""

    def find(self, text: str) -> Wiring:
        server = _server_in(_parse(text))
        return Wiring(server=_known(server) if is_our_server(server) else None)

    def add(self, text: str, wiring: Wiring) -> str:
        """``text`` with the table added last. A server of that name that is not ours stays."""
        before = _parse(text)
        if wiring.server is None or _server_in(before) is not None:
            return text
        newline = "\r\n" if "\r\n" in text else "\n"
        lines = [f"[{TABLE}]", *_lines(wiring.server)]
        gap = "" if not text else newline if text.endswith("\n") else newline * 2
        after = text + gap + newline.join(lines) + newline
        _check(after, before | {"mcp_servers": _servers(before) | {SERVER: wiring.server}})
        return after

    def remove(self, text: str) -> str:
        """``text`` without the table, its sub-tables, and the blank line before it."""
        before = _parse(text)
        kept: list[str] = []
        ours = False
        for line in text.splitlines(keepends=True):
            if _HEADER.match(line):
                ours = _OURS.match(line) is not None
                if ours and kept and not kept[-1].strip():
                    kept.pop()
            if not ours:
                kept.append(line)
        after = "".join(kept)
        servers = {name: each for name, each in _servers(before).items() if name != SERVER}
        rest = {key: value for key, value in before.items() if key != "mcp_servers"}
        _check(after, rest | ({"mcp_servers": servers} if servers else {}))
        return after


def _parse(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError):
        raise ValueError("is not TOML") from None


def _servers(settings: dict[str, Any]) -> dict[str, Any]:
    servers = settings.get("mcp_servers", {})
    if not isinstance(servers, dict):
        raise ValueError("is not of the shape of settings")
    return servers


def _server_in(settings: dict[str, Any]) -> Any:
    return _servers(settings).get(SERVER)


def _known(server: dict[str, Any]) -> dict[str, Any]:
    """What we write of a server's entry; the agent may add what it likes."""
    return {key: server[key] for key in ("command", "args", "env") if key in server}


def _lines(server: dict[str, Any]) -> list[str]:
    """An entry as the lines of its table. Strings are written as JSON, which TOML reads too."""
    return [f"{key} = {_value(value)}" for key, value in server.items()]


def _value(value: Any) -> str:
    if isinstance(value, dict):
        pairs = ", ".join(f"{key} = {_value(each)}" for key, each in value.items())
        return f"{{ {pairs} }}"
    return json.dumps(value, ensure_ascii=False)


def _check(text: str, wanted: dict[str, Any]) -> None:
    if _without_empty(_parse(text)) != _without_empty(wanted):
        raise ValueError(f"keeps its servers in another way; change [{TABLE}] in it by hand")


def _without_empty(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if value != {}}
