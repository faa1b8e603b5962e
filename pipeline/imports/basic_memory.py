"""Basic Memory's notes: Markdown with properties, observations and relations.

``- [category] what was observed #tag (context)`` is a memory of its own; what is written beside
observations is one memory a heading. Relations and other lines that only link are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...bus.values import Provenance
from ...config.patterns import regex
from ...stages.text.notes import is_link
from ...stages.text.summary import summarise
from .item import Item, Items, category_namespace, tags_of, titled
from .markdown import Lines, Notes, dates_of, is_fence, property_of

# A box to tick is no category, and a link no observation.
_OBSERVATION = regex(
    r"\s*[-*+]\s+\[(?![ xX/-]?\]|\[)(?P<category>[^\[\]\n]{1,60})\](?!\()\s+(?P<said>\S.*)$"
)
_RELATION = regex(r"\s*[-*+]\s+(?:[\w-]+ ){0,5}\[\[[^\]\n]+\]\]\s*(?:\([^()\n]*\))?\s*$")
_CONTEXT = regex(r"\s*(?P<context>\([^()\n]+\))$")
_TAG = regex(r"(?<!\S)#(?P<tag>\w[\w/-]*)")
_LAST_TAGS = regex(r"(?:\s*(?<!\S)#\w[\w/-]*)+$")


def is_basic_memory(front: dict[str, Any]) -> bool:
    """Whether a note that begins with such properties is one of Basic Memory's."""
    return "permalink" in front or {"title", "type"} <= front.keys()


def read_basic_memory(file: Path, *, name: str = "") -> Items:
    """The memories of one note. Raises ``BadImport`` and ``OSError``."""
    lines = Lines(file)
    source = Provenance(hook="import", client="basic-memory", file=name)
    notes, inside = Notes(lines.front, source), False
    for _, line in lines:
        if is_fence(line):
            inside = not inside
        if inside:
            yield from notes.take(line)
        elif found := _OBSERVATION.match(line):
            yield _observed(found["category"], found["said"].strip(), lines.front, source)
        elif not (_RELATION.match(line) or is_link(line)):
            yield from notes.take(line)
    yield from notes.end()


def _observed(category: str, said: str, front: dict[str, Any], source: Provenance) -> Item:
    tags = [found["tag"] for found in _TAG.finditer(said)]
    text = " ".join(_without_tags(said))
    made, changed = dates_of(front)
    return Item(
        content=titled(property_of(front, "title"), text),
        namespace=category_namespace(category),
        summary=summarise(text),
        tags=tags_of(front.get("tags"), tags, [category]),
        created_at=made,
        updated_at=changed,
        provenance=source,
    )


def _without_tags(said: str) -> Iterator[str]:
    """The observation without the tags at its end, and the context after them."""
    context = _CONTEXT.search(said)
    plain = said[: context.start()] if context else said
    yield _LAST_TAGS.sub("", plain).strip() or plain
    if context:
        yield context["context"]
