"""The keys of settings files, and the targets of a Makefile, each with its value in normal form.

A key is its path from the top, ``server.port``; an item of a list is called by its ``name``, ``id``
or ``key``, or else by its number. How a value is written does not matter: quotes, style, the order
of keys; its type does.
"""

from __future__ import annotations

import configparser
import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import yaml  # type: ignore[import-untyped]

from ...config.load import parse_toml
from ...config.patterns import regex

MAX_SETTINGS_BYTES = 200_000
"""A longer file is data, and compared by its lines."""

MOST_KEYS = 5_000
_MOST_DEPTH = 24
_MOST_NESTED = 100
_NAMING = ("name", "id", "key")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class Setting(NamedTuple):
    """A key with its value in normal form, and the lines it is on, from 1; (0, 0) if unknown."""

    name: str
    form: str
    lines: tuple[int, int] = (0, 0)


class NotReadable(ValueError):
    """The file is not of the format that its name tells."""


def reader_of(path: str) -> Callable[[str], Iterator[Setting]] | None:
    """What reads the file called ``path``; None for what has no settings.

    A reader raises ``NotReadable``, or ``RecursionError`` where one is nested too deep.
    """
    name = path.rpartition("/")[2]
    if name in _MAKEFILES or name.endswith(".mk"):
        return read_makefile
    if name.casefold() in {"justfile", ".justfile"}:
        return read_makefile
    return _READERS.get(name[name.rfind(".") :].casefold()) if "." in name else None


def _said(key: str, value: str) -> str:
    return f"{key}={value}"


# --- YAML -----------------------------------------------------------------------------------------


def read_yaml(text: str) -> Iterator[Setting]:
    """The keys of every document; aliases and merged keys are those of what they point at."""
    reader = _Yaml()
    try:
        _require_shallow(text)
        documents = list(yaml.compose_all(text, Loader=_LOADER))
    except (yaml.YAMLError, ValueError) as error:
        raise NotReadable(str(type(error).__name__)) from None
    for root in documents:
        for setting, _ in zip(reader.keys(root, "", 0), range(MOST_KEYS)):  # noqa: B905 - the shorter ends it
            yield setting


def _require_shallow(text: str) -> None:
    """Raise ``NotReadable`` for what is nested so deep that composing it could end the process."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MOST_NESTED:
            raise NotReadable("nested too deep")


class _Yaml:
    """Reads the documents of one file. A node that is used twice is hashed once."""

    def __init__(self) -> None:
        self._forms: dict[int, str] = {}
        self._walked = 0

    def keys(self, node: yaml.Node | None, prefix: str, depth: int) -> Iterator[Setting]:
        if depth > _MOST_DEPTH:
            return
        for key, own, value in self._children(node):
            name = f"{prefix}.{key}" if prefix else key
            first = own.start_mark.line + 1
            last = max(first, value.end_mark.line + (value.end_mark.column > 0))
            yield Setting(name, _said(key, self._form(value)), (first, last))
            yield from self.keys(value, name, depth + 1)

    def _children(self, node: yaml.Node | None) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        # Without aliases of aliases a file has fewer nodes than characters.
        self._walked += 1 + len(getattr(node, "value", ()))
        if self._walked > MAX_SETTINGS_BYTES:
            raise NotReadable("too many aliases")
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if key.tag == "tag:yaml.org,2002:merge":
                    merged = value.value if isinstance(value, yaml.SequenceNode) else [value]
                    for each in merged:
                        yield from self._children(each)
                elif isinstance(key, yaml.ScalarNode):
                    yield key.value, key, value
        elif isinstance(node, yaml.SequenceNode):
            for number, each in enumerate(node.value):
                if not isinstance(each, yaml.ScalarNode):
                    yield self._name_of(each) or str(number), each, each

    def _name_of(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.MappingNode):
            for key, value in node.value:
                if isinstance(value, yaml.ScalarNode) and key.value in _NAMING:
                    return str(value.value)
        return ""

    def _form(self, node: yaml.Node) -> str:
        known = self._forms.get(id(node))
        if known is None:
            self._forms[id(node)] = "cycle"
            known = self._forms[id(node)] = _hashed(self._written(node))
        return known

    def _written(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.MappingNode):
            pairs = (f"{self._form(key)}:{self._form(value)}" for key, value in node.value)
            return f"{node.tag}{{{','.join(sorted(pairs))}}}"
        if isinstance(node, yaml.SequenceNode):
            return f"{node.tag}[{','.join(map(self._form, node.value))}]"
        return f"{node.tag} {node.value}"


def _hashed(text: str) -> str:
    encoded = text.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(encoded, digest_size=16).hexdigest()


# --- TOML, JSON, INI ------------------------------------------------------------------------------


def read_toml(text: str) -> Iterator[Setting]:
    """The keys of every table."""
    try:
        return _keys(parse_toml(text))
    except (ValueError, RecursionError) as error:
        raise NotReadable(str(type(error).__name__)) from None


def read_json(text: str) -> Iterator[Setting]:
    """JSON, with comments and trailing commas as editors allow them."""
    try:
        return _keys(json.loads(_JSON_EXTRAS.sub(_keep_strings, text)))
    except (ValueError, RecursionError) as error:
        raise NotReadable(str(type(error).__name__)) from None


# What is not closed ends with the text; the file is not readable then.
_JSON_EXTRAS = regex(
    r'("(?:[^"\\\n]|\\.)*+"?)|//[^\n]*|/\*.*?(?:\*/|\Z)'
    r"|,(?=(?:\s|//[^\n]*|/\*.*?(?:\*/|\Z))*+[}\]])",
    re.DOTALL,
)
_LONG_BLANK = regex(r"[^\S\n]{100,}")


def _keep_strings(found: re.Match[str]) -> str:
    return found[1] or ""


def read_ini(text: str) -> Iterator[Setting]:
    """The sections and their keys, as they are written."""
    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign] # as documented
    try:
        # configparser takes the square of a run of blanks, and copies the defaults everywhere.
        parser.read_string(_LONG_BLANK.sub(" ", text))
    except (configparser.Error, ValueError) as error:
        raise NotReadable(str(type(error).__name__)) from None
    if len(parser.defaults()) * len(parser) > MOST_KEYS:
        raise NotReadable("too many keys")
    return _keys({name: dict(parser[name]) for name in parser})


def _keys(table: Any, prefix: str = "") -> Iterator[Setting]:
    walked = _walk(table, prefix, 0)
    return (setting for setting, _ in zip(walked, range(MOST_KEYS)))  # noqa: B905 - the shorter ends it


def _walk(value: Any, prefix: str, depth: int) -> Iterator[Setting]:
    if depth > _MOST_DEPTH:
        return
    for key, each in _pairs(value):
        name = f"{prefix}.{key}" if prefix else key
        written = json.dumps(each, sort_keys=True, default=repr)
        yield Setting(name, _said(key, _hashed(written)))
        yield from _walk(each, name, depth + 1)


def _pairs(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield from ((str(key), each) for key, each in value.items())
    elif isinstance(value, list):
        for number, each in enumerate(value):
            if isinstance(each, dict):
                named = (str(each[name]) for name in _NAMING if isinstance(each.get(name), str))
                yield next(named, str(number)), each


# --- Makefiles and justfiles ----------------------------------------------------------------------

_MAKEFILES = frozenset(("Makefile", "makefile", "GNUmakefile"))
_RULE = regex(r"@?([A-Za-z0-9_][\w./%-]*+(?:[ \t]++[\w./%-]++)*+)([^:=\n]*+):(?![:=])(.*)")
_VARIABLE = regex(r"(?:export[ \t]+)?([A-Za-z_]\w*)[ \t]*(?::{0,3}|\?|\+)=(.*)")
_CONTINUED = regex(r"\\\n[ \t]*")
_COMMENT = regex(r"(?:^|[ \t])#.*")
_MOST_TARGETS = 32  # of one rule that get its commands; each has its own list of them


def read_makefile(text: str) -> Iterator[Setting]:
    """Every target with what it needs and does, and every variable with its value."""
    targets: dict[str, list[str]] = {}
    current: list[str] = []
    for line in _CONTINUED.sub(" ", text).split("\n"):
        if line[:1] in {"\t", " "} and line.strip():
            if command := _spaced(_COMMENT.sub("", line)):
                current.append(command)
        elif match := _VARIABLE.match(line):
            current = targets.setdefault(match[1], [])
            current.append(_spaced(_COMMENT.sub("", match[2])))
        elif (match := _RULE.match(line)) and not line.startswith("."):
            said = _spaced(f"{match[2]}:{_COMMENT.sub('', match[3])}")
            names = match[1].split()
            current = []
            for name in names:
                targets.setdefault(name, []).append(said)
                current = targets[name]
            if len(names) > 1:
                current = _Several([targets[name] for name in names[:_MOST_TARGETS]])
    for name, lines in targets.items():
        yield Setting(name, _said(name, _hashed("\n".join(lines))))


class _Several(list[str]):
    """The commands of a rule with several targets, which go to each of them."""

    def __init__(self, lists: list[list[str]]) -> None:
        super().__init__()
        self._lists = lists

    def append(self, line: str) -> None:
        for each in self._lists:
            each.append(line)


def _spaced(text: str) -> str:
    return " ".join(text.split())


_READERS: Mapping[str, Callable[[str], Iterator[Setting]]] = {
    ".yaml": read_yaml,
    ".yml": read_yaml,
    ".toml": read_toml,
    ".json": read_json,
    ".jsonc": read_json,
    ".ini": read_ini,
    ".cfg": read_ini,
}
