from __future__ import annotations

from datetime import timedelta

import anyio.to_thread

from subcog.sinks.repair.kept_copies import Copy
from subcog.sinks.repair.purge import clean_copies
from tests.stores import START, make_row, opened
from tests.teams import ORG, join


async def test_a_backup_that_is_cleaned_tells_the_team_once_it_is_restored(tmp_path):
    """Its outbox would name a version that is no longer in it."""
    backup = tmp_path / "backup.duckdb"
    async with opened(tmp_path / "s.duckdb") as store:
        await join(store)
        await store.put([make_row(1, scope=ORG), make_row(2, scope=ORG)])
        await store.backup(backup)
    copy = Copy(file=backup, kind="backup", at=START, bytes=1)
    forgotten, now = make_row(1).memory.id, START + timedelta(days=1)

    await anyio.to_thread.run_sync(lambda: clean_copies([copy], forgotten, [str(ORG)], now))

    async with opened(backup) as restored:
        waiting = await restored.replica.outbox(limit=9)
        assert {(each.id, each.version) for each in waiting} == {
            (forgotten, 0),
            (make_row(2).memory.id, 1),
        }
        assert (await restored.replica.depth()).count == 2
