import copy

import pytest

from .house import House
from .notes import NOTES


@pytest.fixture
def alone(tmp_path):
    """A house whose daemon is nobody else's."""
    house = House(tmp_path)
    yield house
    house.close()


@pytest.fixture
def house(alone):
    return alone


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """A house for tests that only add to what is there."""
    house = House(tmp_path_factory.mktemp("shared"))
    yield house
    house.close()


@pytest.fixture
def fresh(shared, tmp_path):
    """A project of its own, of the same daemon."""
    house = copy.copy(shared)
    house.root, house.project = tmp_path, tmp_path / "project"
    house.project.mkdir()
    house.env = shared.env | {"CLAUDE_PROJECT_DIR": str(house.project)}
    return house


@pytest.fixture(scope="module")
def stocked(shared):
    """A house that knows something; nothing here may change what it knows."""
    for text, namespace in NOTES:
        shared.capture(text, "--namespace", namespace)
    return shared
