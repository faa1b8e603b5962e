"""What can be taken back: the last minute's changes, bounded, each once."""

from datetime import timedelta

import pytest

from subcog.bus.values import Place
from subcog.config.load import load_settings
from subcog.config.paths import find_paths
from subcog.pipeline.api import undo
from subcog.pipeline.api.params import CallRefused, UndoParams
from subcog.pipeline.api.undo import MAX_CHANGES, MAX_CHARS, UNDO_S, Journal, UndoCalls
from subcog.pipeline.app.app import App
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
    changes = journal.latest(ids, SCOPES)
    for change in changes:
        journal.remove(change)
    return [(change.what, change.before.id) for change in changes]


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
    assert journal.latest((), [ELSEWHERE])


def test_what_is_older_than_a_minute_is_let_go(journal, clock):
    journal.note("forget", memory(1))
    clock.now += timedelta(seconds=UNDO_S - 1)
    journal.note("forget", memory(2))
    clock.now += timedelta(seconds=2)
    assert taken(journal, memory(1).id, memory(2).id) == [("forget", memory(2).id)]


async def test_what_was_erased_is_not_held_and_nothing_else_is_taken_back_for_it(app, journal):
    one, two = memory(1), memory(2)
    journal.note("bury", two)
    journal.note("update", one)
    journal.note("forget", one, is_final=True)
    async with app.running():
        with pytest.raises(CallRefused, match=f"{one.id} was erased"):
            await UndoCalls(app, journal).undo(UndoParams(), PLACE)
    [change] = journal.latest((), SCOPES)
    assert one.content not in repr(change)
    assert taken(journal, two.id) == [("bury", two.id)]


def test_number_and_size_are_bounded(journal):
    for number in range(MAX_CHANGES + 3):
        journal.note("forget", memory(number))
    assert taken(journal, memory(0).id, memory(2).id) == []
    assert taken(journal, memory(3).id) == [("forget", memory(3).id)]
    journal.note("forget", memory(1, content="x" * MAX_CHARS))
    journal.note("forget", memory(2, content="y"))
    assert taken(journal, memory(1).id) == []
    assert taken(journal) == [("forget", memory(2).id)]


# --- what cannot be taken back -------------------------------------------------------------------


@pytest.fixture
def app(tmp_path):
    paths = find_paths({"SUBCOG_HOME": str(tmp_path)})
    return App(load_settings(paths.config_file, {}).settings, paths)


PLACE = Place(project=HERE, root="", user=ALL)


async def texts(app):
    archive = await app.archive.get()
    return [memory.content for memory in await archive.store.page([HERE], limit=9)]


async def test_a_forgotten_text_that_cannot_be_brought_back_now_can_be_later(
    app, journal, monkeypatch
):
    monkeypatch.setattr(undo, "_CHANGE_S", 0.1)
    calls = UndoCalls(app, journal)
    lost = memory(1, content="The key lies under the mat")
    journal.note("forget", lost)
    async with app.running():
        with pytest.raises(TimeoutError, match="is not back"):  # nothing is loaded yet
            await calls.undo(UndoParams(), PLACE)
        monkeypatch.undo()
        await app.load()
        [undone] = (await calls.undo(UndoParams(), PLACE)).undone
        assert (undone.id, await texts(app)) == (lost.id, [lost.content])
        assert journal.latest((), SCOPES) == []
        await app.unload()


async def test_a_forgotten_successor_comes_back_as_one(app, journal):
    lost = memory(2, content="We use argon2id", supersedes=memory(1).id)
    old, free = make_row(1, superseded_by=lost.id), make_row(3)
    journal.note("forget", lost)
    journal.note("forget", memory(4, content="We use yescrypt", supersedes=free.memory.id))
    async with app.running():
        await app.load()
        store = (await app.archive.get()).store
        await store.put([old, free])
        for _ in range(2):
            [undone] = (await UndoCalls(app, journal).undo(UndoParams(), PLACE)).undone
        [new, before, other] = await store.get([undone.now, old.memory.id, free.memory.id], [HERE])
        assert (new.supersedes, before.superseded_by) == (before.id, new.id)
        assert other.superseded_by is None, "it was restored meanwhile"
        await app.unload()


async def test_where_one_of_several_fails_the_others_are_taken_back(app, journal):
    calls = UndoCalls(app, journal)
    lost, gone = memory(1, content="The key lies under the mat"), memory(2)
    journal.note("forget", lost, command="a")
    journal.note("expire", gone, command="a")
    async with app.running():
        await app.load()
        told = await calls.undo(UndoParams(), PLACE)
        assert [one.id for one in told.undone] == [lost.id]
        [failed] = told.failed
        assert (failed.id, failed.what) == (gone.id, "expire")
        assert gone.id in failed.reason
        assert await texts(app) == [lost.content]
        assert [change.before for change in journal.latest((), SCOPES)] == [gone]
        await app.unload()
