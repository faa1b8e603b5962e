import os
import stat

import pytest

from subcog.sinks.files.private import free_name, replace_file


@pytest.fixture(autouse=True)
def open_mask():
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.parametrize("durable", [False, True])
def test_what_is_written_is_for_its_owner_alone_and_nothing_stays_beside_it(tmp_path, durable):
    file = tmp_path / "folder" / "file"
    for text in (b"one", b"two"):
        replace_file(file, text, durable=durable)
    assert file.read_bytes() == b"two"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert list(file.parent.iterdir()) == [file]


def test_a_file_that_cannot_be_replaced_stays_and_leaves_nothing_half_made(tmp_path):
    target = tmp_path / "file"
    target.mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(target, b"text")
    assert list(tmp_path.iterdir()) == [target]


def test_what_an_earlier_process_left_half_made_is_no_hindrance(tmp_path):
    (tmp_path / "file.new").write_bytes(b"half")
    replace_file(tmp_path / "file", b"whole")
    assert [each.read_bytes() for each in tmp_path.iterdir()] == [b"whole"]


def test_a_name_that_is_taken_gets_a_number(tmp_path):
    names = []
    for _ in range(3):
        names.append(free_name(tmp_path / "copy"))
        names[-1].touch()
    assert [each.name for each in names] == ["copy", "copy-1", "copy-2"]
