"""Reads ``.claude/memory/project-context.yaml``: what a project's people say about it.

Nobody vouches for the file. Its size, its depth and its number of values are bounded, anchors are
refused (they can explode), every value is a string, and what is no short printable line is left
out. Nothing of it is ever run. What could not be used is said in constants; the rest counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import asdict, replace

from ...bus.prompts import ProjectFacts
from ...config.patterns import regex
from ..files import Look

FILE = Path(".claude/memory/project-context.yaml")
MAX_BYTES = 65_536
MAX_VALUES = 2000
MAX_DEPTH = 8

_MAX_CHARS = 200
_MAX_NAME_CHARS = 60
_MOST_QUIRKS = 20
_MOST_STACK = 12

UNREADABLE = "project_context.unreadable"
TOO_LARGE = "project_context.too_large"
NOT_YAML = "project_context.not_yaml"
ANCHORS = "project_context.anchors"
UNPRINTABLE = "project_context.unprintable"
TOO_LONG = "project_context.too_long"
SHAPE = "project_context.shape"

# How technologies are written: "nextjs" is Next.js.
_TECHNOLOGIES = """
Next.js React Vue Svelte Angular Express NestJS Nuxt Remix Astro Supabase Firebase
Prisma Drizzle Vite Vitest Jest Playwright Cypress Tailwind TypeScript JavaScript Node.js Deno Bun
Python Django FastAPI Flask SQLAlchemy Pydantic AnyIO pytest NumPy pandas PyTorch Celery Rust Tokio
Axum Actix Serde SQLx Go Gin Echo GORM Java Kotlin Spring Ruby Rails PHP Laravel Symfony Elixir
Phoenix Swift Scala PostgreSQL MySQL SQLite MongoDB Redis DuckDB Elasticsearch Kafka RabbitMQ Docker
Kubernetes Terraform GraphQL gRPC Stripe NextAuth Auth0 Vercel AWS Azure GCP Oban""".split()
_NAMES = {re.sub(r"[._-]", "", name.lower()): name for name in _TECHNOLOGIES} | {
    "next": "Next.js",
    "node": "Node.js",
    "postgres": "PostgreSQL",
    "golang": "Go",
    "k8s": "Kubernetes",
}
# Words of a sentence before they are names.
_ORDINARY = frozenset("go next express echo gin spring swift node rust phoenix bun remix".split())
_WORD = regex(r"[A-Za-z][\w.+-]*\w")


class _Refused(ValueError):
    """The file is not read any further; the argument says why."""


def read_context(root: Path, look: Look) -> ProjectFacts | None:
    """What the file says, or None where there is none; ``degraded`` where it cannot be used."""
    path = root / FILE
    if not look.exists(path):
        return None
    text = look.text(path, MAX_BYTES)
    if text is None:
        size = look.size(path)
        return ProjectFacts(degraded=(TOO_LARGE if size > MAX_BYTES else UNREADABLE,))
    try:
        document = _document(text)
    except _Refused as refused:
        return ProjectFacts(degraded=(str(refused),))
    return _Reader(document).facts()


def _document(text: str) -> dict[str, Any]:
    import yaml  # type: ignore[import-untyped]  # only for who has such a file

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        made = _value(_events(yaml.parse(text, Loader=loader)), 0)
    except (yaml.YAMLError, RecursionError, StopIteration, UnicodeError):
        raise _Refused(NOT_YAML) from None
    if not isinstance(made, dict):
        raise _Refused(SHAPE if made else NOT_YAML)
    return made


def _events(events: Iterator[Any]) -> Iterator[Any]:
    """The events that make values; raises ``_Refused`` where they are too many, or anchors."""
    import yaml

    outside = (yaml.StreamStartEvent, yaml.DocumentStartEvent)
    for number, event in enumerate(events):
        if number > MAX_VALUES:
            raise _Refused(TOO_LARGE)
        if getattr(event, "anchor", None) is not None:
            raise _Refused(ANCHORS)
        if not isinstance(event, outside):
            yield event


def _value(events: Iterator[Any], depth: int) -> Any:
    """The next value: a string, a list or a dict; None at the end of what holds it."""
    import yaml

    if depth > MAX_DEPTH:
        raise _Refused(SHAPE)
    event = next(events)
    if isinstance(event, yaml.ScalarEvent):
        return event.value
    if isinstance(event, yaml.SequenceStartEvent):
        values = []
        while (value := _value(events, depth + 1)) is not None:
            values.append(value)
        return values
    if isinstance(event, yaml.MappingStartEvent):
        table = {}
        while (key := _value(events, depth + 1)) is not None:
            table[key if isinstance(key, str) else ""] = _value(events, depth + 1)
        return table
    return None


class _Reader:
    """Takes out of a document what is wanted, and notes what cannot be used."""

    def __init__(self, document: dict[str, Any]) -> None:
        self._document = document
        self._degraded: dict[str, None] = {}

    def facts(self) -> ProjectFacts:
        commands = self._table("commands")
        quirks = self._lines(self._document.get("quirks"))
        made = ProjectFacts(
            name=self._line(self._table("project").get("name"), _MAX_NAME_CHARS),
            stack=self._stack(quirks),
            package_manager=self._line(commands.get("package_manager"), _MAX_NAME_CHARS),
            test_command=self._line(commands.get("test")),
            build_command=self._line(commands.get("build")),
            lint_command=self._line(commands.get("lint")),
            start_command=self._line(commands.get("start")),
            quirks=quirks,
            degraded=tuple(self._degraded),
        )
        known = (name for name, said in asdict(made).items() if said and name != "degraded")
        return replace(made, sources=tuple((name, str(FILE)) for name in known))

    def _stack(self, quirks: tuple[str, ...]) -> tuple[str, ...]:
        """The framework with its version, the language, the rest, and what the quirks name."""
        told = self._document.get("stack")
        table = {"rest": told} if not isinstance(told, dict) else told
        named = self._of_table(table)
        return tuple(dict.fromkeys([*named, *named_in(quirks)]))[:_MOST_STACK]

    def _of_table(self, told: dict[str, Any]) -> Iterator[str]:
        lines = {key: self._lines(value) for key, value in told.items() if key != "version"}
        version = self._line(told.get("version"), _MAX_NAME_CHARS)
        main = "framework" if lines.get("framework") else "language"
        for number, name in enumerate(lines.pop(main, ())):
            plain = display_name(name)
            yield f"{plain} {version}" if version and not number else plain
        for name in lines.pop("language", ()):
            yield display_name(name)
        for names in lines.values():
            yield from map(display_name, names)

    def _table(self, key: str) -> dict[str, Any]:
        value = self._document.get(key, {})
        if isinstance(value, dict):
            return value
        if value:
            self._degraded[SHAPE] = None
        return {}

    def _lines(self, value: Any) -> tuple[str, ...]:
        listed = value if isinstance(value, list) else [value]
        lines = (self._line(one) for one in listed[:_MOST_QUIRKS])
        return tuple(line for line in lines if line)

    def _line(self, value: Any, limit: int = _MAX_CHARS) -> str:
        """``value`` if it is a short printable line, else "" and a note."""
        if value is None or value in ("", "null", "~"):
            return ""
        if not isinstance(value, str):
            self._degraded[SHAPE] = None
            return ""
        value = value.strip()
        if len(value) > limit:
            self._degraded[TOO_LONG] = None
            return ""
        if not value.isprintable() or "<" in value or "`" in value:
            self._degraded[UNPRINTABLE] = None
            return ""
        return str(value)


def display_name(name: str) -> str:
    """``name`` as its makers write it, where that is known."""
    return _NAMES.get(re.sub(r"[._\s-]", "", name.lower()), name)


def named_in(texts: Iterable[str]) -> list[str]:
    """The technologies that ``texts`` name, each once."""
    words = (word.lower() for text in texts for word in _WORD.findall(text))
    plain = (re.sub(r"[._-]", "", word) for word in words if word not in _ORDINARY)
    return list(dict.fromkeys(_NAMES[word] for word in plain if word in _NAMES))
