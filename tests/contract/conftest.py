"""Every store there is: the file on this machine, and the team's server."""

from __future__ import annotations

from contextlib import asynccontextmanager

import pytest

from tests.stores import FakeClock, opened


@pytest.fixture
def clock():
    return FakeClock()


@asynccontextmanager
async def of_a_team(database, clock):
    from tests.team_store import ReadableStore

    store = ReadableStore(database.url(), clock=clock)
    await store.open()
    yield store
    await store.close()


@pytest.fixture(params=["duckdb", "postgres"])
async def store(request, clock):
    if request.param == "duckdb":
        opening = opened(request.getfixturevalue("tmp_path") / "data" / "s.duckdb", clock)
    else:
        opening = of_a_team(request.getfixturevalue("quick_team"), clock)
    async with opening as store:
        yield store
