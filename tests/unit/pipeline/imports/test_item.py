import json
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from subcog.bus.triggers import Trigger
from subcog.bus.values import Memory
from subcog.pipeline.imports.item import (
    BadImport,
    Item,
    Ours,
    category_namespace,
    moment_of,
    read_jsonl,
    strings_of,
    tags_of,
    text_of,
)
from tests.fakes import make_memory


def test_an_item_has_every_field_of_a_memory_that_is_not_made_of_its_text():
    assert set(Item.__struct_fields__) == set(Memory.__struct_fields__) - {"content_hash"}


def test_of_ours_nothing_may_be_missing_that_makes_it_the_same():
    with pytest.raises(msgspec.ValidationError, match="missing required field"):
        msgspec.convert({"content": "x", "id": f"mem_{1:026}"}, Ours)


def test_a_problem_names_file_and_line():
    assert str(BadImport(Path("a.md"), "is odd", 3)) == "a.md, line 3: is odd"
    assert str(BadImport(Path("a.md"), "is odd")) == "a.md: is odd"


THEN = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-01-02T03:04:05Z",
        "2026-01-02T03:04:05",
        " 2026-01-01T19:04:05-08:00 ",
        THEN.timestamp(),
        THEN.timestamp() * 1000,
    ],
)
def test_a_moment_in_any_form_is_the_same_moment(value):
    assert moment_of(value) == THEN


@pytest.mark.parametrize(
    "value",
    [
        None,
        "",
        "soon",
        True,
        [],
        1e300,
        float("nan"),
        -1e18,
        -1.0,
        "0001-01-01T00:00:00+12:00",
        "3000-01-01",
    ],
)
def test_what_is_no_moment_is_none(value):
    assert moment_of(value) is None


@pytest.mark.parametrize("value", [["a", " b "], '["a", "b"]', "a, b", ("a", 7, "", "b")])
def test_a_list_in_any_form_is_the_same_list(value):
    assert strings_of(value) == ("a", "b")


@pytest.mark.parametrize("value", [None, 7, {}, "7", ""])
def test_what_is_no_list_is_empty(value):
    assert strings_of(value) == ()


def test_tags_of_several_places_are_one_list():
    assert tags_of(["a"], None, "b,a") == ("a", "b")


def test_the_first_name_that_holds_a_text_counts():
    assert text_of({"a": "", "b": "x", "c": "y"}, ("a", "b", "c")) == "x"
    assert text_of({}, ("a",)) == ""
    with pytest.raises(ValueError, match='"a" is no string'):
        text_of({"a": 7}, ("a",))


def read(folder, *lines):
    file = folder / "in.jsonl"
    file.write_text(
        "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    )
    return list(read_jsonl(file))


def test_a_memory_of_ours_comes_back_with_every_field(tmp_path):
    memory = make_memory(3, tags=("a",), version=7)
    [item] = read(tmp_path, msgspec.json.encode(memory).decode())
    assert all(getattr(item, name) == getattr(memory, name) for name in item.__struct_fields__)


def test_any_object_with_a_text_is_a_memory(tmp_path):
    items = read(
        tmp_path,
        {"content": "one", "namespace": "zettel", "tags": ["a", "b"]},
        {"text": "two", "id": "17", "created_at": "2026-01-02"},
        "",
        {"content": "three", "namespace": None, "tags": None, "created_at": "long ago"},
    )
    assert [item.content for item in items] == ["one", "two", "three"]
    assert (items[0].namespace, items[0].tags) == ("zettel", ("a", "b"))
    assert items[1].id is None
    assert items[1].created_at == datetime(2026, 1, 2, tzinfo=UTC)
    assert items[2].created_at is None


def test_a_line_may_have_questions_and_triggers(tmp_path):
    trigger = {"write": "utcnow(", "in": "src/**", "unless": ["tz="]}
    several, one, none = read(
        tmp_path,
        {"content": "one", "questions": ["how?", "when?"], "triggers": [trigger]},
        {"content": "two", "questions": "how, when and where?"},
        {"content": "three", "questions": None, "triggers": None},
    )
    assert several.questions == ("how?", "when?")
    assert several.triggers == (Trigger(write="utcnow(", within="src/**", unless=("tz=",)),)
    assert one.questions == ("how, when and where?",)
    assert none.questions == none.triggers == ()


@pytest.mark.parametrize(
    "line",
    [
        '{"content": 7}',
        '{"content": " "}',
        "{}",
        "[]",
        '"text"',
        "{",
        "\x00",
        '{"content": "x"} {"content": "y"}',
        '{"id": "x", "scope": {"kind": "project", "id": "p"}, "namespace": "n", "content": "c",'
        ' "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z"}',
        '{"id": "mem_00000000000000000000000001", "scope": {"kind": "galaxy", "id": "p"},'
        ' "namespace": "n", "content": "c", "created_at": "2026-01-01T00:00:00Z",'
        ' "updated_at": "2026-01-01T00:00:00Z"}',
        '{"content": "c", "triggers": [{"run": "npm install", "edit": "package.json"}]}',
        '{"content": "c", "triggers": ["npm install"]}',
        '{"id": "mem_00000000000000000000000001", "scope": {"kind": "project", "id": "p"},'
        ' "namespace": "n", "content": "c", "created_at": "2026-01-01T00:00:00",'
        ' "updated_at": "2026-01-01T00:00:00Z"}',
        '{"id": "mem_00000000000000000000000001", "scope": {"kind": "project", "id": "p"},'
        ' "namespace": "n", "content": "c", "created_at": "0001-01-01T00:00:00+12:00",'
        ' "updated_at": "2026-01-01T00:00:00Z"}',
        '{"id": "mem_00000000000000000000000001", "scope": {"kind": "project", "id": "p"},'
        ' "namespace": "n", "content": "c", "created_at": "2026-01-01T00:00:00Z",'
        ' "updated_at": "2026-01-01T00:00:00Z", "valid_to": "9999-12-31T23:00:00-12:00"}',
    ],
)
def test_a_broken_line_is_told_with_file_and_line(tmp_path, line):
    with pytest.raises(BadImport, match=r"in\.jsonl, line 2: "):
        read(tmp_path, {"content": "fine"}, line)


def test_a_mark_at_the_start_of_the_file_is_no_text(tmp_path):
    assert read(tmp_path, '\ufeff{"content": "x"}')[0].content == "x"


def test_a_line_separator_inside_a_string_ends_no_line(tmp_path):
    assert read(tmp_path, '{"content": "a\u2028b\u0085c"}')[0].content == "a\u2028b\u0085c"


def test_half_a_character_in_one_line_refuses_no_file(tmp_path):
    items = read(tmp_path, {"content": "x", "cut": "\ud83d"}, {"content": "y \ud83d"})
    assert [item.content for item in items] == ["x", "y ?"]


def test_what_is_not_utf_8_is_told(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"content": "\xff"}')
    with pytest.raises(BadImport, match="not UTF-8"):
        list(read_jsonl(tmp_path / "in.jsonl"))


def test_title_category_and_times_are_kept(tmp_path):
    file = tmp_path / "a.jsonl"
    fields = {
        "content": "bcrypt truncates",
        "title": "Hashing",
        "category": "warning",
        "created_at": "2026-01-02T03:04:05+02:00",
        "updated_at": "2026-01-03T10:00:00",
    }
    file.write_text(json.dumps(fields))
    [item] = read_jsonl(file)
    assert (item.content, item.namespace) == ("Hashing\n\nbcrypt truncates", "gotchas")
    assert item.tags == ("warning",)
    assert item.created_at.isoformat() == "2026-01-02T01:04:05+00:00"
    assert item.updated_at == datetime(2026, 1, 3, 10, tzinfo=UTC)


@pytest.mark.parametrize(
    ("category", "namespace"),
    [
        ("Decision", "decisions"),
        ("rules", "patterns"),
        ("Tech Debt", "tech-debt"),
        ("requirements", "context"),
        ("facts", "learnings"),
        ("poetry", ""),
        ("", ""),
    ],
)
def test_a_category_means_a_namespace(category, namespace):
    assert category_namespace(category) == namespace
