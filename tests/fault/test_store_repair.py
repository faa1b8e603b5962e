"""A database that cannot be opened as it is: what is wrong is said, and what can be saved is."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import anyio
import anyio.to_thread
import duckdb
import pytest

from subcog.sinks.memories.use_log import UseLog, count_nothing
from subcog.sinks.passages.archive import Bounds, PassageArchive
from subcog.sinks.repair.kept_copies import note_backup
from subcog.sinks.repair.repair import Mended, diagnose, repair
from subcog.sinks.store.store import Usage
from subcog.sinks.store.uses import last_votes
from subcog.sinks.store.wal import wal_of
from tests.fault.ruins import break_column
from tests.stores import HERE, ME, START, FakeClock, make_row, opened
from tests.unit.sinks.passages.conftest import HERE as HERE_TALKED
from tests.unit.sinks.passages.conftest import NOW as TALKED
from tests.unit.sinks.passages.conftest import RETRIES, talk

ROWS = 1_500
NOW = START + timedelta(days=40)
FORGOTTEN = make_row(7).memory.id
USED = make_row(9).memory.id


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """A database of many memories, one of them forgotten, one changed, one used."""
    path = tmp_path_factory.mktemp("whole") / "s.duckdb"

    async def make() -> None:
        async with opened(path) as store:
            rows = [make_row(n, content=long_text(n)) for n in range(ROWS)]
            await store.put(rows)
            await store.put([make_row(3, version=2, content="the third says something else")])
            await store.put([make_row(ROWS, scope=ME)])
            await store.mark_used([USED])
            await UseLog(store, sum_up=count_nothing, clock=FakeClock()).vote([USED], "buried")
            await store.forget(FORGOTTEN, [HERE])

    anyio.run(make)
    return path.read_bytes()


def long_text(number: int) -> str:
    """So long that all of them together fill several blocks of the file."""
    return random.Random(number).randbytes(700).hex()


async def mend(path: Path) -> Sequence[Mended]:
    return await anyio.to_thread.run_sync(lambda: repair(path, now=NOW))


def reasons(path: Path) -> list[str]:
    return [problem.reason for problem in diagnose(path)]


def files(path: Path) -> set[str]:
    return {each.name for each in path.parent.iterdir()}


def test_nothing_is_wrong_with_a_whole_database_or_with_none(path, tmp_path):
    before = path.read_bytes()

    assert diagnose(path) == ()
    assert repair(path, now=NOW) == ()
    assert diagnose(tmp_path / "none" / "s.duckdb") == ()
    assert path.read_bytes() == before


@pytest.mark.slow
async def test_a_bad_block_of_texts_costs_those_texts_alone(path):
    break_column(path, "body")
    before = path.read_bytes()
    [problem] = diagnose(path)
    assert (problem.reason, problem.repairable) == ("damaged", True)
    assert path.read_bytes() == before

    [mended] = await mend(path)

    assert 0 < mended.lost < ROWS / 2
    assert mended.kept_aside[0].read_bytes() == before
    assert str(mended.lost) in mended.done
    assert diagnose(path) == ()
    async with opened(path) as store:
        counts = await store.counts()
        assert sum(counts.values()) + mended.lost in {ROWS, ROWS + 1}
        assert await store.put([make_row(7)]) == (False,), "what was forgotten stays forgotten"


async def test_a_bad_block_of_vectors_costs_no_text(path):
    break_column(path, "words")

    [mended] = await mend(path)

    assert mended.lost == 0
    async with opened(path) as store:
        assert await store.put([make_row(ROWS + 9, content=f"**{long_text(7)}**")]) == (False,)
        assert (await store.counts())[HERE] == ROWS - 1
        assert (await store.usage([USED])) == {USED: Usage(1, FakeClock().now)}
        assert (await store.read(last_votes))[USED].kind == "buried"
        [third] = await store.get([make_row(3).memory.id], [HERE])
        assert third.content == "the third says something else"
        assert len(await store.history(third.id, [HERE])) == 2
    assert path.stat().st_mode & 0o777 == 0o600
    assert not [name for name in files(path) if name.startswith(".subcog-copy-")]


@pytest.mark.slow
async def test_what_was_said_in_sessions_is_saved_and_what_was_forgotten_of_it_stays_so(path):
    async with opened(path) as store:
        said = await archive_of(store)
        for name in ("kept", "gone"):
            await said.add(talk(RETRIES, name))
        await said.forget_session(HERE_TALKED, "gone")
    break_column(path, "body")

    await mend(path)

    async with opened(path) as store:
        said = await archive_of(store)
        assert [one.session for one in await said.list((HERE_TALKED,), limit=9)] == ["kept"]
        assert [one.text for one in await said.show(HERE_TALKED, "kept")] == [
            text for _, text in RETRIES
        ]
        assert await said.add(talk(RETRIES, "gone")) == 0


async def archive_of(store):
    bounds = Bounds(days=3_650, max_passages=1_000)
    archive = PassageArchive(store, bounds=bounds, floor=0.45, clock=FakeClock(TALKED))
    await archive.open(None)
    return archive


async def test_what_was_in_the_log_is_saved_too(path):
    async with opened(path) as store:
        await store.put([make_row(8_000)])
        for name in (path, wal_of(path)):
            (path.parent / f"crashed-{name.name}").write_bytes(name.read_bytes())
    for name in (path, wal_of(path)):
        (path.parent / f"crashed-{name.name}").replace(name)
    break_column(path, "words")

    [mended] = await mend(path)

    assert len(mended.kept_aside) == 2
    async with opened(path) as store:
        assert len(await store.get([make_row(8_000).memory.id], [HERE])) == 1


async def test_a_backup_fills_up_what_is_lost_and_brings_back_nothing_forgotten(tmp_path):
    path, backup = tmp_path / "s.duckdb", tmp_path / "backup.duckdb"
    rows = [make_row(n, content=random.Random(n).randbytes(2_000).hex()) for n in range(150)]
    async with opened(path) as store:
        await store.put(rows)
        await store.backup(backup)
        note_backup(path, backup)
        await store.forget(FORGOTTEN, [HERE])
        await store.put([make_row(900, content="said after the backup was made")])
    break_column(path, "body")

    [mended] = await mend(path)

    assert str(backup) in mended.done
    async with opened(path) as store:
        assert await store.counts() == {HERE: 149 + (1 - mended.lost)}
        assert not await store.get([FORGOTTEN], [HERE])


@pytest.mark.parametrize("loss", ["is empty", "was deleted"])
async def test_a_lost_file_gives_what_the_backup_and_the_log_hold(tmp_path, loss):
    path, backup = tmp_path / "s.duckdb", tmp_path / "backup.duckdb"
    async with opened(path) as store:
        await store.put([make_row(1)])
        await store.backup(backup)
        note_backup(path, backup)
        await store.put([make_row(2)])
        # under the process that has it open
        os.truncate(path, 0) if loss == "is empty" else os.unlink(path)

    [problem] = diagnose(path)
    assert (problem.reason, problem.repairable) == ("damaged", True)
    assert problem.seen.startswith(f"{path} {loss}")
    await mend(path)

    assert diagnose(path) == ()
    async with opened(path) as store:
        ids = [make_row(n).memory.id for n in (1, 2)]
        assert len(await store.get(ids, [HERE])) == 2


async def test_a_session_that_the_log_alone_says_is_forgotten_stays_so(tmp_path):
    path, backup = tmp_path / "s.duckdb", tmp_path / "backup.duckdb"
    said = talk(RETRIES)
    async with opened(path, FakeClock(TALKED)) as store:
        archive = await archive_of(store)
        await store.put([make_row(1)])
        await archive.add(said)
        await store.backup(backup)
        note_backup(path, backup)
        await archive.forget_session(said[0].scope, said[0].session)
        os.truncate(path, 0)  # under the process that has it open

    await mend(path)

    async with opened(path, FakeClock(TALKED)) as store:
        archive = await archive_of(store)
        assert archive.count == 0
        assert await archive.add(said) == 0


async def test_a_missing_file_without_backup_or_log_is_begun_anew_by_the_repair(tmp_path):
    path = tmp_path / "s.duckdb"
    async with opened(path) as store:
        await store.put([make_row(1)])
    note_backup(path, tmp_path / "a-backup-that-is-gone-too.duckdb")
    path.unlink()

    [mended] = await mend(path)

    assert mended.kept_aside == ()
    assert "; the file itself is gone" in mended.done
    assert diagnose(path) == ()
    async with opened(path) as store:
        assert await store.put([make_row(1)]) == (True,)


async def test_a_missing_file_without_a_backup_is_made_of_what_a_restore_replaced(tmp_path):
    path, aside = tmp_path / "s.duckdb", tmp_path / "s.duckdb.before-restore-20260101T000000"
    async with opened(path) as store:
        await store.put([make_row(1)])
    path.rename(aside)

    [mended] = await mend(path)

    assert str(aside) in mended.done
    async with opened(path) as store:
        assert await store.counts() == {HERE: 1}


async def test_what_a_killed_restore_had_set_aside_is_put_back_with_its_log(path):
    async with opened(path) as store:
        await store.put([make_row(8_000)])
        crashed = {file: file.read_bytes() for file in (path, wal_of(path))}
    path.unlink()
    aside = path.with_name("s.duckdb.before-restore-20260101T000000")
    for file, to in ((path, aside), (wal_of(path), wal_of(aside))):
        to.write_bytes(crashed[file])
    path.with_name("s.duckdb.restoring").write_bytes(b"a backup")
    assert reasons(path) == ["interrupted"]

    [mended] = await mend(path)

    assert mended.done == f"{path} was put back from {aside}"
    assert diagnose(path) == ()
    assert files(path) == {"s.duckdb", "s.duckdb.wal", "s.duckdb.tally"}
    async with opened(path) as store:
        assert len(await store.get([make_row(8_000).memory.id], [HERE])) == 1


async def test_an_emptied_file_without_backup_or_log_is_moved_away(tmp_path):
    path = tmp_path / "s.duckdb"
    async with opened(path) as store:
        await store.put([make_row(1)])
    os.truncate(path, 0)

    [mended] = await mend(path)

    [kept] = mended.kept_aside
    assert kept.stat().st_size == 0
    assert diagnose(path) == ()
    async with opened(path) as store:
        assert await store.put([make_row(1)]) == (True,)


def test_a_file_of_which_nothing_can_be_read_is_left_as_it_is(path):
    data = b"no database at all\n" * 1_000
    path.write_bytes(data)

    [problem] = diagnose(path)

    assert (problem.reason, problem.repairable) == ("damaged", False)
    assert "restore a backup" in problem.mend
    assert repair(path, now=NOW) == ()
    assert path.read_bytes() == data


def test_a_cut_log_is_repairable(path):
    wal_of(path).write_bytes(b"\x64\x00\x62\x65\x00\x02\xff\xff" + b"half a write")
    before = wal_of(path).read_bytes()
    assert reasons(path) == ["log"]

    [mended] = repair(path, now=NOW)

    assert mended.kept_aside[0].read_bytes() == before
    assert reasons(path) == []


async def test_a_log_without_its_database_is_kept_aside_and_not_deleted(path):
    path.unlink()
    wal_of(path).write_bytes(b"the last writes")
    assert reasons(path) == ["lost_file"]

    async with opened(path) as store:
        assert store.database.recovery.kept_aside.read_bytes() == b"the last writes"
        assert "without its database" in str(store.database.recovery)
    wal_of(path).unlink(missing_ok=True)
    path.unlink()
    wal_of(path).write_bytes(b"the last writes")
    [mended] = await mend(path)
    assert mended.kept_aside[0].read_bytes() == b"the last writes"


def test_what_a_killed_process_left_half_made_is_deleted(path):
    (path.parent / ".subcog-copy-x").mkdir()
    (path.parent / "s.duckdb.restoring").write_bytes(b"half a backup")
    (path.parent / "s.duckdb.restoring.wal.damaged-20261101T100000").write_bytes(b"its log")
    assert reasons(path) == ["leftovers"]

    repair(path, now=NOW)

    assert files(path) == {"s.duckdb"}


async def test_what_is_held_newer_or_foreign_is_said_and_not_touched(path):
    async with opened(path):
        [problem] = diagnose(path)
        assert (problem.reason, problem.repairable) == ("held", False)
        assert str(os.getpid()) in problem.seen
    with duckdb.connect(path) as connection:
        connection.execute("INSERT INTO migrations VALUES (77, now()::TIMESTAMP)")
    assert reasons(path) == ["newer"]
    path.unlink()
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE theirs (a INTEGER)")
    assert reasons(path) == ["foreign"]
    assert await mend(path) == ()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write")
def test_a_permission_that_was_taken_away_is_given_back(path):
    path.chmod(0o400)
    [problem] = diagnose(path)
    assert (problem.reason, problem.repairable) == ("read_only", True)

    repair(path, now=NOW)

    assert path.stat().st_mode & 0o777 == 0o600
