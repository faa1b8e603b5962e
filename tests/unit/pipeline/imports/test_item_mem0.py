import json
from datetime import UTC, datetime

import pytest

from subcog.pipeline.imports.item import BadImport, read_mem0

ONE = {
    "id": "892db2ae-06d9-49e5-8b3e-585ef9b85b8e",
    "memory": "Prefers tabs",
    "hash": "1f",
    "metadata": {"category": "style", "namespace": "preferences"},
    "categories": ["editor"],
    "created_at": "2026-01-02T03:04:05.5-08:00",
    "updated_at": None,
    "user_id": "dev",
}


def read(folder, value):
    file = folder / "mem0.json"
    file.write_text(value if isinstance(value, str) else json.dumps(value, indent=2))
    return list(read_mem0(file))


@pytest.mark.parametrize("wrapped", [[ONE], {"results": [ONE]}, {"memories": [ONE], "count": 1}])
def test_a_memory_is_read_whatever_wraps_it(tmp_path, wrapped):
    [item] = read(tmp_path, wrapped)
    assert item.content == "Prefers tabs"
    assert item.namespace == "preferences"
    assert item.tags == ("editor", "style")
    assert item.created_at == datetime(2026, 1, 2, 11, 4, 5, 500000, tzinfo=UTC)
    assert item.provenance.client == "mem0"
    assert item.id is None


def test_older_names_of_the_text_and_bare_strings_are_read(tmp_path):
    items = read(tmp_path, [{"text": "a"}, {"data": "b", "metadata": None}, "c"])
    assert [item.content for item in items] == ["a", "b", "c"]


def test_half_a_character_refuses_no_file(tmp_path):
    assert [item.content for item in read(tmp_path, ["a", "b \ud83d"])] == ["a", "b ?"]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("{", "no JSON"),
        ({"relations": []}, "no list of memories"),
        (7, "no list of memories"),
        ([ONE, {"memory": 7}], "memory 2: "),
        ([ONE, {}], "memory 2: there is no text"),
        ([ONE, 7], "memory 2: it is no object"),
    ],
)
def test_what_is_no_export_is_told(tmp_path, value, problem):
    with pytest.raises(BadImport, match=problem):
        read(tmp_path, value)
