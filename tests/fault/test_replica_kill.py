"""A replica's process is killed while it captures, sends and receives: nothing is lost."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.stores import opened
from tests.teams import ORG
from tests.thorough import times

from .killed import said_until_killed

KILLS = times(2, 30)

WORK = """
import asyncio, sys
from pathlib import Path
from tests.stores import make_row, make_store
from tests.teams import ORG, apply, change, feed, join

def say(*words):
    sys.stdout.write(" ".join(map(str, words)) + "\\n")
    sys.stdout.flush()

async def work(path, start):
    store = make_store(Path(path))
    await store.open()
    await join(store)
    number = start
    while True:
        rows = [make_row(number + step, scope=ORG) for step in range(4)]
        assert await store.put(rows[:3]) == (True,) * 3
        say("kept", *(row.memory.id for row in rows[:3]))
        await apply(store, feed(change(rows[3], "bob", seq=number)))
        say("received", rows[3].memory.id, number)
        if number % 12 == 0:
            entries = await store.replica.outbox(limit=4)
            say("sent", *(each.id for each in entries))
            await store.replica.sent([each.seq for each in entries])
        if number % 40 == 0:
            await store.checkpoint()
        number += 4

asyncio.run(work(sys.argv[1], int(sys.argv[2])))
"""


def work_until_killed(path: Path, start: int, lines: int) -> list[list[str]]:
    """What it said, word by word."""
    return [line.split() for line in said_until_killed(WORK, path, start, lines=lines)]


@pytest.mark.slow
async def test_every_acknowledged_memory_was_sent_or_waits_in_the_outbox(tmp_path):
    path = tmp_path / "s.duckdb"
    dice = random.Random(3)
    said: list[list[str]] = []
    for kill in range(KILLS):
        said += work_until_killed(path, 4 * 10_000 * (kill + 1), dice.randrange(20, 60))
    words = {verb: [words for each, *words in said if each == verb] for verb in ("kept", "sent")}
    kept = {id_ for ids in words["kept"] for id_ in ids}
    sent = {id_ for ids in words["sent"] for id_ in ids}
    received = [(id_, int(seq)) for verb, id_, *rest in said for seq in rest if verb == "received"]

    async with opened(path) as store:
        waiting = [each.id for each in await store.replica.outbox(limit=10_000)]
        assert len(waiting) == len(set(waiting))
        assert kept <= sent | set(waiting)
        assert not set(waiting) & {id_ for id_, _ in received}
        stored = {memory.id for memory in await store.page([ORG], limit=100_000)}
        assert kept | {id_ for id_, _ in received} <= stored
        assert (await store.replica.cursor()).seq >= received[-1][1]
        assert len(kept) > KILLS * 10
