from typing import Annotated, Literal

import pytest
from msgspec import Meta, Struct

from subcog.sinks.mcp.schemas import StatusArguments, read_arguments, schema_of


class Inner(Struct):
    """Inside."""

    name: str


class Outer(Struct, kw_only=True, forbid_unknown_fields=True):
    """Outside."""

    text: Annotated[str, Meta(min_length=1, max_length=5, description="What.")]
    kind: Literal["a", "b"] | None = None
    limit: Annotated[int, Meta(ge=1, le=9)] = 3
    inner: list[Inner] = []


def test_a_schema_refers_to_nothing_and_says_the_type_of_each_value():
    schema = schema_of(Outer)

    assert schema["type"] == "object"
    assert schema["required"] == ["text"]
    assert schema["additionalProperties"] is False
    assert "$ref" not in str(schema)
    assert "description" not in schema
    assert schema["properties"]["text"]["description"] == "What."
    assert {"type": "string", "enum": ["a", "b"]} in schema["properties"]["kind"]["anyOf"]
    assert schema["properties"]["inner"]["items"]["properties"]["name"] == {"type": "string"}


def test_right_arguments_are_read():
    assert read_arguments(Outer, {"text": "x", "kind": "a"}) == Outer(text="x", kind="a")


def test_who_takes_nothing_says_so():
    with pytest.raises(ValueError, match="unknown field `a`; arguments: none"):
        read_arguments(StatusArguments, {"a": 1})


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({}, "missing required field `text`; arguments: text, kind, limit, inner"),
        ({"text": ""}, "text: expected `str` of length >= 1; allowed: 1 to 5 characters"),
        ({"text": 5}, "text: expected `str`, got `int`"),
        ({"text": "x", "kind": "c"}, "kind: invalid enum value 'c'; allowed: a, b"),
        ({"text": "x", "limit": 10}, "limit: expected `int` <= 9; allowed: 1 to 9"),
        ({"text": "x", "more": 1}, "unknown field `more`; arguments: text, kind, limit, inner"),
        ({"text": "x", "inner": [{}]}, "inner: object missing required field `name`"),
    ],
)
def test_wrong_arguments_are_told_what_is_right(given, told):
    with pytest.raises(ValueError, match=r".") as caught:
        read_arguments(Outer, given)
    assert told in str(caught.value)
