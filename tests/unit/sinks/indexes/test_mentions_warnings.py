from msgspec.structs import replace

from subcog.bus.values import Scope
from subcog.sinks.indexes.mentions import MOST_WITH_KEY, WarningIndex
from tests.fakes import PROJECT, make_memory

OTHER = Scope("project", "other")


def made(*memories):
    index = WarningIndex()
    for memory in memories:
        index.add(memory, tuple(memory.content.split()))
    return index


def test_a_memory_is_found_by_its_key_in_its_scope_alone():
    index = made(make_memory(1, "a b"), make_memory(2, "b", scope=OTHER))
    assert index.warning(["a", "b"], [PROJECT, PROJECT]) == (make_memory(1).id,)
    assert index.warning(["b"], [PROJECT, OTHER]) == (make_memory(2).id, make_memory(1).id)
    assert index.warning(["c"], [PROJECT]) == index.warning([], [PROJECT]) == ()


def test_a_newer_version_takes_the_place_of_the_older():
    memory = make_memory(1, "a")
    index = made(memory, replace(memory, content="b"))
    assert index.warning(["a"], [PROJECT]) == ()
    assert index.warning(["b"], [PROJECT]) == (memory.id,)
    index.add(replace(memory, content="b", superseded_by="mem_2"), ("b",))
    assert index.warning(["b"], [PROJECT]) == ()


def test_what_is_removed_is_gone_and_most_memories_take_no_room():
    index = made(make_memory(1, "a"), make_memory(2, " "))
    assert len(index) == 1
    index.remove(make_memory(1).id)
    index.remove("mem_unknown")
    assert len(index) == 0
    assert index.warning(["a"], [PROJECT]) == ()


def test_of_many_the_newest_are_found():
    index = made(*(make_memory(number, "a") for number in (*range(50, 100), *range(50))))
    found = index.warning(["a"], [PROJECT])
    assert found[0] == make_memory(99).id
    assert len(found) == MOST_WITH_KEY
