from datetime import timedelta
from types import SimpleNamespace

import anyio
import pytest
from anyio.lowlevel import checkpoint
from msgspec.structs import replace

from subcog.bus.events import ReviewRequested
from subcog.bus.sessions import Message, Passage, SessionInfo
from subcog.bus.values import Scope
from subcog.config.load import load_settings
from subcog.pipeline.app import conversations
from subcog.pipeline.app.archives import LazyArchive, NotStored
from subcog.pipeline.app.conversations import Conversations
from subcog.sinks.passages import table
from subcog.sinks.passages.forgotten import EPOCH, Forgotten
from subcog.sinks.store.errors import StoreUnavailable
from subcog.stages.ports import RecallUnavailable
from subcog.stages.sessions.exchanges import Utterance
from tests.fakes import NOW, PLACE, make_quoting
from tests.stores import make_store
from tests.waiting import PATIENCE_S


class Archive:
    """What ``Conversations`` asks of an archive, of sessions of one passage each."""

    def __init__(self, *names):
        self.names = names
        self.is_open = True
        self.kept = []

    async def add(self, passages, before=()):
        await checkpoint()
        self.kept += passages
        return len(passages)

    async def list(self, scopes, *, limit):
        await checkpoint()
        if not self.is_open:
            raise StoreUnavailable("closed", "it is closed")
        return tuple(
            SessionInfo(
                session=name,
                scope=scopes[0],
                client="",
                branch="",
                began_at=NOW,
                ended_at=NOW,
                passages=1,
                opening="",
            )
            for name in self.names[:limit]
        )

    async def show(self, scope, session):
        await checkpoint()
        text = "hi! new project" if session.startswith("chatter") else "Move the queue"
        return (
            Passage(id="p", session=session, scope=scope, speaker="user", text=text, said_at=NOW),
        )


async def before(held, session="now", place=PLACE):
    with anyio.fail_after(PATIENCE_S):
        return [passage.session for passage in await held.before(place, session)]


@pytest.fixture
def held():
    return Conversations(make_quoting())


async def test_the_session_before_is_the_newest_other_one(held):
    held.arrive(Archive("now", "last", "first"))
    assert await before(held) == ["last"]
    assert await before(held, "another") == ["now"]


async def test_a_session_that_tells_of_no_work_is_passed_over_up_to_a_point(held):
    held.arrive(Archive("now", "chatter", "last"))
    assert await before(held) == ["last"]
    held.depart()
    held.arrive(Archive("now", *(f"chatter{number}" for number in range(9)), "last"))
    assert await before(held) == []


async def test_what_was_said_under_an_earlier_scope_of_the_project_is_found(held):
    earlier, other = Scope("project", "earlier"), Scope("project", "other")

    class Finding:
        scopes = (other, earlier)

        async def find(self, text, scope, *, session):
            await checkpoint()
            return (scope,)

    held.arrive(Finding())
    moved = replace(PLACE, before=(earlier, Scope("project", "empty")))
    assert await held.find("x", moved, session="now") == (PLACE.project, earlier)
    assert await held.find("x", PLACE, session="now") == (PLACE.project,)


async def test_there_is_none_before_the_first(held):
    held.arrive(Archive("now"))
    assert await before(held) == []


async def test_a_start_waits_for_what_is_being_loaded_but_not_for_long(held, monkeypatch):
    monkeypatch.setattr(conversations, "_PATIENCE_S", 0.001)
    assert await before(held) == []
    monkeypatch.setattr(conversations, "_PATIENCE_S", 60)
    found = []

    async def ask():
        found.extend(await before(held))

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(ask)
        await anyio.wait_all_tasks_blocked()
        held.arrive(Archive("last"))
    assert found == ["last"]


REVIEW = ReviewRequested(
    trace="t", session="s1", client="", place=PLACE, hook="Stop", transcript="/t.jsonl"
)
SAID = Utterance(id="psg_1", speaker="user", text="Use Redis streams", said_at_ms=1)


async def test_a_review_waits_until_there_is_something_to_keep_in(held):
    archive = Archive()
    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(held.keep, REVIEW, [SAID])
            await anyio.wait_all_tasks_blocked()
            held.arrive(archive)
    assert [passage.text for passage in archive.kept] == [SAID.text]


async def test_what_was_forgotten_is_not_learned_from_where_sessions_are_off_either(tmp_path):
    store, memories = make_store(tmp_path / "subcog.duckdb"), LazyArchive()
    await store.open()
    until = EPOCH + timedelta(hours=1)
    gone = Forgotten(scope=PLACE.project, session="s1", since=EPOCH, until=until)
    await store.write(
        lambda: store.database.transact(lambda c: table.remember_forgotten(c, [gone]))
    )
    memories.open(SimpleNamespace(store=store))
    held = Conversations(make_quoting(enabled=False), memories=memories)
    before, later = (Message(role="user", text="x", said_at_ms=at) for at in (1_000, 9_000_000))
    forgotten = await held.forgotten(REVIEW)
    assert [forgotten(one) for one in (before, later)] == [True, False]
    await store.close()
    with pytest.raises(NotStored):
        await held.forgotten(REVIEW)


async def test_the_branch_of_what_was_said_is_redacted():
    held, archive = Conversations(make_quoting(), clean=str.upper), Archive()
    held.arrive(archive)
    await held.keep(replace(REVIEW, place=replace(PLACE, branch="fix/hunter2")), [SAID])
    assert [passage.branch for passage in archive.kept] == ["FIX/HUNTER2"]


async def test_a_store_that_cannot_be_read_leaves_the_start_without_it(held):
    archive = Archive("last")
    archive.is_open = False
    held.arrive(archive)
    assert await before(held) == []


async def test_of_a_project_of_which_nothing_is_kept_nothing_is_told():
    off = Conversations(make_quoting(enabled=False))
    off.arrive(Archive("last"))
    assert await before(off) == []
    excluding = Conversations(make_quoting(exclude=("/srv/secret",)))
    excluding.arrive(Archive("last"))
    assert await before(excluding, place=replace(PLACE, root="/srv/secret/shop")) == []
    assert await before(excluding, place=replace(PLACE, root="/srv/shop")) == ["last"]


class Finder:
    async def find(self, text, scope, *, session):
        await checkpoint()
        return (text, scope, session)


def configured(tmp_path, **settings):
    loaded = load_settings(tmp_path / "none.toml", settings).settings
    return Conversations(loaded.sessions)


async def test_who_asks_while_the_sessions_load_gets_the_answer_when_they_are_there(tmp_path):
    said, answers = configured(tmp_path), []

    async def ask():
        answers.append(await said.find("x", PLACE, session="s"))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            said.arrive(Finder())
    assert answers == [("x", PLACE.project, "s")]


async def test_who_has_no_time_left_is_refused_and_so_is_who_asks_after_a_failure(tmp_path):
    said = configured(tmp_path)
    with anyio.fail_after(0.01), pytest.raises(RecallUnavailable, match="still being loaded"):
        await said.get()
    said.fail("the disk is full")
    with anyio.fail_after(PATIENCE_S), pytest.raises(RecallUnavailable, match="the disk is full"):
        await said.get()


async def test_where_sessions_are_off_or_the_project_is_excluded_nobody_waits(tmp_path):
    off = configured(tmp_path, SUBCOG_SESSIONS_ENABLED="false")
    excluded = configured(tmp_path, SUBCOG_SESSIONS_EXCLUDE=PLACE.root)
    with anyio.fail_after(PATIENCE_S):
        assert await off.find("x", PLACE, session="s") == ()
        assert await excluded.find("x", PLACE, session="s") == ()
        with pytest.raises(RecallUnavailable, match="switched off"):
            await off.get()
