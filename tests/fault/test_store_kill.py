"""The store's process is killed while it captures: what it acknowledged must be there, once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.stores import HERE, opened
from tests.thorough import times

from .killed import said_until_killed

KILLS = times(4, 100)

CAPTURE = """
import asyncio, sys
from pathlib import Path
from tests.stores import make_row, make_store

async def capture(path, start):
    store = make_store(Path(path))
    await store.open()
    number = start
    while True:
        rows = [make_row(number + step) for step in range(4)]
        taken = await asyncio.gather(store.put(rows[:1]), store.put(rows[1:]))
        assert all(all(each) for each in taken)
        changed = make_row(number, version=2, content="changed")
        await store.put([changed])
        if number % 40 == 0:
            await store.checkpoint()
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()
        number += 4

asyncio.run(capture(sys.argv[1], int(sys.argv[2])))
"""


def capture_until_killed(path: Path, start: int, acknowledgements: int) -> list[int]:
    """The numbers that were acknowledged, each for itself and the three that follow."""
    return [int(line) for line in said_until_killed(CAPTURE, path, start, lines=acknowledgements)]


@pytest.mark.slow
async def test_every_acknowledged_memory_is_there_exactly_once(tmp_path):
    path = tmp_path / "s.duckdb"
    dice = random.Random(7)
    acknowledged: list[int] = []
    for kill in range(KILLS):
        acknowledged += capture_until_killed(path, kill * 100_000, dice.randrange(3, 30))

    async with opened(path) as store:
        rows = [row async for batch in store.load() for row in batch]
        versions = {row.memory.id: row.memory.version for row in rows}
        assert len(rows) == len(versions)
        assert len(acknowledged) >= 3 * KILLS
        for number in acknowledged:
            for step in range(4):
                assert versions[f"mem_{number + step:026}"] == (2 if step == 0 else 1)
            history = await store.history(f"mem_{number:026}", [HERE])
            assert [each.version for each in history] == [1, 2]


async def test_a_store_that_was_killed_opens_without_a_warning_of_damage(tmp_path, caplog):
    path = tmp_path / "s.duckdb"
    capture_until_killed(path, 0, 3)

    async with opened(path) as store:
        if store.recovery is None:
            assert not caplog.records
        assert sum((await store.counts()).values()) >= 12
