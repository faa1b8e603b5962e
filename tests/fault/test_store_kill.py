"""The store's process is killed while it captures: what it acknowledged must be there, once."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.stores import HERE, make_row, opened
from tests.thorough import times

from .killed import said_until_killed

KILLS = times(3, 100)

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
        if store.database.recovery is None:
            assert not caplog.records
        assert sum((await store.counts()).values()) >= 12


FORGET = """
import asyncio, sys
from pathlib import Path
from tests.stores import HERE, make_row, make_store

async def forget(path, start):
    store = make_store(Path(path))
    await store.open()
    number = start
    while True:
        await store.put([make_row(number)])
        await store.forget(make_row(number).memory.id, [HERE])
        sys.stdout.write(f"{number}\\n")
        sys.stdout.flush()
        number += 1

asyncio.run(forget(sys.argv[1], int(sys.argv[2])))
"""


@pytest.mark.slow
async def test_what_was_forgotten_before_a_kill_is_gone_and_its_text_stays_out(tmp_path):
    """Deletion and tombstones are one transaction: there is never one without the other."""
    path = tmp_path / "s.duckdb"
    acknowledged: list[int] = []
    for kill in range(2):
        said = said_until_killed(FORGET, path, kill * 1_000, lines=7)
        acknowledged += [int(line) for line in said]

    async with opened(path) as store:
        alive = {memory.id for memory in await store.latest([HERE], limit=10_000)}
        for number in acknowledged:
            memory = make_row(number).memory
            assert memory.id not in alive
            assert await store.put([make_row(50_000 + number, content=memory.content)]) == (False,)
        for number in (*range(50), *range(1_000, 1_050)):  # those that were not acknowledged
            memory = make_row(number).memory
            assert not (memory.id in alive and store.is_forgotten(memory.content, HERE))
