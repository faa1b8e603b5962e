import anyio
import pytest

from subcog.bus.events import ForgetRequested
from subcog.pipeline.app.lazy_archive import LazyArchive
from subcog.pipeline.daemon import daemon
from subcog.pipeline.daemon.daemon import compact_if_needed, compact_when_idle
from tests.archives import opened_desk
from tests.stores import HERE

TEXT = "The quartzite deploy key rotates on the first Monday of each month"


@pytest.fixture
async def bench(tmp_path):
    async with opened_desk(tmp_path) as bench:
        yield bench


@pytest.fixture
def late(bench):
    late = LazyArchive()
    late.arrive(bench.archive)
    return late


async def forget_one(bench):
    kept = (await bench.keep(TEXT)).memory
    await bench.archive.store.checkpoint()
    await bench.archive.forget(ForgetRequested(trace="t", id=kept.id, scopes=(HERE,)))


async def test_nothing_is_compacted_where_nothing_was_forgotten(bench, late):
    await bench.keep(TEXT)
    assert not await compact_if_needed(late)
    assert not await compact_if_needed(LazyArchive())


async def test_what_was_forgotten_leaves_the_disk(bench, late, tmp_path):
    await forget_one(bench)
    assert await compact_if_needed(late)
    assert b"quartzite" not in (tmp_path / "subcog.duckdb").read_bytes()
    assert not await compact_if_needed(late)


async def test_a_compaction_that_fails_is_tried_again(bench, late):
    await forget_one(bench)
    await bench.archive.store.close()
    assert not await compact_if_needed(late)
    assert bench.archive.needs_compaction


async def test_it_waits_until_nobody_asks_anything(bench, late, monkeypatch):
    monkeypatch.setattr(daemon, "CHECK_S", 0.001)
    await forget_one(bench)
    asked, done = [], anyio.Event()

    def quiet_s():
        asked.append(bench.archive.needs_compaction)
        if not asked[-1]:
            done.set()
        return 0.0 if len(asked) < 3 else daemon.QUIET_S

    with anyio.fail_after(30):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(lambda: compact_when_idle(late, quiet_s=quiet_s))
            await done.wait()
            tasks.cancel_scope.cancel()
    assert asked[:3] == [True, True, True]
