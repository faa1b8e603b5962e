"""A corpus of damaged databases: a repair saves what can be read, and never makes it worse."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import anyio.to_thread
import pytest

from subcog.sinks.repair.repair import repair
from subcog.sinks.store.wal import wal_of
from tests.fault.damage import IN_FILE, IN_LOG, NOW, SEED, Damage, draw, make_whole, try_out
from tests.stores import HERE, everything, make_row, opened
from tests.thorough import times

ALL = IN_FILE + IN_LOG
ALL_ROWS = range(IN_FILE)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("corpus")


@pytest.fixture(scope="module")
def whole(folder) -> dict[str, bytes]:
    return make_whole(folder / "s.duckdb")


def corpus(whole: dict[str, bytes]) -> Iterator[Damage]:
    return draw(whole, SEED, times(1, 8))


def of_the_index(whole: dict[str, bytes]) -> Iterator[Damage]:
    """It lies at the end; without it no log can be replayed."""
    for kind in ("byte flipped", "truncated"):
        yield Damage(kind, "file", len(whole["file"]) - 100_000)


@pytest.mark.slow
def test_a_repair_saves_what_can_be_read_and_never_makes_it_worse(folder, whole):
    for damage in corpus(whole):
        found = try_out(damage, whole, folder, backup=False)
        assert (found.repaired or 0) >= (found.opened or 0), f"{damage}: {found}"
        if found.repaired is not None and found.repaired < ALL:
            assert found.told, f"{damage}: nobody is told that something is missing"


@pytest.mark.slow
def test_a_bad_block_of_the_file_is_not_taken_for_a_bad_log(folder, whole):
    """A log cannot be replayed into a file whose index is damaged; what it adds can be read."""
    for damage in of_the_index(whole):
        found = try_out(damage, whole, folder, backup=False)
        assert (found.opened, found.repaired) == (None, ALL)
        assert f"{IN_LOG} of them are from the log" in found.told


async def test_what_a_log_says_is_forgotten_stays_so_where_only_its_rows_can_be_read(tmp_path):
    path = tmp_path / "s.duckdb"
    async with opened(path) as store:
        await store.put(
            [make_row(n, content=random.Random(n).randbytes(2_000).hex()) for n in ALL_ROWS]
        )
    async with opened(path) as store:
        await store.put([make_row(900, content="the last word")])
        await store.forget(make_row(7).memory.id, [HERE])
        files = {"file": bytearray(path.read_bytes()), "log": wal_of(path).read_bytes()}
    files["file"][len(files["file"]) - 100_000] ^= 0xFF
    path.write_bytes(files["file"])
    wal_of(path).write_bytes(files["log"])

    [mended] = await anyio.to_thread.run_sync(lambda: repair(path, now=NOW))

    async with opened(path) as store:
        found = {row.memory.id for row in await everything(store)}
        assert make_row(900).memory.id in found, mended.done
        assert make_row(7).memory.id not in found
        assert len(found) == IN_FILE
        assert await store.put(
            [make_row(8_000, content=random.Random(7).randbytes(2_000).hex())]
        ) == (False,)


@pytest.mark.slow
def test_what_a_backup_has_is_never_lost(folder, whole):
    for damage in (*corpus(whole), *of_the_index(whole)):
        if damage.place == "file":
            found = try_out(damage, whole, folder, backup=True)
            assert (found.repaired or 0) >= IN_FILE, f"{damage}: {found}"
