"""A damaged database of a team's member: what it still had to send and to receive is not lost."""

from __future__ import annotations

from datetime import timedelta

import anyio
import pytest

from subcog.sinks.repair.kept_copies import note_backup
from subcog.sinks.repair.repair import repair
from subcog.sinks.team.protocol import Cursor
from tests.fault.ruins import break_column
from tests.stores import START, make_row, opened
from tests.teams import EPOCH, ORG, apply, change, feed, join, membership

# Their texts are so long that no block of the file has both words and bodies.
ROWS = 1_000
SENT = 100
NOW = START + timedelta(days=40)


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    """A member with many memories, most of them sent, and some of others."""
    path = tmp_path_factory.mktemp("whole") / "s.duckdb"

    async def make() -> None:
        async with opened(path) as store:
            await join(store)
            await store.put([make_row(n, scope=ORG, content=f"{n} " * 112) for n in range(ROWS)])
            entries = await store.replica.outbox(limit=ROWS - SENT)
            await store.replica.sent([each.seq for each in entries])
            theirs = [make_row(ROWS + n, scope=ORG) for n in range(50)]
            changes = feed(*(change(row, "bob", seq=n + 1) for n, row in enumerate(theirs)))
            await apply(store, changes)
            for number in (8, 7):
                await store.forget(make_row(number).memory.id, [ORG])
                if number == 8:
                    [deletion] = await store.replica.outbox(limit=1)
                    await store.replica.sent([deletion.seq])

    anyio.run(make)
    return path.read_bytes()


async def test_a_mended_database_goes_on_where_it_was(path):
    break_column(path, "words")

    [mended] = await anyio.to_thread.run_sync(lambda: repair(path, now=NOW))

    assert (mended.reason, mended.lost) == ("damaged", 0)
    async with opened(path) as store:
        assert await store.replica.membership() == membership()
        assert await store.replica.cursor() == Cursor(EPOCH, 50, 50)
        waiting = await store.replica.outbox(limit=ROWS)
        assert len(waiting) == SENT + 1
        assert waiting[0].version == 0
        assert await store.replica.received() == {ORG: 50}
        assert [each.sends for each in await store.replica.shared()] == [True]


@pytest.mark.slow
async def test_what_is_taken_from_a_backup_is_sent_too(path, whole):
    backup = path.with_name("kept.duckdb")
    backup.write_bytes(whole)
    note_backup(path, backup)
    break_column(path, "body")

    await anyio.to_thread.run_sync(lambda: repair(path, now=NOW))

    async with opened(path) as store:
        assert (await store.counts())[ORG] == ROWS + 50 - 2
        assert await store.replica.cursor() == Cursor(EPOCH)
        assert (await store.replica.depth()).count == ROWS - 2 + 2


@pytest.mark.slow
async def test_where_texts_were_lost_they_are_pulled_again_and_all_is_sent_again(path):
    break_column(path, "body")

    [mended] = await anyio.to_thread.run_sync(lambda: repair(path, now=NOW))

    assert mended.lost
    async with opened(path) as store:
        assert await store.replica.cursor() == Cursor(EPOCH)
        waiting = await store.replica.outbox(limit=2 * ROWS)
        alive = (await store.counts()).get(ORG, 0)
        tombstones = [each for each in waiting if each.version == 0]
        assert len(tombstones) == 2, "also what was sent"
        assert len(waiting) - 2 == alive - (await store.replica.received()).get(ORG, 0)
