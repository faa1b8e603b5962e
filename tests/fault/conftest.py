from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def path(tmp_path, whole) -> Path:
    """A copy of the database that the module made: each test may break its own."""
    path = tmp_path / "s.duckdb"
    path.write_bytes(whole)
    path.chmod(0o600)
    return path
