"""Finds, adds and removes what is ours in an agent's JSON settings.

``{"hooks": {EVENT: [{"matcher": …, "hooks": [ENTRY, …]}, …]}}`` is the shape that all our agents
share; the entry of the MCP server stands where the agent keeps those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from . import settings_text as text_of
from .wiring import SERVER, Hook, Wiring, is_our_hook, is_our_server

Path = tuple["str | int", ...]


class JsonSettings:
    """An ``Editor`` of JSON. ``servers`` is the path to the object of the MCP servers."""

    def __init__(self, servers: tuple[str, ...] = ("mcpServers",)) -> None:
        self._servers = servers

    def find(self, text: str) -> Wiring:
        settings = self._parse(text)
        hooks = tuple(hook for hook, _ in _entries(settings) if is_our_hook(hook.entry))
        server = self._server_in(settings)
        return Wiring(hooks=hooks, server=server if is_our_server(server) else None)

    def add(self, text: str, wiring: Wiring) -> str:
        """``text`` with our entries added last. A server of that name that is not ours stays."""
        text = text if text.strip() else "{}\n"
        return self._add_server(self._add_hooks(text, wiring), wiring)

    def remove(self, text: str) -> str:
        return self._remove_server(self._remove_hooks(text))

    def _add_hooks(self, text: str, wiring: Wiring) -> str:
        for hook in wiring.hooks:
            group = {"matcher": hook.matcher} if hook.matcher is not None else {}
            text = text_of.add_key(text, (), "hooks", {})
            text = text_of.add_key(text, ("hooks",), hook.event, [])
            text = text_of.append(text, ("hooks", hook.event), {**group, "hooks": [hook.entry]})
        return text

    def _add_server(self, text: str, wiring: Wiring) -> str:
        if wiring.server is None:
            return text
        for depth, key in enumerate(self._servers):
            text = text_of.add_key(text, self._servers[:depth], key, {})
        return text_of.add_key(text, self._servers, SERVER, wiring.server)

    def _remove_hooks(self, text: str) -> str:
        while True:
            settings = json.loads(text)
            found = next((path for hook, path in _entries(settings) if is_our_hook(hook.entry)), ())
            if not found:
                return text
            text = text_of.remove(text, _alone(settings, found))

    def _remove_server(self, text: str) -> str:
        settings = json.loads(text)
        if not is_our_server(self._server_in(settings)):
            return text
        return text_of.remove(text, _alone(settings, (*self._servers, SERVER), self._servers[:-1]))

    def _server_in(self, settings: Mapping[str, Any]) -> Any:
        value: Any = settings
        for key in (*self._servers, SERVER):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def _parse(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        try:
            settings = json.loads(text)
        except (ValueError, RecursionError) as error:
            where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            raise ValueError(
                f"is not JSON{where} (comments cannot be kept; take them out)"
                if "//" in text or "/*" in text
                else f"is not JSON{where}"
            ) from None
        if not (isinstance(settings, dict) and _shaped(settings.get("hooks", {}))):
            raise ValueError("is not of the shape of settings")
        if not self._has_room(settings):
            raise ValueError("is not of the shape of settings")
        return settings

    def _has_room(self, settings: Mapping[str, Any]) -> bool:
        value: Any = settings
        for key in self._servers:
            value = value.get(key, {})
            if not isinstance(value, dict):
                return False
        return True


def _entries(settings: Mapping[str, Any]) -> Iterator[tuple[Hook, Path]]:
    """Every hook, and where it stands."""
    for event, groups in settings.get("hooks", {}).items():
        for number, group in enumerate(groups):
            for place, entry in enumerate(group.get("hooks", ())):
                if isinstance(entry, dict):
                    hook = Hook(event=event, entry=entry, matcher=group.get("matcher"))
                    yield hook, ("hooks", event, number, "hooks", place)


def _alone(settings: Mapping[str, Any], path: Path, keep: Path = ()) -> Path:
    """The longest beginning of ``path`` that holds nothing else; ``keep`` and above stay."""
    while len(path) > len(keep) + 1:
        parent: Any = settings
        for key in path[:-1]:
            parent = parent[key]
        if isinstance(parent, list):
            others = len(parent) > 1
        else:  # a group goes with its matcher
            others = bool(set(parent) - {path[-1]} - ({"matcher"} if len(path) == 4 else set()))
        if others:
            break
        path = path[:-1]
    return path


def _shaped(hooks: object) -> bool:
    return isinstance(hooks, dict) and all(
        isinstance(groups, list)
        and all(isinstance(g, dict) and isinstance(g.get("hooks", []), list) for g in groups)
        for groups in hooks.values()
    )
