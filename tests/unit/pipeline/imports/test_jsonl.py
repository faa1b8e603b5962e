import json
from datetime import UTC, datetime

import msgspec
import pytest

from subcog.pipeline.imports.item import BadImport
from subcog.pipeline.imports.jsonl import read_jsonl
from tests.fakes import make_memory


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
        '{"id": "mem_00000000000000000000000001", "scope": {"kind": "project", "id": "p"},'
        ' "namespace": "n", "content": "c", "created_at": "2026-01-01T00:00:00",'
        ' "updated_at": "2026-01-01T00:00:00Z"}',
    ],
)
def test_a_broken_line_is_told_with_file_and_line(tmp_path, line):
    with pytest.raises(BadImport, match=r"in\.jsonl, line 2: "):
        read(tmp_path, {"content": "fine"}, line)


def test_a_mark_at_the_start_of_the_file_is_no_text(tmp_path):
    assert read(tmp_path, '\ufeff{"content": "x"}')[0].content == "x"


def test_a_line_separator_inside_a_string_ends_no_line(tmp_path):
    assert read(tmp_path, '{"content": "a\u2028b\u0085c"}')[0].content == "a\u2028b\u0085c"


def test_what_is_not_utf_8_is_told(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(b'{"content": "\xff"}')
    with pytest.raises(BadImport, match="not UTF-8"):
        list(read_jsonl(tmp_path / "in.jsonl"))
