"""Restoring a backup where something goes wrong in the middle, and imports that say odd things."""

from datetime import UTC, datetime
from errno import EIO

import anyio
import duckdb
import pytest

from subcog.bus.events import CaptureRequested
from subcog.bus.values import Place, Query, Scope
from subcog.pipeline.api import transfer as backups
from subcog.pipeline.api.params import ImportParams
from subcog.pipeline.imports.item import Item
from subcog.sinks.repair import kept_copies
from subcog.sinks.store.wal import wal_of
from subcog.stages.ports import RecallUnavailable
from tests.apps import opened
from tests.stores import HERE, make_row
from tests.waiting import PATIENCE_S


async def capture(app, number):
    request = CaptureRequested(
        trace=f"t{number}", id=make_row(number).memory.id, text=f"Fact number {number}", scope=HERE
    )
    with anyio.fail_after(PATIENCE_S):
        assert (await app.captures.capture(request)).kept.outcome == "stored"


async def contents(app):
    archive = await app.archive.get()
    return [memory.content for memory in await archive.store.page([HERE], limit=100)]


async def test_where_the_backup_does_not_come_up_the_old_database_is_back(tmp_path, monkeypatch):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        await app.archive.loaded.store.backup(tmp_path / "b.duckdb")
        await capture(app, 2)
        load, left = app.load, [1]

        async def load_but_not_the_first_time():
            if left:
                left.pop()
                app.paths.database.with_name(app.paths.database.name + ".wal").write_bytes(b"odd")
                app.archive.fail("it is not to be")
            else:
                await load()

        monkeypatch.setattr(app, "load", load_but_not_the_first_time)
        with pytest.raises(backups.BadBackup, match=r"what was there is back.*it is not to be"):
            await backups.restore(app, tmp_path / "b.duckdb")
        assert await contents(app) == ["Fact number 1", "Fact number 2"]
        assert sorted(path.name for path in app.paths.data.glob("*restor*")) == []


async def test_a_file_that_is_no_backup_is_told_as_one(tmp_path):
    file = tmp_path / "notes.duckdb"
    file.write_text("milk, eggs")
    async with opened(tmp_path) as app:
        with pytest.raises(backups.BadBackup) as refused:
            await backups.restore(app, file)
    assert str(refused.value).startswith(f"{file} is no backup of subcog, or damaged.")
    assert "doctor" not in str(refused.value)


async def test_a_refused_backup_leaves_nothing_of_its_torn_log(tmp_path):
    file = tmp_path / "theirs.duckdb"
    theirs = duckdb.connect(file)
    theirs.execute("PRAGMA disable_checkpoint_on_shutdown")
    theirs.execute("CREATE TABLE theirs (a INTEGER)")
    theirs.close()
    with wal_of(file).open("ab") as log:
        log.write(b"torn")
    async with opened(tmp_path) as app:
        with pytest.raises(backups.BadBackup, match="is no backup of subcog"):
            await backups.restore(app, file)
        assert sorted(path.name for path in app.paths.data.glob("*restor*")) == []


async def test_a_backup_that_cannot_be_looked_at_is_refused(tmp_path):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        with pytest.raises(backups.BadBackup, match="cannot be copied"):
            await backups.restore(app, tmp_path / ("b" * 300))


async def test_who_asks_during_the_swap_waits_for_what_comes(tmp_path, monkeypatch):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        await app.archive.loaded.store.backup(tmp_path / "b.duckdb")
        await capture(app, 2)
        load, found = app.load, []

        async def load_while_somebody_asks():
            with pytest.raises(RecallUnavailable), anyio.move_on_after(0.05):
                await app.archive.get()
            tasks.start_soon(ask)
            await anyio.wait_all_tasks_blocked()
            await load()

        async def ask():
            found.extend(await contents(app))

        monkeypatch.setattr(app, "load", load_while_somebody_asks)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                restored = await backups.restore(app, tmp_path / "b.duckdb")
        assert found == ["Fact number 1"]
        assert restored.memories == 1


async def test_what_is_still_being_read_after_a_start_is_no_failure_once_it_is_replaced(
    tmp_path, monkeypatch
):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        archive = app.archive.loaded
        await archive.store.backup(tmp_path / "b.duckdb")
        load = archive.uses.load

        async def load_after_a_restore():
            await backups.restore(app, tmp_path / "b.duckdb")
            await load()

        monkeypatch.setattr(archive.uses, "load", load_after_a_restore)
        await app.build_topics()
        assert app.archive.loaded is not archive
        assert await contents(app) == ["Fact number 1"]


async def test_after_a_restore_questions_are_read_as_before(tmp_path):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        await app.archive.loaded.store.backup(tmp_path / "b.duckdb")
        await backups.restore(app, tmp_path / "b.duckdb")
        query = Query(text="fact number 1", scopes=(HERE,), asked="What is fact number 1?")
        (hit,) = (await app.archive.recall(query)).hits
        assert hit.by_words is not None


async def test_without_a_database_yet_nothing_is_kept_aside(tmp_path):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        await app.archive.loaded.store.backup(tmp_path / "b.duckdb")
        await app.unload()
        app.archive.depart()
        app.archive.fail("there is no database")
        app.paths.database.unlink()
        restored = await backups.restore(app, tmp_path / "b.duckdb")
        assert restored.kept_aside is None
        assert await contents(app) == ["Fact number 1"]


async def test_who_asks_what_was_forgotten_takes_no_copy_from_a_restore(tmp_path, monkeypatch):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        await app.archive.loaded.store.backup(tmp_path / "b.duckdb")
        check, left = backups._check, [1]

        async def check_while_somebody_asks(*checked):
            if left:
                left.pop()
                tasks.start_soon(ask)
                await anyio.wait_all_tasks_blocked()
            await check(*checked)

        async def ask():
            assert (await backups.count_forgotten(app, tmp_path / "b.duckdb")).here == 1

        monkeypatch.setattr(backups, "_check", check_while_somebody_asks)
        with anyio.fail_after(PATIENCE_S):
            async with anyio.create_task_group() as tasks:
                restored = await backups.restore(app, tmp_path / "b.duckdb")
        assert restored.memories == 1
        assert await contents(app) == ["Fact number 1"]


async def test_where_the_copy_has_gone_the_old_database_is_back(tmp_path, monkeypatch):
    async with opened(tmp_path) as app:
        await capture(app, 1)
        await app.archive.loaded.store.backup(tmp_path / "b.duckdb")
        await capture(app, 2)
        carry_over = backups._carry_over

        async def carry_over_and_lose(app, copy, bring_back):
            carried = await carry_over(app, copy, bring_back)
            copy.unlink()
            return carried

        monkeypatch.setattr(backups, "_carry_over", carry_over_and_lose)
        with pytest.raises(backups.BadBackup, match=r"what was there is back.*has gone"):
            await backups.restore(app, tmp_path / "b.duckdb")
        assert await contents(app) == ["Fact number 1", "Fact number 2"]
        assert sorted(path.name for path in app.paths.data.glob("*restor*")) == []


async def test_copies_that_cannot_be_looked_at_are_told_and_fail_nothing(tmp_path, monkeypatch):
    def fail(database):
        raise OSError(EIO, "Input/output error")

    monkeypatch.setattr(kept_copies, "find_copies", fail)  # a disk that fails is not to be had
    async with opened(tmp_path) as app:
        copies, unread = await backups.look_for_copies(app)
    assert copies == ()
    assert unread == "the copies of the database could not be looked at (Input/output error)"


async def test_nothing_that_is_imported_comes_from_the_future(tmp_path):
    soon = datetime(2999, 1, 1, tzinfo=UTC)
    item = Item(content="We deploy with ArgoCD", created_at=soon, updated_at=soon)
    async with opened(tmp_path) as app:
        place = Place(project=HERE, root="/srv/shop", user=Scope("user", "ana"))
        await backups.TransferCalls(app).import_items(ImportParams(items=(item,)), place)
        archive = await app.archive.get()
        [memory] = await archive.store.page([HERE], limit=100)
        assert memory.created_at == memory.updated_at <= app.clock()
