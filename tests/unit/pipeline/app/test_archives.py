from types import SimpleNamespace

import anyio
import pytest

from subcog.bus.signals import degraded, fell_back
from subcog.bus.values import Query, Recalled
from subcog.pipeline.app import archives
from subcog.pipeline.app.archives import LazyArchive, RedactionCache
from subcog.stages.ports import RecallUnavailable
from tests.archives import opened_desk
from tests.emissions import emitted
from tests.stores import HERE
from tests.waiting import PATIENCE_S

# The rest of the time is there for a busy machine to end in.
ALL_BUT_AN_INSTANT_S = PATIENCE_S - 0.05


class Found:
    """Stands where the archive will be."""

    degraded = None
    without_index = ""

    async def recall(self, query):
        return Recalled(hits=(), mode="text", total=0, took_ms=0.1, degraded=self.degraded)


async def test_who_asks_before_it_is_loaded_waits_for_it():
    late, answers = LazyArchive(), []

    async def ask():
        answers.append(await late.recall("x"))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            assert answers == []
            late.arrive(Found())
    assert [recalled.mode for recalled in answers] == ["text"]


class _Speller:
    """An archive whose index knows one misspelt word, or is damaged."""

    without_index = ""

    def __init__(self, *, reranker=True, damaged=False):
        self.search = SimpleNamespace(reranker=reranker)
        self.index = self
        self.damaged = damaged

    def meant(self, words, scopes):
        if self.damaged:
            raise IndexError
        assert (words, scopes) == (["teh"], (HERE,))
        return {"teh": "the"}


def test_misspelt_words_are_told_as_soon_as_all_is_loaded_that_knows_words():
    late = LazyArchive()
    assert late.meant(["teh"], (HERE,)) == {}
    late.arrive(_Speller(reranker=None))
    assert late.meant(["teh"], (HERE,)) == {}
    late.arrive(_Speller())
    assert late.meant(["teh"], (HERE,)) == {"teh": "the"}
    late.arrive(_Speller(damaged=True))
    assert late.meant(["teh"], (HERE,)) == {}


async def test_waiting_ends_before_the_deadline_so_that_an_answer_can_still_be_given(monkeypatch):
    late = LazyArchive()
    monkeypatch.setattr(archives, "RESERVE_S", ALL_BUT_AN_INSTANT_S)
    with anyio.fail_after(PATIENCE_S) as scope:
        with pytest.raises(RecallUnavailable, match="still being loaded"):
            await late.get()
        assert anyio.current_time() < scope.deadline


async def test_what_cannot_be_opened_says_why_at_once():
    late = LazyArchive()
    late.fail("the disk is full")
    with anyio.fail_after(PATIENCE_S), pytest.raises(RecallUnavailable, match="the disk is full"):
        await late.get()
    assert late.settled
    assert late.loaded is None


class Opened:
    """Stands where the archive will be: its store is open, and its indexes are being filled."""

    async def latest(self, scopes, *, limit, namespaces=()):
        return ("the newest",)

    async def subjects(self, scopes, *, limit):
        return ("deploys",)

    async def recall_by_sql(self, query, reason, *, within_s):
        await anyio.sleep_forever()


async def test_what_the_store_alone_can_answer_does_not_wait_for_the_indexes(monkeypatch):
    monkeypatch.setattr(archives, "RESERVE_S", ALL_BUT_AN_INSTANT_S)
    late = LazyArchive()
    late.open(Opened())
    with anyio.fail_after(PATIENCE_S):
        assert await late.latest((), limit=5) == ("the newest",)
        assert await late.subjects((), limit=5) == ()
        assert not late.settled
        with pytest.raises(RecallUnavailable, match="not be searched in time"):
            await late.recall("x")
        late.arrive(Opened())
        assert await late.subjects((), limit=5) == ("deploys",)


async def test_a_store_whose_indexes_cannot_be_filled_answers_nothing_any_more():
    late = LazyArchive()
    late.open(Opened())
    late.fail("a block is damaged")
    with anyio.fail_after(PATIENCE_S), pytest.raises(RecallUnavailable, match="a block is damaged"):
        await late.latest((), limit=5)


async def test_whoever_asks_after_it_left_waits_for_the_next(monkeypatch):
    monkeypatch.setattr(archives, "RESERVE_S", ALL_BUT_AN_INSTANT_S)
    late = LazyArchive()
    late.arrive(Opened())
    late.depart()
    with anyio.fail_after(PATIENCE_S), pytest.raises(RecallUnavailable, match="still being loaded"):
        await late.latest((), limit=5)


async def test_a_handler_is_given_the_archive_and_the_event():
    late = LazyArchive()
    late.arrive(Found())
    plain = late.handler(lambda archive, event: (type(archive).__name__, event))
    waiting = late.handler(lambda archive, event: archive.recall(event))
    assert await plain("e") == ("Found", "e")
    assert (await waiting("e")).mode == "text"


@pytest.fixture
def told():
    with emitted(fell_back) as heard:
        yield heard


async def test_each_search_by_less_than_all_is_told(told):
    late, found = LazyArchive(), Found()
    found.degraded = "embedder.changed"
    late.arrive(found)
    await late.recall("x")
    assert told == [("embedder", {"to": "text", "reason": "changed"})]


async def test_each_search_without_anything_to_search_in_is_told(told):
    late = LazyArchive()
    late.fail("the disk is full")
    with anyio.fail_after(PATIENCE_S), pytest.raises(RecallUnavailable):
        await late.recall("x")
    assert told == [("search", {"to": "none", "reason": "unavailable"})]


ASKED = Query(text="when does the quartzite key rotate?", scopes=(HERE,))


@pytest.fixture
async def bench(tmp_path):
    """An archive with one memory, of which SQL knows already."""
    async with opened_desk(tmp_path) as bench:
        await bench.keep("The quartzite deploy key rotates on the first Monday of each month")
        await bench.archive.sql_index.fill()
        yield bench


def found(recalled):
    return [hit.memory.content[:13] for hit in recalled.hits]


async def test_sql_answers_while_the_index_is_still_being_loaded(bench, told):
    late = LazyArchive()
    late.open(bench.archive)
    with emitted(degraded) as heard, anyio.fail_after(4) as scope:
        recalled = await late.recall(ASKED)
    assert not scope.cancelled_caught
    assert found(recalled) == ["The quartzite"]
    assert recalled.degraded == "index.loading"
    assert told == [("index", {"to": "sql", "reason": "loading"})]
    assert heard == [("search", {"reason": "index.loading"})]


async def test_an_index_that_arrives_in_time_answers_itself(bench, told):
    late, answers = LazyArchive(), []
    late.open(bench.archive)

    async def ask():
        answers.append(await late.recall(ASKED))

    with anyio.fail_after(PATIENCE_S):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            late.arrive(bench.archive)
    assert [recalled.degraded for recalled in answers] == [None]
    assert (told, bench.archive.searched_by_sql) == ([], 0)


async def test_an_index_that_fails_is_replaced_by_sql_for_good(bench, told):
    late = LazyArchive()
    late.arrive(bench.archive)
    bench.archive.index._scope_indexes[HERE].table.ids = []  # as damage may leave it

    assert found(await late.recall(ASKED)) == ["The quartzite"]
    kept = await bench.keep("The feldspar key never rotates")
    assert bench.archive.index.count == 0
    again = await late.recall(Query(text="feldspar", scopes=(HERE,)))
    assert again.hits[0].memory.id == kept.memory.id
    assert told == [("index", {"to": "sql", "reason": "failed"})] * 2


class Redactor:
    def __init__(self):
        self.read = []

    def __call__(self, text, known):
        self.read.append(text)
        return text.replace("hunter2", "[password]")


def test_a_text_without_a_secret_is_read_once():
    redactor = Redactor()
    clean = RedactionCache(redactor)
    assert clean("plain") == clean("".join(["pl", "ain"])) == "plain"
    assert redactor.read == ["plain"]


def test_a_secret_is_taken_out_every_time():
    redactor = Redactor()
    clean = RedactionCache(redactor)
    assert clean("it is hunter2") == clean("it is hunter2") == "it is [password]"
    assert len(redactor.read) == 2


def test_it_remembers_a_bounded_number():
    redactor = Redactor()
    clean = RedactionCache(redactor, max_texts=2)
    for text in ("a", "b", "c", "c", "b", "a"):
        clean(text)
    assert redactor.read == ["a", "b", "c", "a"]
