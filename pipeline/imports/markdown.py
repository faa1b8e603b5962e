"""Markdown: our own export, exactly, Basic Memory's notes, and anybody's, one memory a heading.

A memory that we wrote stands between two comments. What is not in its text is in the first of
them, as JSON; the heading after it is for readers.

Of Basic Memory ``- [category] what was observed #tag (context)`` is a memory of its own; relations
and other lines that only link are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import chain, islice
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from ...bus.values import NAMESPACES, Memory, Provenance
from ...config.patterns import regex
from ...stages.text.notes import heading_of, is_link
from ...stages.text.summary import summarise
from .item import (
    BadImport,
    Item,
    Items,
    Ours,
    category_namespace,
    lines_of,
    moment_of,
    tags_of,
    titled,
)

_HEADING_LEVELS = 3
_NAMESPACE_NOTE = regex(r"\[(?P<namespace>[a-z-]+)\]\s*(?P<rest>.*)$")
_ITEM = regex(r"[-*+] {1,3}(?P<said>\S.*)$")
_FENCE = regex(r"\s{0,3}(`{3,}|~{3,})")
_BEGIN = regex(r"<!-- subcog:memory (?P<fields>\{.*\}) -->$")
_END = "<!-- subcog:end -->"
_OURS = "<!-- subcog:"
_ESCAPED = regex(r"\\+<!-- subcog:")
_NEEDS_ESCAPE = regex(r"\\*<!-- subcog:")
# "title: A", "og:title: A", '"due date": A'.
_PROPERTY = regex(
    r"(?P<name>\"[^\"]{1,60}\"|'[^']{1,60}'|[^\s\"'#\[\]{}<>|%-][^:]{0,60}(?::[^:\s][^:]{0,60})?)"
    r":(?:\s+(?P<value>.*))?$"
)
# What belongs to a property above it: it is indented, an item of its list, or ends one.
_BELOW = regex(r"\s|-(?:\s|$)|[\]}]")
_QUOTED = regex(r'"(?:[^"\\]|\\.)*"' r"|'(?:[^']|'')*'")
# The text is in the lines below.
_BLOCK = regex(r"[>|][-+\d]*(?:\s+#.*)?")
_FRONT = "---"
_MADE = ("created", "created_at", "date")
_CHANGED = ("modified", "updated", "updated_at", "last_modified")
_CATEGORIES = ("category", "categories")
_FRONT_LINES = 51

Front = dict[str, list[str]]
"""The properties at the beginning of a note, each with the lines in which it is written."""


def write_memory(memory: Memory) -> str:
    """A memory as Markdown, from which ``read_markdown`` makes the same again."""
    fields = {name: each for name, each in structs.asdict(memory).items() if name != "content"}
    # Two dashes or a bracket could end the comment.
    packed = msgspec.json.encode(fields).decode().replace("--", "-\\u002d").replace(">", "\\u003e")
    title = " ".join(memory.summary.split())
    text = "\n".join(map(_escaped, memory.content.split("\n")))
    return f"<!-- subcog:memory {packed} -->\n## [{memory.namespace}] {title}\n\n{text}\n{_END}\n"


def _escaped(line: str) -> str:
    return f"\\{line}" if _NEEDS_ESCAPE.match(line) else line


def read_markdown(file: Path, *, name: str = "") -> Items:
    """The memories of ``file``; ``name`` is where a note says it comes from.

    Raises ``BadImport`` and ``OSError``.
    """
    lines = Lines(file)
    notes = Notes(lines.front, Provenance(hook="import", file=name))
    for number, line in lines:
        if match := _BEGIN.match(line.rstrip()):
            yield from notes.end()
            yield _ours(file, number, match["fields"], lines)
        elif line.startswith(_OURS):
            raise BadImport(file, "this comment of ours is out of place or damaged", number)
        else:
            yield from notes.take(line)
    yield from notes.end()


class Lines:
    """The lines of a file without their newlines; ``front`` holds what is said before them."""

    def __init__(self, file: Path) -> None:
        lines = ((number, line.removesuffix("\n")) for number, line in lines_of(file))
        head = list(islice(lines, _FRONT_LINES))
        end = _end_of_front([line for _, line in head])
        self.front = _properties(line for _, line in head[1:end])
        self._lines = chain(head[end + 1 :] if end else head, lines)

    def __iter__(self) -> Iterator[tuple[int, str]]:
        """Goes on where the last loop over it stopped."""
        return self._lines


def _end_of_front(head: list[str]) -> int:
    """Where the properties end that many note takers write between two lines of dashes; else 0."""
    if not head or head[0].rstrip() != _FRONT:
        return 0
    end = next((at for at, line in enumerate(head) if at and line.rstrip() == _FRONT), 0)
    return end if _are_properties(head[1:end]) else 0


def _are_properties(lines: Sequence[str]) -> bool:
    """Whether ``lines`` hold mostly these; dashes may also stand around text."""
    said = [line for line in lines if line.strip() and not line.startswith("#")]
    properties = others = 0
    for line in said:
        if _PROPERTY.match(line):
            properties += 1
        elif not (properties and _BELOW.match(line)):
            others += 1
    return properties > others or not any(line.strip() for line in lines)


def _properties(lines: Iterable[str]) -> Front:
    """Each property with its lines: what follows its name, and what stands indented below.

    What is nested under a name alone stands beside it.
    """
    found: Front = {}
    under, depth = [""], 0
    for line in lines:
        bare, indent = line.strip(), len(line) - len(line.lstrip())
        match = _PROPERTY.match(bare)
        if match and (indent <= depth or under == [""]):
            under, depth = [(match["value"] or "").strip()], indent
            found[match["name"].strip("\"'").lower()] = under
        elif _BELOW.match(line) and bare and (not bare.startswith("#") or (indent and under[0])):
            under.append(bare)
    return found


def _ours(file: Path, number: int, packed: str, lines: Iterable[tuple[int, str]]) -> Item:
    """One of our own memories; ``lines`` go on after its first comment."""
    body: list[str] = []
    for _, line in lines:
        if line.rstrip() == _END:
            break
        if line.startswith(_OURS):
            raise BadImport(file, f"the memory does not end with {_END}", number)
        body.append(line[1:] if _ESCAPED.match(line) else line)
    else:
        raise BadImport(file, f"the memory does not end with {_END}", number)
    try:
        fields = msgspec.json.decode(packed, type=dict[str, Any])
        return msgspec.convert(fields | {"content": "\n".join(_without_heading(body))}, Ours)
    except (ValueError, RecursionError) as error:
        raise BadImport(file, str(error), number) from None


def _without_heading(body: list[str]) -> list[str]:
    """``body`` without the lines for readers that ``write_memory`` put before it."""
    if not body or not body[0].startswith("## ["):
        return body
    return body[2:] if len(body) > 1 and not body[1].strip() else body[1:]


def items_of(body: Sequence[str]) -> list[str]:
    """The texts of a list that is all that ``body`` holds, without their signs; else none."""
    items: list[str] = []
    for line in filter(str.strip, body):
        if item := _ITEM.match(line):
            items.append(item["said"])
        elif items and line[0].isspace():
            items[-1] += f"\n{line.strip()}"
        else:
            return []
    return items if len(items) > 1 else []


class Notes:
    """Gathers notes: the text below each heading, with the heading as its first line.

    What is a list and nothing else, below no heading, is one note an item.
    """

    def __init__(self, front: Front, source: Provenance) -> None:
        self._namespace = category_namespace(*_listed(front, "namespace", "type", *_CATEGORIES))
        self._tags = tags_of(_listed(front, "tags", *_CATEGORIES))
        self._made, self._changed = dates_of(front)
        self._front_title = property_of(front, "title")
        self._source = source
        self._title = ""
        self._body: list[str] = []
        self._fence = ""

    def take(self, line: str) -> Iterator[Item]:
        """One more line; the note before it, where it begins another."""
        fence = _FENCE.match(line)
        if fence and not self._fence:
            self._fence = fence[1]
        elif fence and fence[1].startswith(self._fence):
            self._fence = ""
        heading = None if self._fence or fence else heading_of(line)
        if heading is None or heading[0] > _HEADING_LEVELS:
            self._body.append(line)
            return
        yield from self.end()
        _, self._title = heading

    def end(self) -> Iterator[Item]:
        """The note so far, if it says anything."""
        title, body = self._title, self._body
        self._title, self._body, self._fence = "", [], ""
        namespace = self._namespace
        if (note := _NAMESPACE_NOTE.match(title)) and note["namespace"] in NAMESPACES:
            namespace, title = note["namespace"], note["rest"]
        single = ["\n".join(body).strip()]
        for text in filter(None, single if title else items_of(body) or single):
            yield Item(
                content=titled(self._titles(title), text),
                namespace=namespace,
                tags=self._tags,
                created_at=self._made,
                updated_at=self._changed,
                provenance=self._source,
            )

    def _titles(self, heading: str) -> str:
        """The title of the whole note, if it has one, and the heading."""
        parts = dict.fromkeys(filter(None, (self._front_title, heading)))
        return " / ".join(parts)


def property_of(front: Front, name: str) -> str:
    """A property of the beginning of a note in one line, as it is written there; "" for none."""
    value, *below = front.get(name, [""])
    text = " ".join(below if _BLOCK.fullmatch(value) else (value, *below)).strip()
    if not _QUOTED.fullmatch(text):
        return text
    quote = text[0]
    return text[1:-1].replace("''" if quote == "'" else '\\"', quote)


def _listed(front: Front, *names: str) -> list[str]:
    """What each of these properties lists, between commas or one a line."""
    found: list[str] = []
    for value, *below in (front[name] for name in names if name in front):
        items = [line[1:] for line in below if line.startswith("-")]
        inner = " ".join((value, *below)).strip().removeprefix("[").removesuffix("]")
        found += items if items and not value else inner.split(",")
    return [bare for item in found if (bare := item.strip("\"' "))]


def dates_of(front: Front) -> tuple[datetime | None, datetime | None]:
    """When a note was made and when it was changed, as far as its properties say."""
    return _date_of(front, _MADE), _date_of(front, _CHANGED)


def _date_of(front: Front, names: Iterable[str]) -> datetime | None:
    moments = (moment_of(property_of(front, name)) for name in names)
    return next(filter(None, moments), None)


# --- Basic Memory -------------------------------------------------------------------------------

# A box to tick is no category, and a link no observation.
_OBSERVATION = regex(
    r"\s*[-*+]\s+\[(?![ xX/-]?\]|\[)(?P<category>[^\[\]\n]{1,60})\](?!\()\s+(?P<said>\S.*)$"
)
_RELATION = regex(r"\s*[-*+]\s+(?:[\w-]+ ){0,5}\[\[[^\]\n]+\]\]\s*+(?:\([^()\n]*\)\s*+)?$")
_CONTEXT = regex(r"(?P<context>\([^()\n]+\))$")
_TAG = regex(r"(?<!\S)#(?P<tag>\w[\w/-]*)")
_SPACES = regex(r"(\s+)")


def is_basic_memory(front: Front) -> bool:
    """Whether a note that begins with such properties is one of Basic Memory's."""
    return "permalink" in front or {"title", "type"} <= front.keys()


def read_basic_memory(file: Path, *, name: str = "") -> Items:
    """The memories of one note. Raises ``BadImport`` and ``OSError``."""
    lines = Lines(file)
    source = Provenance(hook="import", client="basic-memory", file=name)
    notes, inside = Notes(lines.front, source), False
    for _, line in lines:
        if _FENCE.match(line):
            inside = not inside
        if inside:
            yield from notes.take(line)
        elif found := _OBSERVATION.match(line):
            yield _observed(found["category"], found["said"].strip(), lines.front, source)
        elif not (_RELATION.match(line) or is_link(line)):
            yield from notes.take(line)
    yield from notes.end()


def _observed(category: str, said: str, front: Front, source: Provenance) -> Item:
    tags = [found["tag"] for found in _TAG.finditer(said)]
    text = " ".join(_without_tags(said))
    made, changed = dates_of(front)
    return Item(
        content=titled(property_of(front, "title"), text),
        namespace=category_namespace(category),
        summary=summarise(text),
        tags=tags_of(_listed(front, "tags"), tags, [category]),
        created_at=made,
        updated_at=changed,
        provenance=source,
    )


def _without_tags(said: str) -> Iterator[str]:
    """The observation without the tags at its end, and the context after them."""
    context = _CONTEXT.search(said)
    plain = (said[: context.start()] if context else said).rstrip()
    parts = _SPACES.split(plain)
    while parts and (not parts[-1].strip() or _TAG.fullmatch(parts[-1])):
        parts.pop()
    yield "".join(parts).strip() or plain
    if context:
        yield context["context"]
