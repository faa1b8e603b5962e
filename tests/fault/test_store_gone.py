"""The file is deleted or replaced under the store: nothing is acknowledged into what is gone."""

from __future__ import annotations

import os

import pytest

from subcog.sinks.store.store import StoreUnavailable
from subcog.sinks.store.wal import wal_of
from tests.stores import HERE, make_row, opened


@pytest.mark.parametrize("gone", ["the file", "its log", "moved"])
async def test_what_is_gone_is_noticed_at_the_next_commit(tmp_path, gone):
    path = tmp_path / "s.duckdb"
    async with opened(path) as store:
        await store.put([make_row(1)])
        if gone == "moved":
            os.rename(path, tmp_path / "elsewhere.duckdb")
        else:
            os.unlink(path if gone == "the file" else wal_of(path))
        with pytest.raises(StoreUnavailable) as caught:
            await store.put([make_row(2)])
        assert caught.value.reason == "gone"
        assert "was not done" in str(caught.value)
        with pytest.raises(StoreUnavailable):
            await store.forget(make_row(1).memory.id, [HERE])
        with pytest.raises(StoreUnavailable):
            await store.checkpoint()


async def test_a_file_that_was_put_in_its_place_is_left_alone(tmp_path):
    path, other = tmp_path / "s.duckdb", tmp_path / "other.duckdb"
    async with opened(other) as store:
        await store.put([make_row(7)])
        crashed = [(path, other.read_bytes()), (wal_of(path), wal_of(other).read_bytes())]
    async with opened(path) as store:
        await store.put([make_row(1)])
        for file, data in crashed:
            file.unlink()
            file.write_bytes(data)
        with pytest.raises(StoreUnavailable):
            await store.put([make_row(2)])
    assert wal_of(path).read_bytes() == crashed[1][1]
    async with opened(path) as store:
        assert len(await store.get([make_row(7).memory.id], [HERE])) == 1


async def test_checkpoints_and_compactions_are_not_taken_for_a_loss(tmp_path):
    async with opened(tmp_path / "s.duckdb") as store:
        for number in range(6):
            assert await store.put([make_row(number)]) == (True,)
            await (store.checkpoint, store.compact)[number % 2]()
        assert await store.put([make_row(9)]) == (True,)
