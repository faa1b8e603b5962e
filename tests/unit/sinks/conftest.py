from __future__ import annotations

import pytest

from tests.stores import FakeClock, opened


@pytest.fixture
def clock():
    return FakeClock()


@pytest.fixture
async def store(tmp_path, clock):
    async with opened(tmp_path / "s.duckdb", clock) as store:
        yield store
