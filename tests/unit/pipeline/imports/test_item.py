from pathlib import Path

import msgspec
import pytest

from subcog.bus.values import Memory
from subcog.pipeline.imports.item import BadImport, Item, Ours


def test_an_item_has_every_field_of_a_memory_that_is_not_made_of_its_text():
    assert set(Item.__struct_fields__) == set(Memory.__struct_fields__) - {"content_hash"}


def test_of_ours_nothing_may_be_missing_that_makes_it_the_same():
    with pytest.raises(msgspec.ValidationError, match="missing required field"):
        msgspec.convert({"content": "x", "id": f"mem_{1:026}"}, Ours)


def test_a_problem_names_file_and_line():
    assert str(BadImport(Path("a.md"), "is odd", 3)) == "a.md, line 3: is odd"
    assert str(BadImport(Path("a.md"), "is odd")) == "a.md: is odd"
