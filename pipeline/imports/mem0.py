"""mem0: what its ``get_all`` and its exports give, as one JSON file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from ...bus.values import Provenance
from .item import BadImport, Item, Items, moment_of, tags_of, text_of

_LISTS = ("results", "memories", "data")
_TEXTS = ("memory", "text", "data", "content")


def memories_in(value: Any) -> list[Any] | None:
    """The list of memories in a decoded file, whatever it is wrapped in; None for no such file."""
    if isinstance(value, dict):
        found = [value[name] for name in _LISTS if isinstance(value.get(name), list)]
        value = found[0] if found else None
    return value if isinstance(value, list) else None


def read_mem0(file: Path) -> Items:
    """The memories of ``file``. Raises ``BadImport`` and ``OSError``."""
    try:
        value = msgspec.json.decode(file.read_bytes())
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadImport(file, f"it is no JSON: {error}") from None
    found = memories_in(value)
    if found is None:
        raise BadImport(file, f"it has no list of memories under {', '.join(_LISTS)}")
    for number, fields in enumerate(found, 1):
        try:
            yield _item(fields)
        except ValueError as error:
            raise BadImport(file, f"memory {number}: {error}") from None


def _item(fields: Any) -> Item:
    if isinstance(fields, str):
        fields = {"memory": fields}
    if not isinstance(fields, dict):
        raise ValueError("it is no object")
    text = text_of(fields, _TEXTS)
    if not text.strip():
        raise ValueError('there is no text under "memory"')
    metadata = fields.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    return Item(
        content=text,
        namespace=str(metadata.get("namespace") or ""),
        tags=tags_of(fields.get("categories"), metadata.get("tags"), metadata.get("category")),
        created_at=moment_of(fields.get("created_at")),
        updated_at=moment_of(fields.get("updated_at")),
        provenance=Provenance(
            hook="import", client="mem0", session=str(fields.get("run_id") or "")
        ),
    )
