from __future__ import annotations

from datetime import datetime

import msgspec
import pytest
from msgspec.structs import replace

from subcog.bus.values import Provenance, Scope
from subcog.sinks.store.rows import (
    digest,
    fingerprint,
    head_values,
    naive,
    to_memory,
    to_record,
    to_row,
    to_scope,
    version_values,
)
from tests.stores import HERE, START, make_row


def test_a_row_comes_back_from_its_record():
    row = make_row(provenance=Provenance(file="a/b.py"), tags=("x",), valid_to=START)
    record = to_record(row)

    assert to_row(version_values(record)[4:]) == row
    assert record.key == f"{row.memory.id}:1"


def test_a_body_without_a_field_that_is_new_gets_its_default():
    body = msgspec.json.decode(to_record(make_row(confidence_percent=40)).body)
    del body["confidence_percent"]
    body["a_field_of_the_past"] = 1

    assert to_memory(msgspec.json.encode(body).decode()).confidence_percent == 100


def test_what_filters_need_is_beside_the_body():
    memory = make_row(superseded_by="mem_x").memory
    values = head_values(to_record(make_row(superseded_by="mem_x")))

    assert values[:2] == (memory.id, f"{memory.id}:1")
    assert values[3:5] == ("project:here:with/colon", "decisions")
    assert values[6] == naive(START).replace(second=6)
    assert values[-1] == "mem_x"


@pytest.mark.parametrize("scope", [HERE, Scope("user", ""), Scope("org", "a:b")])
def test_a_scope_comes_back_from_its_text(scope):
    assert to_scope(str(scope)) == scope


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"version": 0}, "from 1"),
        ({"summary": "\udfff"}, "Unicode"),
        ({"id": "\udfff"}, "Unicode"),
        ({"updated_at": datetime(2026, 1, 1)}, "zone"),  # noqa: DTZ001
        ({"valid_from": datetime(2026, 1, 1)}, "zone"),  # noqa: DTZ001
        ({"valid_to": datetime.fromisoformat("9999-12-31T23:59:59-12:00")}, "no time in UTC"),
    ],
)
def test_what_cannot_be_stored_is_refused(fields, words):
    with pytest.raises(ValueError, match=words):
        to_record(make_row(1, **fields))


def test_fingerprints_tell_places_and_texts_apart():
    parts = [("s", "n", "h"), ("sn", "", "h"), ("s", "n", "i"), ("s", "nh", "h")]

    assert len({fingerprint(*each) for each in parts}) == 4
    assert fingerprint("s", "n", "h") == fingerprint("s", "n", "h")
    assert fingerprint("s", "n", "") is None
    assert all(-(2**63) <= fingerprint("s", "n", str(n)) < 2**63 for n in range(100))


def test_a_digest_tells_what_is_said_and_not_who_says_so():
    memory = make_row(sources=(Provenance(session="s"),)).memory
    signed = replace(
        memory,
        provenance=Provenance(author="anna"),
        sources=(Provenance(session="s", author="bob"),),
    )

    assert digest(signed) == digest(memory)
    assert digest(replace(memory, tags=("one",))) != digest(memory)
    assert digest(replace(memory, version=2)) != digest(memory)
    with pytest.raises(ValueError, match="not valid Unicode"):
        digest(replace(memory, content="half a pair \ud800"))
