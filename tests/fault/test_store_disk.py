"""The disk is full, or may not be written."""

from __future__ import annotations

import os
import random
import resource
import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from subcog.bus.values import Scope
from subcog.sinks.store.store import StoreUnavailable
from tests.stores import HERE, make_row, make_store, opened


def heavy(number: int) -> object:
    """A row of 60 kB that does not compress."""
    return make_row(number, content=random.Random(number).randbytes(30_000).hex())


@pytest.fixture
def small_disk(tmp_path) -> Iterator[Path]:
    """A file system of 6 MB, where one can be mounted."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    done = mount and subprocess.run(
        [mount, "-t", "tmpfs", "-o", "size=6m,mode=0700", "tmpfs", str(disk)],
        check=False,
        capture_output=True,
    )
    if not done or done.returncode:
        pytest.skip("no file system can be mounted here")
    yield disk
    subprocess.run([shutil.which("umount"), str(disk)], check=True)


@pytest.fixture
def small_files() -> Iterator[None]:
    """No file may grow beyond 2 MB; what the system does about it is like a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    signal.signal(signal.SIGXFSZ, handler)


async def fill(store) -> tuple[list[int], StoreUnavailable]:
    """What was acknowledged before the disk was full, and the refusal."""
    acknowledged: list[int] = []
    for number in range(1_000):
        try:
            await store.put([heavy(number)])
        except StoreUnavailable as error:
            return acknowledged, error
        acknowledged.append(number)
    raise AssertionError("the disk was never full")


def numbers(memories) -> list[int]:
    return [int(memory.id.removeprefix("mem_")) for memory in memories]


async def test_a_full_disk_refuses_writes_and_loses_nothing(small_disk):
    ballast = small_disk / "ballast"
    async with opened(small_disk / "s.duckdb") as store:
        ballast.write_bytes(bytes(2_000_000))
        acknowledged, error = await fill(store)
        assert error.reason == "full"
        assert "Free some space" in str(error)
        ids = [heavy(number).memory.id for number in acknowledged]
        assert numbers(await store.get(ids, [HERE])) == acknowledged

        with pytest.raises(StoreUnavailable) as caught:
            await store.checkpoint()
        assert caught.value.reason == "full"
        assert numbers(await store.get(ids, [HERE])) == acknowledged

        ballast.unlink()
        assert await store.put([make_row(5_000)]) == (True,)
    async with opened(small_disk / "s.duckdb") as store:
        assert numbers(await store.get(ids, [HERE])) == acknowledged
        assert (await store.counts())[HERE] == len(acknowledged) + 1


async def test_a_file_that_may_not_grow_is_like_a_full_disk(tmp_path, small_files):
    async with opened(tmp_path / "s.duckdb") as store:
        acknowledged, error = await fill(store)
        assert error.reason == "full"
        assert (await store.counts())[HERE] == len(acknowledged) > 3


async def test_the_store_recovers_from_a_checkpoint_that_failed(tmp_path, small_files):
    """DuckDB gives the whole file up then; the store opens it anew for the next caller."""
    async with opened(tmp_path / "s.duckdb") as store:
        acknowledged, _ = await fill(store)
        with pytest.raises(StoreUnavailable) as caught:
            await store.checkpoint()
        assert caught.value.reason == "full"
        assert await store.counts() == {HERE: len(acknowledged)}
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))

        assert await store.put([make_row(5_000)]) == (True,)
        assert await store.counts() == {HERE: len(acknowledged) + 1}
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


async def test_a_backup_that_does_not_fit_names_its_own_disk(tmp_path, small_disk):
    (small_disk / "ballast").write_bytes(bytes(5_900_000))
    async with opened(tmp_path / "s.duckdb") as store:
        await store.put([heavy(number) for number in range(20)])
        with pytest.raises(StoreUnavailable, match=f"the disk of {small_disk} is full") as caught:
            await store.backup(small_disk / "backup.duckdb")
        assert caught.value.reason == "full"
        assert [file.name for file in small_disk.iterdir()] == ["ballast"]
        assert await store.put([make_row(5_000)]) == (True,)


async def test_one_write_that_does_not_fit_leaves_room_for_others(tmp_path, small_files):
    async with opened(tmp_path / "s.duckdb") as store:
        with pytest.raises(StoreUnavailable):
            await store.put([heavy(number) for number in range(60)])

        assert await store.put([make_row(1)]) == (True,)
        assert await store.counts() == {Scope("project", HERE.id): 1}


@pytest.fixture
def read_only(tmp_path) -> Iterator[Path]:
    """A directory that this user, be it root, cannot write."""
    directory = tmp_path / "fixed"
    directory.mkdir(mode=0o700)
    if os.geteuid():
        directory.chmod(0o500)
        yield directory
        directory.chmod(0o700)
        return
    mount = ["mount", "-t", "tmpfs", "-o", "ro", "tmpfs", str(directory)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("no read-only directory can be made here")
    yield directory
    subprocess.run(["umount", str(directory)], check=True)


async def test_a_directory_that_cannot_be_written(read_only):
    for path in (read_only / "s.duckdb", read_only / "deeper" / "s.duckdb"):
        with pytest.raises(StoreUnavailable) as caught:
            await make_store(path).open()
        assert caught.value.reason == "read_only"
        assert "write permission" in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write")
async def test_a_file_that_cannot_be_written(tmp_path):
    path = tmp_path / "s.duckdb"
    async with opened(path):
        pass
    path.chmod(0o400)

    with pytest.raises(StoreUnavailable) as caught:
        await make_store(path).open()
    assert caught.value.reason == "read_only"


async def test_a_full_disk_at_the_first_opening(small_disk):
    (small_disk / "ballast").write_bytes(bytes(6 * 1024 * 1024))

    with pytest.raises(StoreUnavailable) as caught:
        await make_store(small_disk / "s.duckdb").open()

    assert caught.value.reason == "full"
