from math import log1p

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


def test_who_shares_the_rarest_keys_comes_first_with_how_much():
    index = made(
        make_memory(1, "order add route"),
        make_memory(2, "order add refund"),
        make_memory(3, "order add"),
        make_memory(4, "refund"),
        make_memory(5, "order refund", scope=OTHER),
    )
    shared = index.sharing(["add", "refund", "add", "none"], [PROJECT], among="order")
    refund, add = log1p(23 / 2), log1p(23 / 3)
    assert [id_ for id_, _ in shared] == [make_memory(n).id for n in (2, 4, 3, 1)]
    assert [round(much, 6) for _, much in shared] == [
        round(much, 6) for much in (refund + add, refund, add, add)
    ]
    assert index.sharing([], [PROJECT], among="order") == ()
    index.remove(make_memory(2).id)
    assert index.sharing(["refund"], [PROJECT], among="order")[0][0] == make_memory(4).id


def test_of_many_that_share_a_key_sixteen_come_the_newest_first():
    index = made(*(make_memory(number, "add") for number in range(40)))
    shared = index.sharing(["add"], [PROJECT], among="order")
    assert [id_ for id_, _ in shared] == [make_memory(n).id for n in range(39, 23, -1)]


def test_where_there_are_thousands_a_word_weighs_no_more_than_among_sixty():
    index = made(*(make_memory(number, f"order w{number}") for number in range(3_000)))
    assert index.sharing(["w7"], [PROJECT], among="order") == ((make_memory(7).id, log1p(60)),)
