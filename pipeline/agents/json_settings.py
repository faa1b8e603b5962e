"""Finds, adds and removes what is ours in an agent's JSON settings.

``{"hooks": {EVENT: [{"matcher": …, "hooks": [ENTRY, …]}, …]}}`` is the shape that all our agents
share; the entry of the MCP server stands where the agent keeps those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from ...config.patterns import regex
from .agent import BOM, SERVER, Hook, Wiring, is_our_hook, is_our_server

KeyPath = tuple["str | int", ...]
_BLANK = regex(r"[ \t\r\n]*")
_STRING = regex(r'"(?:[^"\\\n]++|\\.)*+"?')
DEFAULT_INDENT = "  "
_read = json.JSONDecoder().raw_decode  # the value that begins there, and where it ends


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
            text = add_key(text, (), "hooks", {})
            text = add_key(text, ("hooks",), hook.event, [])
            text = append(text, ("hooks", hook.event), {**group, "hooks": [hook.entry]})
        return text

    def _add_server(self, text: str, wiring: Wiring) -> str:
        if wiring.server is None:
            return text
        for depth, key in enumerate(self._servers):
            text = add_key(text, self._servers[:depth], key, {})
        return add_key(text, self._servers, SERVER, wiring.server)

    def _remove_hooks(self, text: str) -> str:
        while True:
            settings = json.loads(text)
            found = next((path for hook, path in _entries(settings) if is_our_hook(hook.entry)), ())
            if not found:
                return text
            text = remove(text, _alone(settings, found))

    def _remove_server(self, text: str) -> str:
        settings = json.loads(text)
        if not is_our_server(self._server_in(settings)):
            return text
        return remove(text, _alone(settings, (*self._servers, SERVER), self._servers[:-1]))

    def _server_in(self, settings: Mapping[str, Any]) -> Any:
        value: Any = settings
        for key in (*self._servers, SERVER):
            value = value.get(key) if isinstance(value, dict) else None
        return value

    def _parse(self, text: str) -> dict[str, Any]:
        if not text.strip():
            return {}
        if text.startswith(BOM):
            raise ValueError("begins with a byte order mark (U+FEFF), which JSON does not have")
        try:
            settings = json.loads(text)
        except (ValueError, RecursionError) as error:
            where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
            bare = _STRING.sub("", text)  # where an address holds two slashes
            commented = "//" in bare or "/*" in bare
            hint = " (comments cannot be kept; take them out)" if commented else ""
            raise ValueError(f"is not JSON{where}{hint}") from None
        if not (
            isinstance(settings, dict)
            and _shaped(settings.get("hooks", {}))
            and self._has_room(settings)
        ):
            raise ValueError("is not of the shape of settings")
        return settings

    def _has_room(self, settings: Mapping[str, Any]) -> bool:
        value: Any = settings
        for key in self._servers:
            value = value.get(key, {}) if isinstance(value, dict) else None
        return isinstance(value, dict)


def _entries(settings: Mapping[str, Any]) -> Iterator[tuple[Hook, KeyPath]]:
    """Every hook, and where it stands."""
    for event, groups in settings.get("hooks", {}).items():
        for number, group in enumerate(groups):
            for place, entry in enumerate(group.get("hooks", ())):
                if isinstance(entry, dict):
                    hook = Hook(event=event, entry=entry, matcher=group.get("matcher"))
                    yield hook, ("hooks", event, number, "hooks", place)


def _alone(settings: Mapping[str, Any], path: KeyPath, keep: KeyPath = ()) -> KeyPath:
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


# --- editing JSON as text: one member is added or removed, every other character stays ------------


class Span(NamedTuple):
    """Where a value stands in the text."""

    start: int
    end: int


class Node(NamedTuple):
    """An object or array: where it, its members and their values stand.

    ``starts`` of an object's members are those of their keys.
    """

    start: int
    end: int
    keys: list[str | int]
    starts: list[int]
    values: list[Span]

    def place(self, key: str | int) -> int:
        """Which member ``key`` is; the last one of several equal keys, as a parser takes it."""
        return len(self.keys) - 1 - self.keys[::-1].index(key)


def add_key(text: str, path: KeyPath, key: str, value: Any) -> str:
    """Give the object at ``path`` the member ``key``, last, unless it has one."""
    node = _find(text, path)
    if key in node.keys:
        return text
    return _insert(text, node, f"{json.dumps(key)}: ", value)


def append(text: str, path: KeyPath, value: Any) -> str:
    """Append ``value`` to the array at ``path``."""
    return _insert(text, _find(text, path), "", value)


def remove(text: str, path: KeyPath) -> str:
    """Remove the member at ``path``, with the comma and the blanks that belong to it."""
    node = _find(text, path[:-1])
    place = node.place(path[-1])
    if len(node.keys) == 1:
        start, end = node.start + 1, node.end - 1
    elif place:
        start, end = node.values[place - 1].end, node.values[place].end
    else:
        start, end = node.starts[0], node.starts[1]
    return text[:start] + text[end:]


def _insert(text: str, node: Node, label: str, value: Any) -> str:
    """Put ``value`` last into ``node``, in the style of the text around it."""
    if _in_one_line(text, node):
        new = label + json.dumps(value, ensure_ascii=False)
        at = node.values[-1].end if node.values else node.start + 1
        return text[:at] + (", " if node.values else "") + new + text[at:]
    newline = "\r\n" if "\r\n" in text else "\n"
    indent = _indent_of(text)
    if node.values:
        inner = _line_indent(text, node.starts[-1])
        at = end = node.values[-1].end
        before, after = "," + newline + inner, ""
    else:
        outer = _line_indent(text, node.start)
        inner = outer + indent
        at, end = node.start + 1, node.end - 1
        before, after = newline + inner, newline + outer
    new = label + json.dumps(value, ensure_ascii=False, indent=indent)
    return text[:at] + before + new.replace("\n", newline + inner) + after + text[end:]


def _in_one_line(text: str, node: Node) -> bool:
    if node.values:
        return "\n" not in text[node.start : node.end]
    return "\n" not in text.strip() and bool(_parse(text).values)


def _indent_of(text: str) -> str:
    root = _parse(text)
    return (root.starts and _line_indent(text, root.starts[0])) or DEFAULT_INDENT


def _line_indent(text: str, at: int) -> str:
    start = text.rfind("\n", 0, at) + 1
    return text[start : min(at, _skip(text, start))]


# --- reading, with places -------------------------------------------------------------------------


def _find(text: str, path: KeyPath) -> Node:
    node = _parse(text)
    for key in path:
        node = _container(text, node.values[node.place(key)].start)
    return node


def _parse(text: str) -> Node:
    return _container(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _container(text: str, start: int) -> Node:
    keys: list[str | int] = []
    starts, values = [], []
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        starts.append(at)
        key: str | int = len(keys)
        if text[start] == "{":
            key, at = _read(text, at)
            at = _skip(text, _skip(text, at) + 1)  # past the colon
        keys.append(key)
        values.append(Span(at, _read(text, at)[1]))
        at = _skip(text, values[-1].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return Node(start, at + 1, keys, starts, values)
