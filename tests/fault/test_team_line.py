"""The line to the team's server breaks in the middle, again and again."""

import anyio
import pytest

from subcog.sinks.team import sync
from subcog.sinks.team.postgres.store import PostgresStore
from tests import machines
from tests.proxy import HOST, Proxy
from tests.stores import HERE, FakeClock, make_row
from tests.waiting import until

ROWS = 400


@pytest.mark.slow
async def test_a_line_that_is_cut_in_the_middle_loses_nothing_and_sends_nothing_twice(
    tmp_path, team, monkeypatch
):
    monkeypatch.setattr(sync, "MAX_PAUSE_S", 0.05)
    with Proxy((HOST, team.server.port)) as line:
        url = team.url("alice").replace(str(team.server.port), str(line.port))
        server = PostgresStore(url, clock=FakeClock())
        async with machines.machine(tmp_path, server, "alice", HERE) as alice, alice.running():
            await alice.put(*map(make_row, range(ROWS)))
            for _ in range(10):
                sent = line.sent_bytes
                await until(lambda sent=sent: line.sent_bytes > sent)
                await anyio.to_thread.run_sync(line.reset)
            await alice.in_step()
            await until(lambda: alice.sync.state().problem is None)
    stored = team.psql("alice", "SELECT count(*), count(DISTINCT id) FROM subcog.changes")
    assert stored.strip() == f"{ROWS}|{ROWS}"
