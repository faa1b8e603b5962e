"""What can be taken back: the last minute's changes, bounded, each once."""

from datetime import timedelta

import pytest

from subcog.pipeline.api.undo import MAX_CHANGES, MAX_CHARS, UNDO_S, Journal
from tests.stores import ALL, ELSEWHERE, HERE, FakeClock, make_row

SCOPES = (HERE, ALL)


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
def journal(clock):
    return Journal(clock)


def memory(number=1, **fields):
    return make_row(number, **fields).memory


def taken(journal, *ids):
    return [(change.what, change.before.id) for change in journal.take(ids, SCOPES)]


def test_the_last_change_is_taken_back_and_then_the_one_before(journal):
    one, two = memory(1), memory(2)
    journal.note("update", one)
    journal.note("forget", two)
    assert taken(journal) == [("forget", two.id)]
    assert taken(journal) == [("update", one.id)]
    assert taken(journal) == []


def test_of_each_memory_that_is_named_the_last_change_is_taken_back(journal):
    one, two, three = memory(1), memory(2), memory(3)
    for what, which in [("update", one), ("bury", two), ("expire", one), ("forget", three)]:
        journal.note(what, which)
    assert taken(journal, one.id, two.id) == [("expire", one.id), ("bury", two.id)]
    assert taken(journal, one.id) == [("update", one.id)]
    assert taken(journal, "mem_unknown") == []


def test_what_one_command_changed_is_taken_back_together(journal):
    one, two, three = memory(1), memory(2), memory(3)
    journal.note("bury", one, command="a")
    for forgotten in (one, two, three):
        journal.note("forget", forgotten, command="b")
    assert taken(journal) == [("forget", three.id), ("forget", two.id), ("forget", one.id)]
    journal.note("forget", one, command="c")
    journal.note("forget", two, command="c")
    assert taken(journal, one.id) == [("forget", one.id)]
    assert taken(journal) == [("forget", two.id)]
    journal.note("expire", one)
    journal.note("expire", two)
    assert taken(journal) == [("expire", two.id)]


def test_another_projects_changes_are_not_touched(journal):
    journal.note("forget", memory(1, scope=ELSEWHERE))
    assert taken(journal) == []
    assert journal.take((), [ELSEWHERE])


def test_what_is_older_than_a_minute_is_let_go(journal, clock):
    journal.note("forget", memory(1))
    clock.now += timedelta(seconds=UNDO_S - 1)
    journal.note("forget", memory(2))
    clock.now += timedelta(seconds=2)
    assert taken(journal, memory(1).id, memory(2).id) == [("forget", memory(2).id)]


def test_a_text_that_is_to_be_gone_is_not_held(journal):
    one = memory(1)
    journal.note("update", one)
    journal.drop(one.id)
    assert taken(journal) == []


def test_number_and_size_are_bounded(journal):
    for number in range(MAX_CHANGES + 3):
        journal.note("forget", memory(number))
    assert taken(journal, memory(0).id, memory(2).id) == []
    assert taken(journal, memory(3).id) == [("forget", memory(3).id)]
    journal.note("forget", memory(1, content="x" * MAX_CHARS))
    journal.note("forget", memory(2, content="y"))
    assert taken(journal, memory(1).id) == []
    assert taken(journal) == [("forget", memory(2).id)]
