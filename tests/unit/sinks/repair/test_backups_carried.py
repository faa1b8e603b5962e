from __future__ import annotations

from datetime import timedelta

import anyio.to_thread
import pytest
from msgspec.structs import replace

from subcog.sinks.passages.archive import Bounds, PassageArchive
from subcog.sinks.repair.backups import (
    Returning,
    carry_over,
    count_returning,
    read_buried,
    read_buried_file,
)
from subcog.sinks.store.database import Database
from subcog.sinks.store.errors import StoreUnavailable, unavailable
from tests.stores import HERE, START, FakeClock, make_row, opened
from tests.teams import ORG, join
from tests.unit.sinks.passages.conftest import HERE as TALKED_HERE
from tests.unit.sinks.passages.conftest import IDLE, RETRIES, talk
from tests.unit.sinks.passages.conftest import NOW as TALKED

NOW = START + timedelta(days=40)
RULE = "Always run the migrations first"
IDS = [make_row(number).memory.id for number in range(6)]


@pytest.fixture
def copy(tmp_path):
    return tmp_path / "copy.duckdb"


@pytest.fixture
async def store(tmp_path, copy):
    """A store of which a backup was made, before two of its memories were forgotten."""
    async with opened(tmp_path / "s.duckdb", FakeClock()) as store:
        await store.put([make_row(1, content=RULE), make_row(2), make_row(3)])
        await store.forget(IDS[3], [HERE])
        await store.backup(copy)
        await store.forget(IDS[1], [HERE])
        await store.put([make_row(4, content="it came and went")])
        await store.forget(IDS[4], [HERE])
        yield store


async def carried(store, copy, **how):
    buried = await store.read(read_buried)
    counted = await anyio.to_thread.run_sync(lambda: count_returning(copy, buried, NOW))
    done = await anyio.to_thread.run_sync(lambda: carry_over(copy, buried, NOW, **how))
    assert done == replace(counted, there=0)
    return done


async def test_what_was_forgotten_since_is_forgotten_in_the_copy_and_out_of_its_bytes(store, copy):
    assert RULE.encode() in copy.read_bytes()
    assert await carried(store, copy, bring_back=False) == Returning(1, 0)

    assert RULE.encode() not in copy.read_bytes()
    async with opened(copy) as restored:
        assert [m.id for m in await restored.latest([HERE], limit=9)] == [IDS[2]]
        for text in (RULE, "it came and went", make_row(3).memory.content):
            assert restored.is_forgotten(text, HERE)
        assert await restored.put([make_row(number) for number in (1, 3, 4)]) == (False,) * 3
    assert await carried(store, copy, bring_back=False) == Returning(0, 0)


async def test_a_copy_that_could_not_be_compacted_is_at_the_next_attempt(store, copy, monkeypatch):
    def full(database):
        raise unavailable("full", database.path)

    with monkeypatch.context() as patched:
        patched.setattr(Database, "compact", full)
        with pytest.raises(StoreUnavailable):
            await carried(store, copy, bring_back=False)
    assert RULE.encode() in copy.read_bytes()

    assert await carried(store, copy, bring_back=False) == Returning(0, 0)
    assert RULE.encode() not in copy.read_bytes()
    assert list(copy.parent.glob(f"{copy.name}.un*")) == []


async def test_what_is_brought_back_is_there_and_no_longer_forgotten(store, copy):
    assert await carried(store, copy, bring_back=True) == Returning(1, 0)

    async with opened(copy) as restored:
        assert {m.id for m in await restored.latest([HERE], limit=9)} == {IDS[1], IDS[2]}
        assert not restored.is_forgotten(RULE, HERE)
        assert restored.is_forgotten("it came and went", HERE)


async def test_the_same_text_under_another_id_of_the_backup_is_found(store, copy, tmp_path):
    async with opened(copy) as backup:
        await backup.put([make_row(5, content=f"**{RULE}!**")])
    assert (await carried(store, copy, bring_back=False)).memories == 2

    async with opened(copy) as restored:
        assert await restored.get([IDS[5]], [HERE]) == ()


async def test_what_is_alive_here_stays_although_another_with_its_text_was_forgotten(tmp_path):
    async with opened(tmp_path / "s.duckdb", FakeClock()) as store:
        await store.put([make_row(1, content=RULE), make_row(2, content=RULE.upper())])
        await store.backup(tmp_path / "copy.duckdb")
        await store.forget(IDS[1], [HERE])
        done = await carried(store, tmp_path / "copy.duckdb", bring_back=False)
    assert done.memories == 1
    async with opened(tmp_path / "copy.duckdb") as restored:
        assert [m.id for m in await restored.latest([HERE], limit=9)] == [IDS[2]]


async def test_a_wish_since_then_counts_more_than_an_older_tombstone(tmp_path):
    copy = tmp_path / "copy.duckdb"
    async with opened(tmp_path / "s.duckdb", FakeClock()) as store:
        await store.put([make_row(1, content=RULE)])
        await store.forget(IDS[1], [HERE])
        await store.backup(copy)
        await store.put([make_row(2, content=RULE)], wanted=True)
        assert await carried(store, copy, bring_back=False) == Returning(0, 0, newer=1)
    async with opened(copy) as restored:
        assert not restored.is_forgotten(RULE, HERE)


async def test_the_team_is_told_of_what_was_forgotten_without_it(tmp_path):
    copy = tmp_path / "copy.duckdb"
    async with opened(tmp_path / "s.duckdb", FakeClock()) as store:
        await join(store)
        await store.put([make_row(1, scope=ORG)])
        await store.backup(copy)
        await store.forget(IDS[1], [ORG])
        await carried(store, copy, bring_back=False)
    async with opened(copy) as restored:
        waiting = await restored.replica.outbox(limit=9)
        assert [(each.id, each.version) for each in waiting] == [(IDS[1], 0)]


@pytest.mark.parametrize("bring_back", [False, True])
async def test_passages_that_were_forgotten_since_stay_so_too(tmp_path, bring_back):
    copy = tmp_path / "copy.duckdb"
    async with opened(tmp_path / "s.duckdb", FakeClock(TALKED)) as store:
        archive = PassageArchive(store, bounds=Bounds(90, 1000), floor=0.5, clock=lambda: TALKED)
        await archive.open(None)
        said = talk(RETRIES)
        await archive.add(said)
        await store.backup(copy)
        await archive.forget_session(TALKED_HERE, said[0].session)
        done = await carried(store, copy, bring_back=bring_back)
    assert done == Returning(0, len(said))
    async with opened(copy, FakeClock(TALKED)) as restored:
        archive = PassageArchive(restored, bounds=Bounds(90, 1000), floor=0.5, clock=lambda: TALKED)
        await archive.open(None)
        assert archive.count == (len(said) if bring_back else 0)
        assert await archive.add(said) == 0


async def test_a_forgotten_span_takes_the_same_sessions_from_a_copy(tmp_path):
    copy = tmp_path / "copy.duckdb"
    since, until = TALKED - timedelta(days=11), TALKED - timedelta(days=9)
    async with opened(tmp_path / "s.duckdb", FakeClock(TALKED)) as store:
        archive = PassageArchive(store, bounds=Bounds(90, 1000), floor=0.5, clock=lambda: TALKED)
        await archive.open(None)
        await archive.add([*talk(RETRIES, days_ago=20), *talk(IDLE)])  # goes on in the span
        await archive.add([*talk(RETRIES, "s2"), *talk(IDLE, "s2", days_ago=5)])
        await store.backup(copy)
        assert await archive.forget_span(TALKED_HERE, since, until) == 8
        assert await carried(store, copy, bring_back=False) == Returning(0, 8)
    async with opened(copy, FakeClock(TALKED)) as restored:
        archive = PassageArchive(restored, bounds=Bounds(90, 1000), floor=0.5, clock=lambda: TALKED)
        await archive.open(None)
        kept = await archive.list([TALKED_HERE], limit=9)
        assert [(each.session, each.passages) for each in kept] == [("s1", 8)]


async def test_a_database_that_is_closed_or_missing_or_ruined_is_read_as_far_as_it_can_be(tmp_path):
    path = tmp_path / "s.duckdb"
    assert read_buried_file(path).ids == {}
    async with opened(path) as store:
        await store.put([make_row(1), make_row(2)])
        await store.forget(IDS[1], [HERE])
    buried = read_buried_file(path)
    assert (set(buried.ids), buried.alive, len(buried.texts)) == ({IDS[1]}, {IDS[2]}, 1)
    path.write_bytes(b"no database")
    assert read_buried_file(path) is None
    path.unlink()
    assert read_buried_file(path) is None, "there was one"
