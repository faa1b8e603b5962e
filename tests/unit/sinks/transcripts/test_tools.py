from __future__ import annotations

import json

import pytest
from msgspec import Raw

from subcog.sinks.transcripts.tools import decoded, end_of, milliseconds, texts, tool_call


def used(name, given):
    return tool_call("t", name, Raw(json.dumps(given).encode()))


def test_a_command_may_be_a_text_or_words_or_json_in_a_text():
    for given in (
        {"command": "pytest -q"},
        {"cmd": "pytest -q"},
        {"command": ["pytest", "-q"]},
        "pytest -q",
        '{"cmd": "pytest -q"}',
    ):
        assert used("shell", given).command == "pytest -q"


def test_what_only_reads_changes_no_file():
    assert used("Read", {"file_path": "/p/a.py"}).paths == ()
    assert used("replace", {"file_path": "/p/a.py"}).paths == ("/p/a.py",)


def test_what_is_given_is_bounded():
    patch = "*** Begin Patch\n" + "".join(f"*** Add File: {n}.py\n" for n in range(1000))
    call = used("shell", {"command": patch})

    assert len(call.paths) == 100
    assert len(call.command) == 2000


@pytest.mark.parametrize("given", [None, 7, [], {"command": 7}, {"file_path": 7}])
def test_what_has_another_shape_is_used_with_nothing(given):
    call = used("Edit", given)

    assert (call.tool, call.paths, call.command) == ("Edit", (), "")


def test_texts_stand_in_several_shapes():
    assert list(texts("a")) == ["a"]
    assert list(texts([{"text": "a"}, {"text": 7}, 7, {"image": "b"}])) == ["a"]
    assert list(texts(None)) == []
    assert end_of(["a" * 3000, "b"]).endswith("a\nb")


def test_what_is_no_json_is_nothing():
    assert decoded(Raw(b"{")) is None
    assert decoded(Raw(b"[" * 100_000)) is None


def test_a_time_that_is_none_is_0():
    assert milliseconds("2026-11-22T02:09:32.588Z") == 1_795_313_372_588
    assert milliseconds("yesterday") == milliseconds("") == 0


def test_a_path_longer_than_any_file_system_has_is_no_path():
    call = used("Write", {"file_path": "/a" * 10_000, "path": "/p/a.py"})

    assert call.paths == ("/p/a.py",)
