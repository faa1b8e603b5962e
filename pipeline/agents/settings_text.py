"""Edits JSON as text: adds or removes one member, and leaves every other character as it is.

All functions take text that parses as JSON and return text that does. A path is a tuple of keys
and indexes from the root.
"""

from __future__ import annotations

import json
import re
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple

Path = tuple["str | int", ...]

_SCALAR = re.compile(r"[^\s,\]}]+")
_BLANK = re.compile(r"[ \t\r\n]*")
DEFAULT_INDENT = "  "


class Node(NamedTuple):
    """A value and where it stands. ``starts`` of an object's members are those of their keys."""

    start: int
    end: int
    keys: list[str | int]
    starts: list[int]
    values: list[Node]

    def child(self, key: str | int) -> Node:
        """The member ``key``; the last one of several equal keys, as a parser takes it."""
        return self.values[len(self.keys) - 1 - self.keys[::-1].index(key)]


def add_key(text: str, path: Path, key: str, value: Any) -> str:
    """Give the object at ``path`` the member ``key``, last, unless it has one."""
    node = _find(text, path)
    if key in node.keys:
        return text
    return _insert(text, node, f"{json.dumps(key)}: ", value)


def append(text: str, path: Path, value: Any) -> str:
    """Append ``value`` to the array at ``path``."""
    return _insert(text, _find(text, path), "", value)


def remove(text: str, path: Path) -> str:
    """Remove the member at ``path``, with the comma and the blanks that belong to it."""
    node = _find(text, path[:-1])
    place = len(node.keys) - 1 - node.keys[::-1].index(path[-1])
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


def _find(text: str, path: Path) -> Node:
    node = _parse(text)
    for key in path:
        node = node.child(key)
    return node


def _parse(text: str) -> Node:
    return _value(text, _skip(text, 0))


def _skip(text: str, at: int) -> int:
    blank = _BLANK.match(text, at)
    return blank.end() if blank else at


def _value(text: str, at: int) -> Node:
    if text[at] in "{[":
        return _container(text, at, is_object=text[at] == "{")
    if text[at] == '"':
        return Node(at, scanstring(text, at + 1)[1], [], [], [])
    scalar = _SCALAR.match(text, at)
    return Node(at, scalar.end() if scalar else at, [], [], [])


def _container(text: str, start: int, *, is_object: bool) -> Node:
    node = Node(start, start, [], [], [])
    at = _skip(text, start + 1)
    while text[at] not in "}]":
        node.starts.append(at)
        if is_object:
            key, at = scanstring(text, at + 1)
            at = _skip(text, _skip(text, at) + 1)  # past the colon
            node.keys.append(key)
        else:
            node.keys.append(len(node.keys))
        node.values.append(_value(text, at))
        at = _skip(text, node.values[-1].end)
        if text[at] == ",":
            at = _skip(text, at + 1)
    return node._replace(end=at + 1)
