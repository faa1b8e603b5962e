"""JSONL: one memory a line, as we export it, or any object with a text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from .item import BadImport, Item, Items, Ours
from .lenient import moment_of, tags_of, text_of

_TEXTS = ("content", "text", "memory")
_ours = msgspec.json.Decoder(Ours)
_plain = msgspec.json.Decoder(dict[str, Any])


def read_jsonl(file: Path) -> Items:
    """The memories of ``file``, one line at a time. Raises ``BadImport``, ``OSError``."""
    for number, line in lines_of(file):
        if line.strip():
            try:
                yield _item(line)
            except (msgspec.DecodeError, ValueError) as error:
                raise BadImport(file, str(error), number) from None


def lines_of(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of ``file`` from 1, each with its newline. Raises ``BadImport``."""
    number = 0
    try:
        with file.open(encoding="utf-8-sig", newline="\n") as lines:
            for number, line in enumerate(lines, 1):
                yield number, line
    except UnicodeDecodeError:
        raise BadImport(file, "it is not UTF-8", number + 1) from None


def _item(line: str) -> Item:
    fields = _plain.decode(line)
    if {"id", "scope", "namespace", "created_at", "updated_at"} <= fields.keys():
        return _ours.decode(line)
    text = text_of(fields, _TEXTS)
    if not text.strip():
        raise ValueError('there is no text: "content" or "text" must hold one')
    return Item(
        content=text,
        namespace=str(fields.get("namespace") or ""),
        tags=tags_of(fields.get("tags")),
        created_at=moment_of(fields.get("created_at")),
    )
