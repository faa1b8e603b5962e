"""What tests of every room may ask for."""

import time

import pytest

from . import thorough  # noqa: F401 - sets the profile of hypothesis
from .postgres import postgres, quick_team, team, used_database

__all__ = ["postgres", "quick_team", "team", "used_database"]


def pytest_collection_modifyitems(items):
    """The file that takes longest comes first: one worker runs all of it."""
    items.sort(key=lambda item: "property/test_patterns.py" not in item.nodeid)


@pytest.fixture
def set_zone(monkeypatch):
    """Called with a zone such as "Asia/Kathmandu", it is this machine's until the test ends."""
    with monkeypatch.context() as patch:

        def move(zone):
            patch.setenv("TZ", zone)
            time.tzset()

        yield move
    time.tzset()
