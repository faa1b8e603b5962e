"""JSON schemas of the structs that tools take and give, and errors that say what is allowed."""

from __future__ import annotations

import re
from typing import Any, TypeVar

import msgspec

Json = dict[str, Any]
S = TypeVar("S", bound=msgspec.Struct)
_AT = re.compile(r" - at `\$\.?([\w-]*)[^`]*`$")


def schema_of(kind: type[msgspec.Struct]) -> Json:
    """The schema of ``kind`` in one piece: its root is the object, and nothing is referred to."""
    (root,), parts = msgspec.json.schema_components([kind], ref_template="{name}")
    whole: Json = _inlined(root, parts)
    for of_the_struct in ("title", "description"):
        whole.pop(of_the_struct, None)
    return whole


def _inlined(schema: Any, parts: Json) -> Any:
    if isinstance(schema, list):
        return [_inlined(each, parts) for each in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        schema = {**parts[schema["$ref"]], **schema}
        del schema["$ref"]
    whole = {name: _inlined(each, parts) for name, each in schema.items()}
    # Some clients' models take no list of values without its type.
    return {"type": "string"} | whole if "enum" in whole else whole


def read_arguments(kind: type[S], given: Json) -> S:
    """``given`` as ``kind``. Raises ``ValueError``, which names the argument and what is right."""
    try:
        return msgspec.convert(given, kind)
    except msgspec.ValidationError as error:
        raise ValueError(_explained(str(error), kind)) from None


def _explained(message: str, kind: type[msgspec.Struct]) -> str:
    known = schema_of(kind)["properties"]
    place = _AT.search(message)
    name = place[1] if place else ""
    what = _AT.sub("", message)
    what = f"{what[:1].lower()}{what[1:]}"
    if name in known:
        allowed = _allowed(known[name])
        return f"{name}: {what}" + (f"; allowed: {allowed}" if allowed else "")
    return f"{what}; arguments: {', '.join(known)}"


def _allowed(schema: Json) -> str:
    """What a property takes, in words; empty where its type says it."""
    for each in (schema, *schema.get("anyOf", ())):
        if "enum" in each:
            return ", ".join(map(str, each["enum"]))
        if "minimum" in each:
            return f"{each['minimum']} to {each['maximum']}"
        if "maxLength" in each:
            return f"{each.get('minLength', 0)} to {each['maxLength']} characters"
    return ""
