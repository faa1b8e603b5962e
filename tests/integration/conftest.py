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
def installed(tmp_path):
    """The same, each of its processes the installed program."""
    house = House(tmp_path, installed=True)
    yield house
    house.close()


@pytest.fixture
def house(alone):
    return alone


@pytest.fixture(scope="session")
def first(tmp_path_factory):
    """The house whose daemon all tests share that only add to what is there."""
    house = House(tmp_path_factory.mktemp("shared"))
    yield house
    house.close()


@pytest.fixture(scope="module")
def shared(first, tmp_path_factory):
    """A project that the tests of a file share."""
    return neighbour(first, tmp_path_factory.mktemp("shared"))


@pytest.fixture
def fresh(first, tmp_path):
    """A project of its own, of the same daemon."""
    return neighbour(first, tmp_path)


def neighbour(house, root):
    """Another project of a daemon that serves already."""
    other = copy.copy(house)
    other.root, other.project = root, root / "project"
    other.project.mkdir()
    other.env = house.env | {"CLAUDE_PROJECT_DIR": str(other.project)}
    return other


@pytest.fixture(scope="module")
def stocked(shared):
    """A house that knows something; nothing here may change what it knows."""
    for text, namespace in NOTES:
        shared.capture(text, "--namespace", namespace)
    return shared
