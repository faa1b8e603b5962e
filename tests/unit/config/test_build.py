import os
import shutil

import pytest

from subcog.config.build import PACKAGE, ROOMS, read_build


@pytest.fixture
def package(tmp_path):
    for room in ROOMS:
        (tmp_path / room / "inner").mkdir(parents=True)
        (tmp_path / room / "inner" / "one.py").write_text("ONE = 1\n")
    return tmp_path


def test_the_rooms_are_those_that_are_there():
    assert all((PACKAGE / room / "__init__.py").is_file() for room in ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_every_change_of_a_module_is_another_build(package, room):
    module = package / room / "inner" / "one.py"
    builds = [read_build(package)]
    module.write_text("ONE = 12\n")
    builds.append(read_build(package))
    os.utime(module, ns=(1, 1))  # as long, and written at another time
    builds.append(read_build(package))
    module.rename(module.with_name("two.py"))
    builds.append(read_build(package))
    shutil.rmtree(module.parent)
    builds.append(read_build(package))
    assert len(set(builds)) == len(builds)


def test_a_build_is_the_same_wherever_it_lies_and_whatever_was_run(package, tmp_path_factory):
    copy = shutil.copytree(package, tmp_path_factory.mktemp("copies") / "copy")
    (copy / "bus" / "__pycache__").mkdir()
    (copy / "bus" / "__pycache__" / "one.py").touch()
    (copy / "tests").mkdir()
    (copy / "tests" / "test_one.py").touch()
    assert read_build(copy) == read_build(package)
