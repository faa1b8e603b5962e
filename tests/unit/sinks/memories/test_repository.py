"""The archive on a real store: what it acknowledges is found, and what it forgets is gone."""

import sys
import threading

import anyio
import anyio.to_thread
import pytest
from msgspec.structs import replace

from subcog.bus.events import (
    ContextBuilt,
    ForgetRequested,
    MemoriesShown,
    MemoriesStored,
    MemoryForgotten,
)
from subcog.bus.prompts import InjectedMemory, MemoryContext
from subcog.bus.signals import degraded
from subcog.bus.values import Query, Shown
from subcog.sinks.models import cross_encoder
from subcog.sinks.models.analyzer import Analyzer, text_encoding
from subcog.sinks.store.errors import StoreUnavailable
from tests.archives import Bench, make_archive, opened_desk
from tests.emissions import emitted
from tests.fakes import make_classified, make_memory, make_parsed, make_prompt
from tests.stores import ELSEWHERE, HERE, FakeClock
from tests.waiting import PATIENCE_S, until

TEXT = "The quartzite deploy key rotates on the first Monday of each month"
OTHER = "Alembic migrations are written by hand for server defaults"


@pytest.fixture
async def bench(tmp_path):
    async with opened_desk(tmp_path) as bench:
        yield bench


async def forget(bench, memory_id, scopes=(HERE,)):
    event = ForgetRequested(trace="t", id=memory_id, scopes=scopes)
    return await bench.publish(await bench.archive.forget(event))


def files_with(folder, text):
    return [f.name for f in folder.rglob("*") if f.is_file() and text.encode() in f.read_bytes()]


async def test_what_was_kept_is_found_after_opening_again(tmp_path):
    async with opened_desk(tmp_path) as bench:
        kept = (await bench.keep(TEXT, tags=("ops",))).memory
        old = (await bench.keep(OTHER)).memory
        await bench.keep("Alembic writes the migrations itself", supersedes=old.id)
    async with opened_desk(tmp_path) as bench:
        assert (await bench.find("quartzite"))[0] == kept.id
        assert old.id not in await bench.find("Alembic migrations")
        assert bench.archive.count == 2
        await bench.archive.build_topics()
        assert bench.archive.topics.lookup("ops", (HERE,)) == (kept.id,)


async def test_forgetting_takes_a_memory_out_of_search_topics_and_store(bench):
    kept = (await bench.keep(TEXT, tags=("ops",))).memory
    assert (await forget(bench, kept.id)).found
    assert await bench.find("quartzite") == []
    assert bench.archive.topics.lookup("ops", (HERE,)) == ()
    assert await bench.archive.store.history(kept.id, [HERE]) == ()


async def test_what_is_forgotten_is_not_found_any_more_when_that_is_answered(bench):
    settled = await bench.keep(TEXT)
    assert await bench.find("quartzite") == [settled.memory.id]
    event = ForgetRequested(trace="t", id=settled.memory.id, scopes=(HERE,))
    committed = await bench.archive.forget(event)
    assert await bench.find("quartzite") == [], "before anybody heard of it"
    memory = settled.memory
    late = MemoriesStored(trace="t", stored=((memory, bench.archive.encoder.encode(memory)),))
    await bench.archive.index_stored(late)
    assert await bench.find("quartzite") == [], "what was committed before is told later"
    await bench.publish(committed)
    again = (await bench.keep(TEXT)).memory
    assert await bench.find("quartzite") == [again.id]


async def test_what_changed_since_it_was_read_is_not_forgotten(bench):
    read = (await bench.keep(TEXT)).memory
    event = ForgetRequested(trace="t", id=read.id, scopes=(HERE,), version=read.version)
    now = (await bench.keep(TEXT)).memory
    assert (now.id, now.version) == (read.id, 2)
    assert not (await bench.publish(await bench.archive.forget(event))).found
    assert await bench.find("quartzite") == [read.id]
    event = replace(event, version=now.version)
    assert (await bench.publish(await bench.archive.forget(event))).found


async def test_without_an_index_what_is_stored_and_forgotten_is_counted(tmp_path):
    clock = FakeClock()
    archive = make_archive(tmp_path, clock)
    archive.without_index = "index.off"
    await archive.open()
    try:
        bench = Bench(archive, clock)
        kept = (await bench.keep(TEXT)).memory
        await bench.keep(OTHER)
        assert archive.count == 2
        await forget(bench, kept.id)
        assert archive.count == 1
    finally:
        await archive.close()


async def test_where_the_index_is_dropped_the_memories_are_still_counted(bench):
    await bench.keep(TEXT)
    bench.archive.drop_index(LookupError())
    assert bench.archive.count == 1
    await bench.keep(OTHER)
    assert bench.archive.count == 2


async def test_only_who_may_read_a_memory_may_forget_it(bench):
    kept = (await bench.keep(TEXT)).memory
    assert not (await forget(bench, kept.id, (ELSEWHERE,))).found
    assert not (await forget(bench, "mem_missing")).found
    assert await bench.find("quartzite") == [kept.id]
    assert not bench.archive.store.database.needs_compaction


async def test_a_forgotten_text_is_nowhere_on_disk_after_compacting(bench, tmp_path):
    first = (await bench.keep(TEXT)).memory
    await bench.keep(f"{TEXT}, or the second", revises=first.id)
    await bench.keep(OTHER)
    await bench.archive.store.checkpoint()
    assert files_with(tmp_path, "quartzite")
    await forget(bench, first.id)
    assert bench.archive.store.database.needs_compaction
    await bench.archive.compact()
    assert files_with(tmp_path, "quartzite") == []
    assert files_with(tmp_path, "Alembic")
    assert not bench.archive.store.database.needs_compaction


async def test_a_compaction_that_was_due_is_still_due_for_the_next_daemon(tmp_path):
    async with opened_desk(tmp_path) as bench:
        await forget(bench, (await bench.keep(TEXT)).memory.id)
    async with opened_desk(tmp_path) as bench:
        assert bench.archive.store.database.needs_compaction
        await bench.archive.compact()
    assert files_with(tmp_path, "quartzite") == []


async def test_what_went_into_a_context_is_counted(bench):
    kept = (await bench.keep(TEXT)).memory
    shown = InjectedMemory(id=kept.id, namespace="decisions", content_preview="", score=0.9)
    built = ContextBuilt(
        trace="t",
        classified=make_classified(),
        context=MemoryContext(search_intent_detected=True, injected_memories=(shown,)),
        text="x",
        tokens=1,
    )
    await bench.archive.count_uses(built)
    await bench.archive.count_uses(built)
    rehearsed = make_classified(parsed=make_parsed(make_prompt(rehearsal=True)))
    await bench.archive.count_uses(replace(built, classified=rehearsed))
    usage = (await bench.archive.store.usage([kept.id]))[kept.id]
    assert usage.times_injected == 2
    assert usage.last_used == bench.clock.now


async def test_what_was_shown_at_another_moment_is_counted_too(bench):
    kept = (await bench.keep(TEXT)).memory
    one = Shown(memory_id=kept.id, score=0.9, why="names the file")
    await bench.archive.count_shown(
        MemoriesShown(trace="t", session="s", hook="PostToolUse", shown=(one,))
    )
    assert (await bench.archive.store.usage([kept.id]))[kept.id].times_injected == 1


async def test_a_memory_is_found_by_the_file_that_it_names_until_it_is_forgotten(tmp_path):
    async with opened_desk(tmp_path) as bench:
        kept = (await bench.keep("src/auth/jwt.py stays pure")).memory
        (found,) = await bench.archive.naming("jwt.py", (HERE,))
        assert found.id == kept.id
        assert await bench.archive.naming("jwt.py", (ELSEWHERE,)) == ()
    async with opened_desk(tmp_path) as bench:
        assert await bench.archive.naming("jwt.py", (HERE,)) == ()
        await bench.archive.build_topics()
        assert len(await bench.archive.naming("jwt.py", (HERE,))) == 1
        await forget(bench, kept.id)
        assert await bench.archive.naming("jwt.py", (HERE,)) == ()


async def test_what_is_forgotten_while_its_topics_are_noted_is_not_noted(bench):
    memories = [make_memory(number, "the walrus migration") for number in range(40)]
    stored = tuple((memory, text_encoding(memory.content, Analyzer())) for memory in memories)
    gone = MemoryForgotten(trace="t", id=memories[0].id, scope=memories[0].scope)
    free = threading.Event()
    limiter = anyio.to_thread.current_default_thread_limiter()
    async with anyio.create_task_group() as group:
        for _ in range(int(limiter.total_tokens)):
            group.start_soon(anyio.to_thread.run_sync, free.wait, PATIENCE_S)
        await until(lambda: not limiter.available_tokens)
        group.start_soon(bench.archive.mentions.note, MemoriesStored(trace="t", stored=stored))
        await until(lambda: limiter.statistics().tasks_waiting)
        bench.archive.mentions.drop(gone)
        free.set()
    assert memories[1].id in bench.archive.topics
    assert memories[0].id not in bench.archive.topics


async def test_only_what_several_memories_are_about_is_a_subject(bench):
    for text in ("quartzite is cut wet", "quartzite is heavy", "marble stains"):
        await bench.keep(text, namespace="learnings")
    subjects = await bench.archive.subjects((HERE,), limit=10)
    assert "quartzite" in subjects
    assert "marble" not in subjects


async def test_the_store_can_be_read_before_the_index_is_filled(tmp_path):
    async with opened_desk(tmp_path) as bench:
        kept = (await bench.keep(TEXT)).memory
    counts = []
    archive = make_archive(tmp_path, bench.clock)
    try:
        await archive.open(lambda: counts.append(archive.index.count))
        assert (counts, archive.index.count) == ([0], 1)
        assert [memory.id for memory in await archive.latest((HERE,), limit=5)] == [kept.id]
    finally:
        await archive.close()


async def test_a_store_that_cannot_be_opened_says_so(tmp_path):
    (tmp_path / "subcog.duckdb").write_bytes(b"this is no database" * 1000)
    with pytest.raises(StoreUnavailable):
        async with opened_desk(tmp_path):
            pass


async def test_without_a_model_memories_are_kept_and_found_by_text(bench):
    bench.archive.encoder.embedder = None
    bench.archive.index.embedder = None
    kept = (await bench.keep(TEXT, explicit=False)).memory
    assert await bench.find("quartzite") == [kept.id]


async def test_a_store_that_cannot_be_read_is_let_go_of(tmp_path, monkeypatch):
    async with opened_desk(tmp_path) as bench:
        await bench.keep(TEXT)
        database = bench.archive.store.database.path
        await bench.archive.close()

        async def unreadable():
            raise StoreUnavailable("damaged", "a block is damaged")
            yield

        monkeypatch.setattr(bench.archive.store, "load", unreadable)
        with pytest.raises(StoreUnavailable):
            await bench.archive.open()
        # Another process may open it, as the doctor does.
        opens = f"import duckdb; duckdb.connect({str(database)!r}).close()"
        await anyio.run_process([sys.executable, "-c", opens])


async def test_questions_are_read_from_when_there_is_a_reader(bench):
    await bench.keep(TEXT)
    asked = Query(text="quartzite key", scopes=(HERE,), asked="When does the quartzite key rotate?")
    (before,) = (await bench.archive.recall(asked)).hits
    await bench.archive.load_reranker()
    (after,) = (await bench.archive.recall(asked)).hits
    assert before.by_words is None
    assert after.by_words == before.relevance
    assert after.relevance != before.relevance


async def test_without_a_reader_words_alone_decide_and_it_is_told(bench, monkeypatch, caplog):
    cross_encoder._bundled.cache_clear()
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    await bench.keep(TEXT)
    with emitted(degraded) as told:
        await bench.archive.load_reranker()
        await bench.archive.load_reranker()
    assert told == [("reranker", {"reason": "reranker.unavailable"})]
    assert "a cross-encoder cannot be loaded" in caplog.messages
    asked = Query(text="quartzite key", scopes=(HERE,), asked="When does the quartzite key rotate?")
    (hit,) = (await bench.archive.recall(asked)).hits
    assert hit.by_words is None


async def test_every_memory_has_its_topics_even_if_others_were_forgotten_before(tmp_path):
    """What was deleted leaves gaps in the table, and rows may move when the log is written."""
    async with opened_desk(tmp_path) as bench:
        kept = [(await bench.keep(f"{TEXT} {number}", tags=("ops",))).memory for number in range(8)]
        await forget(bench, kept[0].id)
        await bench.keep(f"{TEXT} revised", revises=kept[1].id, tags=("ops",))
    async with opened_desk(tmp_path) as bench:
        await bench.archive.build_topics()
        about = bench.archive.topics.lookup("ops", (HERE,))
        assert sorted(about) == sorted(memory.id for memory in kept[1:])
        assert bench.archive.topics.memories == bench.archive.count == 7


async def test_topics_that_the_first_reading_missed_are_read_again(tmp_path, monkeypatch):
    async with opened_desk(tmp_path) as bench:
        kept = [(await bench.keep(f"{TEXT} {number}", tags=("ops",))).memory for number in range(3)]
    async with opened_desk(tmp_path) as bench:
        whole = bench.archive.store.current

        async def one_less():
            async for memories in whole():
                yield memories[1:]

        monkeypatch.setattr(bench.archive.store, "current", one_less)
        await bench.archive.build_topics()
        assert len(bench.archive.topics.lookup("ops", (HERE,))) == len(kept)


async def test_an_index_is_filled_in_many_parts(tmp_path, monkeypatch):
    monkeypatch.setattr("subcog.sinks.memories.repository._FILL_ROWS", 2)
    monkeypatch.setattr("subcog.sinks.store.store._BATCH_ROWS", 1)
    async with opened_desk(tmp_path) as bench:
        kept = {(await bench.keep(f"{TEXT} {number}")).memory.id for number in range(7)}
    async with opened_desk(tmp_path) as bench:
        assert set(await bench.find("quartzite")) == kept


async def test_what_is_superseded_while_the_topics_are_filled_stays_out(tmp_path, monkeypatch):
    async with opened_desk(tmp_path) as bench:
        old = (await bench.keep(TEXT, tags=("ops",))).memory
        gone = (await bench.keep(OTHER, tags=("ops",))).memory
        whole = bench.archive.store.current

        async def read_before():
            read = [memories async for memories in whole()]
            await bench.keep("Keys rotate daily", supersedes=old.id)
            await forget(bench, gone.id)
            for memories in read:
                yield memories

        monkeypatch.setattr(bench.archive.store, "current", read_before)
        await bench.archive.build_topics()
        assert bench.archive.topics.lookup("ops", (HERE,)) == ()


# --- what memories warn of -----------------------------------------------------------------------


async def warned_of(bench, key):
    return {memory.id for memory in await bench.archive.warning([key], (HERE,))}


@pytest.fixture
async def stored(tmp_path):
    """The ids of five memories that lie in the store."""
    async with opened_desk(tmp_path) as bench:
        return [(await bench.keep(f"{TEXT} number-{n}")).memory.id for n in range(5)]


@pytest.fixture
def _few_at_once(monkeypatch):
    monkeypatch.setattr("subcog.sinks.memories.mention_indexes._READ_AT_ONCE", 2)
    monkeypatch.setattr("subcog.sinks.memories.mention_indexes._UNREAD", 2)


@pytest.mark.usefixtures("_few_at_once")
async def test_what_many_memories_warn_of_is_read_later_and_known_at_the_next_start(
    tmp_path, stored
):
    for known in (2, 5):
        async with opened_desk(tmp_path) as bench:
            await bench.archive.read_warnings()  # they are not filled, so nothing is read
            await bench.archive.build_topics()
            assert len(await warned_of(bench, "quartzite")) == known
            await bench.archive.read_warnings()
            assert await warned_of(bench, "quartzite") == set(stored)


@pytest.mark.usefixtures("_few_at_once")
async def test_what_is_forgotten_or_corrected_before_it_is_read_stays_so(tmp_path, stored):
    async with opened_desk(tmp_path) as bench:
        await bench.archive.build_topics()
        gone, corrected = stored[-1], stored[-2]
        await forget(bench, gone)
        await bench.keep(TEXT.replace("quartzite", "granite"), revises=corrected)
        await bench.archive.read_warnings()
        assert await warned_of(bench, "quartzite") == set(stored[:-2])
        assert await warned_of(bench, "granite") == {corrected}
    assert files_with(tmp_path, "number-0")
    assert "keys.jsonl" not in files_with(tmp_path, "number-4")


@pytest.mark.usefixtures("_few_at_once")
async def test_where_the_store_fails_the_rest_is_read_when_it_is_asked_for_again(
    tmp_path, stored, monkeypatch
):
    async with opened_desk(tmp_path) as bench:
        await bench.archive.build_topics()
        with monkeypatch.context() as broken:
            broken.setattr(bench.archive.store, "get", fail)
            await bench.archive.read_warnings()
        await bench.archive.read_warnings()
        assert await warned_of(bench, "quartzite") == set(stored)


async def fail(*_):
    raise StoreUnavailable("closed", "it is being opened again")
